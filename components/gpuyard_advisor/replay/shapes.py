"""Shapes of jobs, and how a queue decides about one: Kueue's decision, prepared once for each shape.

`ShapeDecision.decide` answers most cases with a few comparisons; where jobs may have to be preempted,
`scheduler.flavors.assign` decides, the same code as that of `gpuyard explain`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from gpuyard.plan.queueing.queueing import pool_choice
from gpuyard.plan.quotas.cohorts import Key
from gpuyard.plan.records import PlatformPlan, TeamPlan
from gpuyard.spec.queueing import PoolChoice, Preemption
from gpuyard_advisor.replay.jobs import SubmittedJob
from gpuyard_advisor.scheduler.flavors import (
    Assignment,
    AssignmentMode,
    all_pools_have_topology,
    assign,
    is_stopped,
    requests_in_quota_units,
)
from gpuyard_advisor.scheduler.model import RunningJob, SchedulerModel
from gpuyard_advisor.scheduler.quotas import CohortNode, Uses
from gpuyard_advisor.scheduler.requests import PodSet
from gpuyard_advisor.scheduler.selectors import flavor_accepts
from gpuyard_advisor.scheduler.topology import topology_mismatch


@dataclass(frozen=True, slots=True)
class JobShape:
    """What Kueue compares of two jobs: jobs of one shape in one queue wait for each other."""

    priority: int
    pods: int
    requests: Mapping[str, int]
    selector: Mapping[str, str]

    @property
    def pod_set(self) -> PodSet:
        """The pods as queues count them."""
        return PodSet(path="pods", count=self.pods, requests=self.requests, selector=self.selector)


def shapes_of(jobs: Iterable[SubmittedJob]) -> tuple[list[JobShape], list[int]]:
    """Every shape once, and the number of its shape for each job."""
    shapes: list[JobShape] = []
    numbers: list[int] = []
    by_object: dict[tuple[int, int, int, int], int] = {}
    by_content: dict[object, int] = {}
    for job in jobs:
        same = (job.priority, job.pods, id(job.requests), id(job.selector))
        number = by_object.get(same)
        if number is None:
            asks, nodes = sorted(job.requests.items()), sorted(job.selector.items())
            content = (job.priority, job.pods, tuple(asks), tuple(nodes))
            number = by_content.setdefault(content, len(shapes))
            if number == len(shapes):
                shapes.append(JobShape(job.priority, job.pods, job.requests, job.selector))
            by_object[same] = number
        numbers.append(number)
    return shapes, numbers


class RunningJobs:
    """Jobs with quota by team, and what decides whether preemption can help at all."""

    def __init__(self, desk: SchedulerModel) -> None:
        self.desk = desk
        self.changes = 0
        """Number of changes: without one, decisions stay the same."""
        self._is_fair = desk.plan.queueing.fair_sharing
        self.borrowers: dict[Key, set[str]] = {}
        """By pool and resource: teams that use more than their guarantee."""
        self._alike: dict[str, dict[tuple[int, int], dict[int, RunningJob]]] = {
            team: {} for team in desk.quotas.queues
        }
        """By team, priority and quota: jobs by their number, the newest last."""
        self._terminating: dict[str, dict[int, RunningJob]] = {team: {} for team in self._alike}
        self._shares: dict[str, float] = {}
        self._known_at = -1
        self._available: dict[tuple[str, Key], int] = {}
        self._has_lower: dict[tuple[str, int], bool] = {}
        """Answers since the last change: many shapes of a team ask the same."""

    def _forget_answers(self) -> None:
        if self._known_at != self.changes:
            self._known_at = self.changes
            self._available.clear()
            self._has_lower.clear()

    def available(self, team: str, key: Key) -> int:
        """Quota that a team may use without preemption, between two cycles."""
        self._forget_answers()
        if (found := self._available.get((team, key))) is None:
            found = self._available[team, key] = self.desk.quotas.queues[team].available(key)
        return found

    def add(self, job: RunningJob) -> None:
        """Add a job whose quota is taken."""
        team = str(job.team)
        self._alike[team].setdefault((job.priority, id(job.uses)), {})[job.since] = job
        self._recount(team, job.uses)

    def terminate(self, job: RunningJob) -> RunningJob:
        """Mark a job as evicted; it keeps its quota."""
        team = str(job.team)
        self.changes += 1
        self._forget(team, job)
        leaving = replace(job, is_terminating=True)
        self._terminating[team][job.since] = leaving
        return leaving

    def remove(self, job: RunningJob) -> None:
        """Remove a job and release its quota."""
        team = str(job.team)
        if job.is_terminating:
            del self._terminating[team][job.since]
        else:
            self._forget(team, job)
        self.desk.quotas.take(team, job.uses, -1)
        self._recount(team, job.uses)

    def _forget(self, team: str, job: RunningJob) -> None:
        key = (job.priority, id(job.uses))
        alike = self._alike[team][key]
        del alike[job.since]
        if not alike:
            del self._alike[team][key]

    def _recount(self, team: str, uses: Uses) -> None:
        node = self.desk.quotas.queues[team]
        self._shares.pop(team, None)
        self.changes += 1
        for key in uses:
            teams = self.borrowers.setdefault(key, set())
            if node.used[key] > node.nominal[key]:
                teams.add(team)
            else:
                teams.discard(team)

    def has_lower(self, team: str, priority: int) -> bool:
        """Whether a job of the team has a lower priority."""
        self._forget_answers()
        if (found := self._has_lower.get((team, priority))) is None:
            found = self._has_lower[team, priority] = any(
                other < priority for other, _ in self._alike[team]
            ) or any(job.priority < priority for job in self._terminating[team].values())
        return found

    def may_free(self, team: str, priority: int, uses: Uses) -> bool:
        """Whether enough is free once all jobs of the team with a lower priority are evicted."""
        missing = {k: n - self.available(team, k) for k, n in uses.items()}
        for (other, _), alike in self._alike[team].items():
            if other < priority:
                own = next(iter(alike.values())).uses
                for key in missing:
                    missing[key] -= own.get(key, 0) * len(alike)
        for job in self._terminating[team].values():
            for key in missing:
                missing[key] -= job.uses.get(key, 0)
        return all(n <= 0 for n in missing.values())

    def share(self, team: str) -> float:
        """Fair sharing value of a team."""
        if team not in self._shares:
            self._shares[team] = self.desk.quotas.share(team)
        return self._shares[team]

    def candidates(self, team: str, uses: Mapping[Key, int]) -> list[RunningJob]:
        """Jobs of the team, and of teams that borrow, as far as preemption may need them.

        Of jobs that differ in age alone, the newest are evicted first, and never more than cover the request.
        """
        teams = {team}.union(*(self.borrowers.get(key, ()) for key in uses))
        results: list[RunningJob] = []
        for name in teams:
            results += self._terminating[name].values()
            results += self._first_evicted(name, uses)
        return results

    def _first_evicted(self, team: str, uses: Mapping[Key, int]) -> list[RunningJob]:
        jobs: list[RunningJob] = []
        for alike in self._alike[team].values():
            own = next(iter(alike.values())).uses
            most = max((-(-n // own[key]) for key, n in uses.items() if own.get(key)), default=0)
            jobs += islice(reversed(alike.values()), most)
        if self._is_fair:  # shares decide: a smaller job may be evicted instead of a newer one
            return jobs
        jobs.sort(key=lambda job: (job.priority, -job.since))
        missing = dict(uses)
        for place, job in enumerate(jobs):
            for key, amount in job.uses.items():
                if key in missing:
                    missing[key] -= amount
                    if missing[key] <= 0:
                        del missing[key]
            if not missing:
                return jobs[: place + 1]
        return jobs


@dataclass(frozen=True, slots=True)
class _Option:
    """One pool for the resources of one group of the queue."""

    pool: str
    uses: dict[Key, int]
    stopped: bool
    is_guaranteed: bool
    """Whether the guarantee is at least as large as the job."""


class ShapeDecision:
    """The decision of one team's queue about one shape."""

    def __init__(
        self,
        desk: SchedulerModel,
        running: RunningJobs,
        team: TeamPlan,
        shape: JobShape,
        has_room: Callable[[str, Mapping[str, int], int], bool] | None = None,
    ) -> None:
        """Prepare it; `has_room` tells whether a pool's topology has nodes for the pods."""
        self._has_room = has_room
        self._lacks_room = False
        self._evaluated: tuple[int, Assignment] | None = None
        """The last full evaluation, and the number of changes before it."""
        self._desk, self._running, self._team, self._shape = desk, running, team, shape
        self._queue: CohortNode = desk.quotas.queues[team.name]
        self._by_order = pool_choice(desk.plan, team) is PoolChoice.ORDER
        self._reclaims = desk.plan.queueing.preemption is Preemption.RECLAIM
        self._fair = desk.plan.queueing.fair_sharing
        self._flat = all(queue.parent is desk.quotas.root for queue in desk.quotas.queues.values())
        self._groups = self._options(desk.plan)
        self._fits: dict[tuple[str, ...], Assignment] = {}
        """Assignments by pools: those of a shape differ in nothing else."""

    @property
    def pools(self) -> tuple[str, ...]:
        """Pools that may have the pods."""
        return tuple(dict.fromkeys(o.pool for options in self._groups or () for o in options))

    def _options(self, plan: PlatformPlan) -> Sequence[Sequence[_Option]] | None:
        """Usable pools for each resource group; None if the queue never admits the shape."""
        pod_set, quotas = self._shape.pod_set, self._desk.quotas
        units = requests_in_quota_units(plan, self._shape.requests)
        total = {resource: n * self._shape.pods for resource, n in units.items()}
        groups = self._team.resource_groups
        if any(not any(r in group.resources for group in groups) for r in total):
            return None
        everywhere = all_pools_have_topology(plan, self._team)
        results: list[list[_Option]] = []
        for group in groups:
            some = {r: n for r, n in total.items() if r in group.resources}
            if not some:
                continue
            options: list[_Option] = []
            for flavor_name in group.flavors:
                pool = next(p for p in plan.pools if p.flavor == flavor_name)
                flavor = next(f for f in plan.queueing.flavors if f.name == flavor_name)
                uses = {(pool.name, r): n for r, n in some.items()}
                levels = pool.topology.levels if pool.topology else None
                if (
                    flavor_accepts(flavor.node_labels, pod_set.selector, pod_set.terms)
                    and not topology_mismatch(None, levels, everywhere=everywhere)
                    and all(n <= quotas.max_usage(self._team.name, k) for k, n in uses.items())
                ):
                    stopped = is_stopped(plan, pool.name, pod_set)
                    own = all(n <= quotas.nominal(self._team.name, k) for k, n in uses.items())
                    options.append(_Option(pool.name, uses, stopped, own))
            if not options:
                return None
            results.append(options)
        return results

    def decide(self) -> Assignment | None:
        """The assignment with the current usage; None if the job waits and reserves nothing."""
        if self._groups is None:
            return None
        chosen: list[_Option] = []
        for options in self._groups:
            best = self._fitting(options)
            if best is None:
                # Kueue evicts no job for nodes here: the model waits until some are free
                return None if self._lacks_room else self._decide_without_fit()
            chosen.append(best)
        pools = tuple(option.pool for option in chosen)
        if (result := self._fits.get(pools)) is None:
            uses = {key: n for option in chosen for key, n in option.uses.items()}
            result = Assignment(AssignmentMode.FIT, {0: pools}, uses, (), [])
            self._fits[pools] = result
        return result

    def _fitting(self, options: Iterable[_Option]) -> _Option | None:
        """The first pool with a free guarantee, else the nearest one with enough quota."""
        available, name = self._running.available, self._team.name
        best, nearest = None, 0
        self._lacks_room = False
        for option in options:
            if option.stopped or any(n > available(name, key) for key, n in option.uses.items()):
                continue
            if self._has_room and not self._has_room(
                option.pool, self._shape.requests, self._shape.pods
            ):
                self._lacks_room = True
                continue
            if self._by_order:
                return option
            find = self._desk.quotas.find_lowest_fitting_subtree
            far = max(find(name, key, n)[0] for key, n in option.uses.items())
            if far == 0:
                return option
            if best is None or far < nearest:
                best, nearest = option, far
        return best

    def _decide_without_fit(self) -> Assignment | None:
        """Full evaluation, if it can have a result: jobs to preempt, or a reservation for the cycle."""
        options = [o for group in self._groups or () for o in group]
        if not any(self._may_get(option) for option in options):
            return None
        return self.evaluate()

    def evaluate(self) -> Assignment:
        """The full evaluation, by the code of `gpuyard explain`."""
        if self._evaluated and self._evaluated[0] == self._running.changes:
            return self._evaluated[1]
        uses = {key: n for group in self._groups or () for o in group for key, n in o.uses.items()}
        self._desk.jobs = self._running.candidates(self._team.name, uses)
        result = assign(self._desk, self._team, (self._shape.pod_set,), self._shape.priority)
        self._evaluated = (self._running.changes, result)
        return result

    def _may_get(self, option: _Option) -> bool:
        if option.stopped:
            return False
        if not self._reclaims:
            return self._is_entitled(option.uses)
        name = self._team.name
        short = {k: n for k, n in option.uses.items() if n > self._running.available(name, k)}
        lower = self._running.has_lower(self._team.name, self._shape.priority)
        others = {t for key in option.uses for t in self._running.borrowers.get(key, ())}
        others.discard(self._team.name)
        if not self._flat:
            may = self._fair or option.is_guaranteed or self._is_entitled(short)
            return may and (lower or bool(others))
        if self._fair:
            return lower or (bool(others) and self._may_share(option, short, others))
        may = option.is_guaranteed or self._is_entitled(short)
        return may and self._may_reclaim(option, short, lower=lower, others=bool(others))

    def _may_share(self, option: _Option, short: Uses, others: Iterable[str]) -> bool:
        """Whether fair sharing may evict a job of a team that borrows."""
        if not any(self._queue.borrows(key, n) for key, n in short.items()):
            return True
        return self._share_with(option) <= max(map(self._running.share, others))

    def _may_reclaim(self, option: _Option, short: Uses, *, lower: bool, others: bool) -> bool:
        """Whether classical preemption may evict jobs: others' within the guarantee, own ones of lower priority."""
        if others and not any(self._queue.borrows(key, n) for key, n in option.uses.items()):
            return True
        if others and lower and all(not self._queue.borrows(key, 1) for key in short):
            return True  # once its own jobs are evicted, it may be within its guarantee
        return lower and self._running.may_free(self._team.name, self._shape.priority, short)

    def _is_entitled(self, uses: Uses) -> bool:
        """Whether its guarantee, or a part of the tree, covers every resource."""
        find = self._desk.quotas.find_lowest_fitting_subtree
        return all(
            n <= self._desk.quotas.nominal(self._team.name, key) or find(self._team.name, key, n)[1]
            for key, n in uses.items()
        )

    def _share_with(self, option: _Option) -> float:
        """The team's share with this job counted."""
        quotas, name = self._desk.quotas, self._team.name
        quotas.take(name, option.uses)
        share = quotas.share(name)
        quotas.take(name, option.uses, -1)
        return share
