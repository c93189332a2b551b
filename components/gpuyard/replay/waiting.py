"""The waiting jobs of one team's queue, in Kueue's order (BestEffortFIFO; Kueue v0.19, cache/queue).

Each cycle takes out the head. If it cannot be admitted, it becomes inadmissible together with all
equal jobs, and the next one follows; free quota in the cohort makes all of them eligible again.
"""

import heapq
from dataclasses import dataclass, field

from gpuyard.replay.jobs import Rank, SubmittedJob


@dataclass(slots=True)
class PendingQueue:
    """One queue."""

    positions: dict[str, int]
    """By job: its index by submission time."""
    _heap: list[tuple[Rank, SubmittedJob]] = field(default_factory=list[tuple[Rank, SubmittedJob]])
    _aside: dict[object, list[SubmittedJob]] = field(
        default_factory=dict[object, list[SubmittedJob]]
    )
    """By equivalence key."""
    _first: SubmittedJob | None = None
    """A job that waits for evictions is first until it is admitted."""

    def add(self, job: SubmittedJob) -> None:
        """Add a new or evicted job."""
        if (equivalent_jobs := self._aside.get(job.equivalence_key)) is not None:
            equivalent_jobs.append(job)
        else:
            self.requeue(job)

    def pop(self) -> SubmittedJob | None:
        """Remove and return the head."""
        if (job := self._first) is not None:
            self._first = None
            return job
        while self._heap:
            job = heapq.heappop(self._heap)[1]
            if (equivalent_jobs := self._aside.get(job.equivalence_key)) is None:
                return job
            equivalent_jobs.append(job)
        return None

    def requeue(self, job: SubmittedJob) -> None:
        """Put a job back in its position: another took its quota in this cycle."""
        heapq.heappush(self._heap, (job.rank(self.positions[job.name]), job))

    def first(self, job: SubmittedJob) -> None:
        """Make a job the head: it waits only for evictions."""
        self._first = job

    def park(self, job: SubmittedJob) -> None:
        """Set aside a job that cannot be admitted now, with all equal jobs."""
        self._aside.setdefault(job.equivalence_key, []).append(job)

    def unpark(self) -> None:
        """Make all jobs eligible again: quota became free."""
        for alike in self._aside.values():
            for job in alike:
                self.requeue(job)
        self._aside.clear()
