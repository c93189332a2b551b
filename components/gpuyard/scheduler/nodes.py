"""Room on nodes: what is free, and whether pods find a place.

Nodes that are alike are one entry with a number, so that a pool of thousands costs as little as one of two.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gpuyard.manifests.quantities import CPU, GIB, MEMORY, MILLI, PODS
from gpuyard.names import EFA, GPU_CLAIM, RDMA
from gpuyard.plan.pools.fabrics import SHARED_BY, has_device_plugin
from gpuyard.plan.queueing.kueue import WITHOUT_QUOTA
from gpuyard.plan.records import PlatformPlan, PoolPlan, Taint
from gpuyard.scheduler.node_states import NodeState
from gpuyard.spec.platform import Cloud

MAX_PODS = 110
"""The kubelet's default."""
_SELDOM_KNOWN = tuple(p for p in WITHOUT_QUOTA if "/" in p or p.startswith("hugepages"))
"""What nodes of one's own may have, whatever the catalogue says of the machine."""
Amounts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Nodes:
    """Nodes with the same room left."""

    free: Amounts
    count: int
    running: bool
    hosts: frozenset[str] = frozenset()
    """The pod sets of the job that is being placed, of which they took pods."""
    where: tuple[str, ...] | None = ()
    """Values of the levels above the node, the widest first; fewer where they are not known. None: nodes
    that lack one of these labels, which no queue with a topology looks at."""
    taints: tuple[Taint, ...] = ()
    """What keeps pods off them beside their pool's taints."""

    def slots(self, each: Amounts) -> int:
        """How many such pods one of these nodes takes."""
        return min(self.free.get(name, 0) // n for name, n in each.items() if n)

    def less(self, each: Amounts, pods: int, count: int) -> "Nodes":
        """`count` of them after each took `pods` pods; a node that takes one runs from then on."""
        remaining = {name: n - pods * each.get(name, 0) for name, n in self.free.items()}
        return replace(self, free=remaining, count=count)


FreeResources = tuple[Nodes, ...]


@dataclass(frozen=True, slots=True)
class Placement:
    """What became of pods that looked for a place."""

    free: FreeResources
    unplaced: int
    """Pods that found none."""
    nodes: int
    """Nodes that took at least one, and none of the job before."""
    started: int
    """Of these, nodes that did not run before."""

    @property
    def fits(self) -> bool:
        """Whether all found one."""
        return not self.unplaced


def node_of(plan: PlatformPlan, pool: PoolPlan) -> dict[str, int]:
    """What one node of a pool holds for pods; fake nodes keep nothing for themselves."""
    fake = plan.simulated
    return {
        CPU: (pool.machine.vcpus if fake else pool.allocatable.cpu) * MILLI,
        MEMORY: (pool.machine.memory_gib if fake else pool.allocatable.memory_gib) * GIB,
        PODS: MAX_PODS,
        **({EFA: pool.machine.efa_interfaces} if pool.machine.efa_interfaces else {}),
        **({RDMA: SHARED_BY} if has_device_plugin(pool.fabric) else {}),
        **{a.resource: a.per_node for a in pool.advertised},
    }


def current_node(whole_node: Amounts, state: NodeState | None) -> dict[str, int]:
    """What one node holds: what its cluster says that it gives out, else what is planned.

    GPUs that are claimed stand in no node's own words.
    """
    if state is None or state.allocatable is None:
        return dict(whole_node)
    planned = {r: whole_node[r] for r in (CPU, MEMORY, PODS, GPU_CLAIM) if r in whole_node}
    return {**planned, **state.allocatable}


def is_known(plan: PlatformPlan, resource: str) -> bool:
    """Whether a plan knows how many of a resource its nodes have: of huge pages and adapters often not."""
    if plan.simulated or not resource.startswith(_SELDOM_KNOWN):
        return True
    if resource == RDMA:
        return any(has_device_plugin(pool.fabric) for pool in plan.pools)
    return resource == EFA and plan.cloud in {Cloud.AWS, Cloud.GCP}


def with_own_pod(requests: Amounts) -> dict[str, int]:
    """What a pod takes of a node: its requests, and one of the pods a node may have."""
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
    """Put pods on nodes: running ones first, the fullest first; or spread, the emptiest first.

    Pods that keep apart take a node each, and none that has a pod of their own set (`who`) already.
    """
    each = with_own_pod(requests)
    order = sorted(free, key=lambda n: (not n.running, _fullness(n, each) * (-1 if spread else 1)))
    after: list[Nodes] = []
    remaining = count
    nodes = started = 0
    for group in order:
        alone = 0 if who in group.hosts else 1
        slots = min(group.slots(each), alone) if apart else group.slots(each)
        in_use = min(remaining, max(slots, 0) * group.count)
        if in_use == 0:
            after.append(group)
            continue
        split = _evenly(in_use, group.count) if spread else _tightly(in_use, slots)
        used_nodes = sum(n for _, n in split)
        hosts = group.hosts | {who}
        after += [
            replace(group.less(each, pods, n), running=True, hosts=hosts) for pods, n in split
        ]
        if used_nodes < group.count:
            after.append(replace(group, count=group.count - used_nodes))
        remaining -= in_use
        nodes += 0 if group.hosts else used_nodes
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
    """Resources of which one pod wants more than such a node has."""
    return [name for name, n in with_own_pod(requests).items() if n > node.get(name, 0)]


def largest_free(allocatable: FreeResources, resource: str) -> Sequence[tuple[int, int]]:
    """How much is free in one piece, and on how many nodes; nothing left out but full ones."""
    sizes: dict[int, int] = {}
    for nodes in allocatable:
        if (free := nodes.free.get(resource, 0)) > 0 and nodes.count:
            sizes[free] = sizes.get(free, 0) + nodes.count
    return sorted(sizes.items(), reverse=True)
