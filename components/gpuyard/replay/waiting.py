"""The waiting jobs of one team's queue, in Kueue's order (BestEffortFIFO; Kueue v0.19, cache/queue).

Each cycle takes out the head. If it cannot be admitted, it becomes inadmissible together with all
equal jobs, and the next one follows; free quota in the cohort makes all of them eligible again.
Jobs are numbers; equal ones have the same shape and are kept together, so that no step scans them.
"""

import heapq
from dataclasses import dataclass, field

from gpuyard.replay.jobs import Rank

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
