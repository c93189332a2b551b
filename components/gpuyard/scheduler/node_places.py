"""Topology domains of nodes, from their labels or from what a plan knows of nodes it makes."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping

from gpuyard.names import ZONE_LABEL, node_name
from gpuyard.plan.pools.flavor_topology import zone_of
from gpuyard.plan.records import PlatformPlan, PoolPlan

Where = tuple[str, ...] | None


def where(
    plan: PlatformPlan,
    pool: PoolPlan,
    names: Iterable[str],
    labels: Mapping[str, Mapping[str, str]],
) -> dict[str, Where]:
    """Values of the levels of nodes above their names; None when one lacks a label."""
    above = pool.topology_levels[:-1]
    made = _made(pool) if plan.simulated else {}

    def of(name: str) -> Where:
        found = labels.get(name)
        if found is None:
            return made.get(name, one_zone(pool))
        return tuple(found[level] for level in above) if set(above) <= set(found) else None

    return {name: of(name) for name in names}


def one_zone(pool: PoolPlan) -> Where:
    """What is known of any node of a pool: its zone, where there is but one."""
    first = pool.topology_levels[0]
    return (pool.zones[0],) if first == ZONE_LABEL and len(pool.zones) == 1 else ()


def unseen(
    plan: PlatformPlan, pool: PoolPlan, known: Container[str], others: int
) -> Mapping[Where, int]:
    """Nodes that run and were not named, by where they are."""
    if not plan.simulated or not pool.topology:
        return {one_zone(pool): others}
    left = Counter(at for name, at in _made(pool).items() if name not in known)
    return left if left.total() == others else {one_zone(pool): others}


def _made(pool: PoolPlan) -> dict[str, Where]:
    """Simulated nodes, dealt over the zones as they are made."""
    return {
        node_name(pool.stable_name, i): (zone_of(pool.zones, i),) if pool.zones else ()
        for i in range(pool.start_nodes)
    }
