"""Capacity options: ways to buy a pool's nodes, in order of preference, in their cloud's terms."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from gpuyard.plan.capacity.failback import failback_target
from gpuyard.plan.records import CapacityOption, PoolPlan
from gpuyard.plan.records.pools import UpgradePlan
from gpuyard.provider import provider_of
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import CapacityOptionSpec, Pool, Scaling
from gpuyard_core.catalogue.cluster.times import startup_durations
from gpuyard_core.catalogue.fabric import direct_fabric
from gpuyard_core.catalogue.machines import Capacity, Machine
from gpuyard_core.catalogue.software.images import ComponentOwner, SoftwarePart
from gpuyard_core.findings import Diagnostic, Fix, Path, error, warning

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


DELETED = ", and are then deleted with their node"
"""What happens to pods that do not terminate in time."""


def upgrade_settings(
    pool: Pool, unavailable: int | None, drain: int, at_once: str, afterwards: str = DELETED
) -> UpgradePlan:
    """The upgrade settings of a pool, with the default drain time of its cloud."""
    upgrade = pool.upgrade
    minutes = upgrade.drain_minutes or drain
    pods = f"pods have {minutes} minute{'' if minutes == 1 else 's'} to terminate"
    return UpgradePlan(
        max_unavailable=unavailable,
        max_surge=upgrade.max_surge,
        blue_green=upgrade.blue_green,
        drain_minutes=minutes,
        force=upgrade.force,
        description=f"{at_once}; {pods}{afterwards}",
    )


def format_batch(pool: Pool, unavailable: str, added: str) -> str:
    """How many nodes are replaced at once, and how many are created before."""
    first = f"{added} created first" if pool.upgrade.max_surge else "no additional nodes"
    return f"{unavailable} unavailable at once, {first}"


def node_count(count: int) -> str:
    """`no nodes`, `1 node`, `2 nodes`."""
    return f"{count or 'no'} node{'' if count == 1 else 's'}"


def check_upgrade(
    spec: PlatformSpec, pool: Pool, machine: Machine, path: Path
) -> Iterator[Diagnostic]:
    """Check for unsupported fields, values above the cloud's limits, and missing spare nodes."""
    provider = provider_of(spec.cloud)
    where = (*path, "upgrade")
    wrong = list(provider.unsupported_upgrade_fields(pool, machine))
    for word, problem, allowed in wrong:
        yield error(
            "upgrade.word",
            (*where, word),
            problem,
            given=f"{word}: {str(getattr(pool.upgrade, word)).lower()}",
            allowed=allowed,
            fix=Fix(message=f"remove {word}", at=(*where, word)),
        )
    if provider.sells_machines and not wrong:
        yield from _no_spare(pool, where)


def _no_spare(pool: Pool, where: Path) -> Iterator[Diagnostic]:
    """An upgrade creates additional nodes, but a reservation may have none to spare."""
    upgrade = pool.upgrade
    prepaid = [option for option in pool.capacity if option.mode in PREPAID]
    if not prepaid or not (upgrade.max_surge or upgrade.blue_green):
        return
    word = "blue_green" if upgrade.blue_green else "max_surge"
    yield warning(
        "upgrade.no_spare",
        (*where, word),
        f"the upgrade creates new nodes before it removes old ones, but {prepaid[0].mode.value}"
        f" {prepaid[0].reservation} has {prepaid[0].nodes}: if all of them run, the update waits",
        given=f"{word}: {str(getattr(upgrade, word)).lower()}",
        allowed="max_unavailable only, or a reservation with spare nodes",
        fix=Fix(message=f"remove {word}", at=(*where, word)),
    )


_MINUTE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class StartupTime:
    """Whole minutes: the minimum rounded down, the maximum rounded up."""

    min_minutes: int
    max_minutes: int

    def __str__(self) -> str:
        """The range, such as `4 to 9 minutes`."""
        return f"{self.min_minutes} to {self.max_minutes} minutes"


def startup_time(pool: PoolPlan) -> StartupTime | None:
    """The startup time of a node; None if it is unknown, or if no cloud sells the node."""
    software = pool.node_software
    if software is None or pool.upgrade is None:  # no cloud creates and replaces the node
        return None
    driver = ComponentOwner(software.owners[SoftwarePart.DRIVER])
    steps = startup_durations(pool.machine.cloud, pool.machine.gpus, driver)
    if not steps:
        return None
    least, most = sum(each.least for each in steps), sum(each.most for each in steps)
    return StartupTime(min_minutes=least // _MINUTE, max_minutes=-(-most // _MINUTE))


def startup_time_range(pools: Iterable[PoolPlan]) -> StartupTime | None:
    """The range over all of these pools; None if one of them is unknown."""
    results = [startup_time(pool) for pool in pools]
    known = [each for each in results if each is not None]
    if not known or len(known) < len(results):
        return None
    return StartupTime(
        min_minutes=min(each.min_minutes for each in known),
        max_minutes=max(each.max_minutes for each in known),
    )
