"""Jobs by arrival, and the outcome of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from gpuyard.plan.quotas.cohorts import Key

Rank = tuple[int, int, int]
"""Sort key of heads; the smallest is first."""
_ANY_NODE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedJob:
    """A submitted job. Its pods are identical and start together.

    Jobs with the same `requests` object share its memory.
    """

    name: str
    team: str
    submitted_at_seconds: float
    """Submission time in seconds since the start."""
    run_seconds: float
    """Run time from its start; a job that is stopped starts again from its last checkpoint."""
    requests: Mapping[str, int]
    """Requests of one pod."""
    pods: int = 1
    priority: int = 0
    selector: Mapping[str, str] = field(default_factory=lambda: _ANY_NODE)
    """Node labels that its pods select, which pools have."""
    checkpoint_seconds: float | None = None
    """Seconds between two checkpoints; None: it writes none, and starts from the beginning."""
    utilisation: float | None = None
    """The share of its GPUs' time that it uses, from 0 to 1; None: unknown."""

    def rank(self, place: int) -> Rank:
        """Higher priority first, then earlier submission in whole seconds, as in Kueue."""
        return -self.priority, int(self.submitted_at_seconds), place


class EndReason(StrEnum):
    """Why a job lost its quota."""

    COMPLETED = "completed"
    PREEMPTED = "preempted"
    INTERRUPTED = "interrupted"
    """One of its nodes ended."""
    NOT_READY = "not ready"
    """Its pods did not all run in time (Kueue's waitForPodsReady)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInterval:
    """A period in which a job has its quota."""

    start: float
    end: float
    uses: Mapping[Key, int]
    evicted_by: str = ""
    """The job that preempted it; empty for other reasons."""
    reason: EndReason = EndReason.COMPLETED
    running_since: float | None = None
    """When all its pods had a node and their image; None: they never had."""


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
    def started(self) -> float | None:
        """Time at which all its pods first ran."""
        return next((i.running_since for i in self.intervals if i.running_since is not None), None)

    @property
    def waited(self) -> float | None:
        """Seconds from submission to first admission."""
        return None if self.admitted is None else self.admitted - self.job.submitted_at_seconds

    @property
    def ended(self) -> float | None:
        """Time of its completion; None if it never completed."""
        over = self.intervals and self.intervals[-1].reason is EndReason.COMPLETED
        return self.intervals[-1].end if over else None

    @property
    def evictions(self) -> int:
        """Number of its evictions by other jobs."""
        return sum(interval.reason is EndReason.PREEMPTED for interval in self.intervals)
