"""Accounts of a replay, kept while it runs: hours by pool, nodes over time, and what jobs lost."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gpuyard.plan.money.bill import running_costs
from gpuyard.plan.records import PlatformPlan, Total
from gpuyard_advisor.replay.jobs import EndReason, JobHistory
from gpuyard_advisor.replay.node_pools import NodePool
from gpuyard_advisor.usage.rightsize import percentile


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Seconds from submission until all pods of a job first ran."""

    jobs: int
    """Jobs that ran."""
    never: int
    """Jobs that never ran; they are in no other figure."""
    mean: float | None
    """None, as the other figures, if no job ran."""
    p50: float | None
    p90: float | None
    p95: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolHour:
    """One hour of a pool, by hours since the start."""

    hour: int
    node_hours: float
    """Hours of nodes that are paid for, including those that boot."""
    gpu_hours: float
    """GPU hours of nodes that are ready."""
    allocated_gpu_hours: float
    used_gpu_hours: float | None
    """Of jobs whose utilisation is known; None if none is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOutcome:
    """Figures of one pool, from the first submission to the last end."""

    pool: str
    hours: tuple[PoolHour, ...]
    """Every hour in which it had nodes."""
    node_hours: float
    gpu_hours: float
    allocated_gpu_hours: float
    used_gpu_hours: float | None
    nodes_started: int
    """Nodes that were requested after the start."""
    nodes_removed: int
    """Nodes that the autoscaler removed."""
    flaps: int
    """Nodes that were removed soon after their request."""
    interruptions: int
    """Nodes that were interrupted."""
    max_nodes: int
    """The most nodes at once."""
    fragmentation: float | None
    """Share of free GPUs that a typical pod of the trace cannot use (FGD), over time; None if no GPU was
    free, or nodes are not modelled."""

    @property
    def utilisation(self) -> float | None:
        """The allocated share of GPU hours; None without any."""
        return self.allocated_gpu_hours / self.gpu_hours if self.gpu_hours else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Figures of a whole replay."""

    begin: float
    """The first submission, in seconds since the start."""
    end: float
    """The last end of a job."""
    waits: Waits
    waits_by_team: Mapping[str, Waits]
    waits_by_priority: Mapping[int, Waits]
    """The highest first."""
    pools: tuple[PoolOutcome, ...]
    evictions: int
    """Jobs preempted by others, every time."""
    interruptions: int
    """Jobs stopped because a node ended, every time."""
    not_ready: int
    """Jobs stopped because their pods did not all run in time, every time."""
    lost_gpu_hours: float
    """GPU hours of work since the last checkpoint, when jobs were stopped."""
    cost: Total
    """Cost of the whole time in USD: nodes by capacity option, commitments, system nodes and fees."""

    @property
    def node_hours(self) -> float:
        """Hours of all nodes."""
        return sum(pool.node_hours for pool in self.pools)

    @property
    def utilisation(self) -> float | None:
        """The allocated share of all GPU hours."""
        gpus = sum(pool.gpu_hours for pool in self.pools)
        return sum(pool.allocated_gpu_hours for pool in self.pools) / gpus if gpus else None

    @property
    def used_gpu_hours(self) -> float | None:
        """GPU hours used by jobs whose utilisation is known; None if none is."""
        used = [pool.used_gpu_hours for pool in self.pools if pool.used_gpu_hours is not None]
        return sum(used) if used else None

    @property
    def flaps(self) -> int:
        """Nodes that were removed soon after their request."""
        return sum(pool.flaps for pool in self.pools)


HOUR = 3600.0
TYPICAL_SHAPES = 20
"""Shapes that count for fragmentation: the most frequent ones."""


