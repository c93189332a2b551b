"""The jobs that wait in one team's queue, in Kueue's order (BestEffortFIFO; Kueue v0.19, cache/queue).

The head is taken out for every cycle. Who cannot be admitted is set aside, with all that look alike, and
the next one has its turn; when something comes free in the cohort all of them come back.
"""

import heapq
from dataclasses import dataclass, field

from gpuyard.replay.jobs import Rank, SubmittedJob


@dataclass(slots=True)
class PendingQueue:
    """One queue."""

    positions: dict[str, int]
    """By job: its place in the order in which all were submitted."""
    _heap: list[tuple[Rank, SubmittedJob]] = field(default_factory=list[tuple[Rank, SubmittedJob]])
    _aside: dict[object, list[SubmittedJob]] = field(
        default_factory=dict[object, list[SubmittedJob]]
    )
    """By what they look like."""
    _first: SubmittedJob | None = None
    """Who has others evicted goes first until it is admitted."""

    def add(self, job: SubmittedJob) -> None:
        """A new job, or one that was evicted."""
        if (equivalent_jobs := self._aside.get(job.equivalence_key)) is not None:
            equivalent_jobs.append(job)
        else:
            self.again(job)

    def pop(self) -> SubmittedJob | None:
        """The head, out of the queue."""
        if (job := self._first) is not None:
            self._first = None
            return job
        while self._heap:
            job = heapq.heappop(self._heap)[1]
            if (equivalent_jobs := self._aside.get(job.equivalence_key)) is None:
                return job
            equivalent_jobs.append(job)
        return None

    def again(self, job: SubmittedJob) -> None:
        """Back to where it was: another took what it needed in this cycle."""
        heapq.heappush(self._heap, (job.rank(self.positions[job.name]), job))

    def first(self, job: SubmittedJob) -> None:
        """It waits only for those who give way to it."""
        self._first = job

    def park(self, job: SubmittedJob) -> None:
        """It cannot be admitted now, nor can any that looks like it: those are not asked either."""
        self._aside.setdefault(job.equivalence_key, []).append(job)

    def unpark(self) -> None:
        """Something came free: everybody may try again."""
        for alike in self._aside.values():
            for job in alike:
                self.again(job)
        self._aside.clear()
