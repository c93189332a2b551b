"""Jobs as they come, and what became of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpuyard.plan.quotas.cohort_tree import Key
from gpuyard.scheduler.requests import PodSet

Rank = tuple[int, int, int]
"""Whose turn it is: the smallest goes first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedJob:
    """A job: when it is submitted, and what it asks for. Its pods are alike, and start all or none."""

    name: str
    team: str
    at: float
    """Seconds since the beginning."""
    seconds: float
    """How long it runs from its start; a job that is evicted begins anew."""
    requests: Mapping[str, int]
    """Of one pod."""
    pods: int = 1
    priority: int = 0
    selector: Mapping[str, str] = field(default_factory=dict[str, str])
    """Node labels that its pods ask for, as those of a pool."""
    equivalence_key: object = field(init=False, compare=False, repr=False)
    """What Kueue tells jobs apart by: those that look alike are set aside together."""

    def __post_init__(self) -> None:
        asks, nodes = sorted(self.requests.items()), sorted(self.selector.items())
        key = (self.priority, self.pods, tuple(asks), tuple(nodes))
        object.__setattr__(self, "equivalence_key", key)

    @property
    def pod_set(self) -> PodSet:
        """The pods, as queues see them."""
        return PodSet(path="pods", count=self.pods, requests=self.requests, selector=self.selector)

    def rank(self, place: int) -> Rank:
        """The higher priority first, then who came first; Kueue counts in whole seconds."""
        return -self.priority, int(self.at), place


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInterval:
    """A time during which a job held its quota."""

    start: float
    end: float
    uses: Mapping[Key, int]
    evicted_by: str = ""
    """The job it gave way to; empty when it ran to its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobHistory:
    """What became of one job."""

    job: SubmittedJob
    intervals: tuple[RunInterval, ...]
    order: int | None
    """Its place among all by when it was first admitted, from 0; None when it never was."""

    @property
    def admitted(self) -> float | None:
        """When it first got its quota."""
        return self.intervals[0].start if self.intervals else None

    @property
    def waited(self) -> float | None:
        """Seconds from its arrival to that."""
        return None if self.admitted is None else self.admitted - self.job.at

    @property
    def ended(self) -> float | None:
        """When it was over, None when it never was."""
        over = self.intervals and not self.intervals[-1].evicted_by
        return self.intervals[-1].end if over else None

    @property
    def evictions(self) -> int:
        """How often it had to give way."""
        return sum(bool(interval.evicted_by) for interval in self.intervals)
