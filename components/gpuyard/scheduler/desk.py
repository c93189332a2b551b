"""State of a platform: jobs with their quota, and pods on their nodes."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from gpuyard.plan.capacity.ladder import most_together
from gpuyard.plan.quotas.cohort_tree import Key
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.scheduler.node_places import one_zone, unseen, where
from gpuyard.scheduler.node_states import NodeState
from gpuyard.scheduler.nodes import (
    Amounts,
    Nodes,
    Room,
    node_as_it_is,
    node_of,
    place,
    with_itself,
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
class Running:
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
    leaving: bool = False
    """True when it was told to give way and still has its quota: whoever needs room takes it first."""


@dataclass(frozen=True, slots=True)
class PlatformState:
    """The platform as it is; by default nobody is there."""

    jobs: tuple[Running, ...] = ()
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

    def mended(self, names: Collection[str] | None = None) -> "PlatformState":
        """The same with these nodes as planned; by default all, and with none missing."""
        if names is None:
            return replace(self, states={}, listed=False)
        left = {name: state for name, state in self.states.items() if name not in names}
        return replace(self, states=left)


EMPTY = PlatformState()


def take_all(quotas: Quotas, jobs: Iterable[Running], times: int = 1) -> None:
    """Count what these jobs use of their teams' quotas; `times=-1`: they are gone."""
    for job in jobs:
        if job.team is not None:
            quotas.take(job.team, job.uses, times)


class Desk:
    """A state on which things can be tried: quotas, rooms of the pools, jobs."""

    def __init__(self, plan: PlatformPlan, state: PlatformState) -> None:
        self.plan = plan
        self.state = state
        self.jobs = list(state.jobs)
        self.quotas = Quotas(plan)
        take_all(self.quotas, self.jobs)
        self.rooms: dict[str, Room] = {p.name: self._room(p) for p in plan.pools}

    @property
    def is_empty(self) -> bool:
        """Whether nothing runs, on nodes as they are planned."""
        return not (self.jobs or self.state.listed)

    def mended(self, names: Collection[str] | None = None) -> "Desk":
        """The same with nodes as they are planned."""
        return Desk(self.plan, replace(self.state.mended(names), jobs=tuple(self.jobs)))

    def at_best(self) -> "Desk":
        """The same with nobody there, and all nodes as they are planned."""
        return Desk(self.plan, replace(self.state.mended(), jobs=()))

    def without(self, jobs: tuple[Running, ...]) -> "Desk":
        """The same when these jobs are gone; nodes that are known to run go on running."""
        gone = {id(job) for job in jobs}
        left = tuple(job for job in self.jobs if id(job) not in gone)
        return Desk(self.plan, replace(self.state, jobs=left))

    def running_nodes(self, pool: str) -> int:
        """How many nodes of a pool run."""
        return sum(n.count for n in self.rooms[pool] if n.running)

    def nodes_as_they_are(self, pool: PoolPlan) -> Collection[Amounts]:
        """What known nodes of a pool have, whoever uses it."""
        return self._whole_nodes(pool).values()

    def _whole_nodes(self, pool: PoolPlan) -> dict[str, dict[str, int]]:
        whole, states = node_of(self.plan, pool), self.state.states
        return {
            name: node_as_it_is(whole, states.get(name))
            for name, where in self.state.nodes.items()
            if where == pool.name
        }

    def _room(self, pool: PoolPlan) -> Room:
        """Known nodes first, each with what stands on it; the rest of the pool is alike."""
        whole = node_of(self.plan, pool)
        pods = [p for job in self.jobs for p in job.pods if p.pool == pool.name]
        states = self.state.states
        free = self._whole_nodes(pool)
        for group in pods:
            if group.node is not None:
                left = free.setdefault(group.node, dict(whole))
                for resource, amount in with_itself(group.requests).items():
                    left[resource] = left.get(resource, 0) - amount * group.count
        places = where(self.plan, pool, free, self.state.labels)
        nobody = NodeState()
        known = tuple(
            Nodes(
                left,
                1,
                running=True,
                where=places[name],
                taints=states.get(name, nobody).taints,
            )
            for name, left in free.items()
        )
        others = 0 if self.state.listed else max(0, pool.start_nodes - len(known))
        later = max(0, most_together(self.plan.cloud, pool) - len(known) - others)
        if self.state.listed and pool.scaling is Scaling.FIXED:
            later = 0  # whoever brings back a node that is missing, no pod makes them do it
        unknown = unseen(self.plan, pool, set(free), others)
        room: Room = (
            *known,
            *(Nodes(whole, count, running=True, where=at) for at, count in unknown.items()),
            Nodes(whole, later, running=False, where=one_zone(pool)),
        )
        for group in pods:
            if group.node is None:
                room = place(room, group.requests, group.count).room
        return tuple(replace(nodes, hosts=frozenset()) for nodes in room)
