"""The capacity ladder: ways to buy a pool's nodes, best first, in the words of the cloud that sells them."""

from collections.abc import Iterator
from dataclasses import replace

from gpuyard.catalogue.buying import stay
from gpuyard.catalogue.fabric import direct_fabric
from gpuyard.catalogue.machines import Capacity, Machine
from gpuyard.catalogue.node_pools import ec2_words, gke_words, may_be_compact, workload_policy
from gpuyard.plan.capacity.moving_up import moves_to
from gpuyard.plan.records import Ec2Purchase, GkePurchase, LadderRung, PoolPlan
from gpuyard.plan.records.nodes import BoughtBlock
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import Pool, Rung, Scaling
from gpuyard.spec.sections import Provisioning

HELD = frozenset({Capacity.RESERVED, Capacity.BLOCK})
"""Rungs whose nodes are set aside for you."""


def plan_ladder(spec: PlatformSpec, pool: Pool, machine: Machine) -> tuple[LadderRung, ...]:
    """Every rung as its cloud's own arguments; elsewhere the words alone."""
    return tuple(
        _rung(spec, pool, machine, rung, moves_to(spec, pool, place))
        for place, rung in enumerate(pool.capacity)
    )


def _rung(
    spec: PlatformSpec, pool: Pool, machine: Machine, rung: Rung, up: tuple[str, ...]
) -> LadderRung:
    aws, gcp = spec.cloud is Cloud.AWS, spec.cloud is Cloud.GCP
    queued = pool.provisioning is Provisioning.QUEUED
    stays = stay(machine, rung.mode) if aws or gcp else None
    return LadderRung(
        mode=rung.mode.value,
        reservation=rung.reservation,
        most=most(rung, pool),
        bounded=rung.nodes is not None,
        placement=_placement(spec.cloud, pool, machine, rung),
        stays=stays.says if stays else "",
        aws=_ec2(rung.mode) if aws else None,
        gcp=_gke(rung.mode, machine, queued=queued) if gcp else None,
        up=up,
        buys=_bought(rung) if aws else None,
    )


def _bought(rung: Rung) -> BoughtBlock | None:
    buys = rung.buys
    return BoughtBlock(hours=buys.hours, starts=buys.starts, usd=buys.usd) if buys else None


def most(rung: Rung, pool: Pool) -> int:
    """The most nodes a rung can give."""
    return min(rung.nodes or pool.nodes.high, pool.nodes.high)


def ec2_ways(pool: PoolPlan) -> tuple[LadderRung, ...]:
    """The ladder with each way of buying once: two rungs of spot are one group, with the nodes of both."""
    ways: dict[tuple[str, str | None], LadderRung] = {}
    for rung in pool.ladder:
        key = (rung.mode, rung.reservation)
        before = ways[key].most if key in ways else 0
        ways[key] = replace(rung, most=min(before + rung.most, pool.nodes.high))
    return tuple(rung for rung in ways.values() if rung.most)


def gke_bounds(pool: PoolPlan) -> tuple[int, ...]:
    """By rung, the most nodes of each node pool that is made of it.

    Reserved nodes are paid in any case, so the others are as many as are left.
    """
    held = sum(rung.most for rung in pool.ladder if rung.reservation)
    left = max(0, pool.nodes.high - held)
    return tuple(rung.most if rung.reservation else min(rung.most, left) for rung in pool.ladder)


def gke_machines(pool: PoolPlan, rung: LadderRung) -> int:
    """How many of the machines, from the first on, have a node pool of a rung: a reservation holds one."""
    return 1 if rung.reservation else len(pool.machines)


def most_together(cloud: Cloud, pool: PoolPlan) -> int:
    """The most nodes that autoscalers let a pool have: they bound each way of buying by itself.

    A job that finds no spot node must find as many on demand. Queues keep the pool in its own bound, as far
    as GPUs do: jobs that fill nodes by their CPUs or memory take more of them.
    """
    high = pool.nodes.high
    if pool.scaling is Scaling.FIXED:
        return high
    together = 0
    if cloud is Cloud.AWS:
        together = sum(rung.most for rung in ec2_ways(pool))
    elif cloud is Cloud.GCP:
        bounds = zip(pool.ladder, gke_bounds(pool), strict=True)
        together = sum(most * gke_machines(pool, rung) for rung, most in bounds)
    return max(high, together)


def _ec2(mode: Capacity) -> Ec2Purchase:
    words = ec2_words(mode)
    return Ec2Purchase(
        capacity_type=words.capacity_type,
        karpenter_capacity_type=words.karpenter_capacity_type,
        market_type=words.market_type,
        reservation_preference=words.reservation_preference,
    )


def _gke(mode: Capacity, machine: Machine, *, queued: bool) -> GkePurchase:
    words, policy = gke_words(mode), workload_policy(machine)
    return GkePurchase(
        spot=words.spot,
        flex_start=words.flex_start,
        queued=words.flex_start and queued,
        reservation_type=words.reservation_type,
        auto_repair=words.auto_repair,
        workload_policy=f"{policy.type} {policy.accelerator_topology}" if policy else "",
    )


def _placement(cloud: Cloud, pool: Pool, machine: Machine, rung: Rung) -> str:
    """Close together where several nodes talk over a fabric, and where the cloud allows to ask for it.

    A reservation says itself where its nodes are: asked to be in a group of ours as well, an open one would
    not be used, and a capacity block is close together already. Only a rack's is taken with its policy.
    """
    if cloud is Cloud.GCP and workload_policy(machine):
        return "nvlink"
    together = pool.nodes.high > 1 and len(pool.zones) == 1 and direct_fabric(machine) is not None
    if rung.mode in HELD or not together:
        return "none"
    if cloud is Cloud.AWS:
        return "cluster"
    flex = rung.mode is Capacity.FLEX_START
    queued = flex and pool.provisioning is Provisioning.QUEUED
    compact = cloud is Cloud.GCP and may_be_compact(machine, flex_start=flex, queued=queued)
    return "compact" if compact else "none"


def agreed_usd_per_hour(rung: Rung) -> float | None:
    """What an hour of one node costs of a block whose price is agreed to; None where no block is bought."""
    buys = rung.buys
    return None if buys is None else buys.usd / buys.hours / (rung.nodes or 1)


def show_ladder(ladder: tuple[LadderRung, ...]) -> Iterator[str]:
    """`reserved cr-0123 (8 nodes)`, `spot`, `flex-start, at most 7 days`."""
    for rung in ladder:
        nodes = f" ({rung.most} nodes)" if rung.bounded else ""
        held = f" {rung.reservation}" if rung.reservation else ""
        buys = rung.buys
        paid = (
            f", bought for ${buys.usd:,.2f} at once: {buys.hours} hours from {buys.starts}"
            if buys
            else ""
        )
        moves = f", moves up to {' or '.join(rung.up)}" if rung.up else ""
        yield f"{rung.mode}{held}{nodes}{paid}{', ' if rung.stays else ''}{rung.stays}{moves}"
