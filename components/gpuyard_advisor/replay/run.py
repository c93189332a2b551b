"""Event loop of a replay: submissions, admissions, completions and evictions in order of time."""

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field

from gpuyard.plan.queueing.kueue import FIRST_REQUEUE_SECONDS, LONGEST_REQUEUE_SECONDS
from gpuyard.plan.queueing.queueing_checks import teams_with_compared_queues
from gpuyard.plan.records import PlatformPlan
from gpuyard_advisor.replay.accounts import HOUR, TYPICAL_SHAPES, Accounts, Outcome
from gpuyard_advisor.replay.cluster import AdmittedJob, Cluster, Kind
from gpuyard_advisor.replay.cycle import QueueHead, cycle
from gpuyard_advisor.replay.jobs import EndReason, JobHistory, Rank, RunInterval, SubmittedJob
from gpuyard_advisor.replay.options import ReplayOptions, Timing
from gpuyard_advisor.replay.shapes import RunningJobs, ShapeDecision, shapes_of
from gpuyard_advisor.scheduler.model import EMPTY, RunningJob, SchedulerModel
from gpuyard_core.findings import format_list

# Each cycle takes out the head. If it cannot be admitted, it becomes inadmissible together with all equal
# jobs, and the next one follows; free quota in the cohort makes all of them eligible again. Jobs are
# numbers; equal ones have the same shape and are kept together, so that no step scans them.

_Ranked = tuple[Rank, int]


@dataclass(slots=True)
class PendingQueue:
    """One queue."""

    _jobs: dict[int, list[_Ranked]] = field(default_factory=dict[int, list[_Ranked]])
    """By shape: its jobs as a heap."""
    heads: list[tuple[Rank, int, int]] = field(default_factory=list[tuple[Rank, int, int]])
    """First job and shape of the eligible shapes; entries that are no longer first are ignored."""
    parked: set[int] = field(default_factory=set[int])
    """Inadmissible shapes."""
    waits_for_evictions: tuple[int, int] | None = None
    """A job that waits for evictions is first until it is admitted."""
    size: int = 0
    """Number of waiting jobs."""

    def add(self, job: int, shape: int, rank: Rank) -> None:
        """Add a new or stopped job, or return one to its position: another took its quota in this cycle."""
        jobs = self._jobs.setdefault(shape, [])
        heapq.heappush(jobs, (rank, job))
        self.size += 1
        if jobs[0][1] == job and shape not in self.parked:
            heapq.heappush(self.heads, (rank, job, shape))

    def pop(self) -> tuple[int, int] | None:
        """Remove and return the head and its shape."""
        if (first := self.waits_for_evictions) is not None:
            self.waits_for_evictions = None
            self.size -= 1
            return first
        while self.heads:
            _, job, shape = heapq.heappop(self.heads)
            jobs = self._jobs[shape]
            if shape in self.parked or not jobs or jobs[0][1] != job:
                continue
            heapq.heappop(jobs)
            if jobs:
                heapq.heappush(self.heads, (*jobs[0], shape))
            self.size -= 1
            return job, shape
        return None

    def first(self, job: int, shape: int) -> None:
        """Make a job the head: it waits only for evictions."""
        self.waits_for_evictions = (job, shape)
        self.size += 1

    def park(self, job: int, shape: int, rank: Rank) -> None:
        """Set aside a job that cannot be admitted now, with all equal jobs."""
        self.parked.add(shape)
        self.add(job, shape, rank)

    def unpark(self) -> None:
        """Make all jobs eligible again: quota became free."""
        for shape in self.parked:
            if jobs := self._jobs[shape]:
                heapq.heappush(self.heads, (*jobs[0], shape))
        self.parked.clear()


CAUTIONS = ("whether a node has enough free GPUs for a pod is not evaluated",)
SAMPLES = 1000
"""At most this many samples of fragmentation."""
PROGRESS_STEPS = 200


