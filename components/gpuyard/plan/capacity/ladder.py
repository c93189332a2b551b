"""The capacity ladder: ways to buy a pool's nodes, best first, in the words of the cloud that sells them."""

from collections.abc import Iterator

from gpuyard.catalogue.buying import CAPACITY_BLOCK, COMPACT_FLEX_START, FLEX_START
from gpuyard.catalogue.fabric import direct_fabric
from gpuyard.catalogue.machines import Capacity, Machine
from gpuyard.plan.records import Ec2Purchase, GkePurchase, LadderRung
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import Pool, Rung
from gpuyard.spec.sections import Provisioning

HELD = frozenset({Capacity.RESERVED, Capacity.BLOCK})
"""Rungs whose nodes are set aside for you."""


def plan_ladder(spec: PlatformSpec, pool: Pool, machine: Machine) -> tuple[LadderRung, ...]:
    """Every rung as its cloud's own arguments; elsewhere the words alone."""
    return tuple(_rung(spec, pool, machine, rung) for rung in pool.capacity)


def _rung(spec: PlatformSpec, pool: Pool, machine: Machine, rung: Rung) -> LadderRung:
    aws, gcp = spec.cloud is Cloud.AWS, spec.cloud is Cloud.GCP
    stays = {Capacity.FLEX_START: FLEX_START.says, Capacity.BLOCK: CAPACITY_BLOCK.says}
    return LadderRung(
        mode=rung.mode.value,
        reservation=rung.reservation,
        most=most(rung, pool),
        bounded=rung.nodes is not None,
        placement=_placement(spec.cloud, pool, machine, rung),
        stays=stays.get(rung.mode, "") if aws or gcp else "",
        aws=_ec2(rung.mode) if aws else None,
        gcp=_gke(rung.mode, queued=pool.provisioning is Provisioning.QUEUED) if gcp else None,
    )


def most(rung: Rung, pool: Pool) -> int:
    """The most nodes a rung can give."""
    return min(rung.nodes or pool.nodes.high, pool.nodes.high)


def _ec2(mode: Capacity) -> Ec2Purchase:
    spot, block, held = mode is Capacity.SPOT, mode is Capacity.BLOCK, mode in HELD
    return Ec2Purchase(
        capacity_type="SPOT" if spot else "CAPACITY_BLOCK" if block else "ON_DEMAND",
        karpenter_capacity_type="reserved" if held else mode.value,
        market_type="spot" if spot else "capacity-block" if block else None,
        reservation_preference="capacity-reservations-only" if held else "none" if spot else "open",
    )


def _gke(mode: Capacity, *, queued: bool) -> GkePurchase:
    flex = mode is Capacity.FLEX_START
    return GkePurchase(
        spot=mode is Capacity.SPOT,
        flex_start=flex,
        queued=flex and queued,
        reservation_type="SPECIFIC_RESERVATION" if mode in HELD else "NO_RESERVATION",
        auto_repair=not flex,
    )


def _placement(cloud: Cloud, pool: Pool, machine: Machine, rung: Rung) -> str:
    """Close together where several nodes talk over a fabric, and where the cloud allows to ask for it.

    A reservation says itself where its nodes are: asked to be in a group of ours as well, an open one would
    not be used, and a capacity block is close together already.
    """
    together = pool.nodes.high > 1 and len(pool.zones) == 1 and direct_fabric(machine) is not None
    if rung.mode in HELD or not together:
        return "none"
    if cloud is Cloud.AWS:
        return "cluster"
    if cloud is not Cloud.GCP:
        return "none"
    if rung.mode is Capacity.FLEX_START and not machine.name.startswith(COMPACT_FLEX_START):
        return "none"
    return "compact"


def show_ladder(ladder: tuple[LadderRung, ...]) -> Iterator[str]:
    """`reserved cr-0123 (8 nodes)`, `spot`, `flex-start, at most 7 days`."""
    for rung in ladder:
        nodes = f" ({rung.most} nodes)" if rung.bounded else ""
        held = f" {rung.reservation}" if rung.reservation else ""
        yield f"{rung.mode}{held}{nodes}{', ' if rung.stays else ''}{rung.stays}"
