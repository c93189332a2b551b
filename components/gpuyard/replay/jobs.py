"""Jobs by arrival, and the outcome of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpuyard.plan.quotas.cohort_tree import Key
from gpuyard.scheduler.requests import PodSet

Rank = tuple[int, int, int]
"""Sort key of heads; the smallest is first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedJob:
    """A submitted job. Its pods are identical and start together."""

    name: str
    team: str
    submitted_at_seconds: float
    """Submission time in seconds since the start."""
    run_seconds: float
    """Run time from its start; an evicted job starts again."""
    requests: Mapping[str, int]
    """Requests of one pod."""
    pods: int = 1
    priority: int = 0
    selector: Mapping[str, str] = field(default_factory=dict[str, str])
    """Node labels that its pods select, which pools have."""
    equivalence_key: object = field(init=False, compare=False, repr=False)
    """Kueue's scheduling equivalence: a job that is not admitted makes equal jobs wait as well."""

    def __post_init__(self) -> None:
        asks, nodes = sorted(self.requests.items()), sorted(self.selector.items())
        key = (self.priority, self.pods, tuple(asks), tuple(nodes))
        object.__setattr__(self, "equivalence_key", key)

    @property
    def pod_set(self) -> PodSet:
        """The pods as queues count them."""
        return PodSet(path="pods", count=self.pods, requests=self.requests, selector=self.selector)

    def rank(self, place: int) -> Rank:
        """Higher priority first, then earlier submission in whole seconds, as in Kueue."""
        return -self.priority, int(self.submitted_at_seconds), place


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInterval:
    """A period in which a job held its quota."""

    start: float
    end: float
    uses: Mapping[Key, int]
    evicted_by: str = ""
    """The job that preempted it; empty if it completed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobHistory:
    """The history of one job."""

    job: SubmittedJob
    intervals: tuple[RunInterval, ...]
    order: int | None
    """Its position by first admission, from 0; None if it was never admitted."""

    @property
    def admitted(self) -> float | None:
        """Time of its first admission."""
        return self.intervals[0].start if self.intervals else None

    @property
    def waited(self) -> float | None:
        """Seconds from submission to first admission."""
        return None if self.admitted is None else self.admitted - self.job.submitted_at_seconds

    @property
    def ended(self) -> float | None:
        """Time of its completion; None if it never completed."""
        over = self.intervals and not self.intervals[-1].evicted_by
        return self.intervals[-1].end if over else None

    @property
    def evictions(self) -> int:
        """Number of its evictions."""
        return sum(bool(interval.evicted_by) for interval in self.intervals)
