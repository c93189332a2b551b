"""The two rounds of preemption by fair sharing in a tree of cohorts (Kueue v0.19, preemption/fairsharing).

From the root down, the search follows the queue or cohort with the largest share. It compares
shares at the children of the lowest cohort that both queues belong to.
"""

from collections.abc import Callable, Iterator, Sequence

from gpuyard_advisor.scheduler.model import RunningJob
from gpuyard_advisor.scheduler.preemption_rules import (
    FAIR_SHARING,
    RECLAIM,
    WITHIN_QUEUE,
    PreemptionTargets,
)
from gpuyard_advisor.scheduler.quotas import CohortNode, Quotas, is_borrowing

_NO_SHARE = -1.0
"""A share below every other."""


class FairChoice:
    """Jobs to evict so that a queue gets its fair share, selected one by one."""

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
        self._way = {id(cohort) for cohort in queue.ancestors}
        self._start(candidates)

    def _start(self, candidates: Sequence[RunningJob]) -> None:
        self._jobs: dict[str, list[RunningJob]] = {}
        for job in candidates:
            self._jobs.setdefault(str(job.team), []).append(job)
        self._done: set[int] = set()

    def run_first_round(self) -> bool:
        """First round: evict while the preemptor's share stays at or below the target's remaining share."""
        for queue in self._targets():
            jobs = self._jobs[queue.name]
            if queue is self.queue or self.entitled:
                if self._evict(jobs.pop(0), WITHIN_QUEUE if queue is self.queue else RECLAIM):
                    return True
                continue
            ours, theirs = self._part(queue)
            mine = self.quotas.dominant_resource_share(ours)
            if mine > self.quotas.dominant_resource_share(theirs):  # evictions never increase it
                self._again += jobs
                jobs.clear()
            while jobs:
                job = jobs.pop(0)
                self.quotas.take(queue.name, job.uses, -1)
                remaining = self.quotas.dominant_resource_share(theirs)
                self.quotas.take(queue.name, job.uses)
                if mine <= remaining:
                    if self._evict(job, FAIR_SHARING):
                        return True
                    break
                self._again.append(job)
        return False

    def run_second_round(self) -> bool:
        """Second round, once per queue: evict a job if the preemptor's share is below the target's current share."""
        self._start(self._again)
        for queue in self._targets():
            ours, theirs = self._part(queue)
            job = self._jobs[queue.name].pop(0)
            if self.quotas.dominant_resource_share(ours) < self.quotas.dominant_resource_share(
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
        """The children of the lowest common cohort that lead to the preemptor and to a queue."""
        common = next(cohort for cohort in queue.ancestors if id(cohort) in self._way)
        ours, theirs = (self.queue, *self.queue.ancestors), (queue, *queue.ancestors)
        return ours[ours.index(common) - 1], theirs[theirs.index(common) - 1]

    def _targets(self) -> Iterator[CohortNode]:
        """Queues to evict from, one after the other."""
        root = self.quotas.root
        while id(root) not in self._done:
            if (queue := self._next(root)) is not None:
                yield queue

    def _next(self, cohort: CohortNode) -> CohortNode | None:
        """The next queue below a cohort to evict from; None if the call only excluded one."""
        queue, share = self._unfairest_queue(cohort)
        best, most = None, _NO_SHARE
        for below in cohort.cohorts:
            if id(below) in self._done:
                continue
            if not is_borrowing(below) and id(below) not in self._way:
                self._done.add(id(below))
            elif (theirs := self.quotas.dominant_resource_share(below)) >= most:
                best, most = below, theirs
        if best is None and queue is None:
            self._done.add(id(cohort))
            return None
        return self._next(best) if best is not None and most >= share else queue

    def _unfairest_queue(self, cohort: CohortNode) -> tuple[CohortNode | None, float]:
        best: CohortNode | None = None
        most = _NO_SHARE
        for queue in cohort.queues:
            if id(queue) in self._done:
                continue
            ours = queue is self.queue
            if not self._jobs.get(queue.name) or not (ours or is_borrowing(queue)):
                self._done.add(id(queue))
                continue
            share = self.quotas.dominant_resource_share(queue)
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
