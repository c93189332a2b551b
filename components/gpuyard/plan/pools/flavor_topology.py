"""Topology of a flavor: what queues must know to place the pods of a job near each other.

The labels, tolerations and topology of a flavor with a topology are immutable (Kueue v0.19 CRD), and no
flavor can be deleted while a queue uses it. So the name of such a flavor changes with its content: the new
flavor is created next to the old one, the queues switch to it, and the old one is deleted last.
"""

from collections.abc import Iterable, Mapping, Sequence

from gpuyard.plan.digests import short_digest
from gpuyard.plan.records import PoolPlan, TopologyPlan
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.pools import Pool
from gpuyard_core.manifests.pods import Taint


def plan_placement(spec: PlatformSpec, pool: Pool, levels: tuple[str, ...]) -> TopologyPlan | None:
    """The topology of a pool, shared by pools with the same levels; None without `topology: true`."""
    if not pool.topology:
        return None
    widest = levels[0].rpartition("/")[2].replace(".", "-")
    name = f"{spec.name}-{widest}-{short_digest(levels)}"
    return TopologyPlan(name=name, levels=levels)


def flavor_name(
    stable_name: str,
    topology: TopologyPlan | None,
    selector: Mapping[str, str],
    taints: Iterable[Taint],
) -> str:
    """The pool's name; with a topology, also a digest of the flavor's immutable fields."""
    if topology is None:
        return stable_name
    fixed = short_digest(topology.levels, dict(selector), [str(t) for t in taints])
    return f"{stable_name}-{fixed}"


def zone_of(zones: Sequence[str], index: int) -> str:
    """The zone of a simulated node: nodes are spread over the zones in turn."""
    return zones[index % len(zones)]


def topologies(pools: Iterable[PoolPlan]) -> tuple[TopologyPlan, ...]:
    """Every topology once, in the order of the pools."""
    return tuple(dict.fromkeys(p.topology for p in pools if p.topology))
