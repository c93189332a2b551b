"""Free capacity of nodes, and whether pods fit.

Identical nodes are one entry with a count, so that a pool of thousands of nodes costs no more than
one of two.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gpuyard.plan.pools.topology import SHARED_BY, uses_rdma_device_plugin
from gpuyard.plan.queueing.kueue import WITHOUT_QUOTA
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard_advisor.scheduler.node_states import NodeState
from gpuyard_core.manifests.pods import Taint
from gpuyard_core.manifests.quantities import CPU, GIB, MEMORY, MILLI, PODS
from gpuyard_core.names import EFA, GPU_CLAIM, RDMA

MAX_PODS = 110
"""The kubelet's default."""
_SELDOM_KNOWN = tuple(p for p in WITHOUT_QUOTA if "/" in p or p.startswith("hugepages"))
"""Resources that existing nodes may have in addition to the catalogue's data of the machine."""
Amounts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Nodes:
    """Nodes with the same free capacity."""

    free: Amounts
    count: int
    running: bool
    placed_pod_sets: frozenset[str] = frozenset()
    """Pod sets of the job being placed with pods on these nodes."""
    where: tuple[str, ...] | None = ()
    """Values of the levels above the node, the widest first; fewer if not all are known. None: the
    node lacks one of these labels, and queues with a topology ignore it.
    """
    taints: tuple[Taint, ...] = ()
    """Taints in addition to the pool's."""

    def slots(self, each: Amounts) -> int:
        """Number of such pods that one of these nodes fits."""
        return min(self.free.get(name, 0) // n for name, n in each.items() if n)

    def after_placing_pods(self, each: Amounts, pods: int, count: int) -> "Nodes":
        """`count` of these nodes after each got `pods` pods; a node with a pod is a running node."""
        remaining = {name: n - pods * each.get(name, 0) for name, n in self.free.items()}
        return replace(self, free=remaining, count=count)


FreeResources = tuple[Nodes, ...]


@dataclass(frozen=True, slots=True)
class Placement:
    """The result of a placement."""

    free: FreeResources
    unplaced: int
    """Number of pods that did not fit."""
    nodes: int
    """Number of nodes with at least one of these pods and none of the job before."""
    started: int
    """Number of these nodes that did not run before."""

    @property
    def fits(self) -> bool:
        """Whether all pods fit."""
        return not self.unplaced


def planned_node_resources(plan: PlatformPlan, pool: PoolPlan) -> dict[str, int]:
    """Allocatable resources of one node of a pool; simulated nodes reserve nothing."""
    fake = plan.simulated
    return {
        CPU: (pool.machine.vcpus if fake else pool.allocatable.cpu) * MILLI,
        MEMORY: (pool.machine.memory_gib if fake else pool.allocatable.memory_gib) * GIB,
        PODS: MAX_PODS,
        **({EFA: pool.machine.efa_interfaces} if pool.machine.efa_interfaces else {}),
        **({RDMA: SHARED_BY} if uses_rdma_device_plugin(pool.fabric) else {}),
        **{a.resource: a.per_node for a in pool.advertised},
    }


def current_node_resources(whole_node: Amounts, state: NodeState | None) -> dict[str, int]:
    """Capacity of one node: its reported allocatable resources, otherwise the planned ones.

    A node's status does not include GPUs that are allocated through claims.
    """
    if state is None or state.allocatable is None:
        return dict(whole_node)
    planned = {r: whole_node[r] for r in (CPU, MEMORY, PODS, GPU_CLAIM) if r in whole_node}
    return {**planned, **state.allocatable}


def knows_amount_per_node(plan: PlatformPlan, resource: str) -> bool:
    """Whether the plan knows the amount of a resource per node: often not for huge pages and adapters."""
    if plan.simulated or not resource.startswith(_SELDOM_KNOWN):
        return True
    if resource == RDMA:
        return any(uses_rdma_device_plugin(pool.fabric) for pool in plan.pools)
    return resource == EFA and plan.provider.sells_machines


def with_pods_resource(requests: Amounts) -> dict[str, int]:
    """A pod's requests plus one of the node's pod slots."""
    return {**requests, PODS: 1}


def place(
    free: FreeResources,
    requests: Amounts,
    count: int,
    *,
    who: str = "",
    apart: bool = False,
    spread: bool = False,
) -> Placement:
    """Place pods on nodes: running nodes first and the fullest first; or, with spread, the emptiest first.

    Pods with anti-affinity get one node each, without another pod of their set (`who`).
    """
    each = with_pods_resource(requests)
    order = sorted(free, key=lambda n: (not n.running, _fullness(n, each) * (-1 if spread else 1)))
    after: list[Nodes] = []
    remaining = count
    nodes = started = 0
    for group in order:
        alone = 0 if who in group.placed_pod_sets else 1
        slots = min(group.slots(each), alone) if apart else group.slots(each)
        in_use = min(remaining, max(slots, 0) * group.count)
        if in_use == 0:
            after.append(group)
            continue
        split = _evenly(in_use, group.count) if spread else _tightly(in_use, slots)
        used_nodes = sum(n for _, n in split)
        hosts = group.placed_pod_sets | {who}
        after += [
            replace(group.after_placing_pods(each, pods, n), running=True, placed_pod_sets=hosts)
            for pods, n in split
        ]
        if used_nodes < group.count:
            after.append(replace(group, count=group.count - used_nodes))
        remaining -= in_use
        nodes += 0 if group.placed_pod_sets else used_nodes
        started += 0 if group.running else used_nodes
    return Placement(tuple(after), remaining, nodes, started)


def _fullness(nodes: Nodes, each: Amounts) -> int:
    return sum(
        n for name, n in nodes.free.items() if name in each and name not in {CPU, MEMORY, PODS}
    )


def _tightly(pods: int, slots: int) -> list[tuple[int, int]]:
    full, rest = divmod(pods, slots)
    return [(p, n) for p, n in ((slots, full), (rest, 1)) if p and n]


def _evenly(pods: int, nodes: int) -> list[tuple[int, int]]:
    least, more = divmod(pods, nodes)
    return [(p, n) for p, n in ((least + 1, more), (least, nodes - more)) if p and n]


def missing_resources(node: Amounts, requests: Amounts) -> list[str]:
    """Resources of which one pod requests more than an empty node has."""
    return [name for name, n in with_pods_resource(requests).items() if n > node.get(name, 0)]


def largest_free(allocatable: FreeResources, resource: str) -> Sequence[tuple[int, int]]:
    """The largest free amounts on one node, with the number of nodes; full nodes are omitted."""
    sizes: dict[int, int] = {}
    for nodes in allocatable:
        if (free := nodes.free.get(resource, 0)) > 0 and nodes.count:
            sizes[free] = sizes.get(free, 0) + nodes.count
    return sorted(sizes.items(), reverse=True)
