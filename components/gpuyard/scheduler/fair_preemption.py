"""The two rounds of fair pre-emption in a tree of cohorts (Kueue v0.19, preemption/fairsharing).

From the root downwards the search goes to the queue or cohort with the largest share, and compares shares
where the ways of the two queues part: at the children of the cohort that both are in.
"""

from collections.abc import Callable, Iterator, Sequence

from gpuyard.scheduler.model import RunningJob
from gpuyard.scheduler.preemption_rules import (
    FAIR_SHARING,
    RECLAIM,
    WITHIN_QUEUE,
    PreemptionTargets,
)
from gpuyard.scheduler.quotas import CohortNode, Quotas, is_borrowing

_NOBODY = -1.0
"""A share below every other."""


class FairChoice:
    """Jobs that go so that one queue has its fair share, chosen one by one."""

    def __init__(
        self,
        quotas: Quotas,
        candidates: Sequence[RunningJob],
        queue: CohortNode,
        fits: Callable[[PreemptionTargets], bool],
        *,
        entitled: bool,
    ) -> None:
        self.quotas = quotas
        self.queue = queue
        self.entitled = entitled
        self.found: PreemptionTargets = []
        self._fits = fits
        self._again: list[RunningJob] = []
        self._way = {id(cohort) for cohort in queue.above}
        self._start(candidates)

    def _start(self, candidates: Sequence[RunningJob]) -> None:
        self._jobs: dict[str, list[RunningJob]] = {}
        for job in candidates:
            self._jobs.setdefault(str(job.team), []).append(job)
        self._done: set[int] = set()

    def first(self) -> bool:
        """Take jobs while the wisher's share stays at or below what the other is left with."""
        for queue in self._targets():
            jobs = self._jobs[queue.name]
            if queue is self.queue or self.entitled:
                if self._evict(jobs.pop(0), WITHIN_QUEUE if queue is self.queue else RECLAIM):
                    return True
                continue
            ours, theirs = self._part(queue)
            mine = self.quotas.weighted_share(ours)
            if mine > self.quotas.weighted_share(theirs):  # which no job that goes makes larger
                self._again += jobs
                jobs.clear()
            while jobs:
                job = jobs.pop(0)
                self.quotas.take(queue.name, job.uses, -1)
                remaining = self.quotas.weighted_share(theirs)
                self.quotas.take(queue.name, job.uses)
                if mine <= remaining:
                    if self._evict(job, FAIR_SHARING):
                        return True
                    break
                self._again.append(job)
        return False

    def second(self) -> bool:
        """Once a queue: take a job when the wisher's share is below what the other has now."""
        self._start(self._again)
        for queue in self._targets():
            ours, theirs = self._part(queue)
            job = self._jobs[queue.name].pop(0)
            if self.quotas.weighted_share(ours) < self.quotas.weighted_share(
                theirs
            ) and self._evict(job, FAIR_SHARING):
                return True
            self._done.add(id(queue))
        return False

    def _evict(self, job: RunningJob, why: str) -> bool:
        self.quotas.take(str(job.team), job.uses, -1)
        self.found.append((job, why))
        return self._fits(self.found)

    def _part(self, queue: CohortNode) -> tuple[CohortNode, CohortNode]:
        """Where the ways of the wisher and of a queue part."""
        common = next(cohort for cohort in queue.above if id(cohort) in self._way)
        ours, theirs = (self.queue, *self.queue.above), (queue, *queue.above)
        return ours[ours.index(common) - 1], theirs[theirs.index(common) - 1]

    def _targets(self) -> Iterator[CohortNode]:
        """Queues to take from, one after the other, as long as there are some."""
        root = self.quotas.root
        while id(root) not in self._done:
            if (queue := self._next(root)) is not None:
                yield queue

    def _next(self, cohort: CohortNode) -> CohortNode | None:
        """The queue below a cohort that gives next; None when something was only ruled out."""
        queue, share = self._unfairest_queue(cohort)
        best, most = None, _NOBODY
        for below in cohort.cohorts:
            if id(below) in self._done:
                continue
            if not is_borrowing(below) and id(below) not in self._way:
                self._done.add(id(below))
            elif (theirs := self.quotas.weighted_share(below)) >= most:
                best, most = below, theirs
        if best is None and queue is None:
            self._done.add(id(cohort))
            return None
        return self._next(best) if best is not None and most >= share else queue

    def _unfairest_queue(self, cohort: CohortNode) -> tuple[CohortNode | None, float]:
        best: CohortNode | None = None
        most = _NOBODY
        for queue in cohort.queues:
            if id(queue) in self._done:
                continue
            ours = queue is self.queue
            if not self._jobs.get(queue.name) or not (ours or is_borrowing(queue)):
                self._done.add(id(queue))
                continue
            share = self.quotas.weighted_share(queue)
            if (
                best is None
                or share > most
                or (share == most and self._rank(queue) < self._rank(best))
            ):
                best, most = queue, share
        return best, most

    def _rank(self, queue: CohortNode) -> tuple[bool, bool, int, int]:
        job = self._jobs[queue.name][0]
        return (not job.is_terminating, queue is self.queue, job.priority, -job.since)
