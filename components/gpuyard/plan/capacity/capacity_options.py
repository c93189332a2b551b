"""Capacity options: ways to buy a pool's nodes, in order of preference, in their cloud's terms."""

from collections.abc import Iterator
from dataclasses import replace

from gpuyard.plan.capacity.failback import failback_target
from gpuyard.plan.records import CapacityOption, PoolPlan
from gpuyard.provider import provider_of
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import CapacityOptionSpec, Pool, Scaling
from gpuyard_core.catalogue.fabric import direct_fabric
from gpuyard_core.catalogue.machines import Capacity, Machine

PREPAID = frozenset({Capacity.RESERVED, Capacity.BLOCK})
"""Options whose nodes are reserved for you."""


def plan_capacity_options(
    spec: PlatformSpec, pool: Pool, machine: Machine
) -> tuple[CapacityOption, ...]:
    """Every option with the settings of its cloud; without a cloud, only the mode."""
    provider = provider_of(spec.cloud)
    return tuple(
        provider.complete_option(
            CapacityOption(
                mode=option.mode.value,
                reservation=option.reservation,
                max_nodes=max_nodes(option, pool),
                bounded=option.nodes is not None,
                failback=failback_target(spec, pool, place),
            ),
            option,
            pool,
            machine,
        )
        for place, option in enumerate(pool.capacity)
    )


def max_nodes(option: CapacityOptionSpec, pool: Pool) -> int:
    """The maximum of nodes that an option provides."""
    return min(option.nodes or pool.nodes.high, pool.nodes.high)


def ec2_purchases(pool: PoolPlan) -> tuple[CapacityOption, ...]:
    """The options with each way of buying once: two spot options are one group."""
    ways: dict[tuple[str, str | None], CapacityOption] = {}
    for option in pool.capacity_options:
        key = (option.mode, option.reservation)
        before = ways[key].max_nodes if key in ways else 0
        ways[key] = replace(option, max_nodes=min(before + option.max_nodes, pool.nodes.high))
    return tuple(option for option in ways.values() if option.max_nodes)


def gke_node_pool_limits(pool: PoolPlan) -> tuple[int, ...]:
    """By option, the maximum size of each of its node pools.

    Reserved nodes are paid for in any case, so other options have at most the remaining nodes.
    """
    reserved_nodes = sum(option.max_nodes for option in pool.capacity_options if option.reservation)
    remaining = max(0, pool.nodes.high - reserved_nodes)
    return tuple(
        option.max_nodes if option.reservation else min(option.max_nodes, remaining)
        for option in pool.capacity_options
    )


def gke_machine_count(pool: PoolPlan, option: CapacityOption) -> int:
    """How many machines, from the first on, have a node pool: a reservation holds one machine."""
    return 1 if option.reservation else len(pool.machines)


def max_nodes_total(cloud: Cloud, pool: PoolPlan) -> int:
    """The maximum of nodes that autoscalers allow a pool: they limit each way of buying separately.

    A job that finds no spot nodes must find as many on-demand. Queues keep the pool within its
    maximum, as far as GPUs limit it: jobs that fill nodes by CPU or memory use more of them.
    """
    high = pool.nodes.high
    if pool.scaling is Scaling.FIXED:
        return high
    return max(high, provider_of(cloud).max_autoscaled_nodes(pool))


def is_placed_together(pool: Pool, machine: Machine, option: CapacityOptionSpec) -> bool:
    """Whether to request nodes close together: several in one zone that communicate over a fabric.

    A reservation determines where its nodes are: in a placement group of gpuyard, an open one would
    not be used, and a capacity block is close together already.
    """
    fabric = direct_fabric(machine) is not None
    return pool.nodes.high > 1 and len(pool.zones) == 1 and fabric and option.mode not in PREPAID


def contract_usd_per_hour(option: CapacityOptionSpec) -> float | None:
    """The approved hourly price of one node of a block; None where no block is purchased."""
    buys = option.purchase
    return None if buys is None else buys.usd / buys.hours / (option.nodes or 1)


def format_capacity_options(options: tuple[CapacityOption, ...]) -> Iterator[str]:
    """`reserved cr-0123 (8 nodes)`, `spot`, `flex-start, at most 7 days`."""
    for option in options:
        nodes = f" ({option.max_nodes} nodes)" if option.bounded else ""
        reservation = f" {option.reservation}" if option.reservation else ""
        buys = option.purchase
        paid = (
            f", purchased for ${buys.usd:,.2f} upfront: {buys.hours} hours from {buys.starts}"
            if buys
            else ""
        )
        moves = f", fails back to {' or '.join(option.failback)}" if option.failback else ""
        yield f"{option.mode}{reservation}{nodes}{paid}{', ' if option.lifetime else ''}{option.lifetime}{moves}"
