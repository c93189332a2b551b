"""The outcome of a job, passed between the steps of the decision."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gpuyard_advisor.explain.records import Preempted, Verdict
from gpuyard_advisor.scheduler.flavors import Assignment, ConsideredPool
from gpuyard_advisor.scheduler.model import Pods, RunningJob
from gpuyard_advisor.scheduler.nodes import FreeResources


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome:
    """The outcome of a job; its messages are in `gpuyard_advisor.explain.messages`."""

    verdict: Verdict
    message: str
    admitted: bool = False
    unplaced: bool = False
    """True when it has quota, but its queue waits for a placement or an admission check."""
    pools: tuple[str, ...] = ()
    pods_started: int = 0
    nodes: int = 0
    nodes_to_start: Mapping[str, int] = field(default_factory=dict[str, int])
    conditions: tuple[str, ...] = ()
    waiting_meanwhile: str = ""
    preempts: tuple[Preempted, ...] = ()
    preempted: tuple[RunningJob, ...] = ()
    reasons: tuple[ConsideredPool, ...] = ()
    cautions: tuple[str, ...] = ()
    assignment: Assignment | None = None
    free_capacity: Mapping[str, FreeResources] = field(default_factory=dict[str, FreeResources])
    excess: tuple[str, int] | None = None
    """The resource of an insufficient team limit, and the sufficient amount."""
    placed_pods: tuple[Pods, ...] = ()
    """The placement of its pods, for later jobs."""


@dataclass(frozen=True, slots=True)
class Excess:
    """A request above the quota for all pods of a namespace."""

    resource: str
    requested: int
    available: int
    hard: int

    @property
    def is_permanent(self) -> bool:
        """Whether it exceeds the quota also without other pods."""
        return self.requested > self.hard

    @property
    def amount_to_release(self) -> int:
        """How much must be released first."""
        return self.requested + self.available - self.hard


def not_started(outcome: JobOutcome, **said: Any) -> JobOutcome:
    """The outcome when none of its pods runs, with other messages."""
    return replace(outcome, pods_started=0, nodes=0, nodes_to_start={}, **said)


def waiting(
    outcome: JobOutcome, message: str, conditions: tuple[str, ...], meanwhile: str
) -> JobOutcome:
    """The outcome when it is not admitted yet; no job is preempted."""
    return not_started(
        outcome,
        verdict=Verdict.WAITS,
        message=message,
        admitted=False,
        conditions=conditions,
        waiting_meanwhile=meanwhile,
        preempts=(),
        preempted=(),
    )


def impossible(
    message: str,
    reasons: tuple[ConsideredPool, ...] = (),
    assignment: Assignment | None = None,
    pools: tuple[str, ...] = (),
) -> JobOutcome:
    """The outcome when it can never start."""
    return JobOutcome(
        verdict=Verdict.NEVER, message=message, reasons=reasons, assignment=assignment, pools=pools
    )
