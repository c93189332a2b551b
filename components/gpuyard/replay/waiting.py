"""The jobs that wait in one team's queue, in Kueue's order (BestEffortFIFO; Kueue v0.19, cache/queue).

The head is taken out for every cycle. Who cannot be admitted is set aside, with all that look alike, and
the next one has its turn; when something comes free in the cohort all of them come back.
"""

import heapq
from dataclasses import dataclass, field

from gpuyard.replay.jobs import Arrival, Rank


@dataclass(slots=True)
class Waiting:
    """One queue."""

    places: dict[str, int]
    """By job: its place in the order in which all were submitted."""
    _heap: list[tuple[Rank, Arrival]] = field(default_factory=list[tuple[Rank, Arrival]])
    _aside: dict[object, list[Arrival]] = field(default_factory=dict[object, list[Arrival]])
    """By what they look like."""
    _first: Arrival | None = None
    """Who has others evicted goes first until it is admitted."""

    def add(self, job: Arrival) -> None:
        """A new job, or one that was evicted."""
        if (alike := self._aside.get(job.looks)) is not None:
            alike.append(job)
        else:
            self.again(job)

    def pop(self) -> Arrival | None:
        """The head, out of the queue."""
        if (job := self._first) is not None:
            self._first = None
            return job
        while self._heap:
            job = heapq.heappop(self._heap)[1]
            if (alike := self._aside.get(job.looks)) is None:
                return job
            alike.append(job)
        return None

    def again(self, job: Arrival) -> None:
        """Back to where it was: another took what it needed in this cycle."""
        heapq.heappush(self._heap, (job.rank(self.places[job.name]), job))

    def first(self, job: Arrival) -> None:
        """It waits only for those who give way to it."""
        self._first = job

    def set_aside(self, job: Arrival) -> None:
        """It cannot be admitted now, nor can any that looks like it: those are not asked either."""
        self._aside.setdefault(job.looks, []).append(job)

    def take_up(self) -> None:
        """Something came free: everybody may try again."""
        for alike in self._aside.values():
            for job in alike:
                self.again(job)
        self._aside.clear()