class NoConvergence(Exception):
    """Jobs evict each other endlessly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The history of every job, in the given order, and the figures of all."""

    courses: tuple[JobHistory, ...]
    cautions: tuple[str, ...]
    """What the model does not evaluate."""
    outcome: Outcome

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
    timing: Timing | None = None,
    options: ReplayOptions | None = None,
) -> Replay:
    """Replay these jobs on an empty platform.

    Priorities within teams and shares between them can form a cycle; a job that is evicted more
    often than `options.most_evictions` ends the replay.

    Raises:
        ValueError: two jobs have one name, or a job names an unknown team.
        NoConvergence: the queues evict each other's jobs endlessly.
    """
    known = list(jobs)
    teams, seen = {t.name for t in plan.teams}, set[str]()
    for job in known:
        if job.name in seen:
            raise ValueError(f"two jobs have the name {job.name}; job names must be unique")
        seen.add(job.name)
        if job.team not in teams:
            team_names = ", ".join(sorted(teams)) or "none"
            raise ValueError(f"job {job.name} is of team {job.team}; teams are {team_names}")
    del seen
    run = _Run(plan, known, timing or Timing(), options or ReplayOptions())
    run.run()
    courses = run.courses()
    nodes = () if run.options.nodes else CAUTIONS
    return Replay(
        courses=courses,
        cautions=(*nodes, *_use(plan)),
        outcome=run.accounts.outcome(courses),
    )


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


