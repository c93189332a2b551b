"""The capacity ladder: ways to buy a pool's nodes, best first, in the words of the cloud that sells them."""

from collections.abc import Iterator
from dataclasses import replace

from gpuyard.catalogue.fabric import direct_fabric
from gpuyard.catalogue.machines import Capacity, Machine
from gpuyard.catalogue.node_pools import ec2_words, gke_words, may_be_compact, workload_policy
from gpuyard.catalogue.purchasing import lifetime_of
from gpuyard.plan.capacity.failback import failback_target
from gpuyard.plan.records import CapacityOption, Ec2Purchase, GkePurchase, PoolPlan
from gpuyard.plan.records.nodes import CapacityBlock
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import CapacityOptionSpec, Pool, Scaling
from gpuyard.spec.sections import Provisioning

PREPAID = frozenset({Capacity.RESERVED, Capacity.BLOCK})
"""Rungs whose nodes are set aside for you."""


def plan_capacity_options(
    spec: PlatformSpec, pool: Pool, machine: Machine
) -> tuple[CapacityOption, ...]:
    """Every rung as its cloud's own arguments; elsewhere the words alone."""
    return tuple(
        _option(spec, pool, machine, option, failback_target(spec, pool, place))
        for place, option in enumerate(pool.capacity)
    )


def _option(
    spec: PlatformSpec,
    pool: Pool,
    machine: Machine,
    option: CapacityOptionSpec,
    up: tuple[str, ...],
) -> CapacityOption:
    aws, gcp = spec.cloud is Cloud.AWS, spec.cloud is Cloud.GCP
    queued = pool.provisioning is Provisioning.QUEUED
    stays = lifetime_of(machine, option.mode) if aws or gcp else None
    return CapacityOption(
        mode=option.mode.value,
        reservation=option.reservation,
        max_nodes=max_nodes(option, pool),
        bounded=option.nodes is not None,
        placement=_placement(spec.cloud, pool, machine, option),
        lifetime=stays.description if stays else "",
        aws=_ec2(option.mode) if aws else None,
        gcp=_gke(option.mode, machine, queued=queued) if gcp else None,
        failback=up,
        purchase=_bought(option) if aws else None,
    )


def _bought(option: CapacityOptionSpec) -> CapacityBlock | None:
    buys = option.purchase
    return CapacityBlock(hours=buys.hours, starts=buys.starts, usd=buys.usd) if buys else None


def max_nodes(option: CapacityOptionSpec, pool: Pool) -> int:
    """The most nodes a rung can give."""
    return min(option.nodes or pool.nodes.high, pool.nodes.high)


def ec2_purchases(pool: PoolPlan) -> tuple[CapacityOption, ...]:
    """The ladder with each way of buying once: two rungs of spot are one group, with the nodes of both."""
    ways: dict[tuple[str, str | None], CapacityOption] = {}
    for option in pool.capacity_options:
        key = (option.mode, option.reservation)
        before = ways[key].max_nodes if key in ways else 0
        ways[key] = replace(option, max_nodes=min(before + option.max_nodes, pool.nodes.high))
    return tuple(option for option in ways.values() if option.max_nodes)


def gke_bounds(pool: PoolPlan) -> tuple[int, ...]:
    """By rung, the most nodes of each node pool that is made of it.

    Reserved nodes are paid in any case, so the others are as many as are left.
    """
    reserved_nodes = sum(option.max_nodes for option in pool.capacity_options if option.reservation)
    remaining = max(0, pool.nodes.high - reserved_nodes)
    return tuple(
        option.max_nodes if option.reservation else min(option.max_nodes, remaining)
        for option in pool.capacity_options
    )


def gke_machines(pool: PoolPlan, option: CapacityOption) -> int:
    """How many of the machines, from the first on, have a node pool of a rung: a reservation holds one."""
    return 1 if option.reservation else len(pool.machines)


def max_nodes_total(cloud: Cloud, pool: PoolPlan) -> int:
    """The most nodes that autoscalers let a pool have: they bound each way of buying by itself.

    A job that finds no spot node must find as many on demand. Queues keep the pool in its own bound, as far
    as GPUs do: jobs that fill nodes by their CPUs or memory take more of them.
    """
    high = pool.nodes.high
    if pool.scaling is Scaling.FIXED:
        return high
    together = 0
    if cloud is Cloud.AWS:
        together = sum(option.max_nodes for option in ec2_purchases(pool))
    elif cloud is Cloud.GCP:
        bounds = zip(pool.capacity_options, gke_bounds(pool), strict=True)
        together = sum(most * gke_machines(pool, option) for option, most in bounds)
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


def _placement(cloud: Cloud, pool: Pool, machine: Machine, option: CapacityOptionSpec) -> str:
    """Close together where several nodes talk over a fabric, and where the cloud allows to ask for it.

    A reservation says itself where its nodes are: asked to be in a group of ours as well, an open one would
    not be used, and a capacity block is close together already. Only a rack's is taken with its policy.
    """
    if cloud is Cloud.GCP and workload_policy(machine):
        return "nvlink"
    together = pool.nodes.high > 1 and len(pool.zones) == 1 and direct_fabric(machine) is not None
    if option.mode in PREPAID or not together:
        return "none"
    if cloud is Cloud.AWS:
        return "cluster"
    flex = option.mode is Capacity.FLEX_START
    queued = flex and pool.provisioning is Provisioning.QUEUED
    compact = cloud is Cloud.GCP and may_be_compact(machine, flex_start=flex, queued=queued)
    return "compact" if compact else "none"


def contract_usd_per_hour(option: CapacityOptionSpec) -> float | None:
    """What an hour of one node costs of a block whose price is agreed to; None where no block is bought."""
    buys = option.purchase
    return None if buys is None else buys.usd / buys.hours / (option.nodes or 1)


def format_capacity_options(ladder: tuple[CapacityOption, ...]) -> Iterator[str]:
    """`reserved cr-0123 (8 nodes)`, `spot`, `flex-start, at most 7 days`."""
    for option in ladder:
        nodes = f" ({option.max_nodes} nodes)" if option.bounded else ""
        reservation = f" {option.reservation}" if option.reservation else ""
        buys = option.purchase
        paid = (
            f", bought for ${buys.usd:,.2f} at once: {buys.hours} hours from {buys.starts}"
            if buys
            else ""
        )
        moves = f", moves up to {' or '.join(option.failback)}" if option.failback else ""
        yield f"{option.mode}{reservation}{nodes}{paid}{', ' if option.lifetime else ''}{option.lifetime}{moves}"
