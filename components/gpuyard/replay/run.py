"""Event loop of a replay: submissions, admissions, completions and evictions in order of time."""

import heapq
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum

from gpuyard.catalogue.kubernetes.kueue import REQUEUE_SECONDS
from gpuyard.findings import format_list
from gpuyard.plan.queueing.queueing_checks import teams_with_compared_queues
from gpuyard.plan.records import PlatformPlan
from gpuyard.replay.cycle import QueueHead, cycle
from gpuyard.replay.jobs import JobHistory, RunInterval, SubmittedJob
from gpuyard.replay.waiting import PendingQueue
from gpuyard.scheduler.model import EMPTY, RunningJob, SchedulerModel

MOST_EVICTIONS = 1000


CAUTIONS = ("whether a node has enough free GPUs for a pod is not evaluated",)


class NoConvergence(Exception):
    """Jobs evict each other endlessly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Delays of the cluster in seconds; by default only those of Kueue."""

    requeue: float = REQUEUE_SECONDS
    """From free quota to the retry of inadmissible jobs."""
    start: float = 0.0
    """From admission to running pods."""
    stop: float = 0.0
    """From the end of the last pod to free quota."""
    eviction: float = 1.0
    """From the eviction to free quota: pods terminate, then the job queues again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The history of every job, in the given order."""

    courses: tuple[JobHistory, ...]
    cautions: tuple[str, ...]
    """What the model does not evaluate."""

    @property
    def order(self) -> tuple[str, ...]:
        """The admitted jobs by first admission."""
        done = [c for c in self.courses if c.order is not None]
        return tuple(c.job.name for c in sorted(done, key=lambda c: c.order or 0))

    @property
    def never_admitted(self) -> tuple[str, ...]:
        """The jobs that were never admitted."""
        return tuple(c.job.name for c in self.courses if c.order is None)


def replay(
    plan: PlatformPlan,
    jobs: Iterable[SubmittedJob],
    pace: Timing | None = None,
    most_evictions: int = MOST_EVICTIONS,
) -> Replay:
    """Replay these jobs on an empty platform.

    Priorities within teams and shares between them can form a cycle; a job that is evicted more
    often than `most_evictions` ends the replay.

    Raises:
        ValueError: two jobs have one name, or a job names an unknown team.
        NoConvergence: the queues evict each other's jobs endlessly.
    """
    known = list(jobs)
    names, teams = [j.name for j in known], {t.name for t in plan.teams}
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise ValueError(f"two jobs have the name {twice}; job names must be unique")
    for job in known:
        if job.team not in teams:
            team_names = ", ".join(sorted(teams)) or "none"
            raise ValueError(f"job {job.name} is of team {job.team}; teams are {team_names}")
    result = _Run(plan, known, pace or Timing(), most_evictions)
    result.run()
    order = {name: place for place, name in enumerate(result.first)}
    courses = (
        JobHistory(job=j, intervals=tuple(result.spells[j.name]), order=order.get(j.name))
        for j in known
    )
    return Replay(courses=tuple(courses), cautions=(*CAUTIONS, *_use(plan)))


def _use(plan: PlatformPlan) -> tuple[str, ...]:
    """The omission for teams with several queues: a job belongs to its team, not to one of its queues."""
    teams = [team.name for team in teams_with_compared_queues(plan)]
    if not teams:
        return ()
    return (
        (
            f"usage of the queues of {format_list(teams)} is not counted: their jobs are simulated in "
            "one queue"
        ),
    )


class _Kind(IntEnum):
    """In the order of simultaneous events."""

    ENDS = 0
    GIVES_WAY = 1
    ARRIVES = 2
    AGAIN = 3


@dataclass(slots=True)
class _Held:
    """A job with quota."""

    job: SubmittedJob
    running: RunningJob
    since: float
    number: int
    """Number of its run: completion events of an earlier run are ignored."""
    gives_way_to: str = ""
    """The job that preempted it; its pods terminate."""