class _Run:
    """The state between two events. Jobs are their positions in the given order."""

    def __init__(
        self,
        plan: PlatformPlan,
        jobs: list[SubmittedJob],
        timing: Timing,
        options: ReplayOptions,
    ) -> None:
        self.plan, self.jobs, self.timing, self.options = plan, jobs, timing, options
        self.desk = SchedulerModel(plan, EMPTY)
        self.running = RunningJobs(self.desk)
        self.shapes, self.shape_of = shapes_of(jobs)
        self._events: list[tuple[float, Kind, int, int]] = []
        self._arrivals = sorted(range(len(jobs)), key=lambda i: jobs[i].submitted_at_seconds)
        begin = jobs[self._arrivals[0]].submitted_at_seconds if jobs else 0.0
        self.accounts = Accounts(plan, begin)
        self.cluster = Cluster(plan, options, self.accounts, self._push)
        self.queues = {t.name: PendingQueue() for t in plan.teams if not t.stop_policy}
        self._decisions: dict[tuple[str, int], ShapeDecision] = {}
        self._intervals: list[tuple[RunInterval, ...]] = [()] * len(jobs)
        self._order: list[int | None] = [None] * len(jobs)
        self._done: dict[int, float] = {}
        """Seconds of run time that a job has saved in a checkpoint."""
        self._requeued: dict[int, tuple[int, float]] = {}
        """How often a job was not ready in time, and when last: it is then ordered by that time."""
        self._admitted_jobs: dict[int, AdmittedJob] = {}
        """By number of the run."""
        self._count = self._first = 0
        self._again_at: float | None = None
        self._scales_at: float | None = None
        self._arrived = self._progressed = 0
        self._progress_at = begin
        interruption = plan.spec.queueing.interruption
        self._checkpoint = interruption and interruption.checkpoint_interval_minutes * 60.0
        self._cohorts_compete = plan.queueing.fair_sharing and len(plan.queueing.cohorts) > 1
        """Heads that cannot be admitted still compete for their cohort, and so change the order of others."""
        self._typical = self._typical_requests()
        self._sample_every = HOUR

    def _typical_requests(self) -> list[tuple[dict[str, int], float]]:
        counts: dict[int, int] = {}
        for job, shape in zip(self.jobs, self.shape_of, strict=True):
            counts[shape] = counts.get(shape, 0) + job.pods
        most = sorted(counts, key=lambda shape: -counts[shape])[:TYPICAL_SHAPES]
        total = sum(counts[shape] for shape in most)
        return [(dict(self.shapes[shape].requests), counts[shape] / total) for shape in most]

    def _push(self, time: float, kind: Kind, number: int, job: int) -> None:
        heapq.heappush(self._events, (time, kind, number, job))

    def courses(self) -> tuple[JobHistory, ...]:
        """The history of every job."""
        return tuple(
            JobHistory(job=job, intervals=intervals, order=order)
            for job, intervals, order in zip(self.jobs, self._intervals, self._order, strict=True)
        )

    # ── events ────────────────────────────────────────────────────────────────────────────────────
    def run(self) -> None:
        """Process all events."""
        self.cluster.start(self.accounts.begin)
        if self.options.nodes and self.jobs:
            last = self.jobs[self._arrivals[-1]].submitted_at_seconds
            self._sample_every = max(HOUR, (last - self.accounts.begin) / SAMPLES)
            self._push(self.accounts.begin + self._sample_every, Kind.SAMPLES, 0, 0)
        waiting = iter([j for j in self._arrivals if self.jobs[j].team in self.queues])
        self._arrived = len(self.jobs) - sum(
            self.jobs[j].team in self.queues for j in self._arrivals
        )
        arrival = next(waiting, None)
        while arrival is not None or self._events:
            now = self._events[0][0] if self._events else float("inf")
            if arrival is not None:
                now = min(now, self.jobs[arrival].submitted_at_seconds)
            if arrival is None and self._is_over(now):
                break
            while True:
                due = bool(self._events) and self._events[0][0] == now
                arrives = arrival is not None and self.jobs[arrival].submitted_at_seconds == now
                if (
                    arrival is not None
                    and arrives
                    and not (due and self._events[0][1] < Kind.ARRIVES)
                ):
                    self._arrives(arrival)
                    arrival = next(waiting, None)
                elif due:
                    self._happens(*heapq.heappop(self._events))
                else:
                    break
            self._settle(now)
        if self.options.progress:
            self.options.progress(len(self.jobs), len(self.jobs))

    def _is_over(self, now: float) -> bool:
        """Whether no job runs or waits any more, or those that wait do so in vain."""
        if not self._admitted_jobs and self._again_at is None and not self._requeued_waiting():
            return True
        stuck = 2 * (LONGEST_REQUEUE_SECONDS + self.plan.queueing.start_minutes * 60)
        if not self.options.nodes or now - self._progress_at <= stuck or self.cluster.booting():
            return False
        return all(admitted.running_since is None for admitted in self._admitted_jobs.values())

    def _requeued_waiting(self) -> bool:
        return any(kind is Kind.RETURNS for _, kind, _, _ in self._events)

    def _arrives(self, job: int) -> None:
        self._enqueue(job)
        self._arrived += 1
        progress, total = self.options.progress, len(self.jobs)
        if progress and self._arrived * PROGRESS_STEPS // total > self._progressed:
            self._progressed = self._arrived * PROGRESS_STEPS // total
            progress(self._arrived, total)

    def _happens(self, now: float, kind: Kind, number: int, job: int) -> None:
        if kind in _OF_RUNS:
            if (admitted := self._admitted_jobs.get(number)) is not None:
                self._happens_to(now, kind, admitted)
        elif kind is Kind.RETURNS:
            self._enqueue(job)
        elif kind is Kind.AGAIN:
            self._again_at = None
            for queue in self.queues.values():
                queue.unpark()
        else:
            self._nodes_change(now, kind, number)

    def _happens_to(self, now: float, kind: Kind, admitted: AdmittedJob) -> None:
        """A run ends, gives way, or was not ready in time."""
        if kind is Kind.TIMES_OUT:
            if admitted.missing and admitted.stops_at is None:
                self._stop(now, admitted, EndReason.NOT_READY)
        elif (admitted.stops_at is None) is (kind is Kind.ENDS):
            self._leaves(now, admitted)

    def _nodes_change(self, now: float, kind: Kind, node: int) -> None:
        if kind is Kind.NODE_READY:
            self.cluster.node_ready(now, node)
        elif kind is Kind.NODE_INTERRUPTED:
            for admitted in self.cluster.interrupt(now, node):
                if admitted.stops_at is None:
                    self._stop(now, admitted, EndReason.INTERRUPTED)
        elif kind is Kind.SCALES:
            self._scales_at = None
            self.cluster.scale(now)
        else:
            for pool in self.cluster.pools.values():
                self.accounts.sample_fragments(pool, self._typical)
            self._push(now + self._sample_every, Kind.SAMPLES, 0, 0)

    def _settle(self, now: float) -> None:
        """Run cycles and place pods until nothing changes."""
        while self._cycle(now):
            pass
        if not self.options.nodes:
            return
        for admitted in self.cluster.retry():
            self._runs(now, admitted)
        at = self.cluster.next_scaling(now)
        if at is not None and (self._scales_at is None or at < self._scales_at):
            self._scales_at = at
            self._push(at, Kind.SCALES, 0, 0)

    # ── queues ────────────────────────────────────────────────────────────────────────────────────
    def _rank(self, job: int) -> Rank:
        submitted = self.jobs[job]
        if job in self._requeued:
            return -submitted.priority, int(self._requeued[job][1]), job
        return submitted.rank(job)

    def _enqueue(self, job: int) -> None:
        self.queues[self.jobs[job].team].add(job, self.shape_of[job], self._rank(job))

    def _decision(self, team: str, shape: int) -> ShapeDecision:
        key = (team, shape)
        if (decision := self._decisions.get(key)) is None:
            room = self.cluster.has_room if self.options.nodes else None
            decision = ShapeDecision(
                self.desk, self.running, self.plan.team(team), self.shapes[shape], room
            )
            self._decisions[key] = decision
        return decision

    def _heads(self) -> tuple[list[QueueHead], bool]:
        """The heads of all queues, and whether jobs were set aside that cannot be admitted."""
        heads: list[QueueHead] = []
        waiting: list[tuple[str, int, int]] = []
        for team, queue in self.queues.items():
            if not queue.heads and queue.waits_for_evictions is None:
                continue  # most queues in most cycles
            if (first := queue.pop()) is None:
                continue
            assignment = self._decision(team, first[1]).decide()
            if assignment is None:
                waiting.append((team, *first))
            else:
                heads.append(QueueHead(team, *first, assignment, self._rank(first[0])))
        if len(heads) > 1 and self._cohorts_compete:
            heads += [
                QueueHead(team, job, shape, self._decision(team, shape).evaluate(), self._rank(job))
                for team, job, shape in waiting
            ]
        else:
            for team, job, shape in waiting:
                self.queues[team].park(job, shape, self._rank(job))
        return heads, bool(waiting)

    def _cycle(self, now: float) -> bool:
        """Run one cycle; True if it changed anything. Heads that wait for evictions take part in every cycle."""
        heads, is_changed = self._heads()
        if not heads:
            return is_changed
        verdicts = cycle(self.desk, heads)
        for head in verdicts.admitted:
            self._admitted(now, head)
        for head in verdicts.outranked:
            self.queues[head.team].add(head.job, head.shape, head.rank)
        for head in verdicts.impossible:
            self.queues[head.team].park(head.job, head.shape, head.rank)
        for head, targets in verdicts.preempting:
            self.queues[head.team].first(head.job, head.shape)
            for target in targets:
                if not target.is_terminating:
                    self._preempt(now, self._admitted_jobs[target.since], head.job)
                    is_changed = True
        return bool(verdicts.admitted or verdicts.impossible or is_changed)

    # ── jobs ──────────────────────────────────────────────────────────────────────────────────────
    def _admitted(self, now: float, head: QueueHead) -> None:
        """Record the admission; its quota is already taken."""
        self._count += 1
        job = self.jobs[head.job]
        running = RunningJob(
            name=job.name,
            team=job.team,
            uses=head.assignment.uses,
            priority=job.priority,
            since=self._count,
        )
        self.running.add(running)
        if self._order[head.job] is None:
            self._order[head.job] = self._first
            self._first += 1
        admitted = AdmittedJob(
            head.job, head.shape, running, now, job.submitted_at_seconds, self._count, job.pods
        )
        self._admitted_jobs[self._count] = admitted
        pools = dict.fromkeys(head.assignment.pools.get(0, ()))
        if len(pools) == 1:
            admitted.pool = self.cluster.pools[next(iter(pools))]
            admitted.gpus_per_pod = admitted.pool.gpus_of(job.requests)
            admitted.request = admitted.pool.request(job.requests)
        if not self.options.nodes or not pools or self.cluster.place(admitted):
            self._runs(now, admitted)
        else:
            limit = now + self.plan.queueing.start_minutes * 60
            self._push(limit, Kind.TIMES_OUT, admitted.number, head.job)

    def _runs(self, now: float, admitted: AdmittedJob) -> None:
        """All its pods have a node."""
        admitted.running_since = now + self.timing.start
        self._progress_at = now
        if admitted.stops_at is None:
            rest = self.jobs[admitted.job].run_seconds - self._done.get(admitted.job, 0.0)
            admitted.pods_end_at = admitted.running_since + rest
            end = admitted.pods_end_at + self.timing.stop
            self._push(end, Kind.ENDS, admitted.number, admitted.job)

    def _leaves(self, now: float, admitted: AdmittedJob) -> None:
        """Release its quota; inadmissible jobs are retried together after a delay."""
        job = self.jobs[admitted.job]
        self.running.remove(admitted.running)
        del self._admitted_jobs[admitted.number]
        if self.options.nodes:
            self.cluster.release(admitted)
        self._account(now, admitted)
        interval = RunInterval(
            start=admitted.since,
            end=now,
            uses=admitted.running.uses,
            evicted_by=admitted.gives_way_to,
            reason=admitted.reason,
            running_since=admitted.running_since,
        )
        self._intervals[admitted.job] = (*self._intervals[admitted.job], interval)
        if self._again_at is None:
            self._again_at = now + self.timing.requeue
            self._push(self._again_at, Kind.AGAIN, 0, 0)
        if admitted.reason is EndReason.NOT_READY:
            times = self._requeued.get(admitted.job, (0, 0.0))[0]
            self._requeued[admitted.job] = (times + 1, admitted.stops_at or now)
            wait = min(FIRST_REQUEUE_SECONDS * 2**times, LONGEST_REQUEUE_SECONDS)
            self._push(now + wait, Kind.RETURNS, 0, admitted.job)
        elif admitted.reason is not EndReason.COMPLETED:
            self.queues[job.team].add(admitted.job, admitted.shape, self._rank(admitted.job))

    def _account(self, now: float, admitted: AdmittedJob) -> None:
        """Count its GPUs, and the work that it lost."""
        job = self.jobs[admitted.job]
        gpus = admitted.gpus_per_pod * job.pods
        since = admitted.running_since
        if admitted.reason is EndReason.COMPLETED:
            self.accounts.end = max(self.accounts.end, now)
            self._progress_at = now
        if admitted.pool and since is not None:
            self.accounts.job_ran(admitted.pool.name, since, now, gpus, job.utilisation)
        if admitted.reason is EndReason.COMPLETED:
            return
        stopped = now if admitted.stops_at is None else admitted.stops_at
        before = self._done.get(admitted.job, 0.0)
        done = before + (max(0.0, stopped - since) if since is not None else 0.0)
        every = job.checkpoint_seconds or self._checkpoint
        saved = max(before, done // every * every) if every else 0.0
        if admitted.pods_end_at is not None and admitted.pods_end_at <= stopped:
            saved = done = (
                job.run_seconds
            )  # its pods had ended: it completes when it is admitted again
        if saved:
            self._done[admitted.job] = saved
        self.accounts.job_stopped(admitted.reason, (done - saved) * gpus)

    def _preempt(self, now: float, admitted: AdmittedJob, to: int) -> None:
        job, other = self.jobs[admitted.job], self.jobs[to]
        if len(self._intervals[admitted.job]) >= self.options.most_evictions:
            raise NoConvergence(
                f"job {job.name} of team {job.team} was evicted {self.options.most_evictions} times, and "
                f"now for {other.name} of team {other.team}, {now:g} s after the start"
            )
        admitted.gives_way_to = other.name
        self._stop(now, admitted, EndReason.PREEMPTED)

    def _stop(self, now: float, admitted: AdmittedJob, reason: EndReason) -> None:
        """Its pods terminate; then it releases its quota."""
        admitted.reason, admitted.stops_at = reason, now
        admitted.running = self.running.terminate(admitted.running)
        self._push(now + self.timing.eviction, Kind.GIVES_WAY, admitted.number, admitted.job)


_OF_RUNS = frozenset({Kind.ENDS, Kind.GIVES_WAY, Kind.TIMES_OUT})
