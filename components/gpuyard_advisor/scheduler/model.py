"""State of a platform: jobs with their quota, and pods on their nodes."""

from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace

from gpuyard.plan.capacity.capacity_options import max_nodes_total
from gpuyard.plan.pools.topology import zone_of
from gpuyard.plan.quotas.cohorts import Key
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.spec.pools import Scaling
from gpuyard_advisor.scheduler.node_states import NodeState
from gpuyard_advisor.scheduler.nodes import (
    Amounts,
    FreeResources,
    Nodes,
    current_node_resources,
    place,
    planned_node_resources,
    with_pods_resource,
)
from gpuyard_advisor.scheduler.quotas import Quotas
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Pods:
    """Identical pods of one job in one pool; on one node if that is known."""

    pool: str
    requests: Amounts
    count: int = 1
    node: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningJob:
    """A job with quota; without a team, pods outside all queues."""

    name: str
    team: str | None
    uses: Mapping[Key, int]
    namespace: str = ""
    """Its namespace; empty: the team's home namespace."""
    pods: tuple[Pods, ...] = ()
    priority: int = 0
    since: int = 0
    """Order of admission; the most recently admitted job has the highest number."""
    is_terminating: bool = False
    """True if it was evicted but still holds its quota: preemption takes it first."""


@dataclass(frozen=True, slots=True)
class PlatformState:
    """The current state of the platform; by default without jobs."""

    jobs: tuple[RunningJob, ...] = ()
    nodes: Mapping[str, str] = field(default_factory=dict[str, str])
    """Pools of running nodes, by node name."""
    waiting: int = 0
    """Number of jobs that wait in queues; they are not simulated, but may be admitted first."""
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    """Labels of known nodes, by node name."""
    states: Mapping[str, NodeState] = field(default_factory=dict[str, NodeState])
    """Reported state of known nodes, by node name."""
    has_all_nodes: bool = False
    """True if there are no other nodes than the known ones."""

    def with_healthy_nodes(self, names: Collection[str] | None = None) -> "PlatformState":
        """The same with these nodes in their planned state; by default all, and none missing."""
        if names is None:
            return replace(self, states={}, has_all_nodes=False)
        left = {name: state for name, state in self.states.items() if name not in names}
        return replace(self, states=left)


EMPTY = PlatformState()


def take_usage(quotas: Quotas, jobs: Iterable[RunningJob], times: int = 1) -> None:
    """Count the quota that these jobs use; `times=-1` releases it."""
    for job in jobs:
        if job.team is not None:
            quotas.take(job.team, job.uses, times)


class SchedulerModel:
    """A state for what-if evaluation: quotas, free capacity of the pools, jobs."""

    def __init__(self, plan: PlatformPlan, state: PlatformState) -> None:
        self.plan = plan
        self.state = state
        self.jobs = list(state.jobs)
        self.quotas = Quotas(plan)
        take_usage(self.quotas, self.jobs)
        self.rooms: dict[str, FreeResources] = {p.name: self._free(p) for p in plan.pools}

    @property
    def is_empty(self) -> bool:
        """Whether nothing runs, and all nodes are in their planned state."""
        return not (self.jobs or self.state.has_all_nodes)

    def with_healthy_nodes(self, names: Collection[str] | None = None) -> "SchedulerModel":
        """The same with nodes in their planned state."""
        return SchedulerModel(
            self.plan, replace(self.state.with_healthy_nodes(names), jobs=tuple(self.jobs))
        )

    def with_all_capacity(self) -> "SchedulerModel":
        """The same without jobs, and with all nodes in their planned state."""
        return SchedulerModel(self.plan, replace(self.state.with_healthy_nodes(), jobs=()))

    def without_jobs(self, jobs: tuple[RunningJob, ...]) -> "SchedulerModel":
        """The same without these jobs; running nodes stay."""
        removed_ids = {id(job) for job in jobs}
        remaining = tuple(job for job in self.jobs if id(job) not in removed_ids)
        return SchedulerModel(self.plan, replace(self.state, jobs=remaining))

    def running_nodes(self, pool: str) -> int:
        """Number of running nodes of a pool."""
        return sum(n.count for n in self.rooms[pool] if n.running)

    def current_nodes(self, pool: PoolPlan) -> Collection[Amounts]:
        """Total resources of a pool's known nodes, in use or not."""
        return self._whole_nodes(pool).values()

    def _whole_nodes(self, pool: PoolPlan) -> dict[str, dict[str, int]]:
        whole_node, states = planned_node_resources(self.plan, pool), self.state.states
        return {
            name: current_node_resources(whole_node, states.get(name))
            for name, where in self.state.nodes.items()
            if where == pool.name
        }

    def _free(self, pool: PoolPlan) -> FreeResources:
        """Known nodes first, each with its pods; the other nodes of the pool are identical."""
        whole = planned_node_resources(self.plan, pool)
        pods = [p for job in self.jobs for p in job.pods if p.pool == pool.name]
        states = self.state.states
        free_by_node = self._whole_nodes(pool)
        for group in pods:
            if group.node is not None:
                left = free_by_node.setdefault(group.node, dict(whole))
                for resource, amount in with_pods_resource(group.requests).items():
                    left[resource] = left.get(resource, 0) - amount * group.count
        places = node_domains(self.plan, pool, free_by_node, self.state.labels)
        default_state = NodeState()
        known = tuple(
            Nodes(
                left,
                1,
                running=True,
                where=places[name],
                taints=states.get(name, default_state).taints,
            )
            for name, left in free_by_node.items()
        )
        unnamed = 0 if self.state.has_all_nodes else max(0, pool.start_nodes - len(known))
        later = max(0, max_nodes_total(self.plan.cloud, pool) - len(known) - unnamed)
        if self.state.has_all_nodes and pool.scaling is Scaling.FIXED:
            later = 0  # no pod triggers the return of a missing node
        unknown = unlisted_nodes(self.plan, pool, set(free_by_node), unnamed)
        room: FreeResources = (
            *known,
            *(Nodes(whole, count, running=True, where=at) for at, count in unknown.items()),
            Nodes(whole, later, running=False, where=one_zone(pool)),
        )
        for group in pods:
            if group.node is None:
                room = place(room, group.requests, group.count).free
        return tuple(replace(nodes, placed_pod_sets=frozenset()) for nodes in room)