class _Run:
    """The state between two events."""

    def __init__(
        self, plan: PlatformPlan, jobs: list[SubmittedJob], pace: Timing, most_evictions: int
    ) -> None:
        self.desk = SchedulerModel(plan, EMPTY)
        self.pace = pace
        self.most_evictions = most_evictions
        self.places = {job.name: place for place, job in enumerate(jobs)}
        self.queues = {t.name: PendingQueue(self.places) for t in plan.teams if not t.stop_policy}
        self.spells: dict[str, list[RunInterval]] = defaultdict(list)
        self.first: dict[str, None] = {}
        """Every admitted job, in order of first admission."""
        self._held: dict[str, _Held] = {}
        self._count = 0
        self._again_at: float | None = None
        self._events: list[tuple[float, _Kind, int, SubmittedJob | None]] = []
        for place, job in enumerate(jobs):
            if job.team in self.queues:
                self._events.append((job.submitted_at_seconds, _Kind.ARRIVES, place, job))
        heapq.heapify(self._events)

    def run(self) -> None:
        """Process all events."""
        while self._events:
            now = self._events[0][0]
            while self._events and self._events[0][0] == now:
                _, kind, number, job = heapq.heappop(self._events)
                self._happens(now, kind, number, job)
            while self._cycle(now):
                pass

    def _happens(self, now: float, kind: _Kind, number: int, job: SubmittedJob | None) -> None:
        if job is None:
            self._again_at = None
            for queue in self.queues.values():
                queue.unpark()
        elif kind is _Kind.ARRIVES:
            self.queues[job.team].add(job)
        else:
            held_job = self._held.get(job.name)
            over = kind is _Kind.ENDS
            if held_job and held_job.number == number and over is not bool(held_job.gives_way_to):
                self._leaves(now, held_job)
                if not over:
                    self.queues[job.team].add(job)

    def _cycle(self, now: float) -> bool:
        """Run one cycle; True if it changed anything. Heads that wait for evictions take part in every cycle."""
        heads = []
        for name, queue in self.queues.items():
            if (job := queue.pop()) is not None:
                heads.append((self.desk.plan.team(name), job, self.places[job.name]))
        verdicts = cycle(self.desk, heads)
        for head in verdicts.admitted:
            self._admitted(now, head)
        for head in verdicts.outranked:
            self.queues[head.team.name].requeue(head.job)
        for head in verdicts.impossible:
            self.queues[head.team.name].park(head.job)
        is_changed = False
        for head, targets in verdicts.preempting:
            self.queues[head.team.name].first(head.job)
            for target in targets:
                if not target.is_terminating:
                    self._told_to_leave(now, self._held[target.name], head.job)
                    is_changed = True
        return bool(verdicts.admitted or verdicts.impossible or is_changed)

    def _admitted(self, now: float, head: QueueHead) -> None:
        """Record the admission; its quota is already taken."""
        self._count += 1
        job = head.job
        running = RunningJob(
            name=job.name,
            team=job.team,
            uses=head.assignment.uses,
            priority=job.priority,
            since=self._count,
        )
        self.desk.jobs.append(running)
        self.first.setdefault(job.name)
        self._held[job.name] = _Held(job, running, now, self._count)
        end = now + self.pace.start + job.run_seconds + self.pace.stop
        heapq.heappush(self._events, (end, _Kind.ENDS, self._count, job))

    def _leaves(self, now: float, held_job: _Held) -> None:
        """Release its quota; inadmissible jobs are retried together after a delay."""
        job, running = held_job.job, held_job.running
        self.desk.quotas.take(job.team, running.uses, -1)
        self.desk.jobs.remove(running)
        del self._held[job.name]
        by = held_job.gives_way_to
        self.spells[job.name].append(
            RunInterval(start=held_job.since, end=now, uses=running.uses, evicted_by=by)
        )
        if self._again_at is None:
            self._again_at = now + self.pace.requeue
            heapq.heappush(self._events, (self._again_at, _Kind.AGAIN, 0, None))

    def _told_to_leave(self, now: float, held_job: _Held, to: SubmittedJob) -> None:
        job = held_job.job
        if len(self.spells[job.name]) >= self.most_evictions:
            raise NoConvergence(
                f"job {job.name} of team {job.team} was evicted {self.most_evictions} times, and "
                f"now for {to.name} of team {to.team}, {now:g} s after the start"
            )
        held_job.gives_way_to = to.name
        leaving = replace(held_job.running, is_terminating=True)
        self.desk.jobs[self.desk.jobs.index(held_job.running)] = leaving
        held_job.running = leaving
        event = (now + self.pace.eviction, _Kind.GIVES_WAY, held_job.number, job)
        heapq.heappush(self._events, event)
