"""Topology domains of nodes, from their labels or from the plan."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping

from gpuyard.plan.pools.topology import zone_of
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard_core.names import ZONE_LABEL, simulated_node_name

NodeDomains = tuple[str, ...] | None


def node_domains(
    plan: PlatformPlan,
    pool: PoolPlan,
    names: Iterable[str],
    labels: Mapping[str, Mapping[str, str]],
) -> dict[str, NodeDomains]:
    """Values of the levels above the node, by node; None if a node lacks a label."""
    above = pool.topology_levels[:-1]
    simulated = _simulated_domains(pool) if plan.simulated else {}

    def of(name: str) -> NodeDomains:
        result = labels.get(name)
        if result is None:
            return simulated.get(name, one_zone(pool))
        return tuple(result[level] for level in above) if set(above) <= set(result) else None

    return {name: of(name) for name in names}


def one_zone(pool: PoolPlan) -> NodeDomains:
    """The known domain of any node of a pool: its zone, if it has only one."""
    first = pool.topology_levels[0]
    return (pool.zones[0],) if first == ZONE_LABEL and len(pool.zones) == 1 else ()


def unlisted_nodes(
    plan: PlatformPlan, pool: PoolPlan, known: Container[str], unnamed: int
) -> Mapping[NodeDomains, int]:
    """Running nodes without a known name, by domain."""
    if not plan.simulated or not pool.topology:
        return {one_zone(pool): unnamed}
    remaining = Counter(at for name, at in _simulated_domains(pool).items() if name not in known)
    return remaining if remaining.total() == unnamed else {one_zone(pool): unnamed}


def _simulated_domains(pool: PoolPlan) -> dict[str, NodeDomains]:
    """Simulated nodes, distributed over the zones as they are created."""
    return {
        simulated_node_name(pool.stable_name, i): (zone_of(pool.zones, i),) if pool.zones else ()
        for i in range(pool.start_nodes)
    }
