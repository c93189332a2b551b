"""What a cloud is asked before anything is registered: has it the zones, machines and subnets that are named?

The answers are judged as those of `gpuyard check --live` (`preflight/before.py`); no resource rests on them.
"""

import re
from collections.abc import Iterator

from gpuyard.plan.cluster.ranges import cluster_spec, configured_zones
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.cloud.graph import CloudCall

_OFFERS = "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings"
_MACHINES = "gcp:compute/getMachineTypes:getMachineTypes"
EC2_RESERVATION = "aws:ec2/getCapacityBlockReservation:getCapacityBlockReservation"
"""What a block is, or any other reservation: the provider asks EC2 for the id, whatever kind it is of.

By its id alone: without one it asks for an empty id, tags or not.
"""
GCE_RESERVATION = "gcp:compute/getReservation:getReservation"
TAGGED = "aws:resourcegroupstaggingapi/getResources:getResources"
"""Asked by whoever is about to buy a block: only what has the tag of the offer stands against it."""
ONLY_JUDGED = frozenset({_OFFERS, _MACHINES, EC2_RESERVATION, GCE_RESERVATION, TAGGED})
"""What is asked for nothing else: a test of a program that has no answer to these says nothing wrong."""
ASKED_ZONES, ASKED_OFFERS = "asked-zones", "asked-offers"
ASKED_SUBNETS, ASKED_RESERVED = "asked-subnets", "asked-reservation"

_SHARED = re.compile(r"projects/(?P<project>[^/]+)/reservations/(?P<name>[^/]+)(/.*)?")


def aws_prerequisites(plan: PlatformPlan) -> tuple[CloudCall, ...]:
    """One question each: zones that are named, machines by zone, and subnets of a given network."""
    types = sorted({name for pool in plan.pools for name in pool.machines})
    offers = CloudCall(
        kind=_OFFERS,
        name=ASKED_OFFERS,
        args={
            "locationType": "availability-zone",
            "filters": [{"name": "instance-type", "values": types}],
        },
        outputs=("instanceTypes", "locations"),
    )
    zones = CloudCall(
        kind="aws:index/getAvailabilityZones:getAvailabilityZones",
        name=ASKED_ZONES,
        args={"state": "available"},
        outputs=("names", "zoneIds"),
    )
    return (
        *((zones,) if configured_zones(plan.spec) else ()),
        offers,
        *_subnets(plan),
        *_of_ec2(plan),
    )


def named_reservations(plan: PlatformPlan) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each reservation that the stack file names, with the zones of the pool that draws on it.

    A block that is still to be bought is none.
    """
    seen = {
        (option.reservation, pool.zones): None
        for pool in plan.pools
        for option in pool.capacity_options
        if option.reservation and option.purchase is None
    }
    yield from seen


def _of_ec2(plan: PlatformPlan) -> tuple[CloudCall, ...]:
    """What each reservation is, on-demand or a block."""
    return tuple(
        CloudCall(
            kind=EC2_RESERVATION,
            name=f"{ASKED_RESERVED}-{each}",
            args={"id": each},
            outputs=("availabilityZone", "instanceType"),
            may_lack=("state", "instanceCount"),
        )
        for each in dict.fromkeys(name for name, _ in named_reservations(plan))
    )


def _subnets(plan: PlatformPlan) -> tuple[CloudCall, ...]:
    network = cluster_spec(plan.spec).network
    if not network.id or network.subnets is None:
        return ()
    filters = [
        {"name": "vpc-id", "values": [network.id]},
        {"name": "subnet-id", "values": [*network.subnets.private, *network.subnets.public]},
    ]
    return (
        CloudCall(
            kind="aws:ec2/getSubnets:getSubnets",
            name=ASKED_SUBNETS,
            args={"filters": filters},
            outputs=("ids",),
        ),
    )


def gcp_prerequisites(plan: PlatformPlan) -> tuple[CloudCall, ...]:
    """Zones of the region, and which machines are in each that is named; GKE picks the others itself."""
    named_zones = configured_zones(plan.spec)
    zones = CloudCall(
        kind="gcp:compute/getZones:getZones",
        name=ASKED_ZONES,
        args={"region": plan.region} if plan.region else {},
        outputs=("names",),
    )
    machines = (_machines(plan, zone) for zone in named_zones)
    return (*((zones,) if named_zones else ()), *machines, *_of_gce(plan))


def _machines(plan: PlatformPlan, zone: str) -> CloudCall:
    # A type with GPUs added to it is sold as the type.
    names = sorted({name.partition("+")[0] for pool in plan.pools for name in pool.machines})
    return CloudCall(
        kind=_MACHINES,
        name=f"{ASKED_OFFERS}-{zone}",
        args={"zone": zone, "filter": " OR ".join(f'name = "{name}"' for name in names)},
        outputs=("machineTypes",),
    )


def _of_gce(plan: PlatformPlan) -> Iterator[CloudCall]:
    """What each reservation is in the zone of its pool: Google is asked for one zone at a time."""
    for each, zones in named_reservations(plan):
        project, name = gcp_reservation(each)
        for zone in zones:
            yield CloudCall(
                kind=GCE_RESERVATION,
                name=f"{ASKED_RESERVED}-{each}-{zone}",
                args={"name": name, "zone": zone, **({"project": project} if project else {})},
                outputs=("id",),
                may_lack=("status", "specificReservations"),
            )


def gcp_reservation(reservation: str) -> tuple[str, str]:
    """Project and name of a reservation, whichever part of it is named; "" is the stack's own project."""
    shared = _SHARED.fullmatch(reservation)
    return (shared["project"], shared["name"]) if shared else ("", reservation.partition("/")[0])
