"""Topology domains of nodes, from their labels or from what a plan knows of nodes it makes."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping

from gpuyard.names import ZONE_LABEL, node_name
from gpuyard.plan.pools.flavor_topology import zone_of
from gpuyard.plan.records import PlatformPlan, PoolPlan

NodeDomains = tuple[str, ...] | None


def node_domains(
    plan: PlatformPlan,
    pool: PoolPlan,
    names: Iterable[str],
    labels: Mapping[str, Mapping[str, str]],
) -> dict[str, NodeDomains]:
    """Values of the levels of nodes above their names; None when one lacks a label."""
    above = pool.topology_levels[:-1]
    simulated = _simulated_domains(pool) if plan.simulated else {}

    def of(name: str) -> NodeDomains:
        result = labels.get(name)
        if result is None:
            return simulated.get(name, one_zone(pool))
        return tuple(result[level] for level in above) if set(above) <= set(result) else None

    return {name: of(name) for name in names}


def one_zone(pool: PoolPlan) -> NodeDomains:
    """What is known of any node of a pool: its zone, where there is but one."""
    first = pool.topology_levels[0]
    return (pool.zones[0],) if first == ZONE_LABEL and len(pool.zones) == 1 else ()


def unlisted_nodes(
    plan: PlatformPlan, pool: PoolPlan, known: Container[str], unnamed: int
) -> Mapping[NodeDomains, int]:
    """Nodes that run and were not named, by where they are."""
    if not plan.simulated or not pool.topology:
        return {one_zone(pool): unnamed}
    remaining = Counter(at for name, at in _simulated_domains(pool).items() if name not in known)
    return remaining if remaining.total() == unnamed else {one_zone(pool): unnamed}


def _simulated_domains(pool: PoolPlan) -> dict[str, NodeDomains]:
    """Simulated nodes, dealt over the zones as they are made."""
    return {
        node_name(pool.stable_name, i): (zone_of(pool.zones, i),) if pool.zones else ()
        for i in range(pool.start_nodes)
    }