@dataclass(slots=True)
class HourSeries:
    """An amount over time, as its integral in each hour; an interval costs the same at any length."""

    _parts: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    _steps: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    """Changes of the amount that covers whole hours."""

    def add(self, start: float, end: float, amount: float) -> None:
        """Add an amount from start to end, in seconds."""
        if end <= start or not amount:
            return
        first, last = int(start // HOUR), int(end // HOUR)
        if first == last:
            self._parts[first] += amount * (end - start) / HOUR
            return
        self._parts[first] += amount * (first + 1 - start / HOUR)
        self._parts[last] += amount * (end / HOUR - last)
        self._steps[first + 1] += amount
        self._steps[last] -= amount

    def by_hour(self) -> dict[int, float]:
        """The integral of every hour between the first and the last."""
        known = [*self._parts, *self._steps]
        results: dict[int, float] = {}
        level = 0.0
        for hour in range(min(known, default=0), max(known, default=-1) + 1):
            level += self._steps.get(hour, 0.0)
            results[hour] = level + self._parts.get(hour, 0.0)
        return results


@dataclass(slots=True)
class PoolAccounts:
    """Counts of one pool."""

    ready: int = 0
    booting: int = 0
    started: int = 0
    removed: int = 0
    flaps: int = 0
    interruptions: int = 0
    max_nodes: int = 0
    gpus_per_node: float = 0.0
    node_hours: HourSeries = field(default_factory=HourSeries)
    gpu_hours: HourSeries = field(default_factory=HourSeries)
    allocated: HourSeries = field(default_factory=HourSeries)
    used: HourSeries = field(default_factory=HourSeries)
    has_used: bool = False
    free_gpus: float = 0.0
    """Sum of all samples."""
    fragments: float = 0.0

    def counts_until(self, start: float, end: float) -> None:
        """Add the time since the last change of the number of nodes."""
        self.node_hours.add(start, end, self.ready + self.booting)
        self.gpu_hours.add(start, end, self.ready * self.gpus_per_node)
        self.max_nodes = max(self.max_nodes, self.ready + self.booting)


class Accounts:
    """All accounts of one replay."""

    def __init__(self, plan: PlatformPlan, begin: float) -> None:
        self.pools = {pool.name: PoolAccounts() for pool in plan.pools}
        self.begin, self.end = begin, begin
        self.not_ready = self.interruptions = self.evictions = 0
        self.lost_gpu_hours = 0.0
        self._plan = plan
        self._since = begin
        self._seconds: dict[tuple[int, ...], float] = defaultdict(float)
        """Time by number of nodes of each pool."""

    def nodes_change(self, now: float) -> None:
        """Call it before the number of nodes of a pool changes."""
        if now <= self._since:
            return
        for pool in self.pools.values():
            pool.counts_until(self._since, now)
        nodes = tuple(pool.ready + pool.booting for pool in self.pools.values())
        self._seconds[nodes] += now - self._since
        self._since = now

    def job_stopped(self, reason: EndReason, lost_gpu_seconds: float) -> None:
        """A job lost its quota before it completed."""
        self.evictions += reason is EndReason.PREEMPTED
        self.interruptions += reason is EndReason.INTERRUPTED
        self.not_ready += reason is EndReason.NOT_READY
        self.lost_gpu_hours += lost_gpu_seconds / HOUR

    def job_ran(
        self, pool: str, start: float, end: float, gpus: float, utilisation: float | None
    ) -> None:
        """A job had these GPUs."""
        accounts = self.pools[pool]
        accounts.allocated.add(start, end, gpus)
        if utilisation is not None:
            accounts.has_used = True
            accounts.used.add(start, end, gpus * utilisation)

    def sample_fragments(
        self, pool: NodePool, typical: Sequence[tuple[Mapping[str, int], float]]
    ) -> None:
        """Add the free GPUs, and those that a typical pod cannot use (FGD), by their frequency."""
        requests = [(pool.request(requests), part) for requests, part in typical]
        accounts = self.pools[pool.name]
        for state, nodes in pool.states():
            free = pool.free_gpus(state) * nodes
            if not free:
                continue
            accounts.free_gpus += free
            cannot = sum(part for each, part in requests if each is None or not each.slots(state))
            accounts.fragments += free * cannot

    def outcome(self, courses: Iterable[JobHistory]) -> Outcome:
        """The figures, once all jobs have ended or wait in vain."""
        self.nodes_change(self.end)
        every: list[float | None] = []
        by_team: dict[str, list[float | None]] = {team.name: [] for team in self._plan.teams}
        by_priority: dict[int, list[float | None]] = defaultdict(list)
        for course in courses:
            job, started = course.job, course.started
            wait = None if started is None else started - job.submitted_at_seconds
            every.append(wait)
            by_team[job.team].append(wait)
            by_priority[job.priority].append(wait)
        return Outcome(
            begin=self.begin,
            end=self.end,
            waits=_waits(every),
            waits_by_team={team: _waits(waits) for team, waits in by_team.items() if waits},
            waits_by_priority={
                p: _waits(by_priority[p]) for p in sorted(by_priority, reverse=True)
            },
            pools=tuple(_pool(name, pool) for name, pool in self.pools.items()),
            evictions=self.evictions,
            interruptions=self.interruptions,
            not_ready=self.not_ready,
            lost_gpu_hours=self.lost_gpu_hours,
            cost=self._cost(),
        )

    def _cost(self) -> Total:
        costs = running_costs(self._plan)
        total = Total()
        for nodes, seconds in self._seconds.items():
            hourly = costs.at(dict(zip(self.pools, nodes, strict=True)))
            total += hourly.times(seconds / HOUR)
        return total


def _pool(name: str, pool: PoolAccounts) -> PoolOutcome:
    nodes, gpus = pool.node_hours.by_hour(), pool.gpu_hours.by_hour()
    allocated, used = pool.allocated.by_hour(), pool.used.by_hour()
    return PoolOutcome(
        pool=name,
        hours=tuple(
            PoolHour(
                hour=hour,
                node_hours=amount,
                gpu_hours=gpus.get(hour, 0.0),
                allocated_gpu_hours=allocated.get(hour, 0.0),
                used_gpu_hours=used.get(hour, 0.0) if pool.has_used else None,
            )
            for hour, amount in nodes.items()
            if amount
        ),
        node_hours=sum(nodes.values()),
        gpu_hours=sum(gpus.values()),
        allocated_gpu_hours=sum(allocated.values()),
        used_gpu_hours=sum(used.values()) if pool.has_used else None,
        nodes_started=pool.started,
        nodes_removed=pool.removed,
        flaps=pool.flaps,
        interruptions=pool.interruptions,
        max_nodes=pool.max_nodes,
        fragmentation=pool.fragments / pool.free_gpus if pool.free_gpus else None,
    )


def _waits(waits: Sequence[float | None]) -> Waits:
    """Figures by nearest rank."""
    known = sorted(wait for wait in waits if wait is not None)
    p50, p90, p95 = (percentile(known, p) if known else None for p in (50, 90, 95))
    return Waits(
        jobs=len(known),
        never=len(waits) - len(known),
        mean=sum(known) / len(known) if known else None,
        p50=p50,
        p90=p90,
        p95=p95,
    )
