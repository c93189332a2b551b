"""What a cloud is asked before anything is registered: has it the zones, machines and subnets that are named?

The answers are judged as those of `gpuyard check --live` (`preflight/before.py`); no resource rests on them.
"""

from gpuyard.catalogue.machines import Capacity
from gpuyard.plan.cluster.ranges import cluster_of
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.cloud.graph import CloudCall

_OFFERS = "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings"
_MACHINES = "gcp:compute/getMachineTypes:getMachineTypes"
BLOCK_BOUGHT = "aws:ec2/getCapacityBlockReservation:getCapacityBlockReservation"
"""Where a block is, by its id alone: without one the provider asks for an empty id, tags or not."""
TAGGED = "aws:resourcegroupstaggingapi/getResources:getResources"
"""Asked by whoever is about to buy a block: only what has the tag of the offer stands against it."""
ONLY_JUDGED = frozenset({_OFFERS, _MACHINES, BLOCK_BOUGHT, TAGGED})
"""What is asked for nothing else: a test of a program that has no answer to these says nothing wrong."""
ASKED_ZONES, ASKED_OFFERS = "asked-zones", "asked-offers"
ASKED_SUBNETS, ASKED_BLOCKS = "asked-subnets", "asked-block"


def zones_said(plan: PlatformPlan) -> tuple[str, ...]:
    """Every zone that the stack file names, of its cluster and of its pools."""
    pools = (zone for pool in plan.pools for zone in pool.zones)
    return tuple(dict.fromkeys((*cluster_of(plan.spec).zones, *pools)))


def asked_of_aws(plan: PlatformPlan) -> tuple[CloudCall, ...]:
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
    return (*((zones,) if zones_said(plan) else ()), offers, *_subnets(plan), *_blocks(plan))


def _blocks(plan: PlatformPlan) -> tuple[CloudCall, ...]:
    """Where each block is that is there already; of other reservations the provider has no question."""
    held = {
        rung.reservation: None
        for pool in plan.pools
        for rung in pool.ladder
        if rung.mode == Capacity.BLOCK.value and rung.reservation and rung.buys is None
    }
    return tuple(
        CloudCall(
            kind=BLOCK_BOUGHT,
            name=f"{ASKED_BLOCKS}-{each}",
            args={"id": each},
            outputs=("availabilityZone", "instanceType"),
        )
        for each in held
    )


def _subnets(plan: PlatformPlan) -> tuple[CloudCall, ...]:
    network = cluster_of(plan.spec).network
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


def asked_of_gcp(plan: PlatformPlan) -> tuple[CloudCall, ...]:
    """Zones of the region, and which machines are in each that is named; GKE picks the others itself."""
    said = zones_said(plan)
    zones = CloudCall(
        kind="gcp:compute/getZones:getZones",
        name=ASKED_ZONES,
        args={"region": plan.region} if plan.region else {},
        outputs=("names",),
    )
    return (*((zones,) if said else ()), *(_machines(plan, zone) for zone in said))


def _machines(plan: PlatformPlan, zone: str) -> CloudCall:
    # A type with GPUs added to it is sold as the type.
    names = sorted({name.partition("+")[0] for pool in plan.pools for name in pool.machines})
    return CloudCall(
        kind=_MACHINES,
        name=f"{ASKED_OFFERS}-{zone}",
        args={"zone": zone, "filter": " OR ".join(f'name = "{name}"' for name in names)},
        outputs=("machineTypes",),
    )
