"""Queries to a cloud before anything is registered: do the named zones, machines and subnets exist?

The answers are validated like those of `gpuyard check --live` (`preflight/prerequisites.py`); no
resource uses them.
"""

import re
from collections.abc import Iterator

from gpuyard.plan.cluster.ranges import cluster_spec, configured_zones
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.cloud.graph import CloudCall

_OFFERS = "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings"
_MACHINES = "gcp:compute/getMachineTypes:getMachineTypes"
EC2_RESERVATION = "aws:ec2/getCapacityBlockReservation:getCapacityBlockReservation"
"""Reads a block or any other reservation: the provider queries EC2 by id, for every kind.

Only by id: without one, the provider sends an empty id, with or without tags.
"""
GCE_RESERVATION = "gcp:compute/getReservation:getReservation"
TAGGED = "aws:resourcegroupstaggingapi/getResources:getResources"
"""Queried before a block is bought: only a resource with the tag of the offer prevents the
purchase."""
ONLY_JUDGED = frozenset({_OFFERS, _MACHINES, EC2_RESERVATION, GCE_RESERVATION, TAGGED})
"""Queries used only for validation: a test of a program may leave them without an answer."""
ASKED_ZONES, ASKED_OFFERS = "asked-zones", "asked-offers"
ASKED_SUBNETS, ASKED_RESERVED = "asked-subnets", "asked-reservation"

_SHARED = re.compile(r"projects/(?P<project>[^/]+)/reservations/(?P<name>[^/]+)(/.*)?")


def aws_prerequisites(plan: PlatformPlan) -> tuple[CloudCall, ...]:
    """One query each: the named zones, machines by zone, and subnets of an existing network."""
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
    """Each reservation that the stack file names, with the zones of the pool that uses it.

    A block that is still to be bought is not included.
    """
    seen = {
        (option.reservation, pool.zones): None
        for pool in plan.pools
        for option in pool.capacity_options
        if option.reservation and option.purchase is None
    }
    yield from seen


def _of_ec2(plan: PlatformPlan) -> tuple[CloudCall, ...]:
    """The kind of each reservation, on-demand or a block."""
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
    """Zones of the region, and the machines in each named zone; GKE picks the others itself."""
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
    # A type with attached GPUs is offered as the type.
    names = sorted({name.partition("+")[0] for pool in plan.pools for name in pool.machines})
    return CloudCall(
        kind=_MACHINES,
        name=f"{ASKED_OFFERS}-{zone}",
        args={"zone": zone, "filter": " OR ".join(f'name = "{name}"' for name in names)},
        outputs=("machineTypes",),
    )


def _of_gce(plan: PlatformPlan) -> Iterator[CloudCall]:
    """Each reservation in the zone of its pool: Google Cloud answers for one zone at a time."""
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
    """Project and name of a reservation, given in full or in part; "" is the stack's project."""
    shared = _SHARED.fullmatch(reservation)
    return (shared["project"], shared["name"]) if shared else ("", reservation.partition("/")[0])
