"""State of a platform: jobs with their quota, and pods on their nodes."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from gpuyard.plan.capacity.capacity_options import max_nodes_total
from gpuyard.plan.quotas.cohort_tree import Key
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.scheduler.node_places import node_domains, one_zone, unlisted_nodes
from gpuyard.scheduler.node_states import NodeState
from gpuyard.scheduler.nodes import (
    Amounts,
    FreeResources,
    Nodes,
    current_node,
    node_of,
    place,
    with_own_pod,
)
from gpuyard.scheduler.quotas import Quotas
from gpuyard.spec.pools import Scaling


@dataclass(frozen=True, slots=True, kw_only=True)
class Pods:
    """Pods of one job that are alike and stand in one pool; on one node where that is known."""

    pool: str
    requests: Amounts
    count: int = 1
    node: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningJob:
    """A job that has its quota; without a team, pods that no queue knows of."""

    name: str
    team: str | None
    uses: Mapping[Key, int]
    namespace: str = ""
    """Where it is; empty: the team's home."""
    pods: tuple[Pods, ...] = ()
    priority: int = 0
    since: int = 0
    """Its place among all by when it was admitted; the newest have the highest."""
    is_terminating: bool = False
    """True when it was told to give way and still has its quota: whoever needs room takes it first."""


@dataclass(frozen=True, slots=True)
class PlatformState:
    """The platform as it is; by default nobody is there."""

    jobs: tuple[RunningJob, ...] = ()
    nodes: Mapping[str, str] = field(default_factory=dict[str, str])
    """Pools by the names of nodes that are known to run."""
    waiting: int = 0
    """Jobs that wait in queues already; they are not counted, but may go first."""
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    """Labels of known nodes, by their names."""
    states: Mapping[str, NodeState] = field(default_factory=dict[str, NodeState])
    """What their cluster says of known nodes, by their names."""
    listed: bool = False
    """True when the known nodes are all that there are."""

    def with_healthy_nodes(self, names: Collection[str] | None = None) -> "PlatformState":
        """The same with these nodes as planned; by default all, and with none missing."""
        if names is None:
            return replace(self, states={}, listed=False)
        left = {name: state for name, state in self.states.items() if name not in names}
        return replace(self, states=left)


EMPTY = PlatformState()


def take_usage(quotas: Quotas, jobs: Iterable[RunningJob], times: int = 1) -> None:
    """Count what these jobs use of their teams' quotas; `times=-1`: they are gone."""
    for job in jobs:
        if job.team is not None:
            quotas.take(job.team, job.uses, times)


class SchedulerModel:
    """A state on which things can be tried: quotas, rooms of the pools, jobs."""

    def __init__(self, plan: PlatformPlan, state: PlatformState) -> None:
        self.plan = plan
        self.state = state
        self.jobs = list(state.jobs)
        self.quotas = Quotas(plan)
        take_usage(self.quotas, self.jobs)
        self.rooms: dict[str, FreeResources] = {p.name: self._free(p) for p in plan.pools}

    @property
    def is_empty(self) -> bool:
        """Whether nothing runs, on nodes as they are planned."""
        return not (self.jobs or self.state.listed)

    def with_healthy_nodes(self, names: Collection[str] | None = None) -> "SchedulerModel":
        """The same with nodes as they are planned."""
        return SchedulerModel(
            self.plan, replace(self.state.with_healthy_nodes(names), jobs=tuple(self.jobs))
        )

    def with_all_capacity(self) -> "SchedulerModel":
        """The same with nobody there, and all nodes as they are planned."""
        return SchedulerModel(self.plan, replace(self.state.with_healthy_nodes(), jobs=()))

    def without(self, jobs: tuple[RunningJob, ...]) -> "SchedulerModel":
        """The same when these jobs are gone; nodes that are known to run go on running."""
        removed_ids = {id(job) for job in jobs}
        remaining = tuple(job for job in self.jobs if id(job) not in removed_ids)
        return SchedulerModel(self.plan, replace(self.state, jobs=remaining))

    def running_nodes(self, pool: str) -> int:
        """How many nodes of a pool run."""
        return sum(n.count for n in self.rooms[pool] if n.running)

    def current_nodes(self, pool: PoolPlan) -> Collection[Amounts]:
        """What known nodes of a pool have, whoever uses it."""
        return self._whole_nodes(pool).values()

    def _whole_nodes(self, pool: PoolPlan) -> dict[str, dict[str, int]]:
        whole_node, states = node_of(self.plan, pool), self.state.states
        return {
            name: current_node(whole_node, states.get(name))
            for name, where in self.state.nodes.items()
            if where == pool.name
        }

    def _free(self, pool: PoolPlan) -> FreeResources:
        """Known nodes first, each with what stands on it; the rest of the pool is alike."""
        whole = node_of(self.plan, pool)
        pods = [p for job in self.jobs for p in job.pods if p.pool == pool.name]
        states = self.state.states
        free_by_node = self._whole_nodes(pool)
        for group in pods:
            if group.node is not None:
                left = free_by_node.setdefault(group.node, dict(whole))
                for resource, amount in with_own_pod(group.requests).items():
                    left[resource] = left.get(resource, 0) - amount * group.count
        places = node_domains(self.plan, pool, free_by_node, self.state.labels)
        nobody = NodeState()
        known = tuple(
            Nodes(
                left,
                1,
                running=True,
                where=places[name],
                taints=states.get(name, nobody).taints,
            )
            for name, left in free_by_node.items()
        )
        unnamed = 0 if self.state.listed else max(0, pool.start_nodes - len(known))
        later = max(0, max_nodes_total(self.plan.cloud, pool) - len(known) - unnamed)
        if self.state.listed and pool.scaling is Scaling.FIXED:
            later = 0  # whoever brings back a node that is missing, no pod makes them do it
        unknown = unlisted_nodes(self.plan, pool, set(free_by_node), unnamed)
        room: FreeResources = (
            *known,
            *(Nodes(whole, count, running=True, where=at) for at, count in unknown.items()),
            Nodes(whole, later, running=False, where=one_zone(pool)),
        )
        for group in pods:
            if group.node is None:
                room = place(room, group.requests, group.count).free
        return tuple(replace(nodes, hosts=frozenset()) for nodes in room)
