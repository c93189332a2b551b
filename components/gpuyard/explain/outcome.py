"""Outcome of a job, as the steps of the decision hand it on."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gpuyard.explain.records import Preempted, Verdict
from gpuyard.scheduler.flavors import Assignment, ConsideredPool
from gpuyard.scheduler.model import Pods, RunningJob
from gpuyard.scheduler.nodes import FreeResources


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome:
    """What becomes of a job; every sentence about it is in `sentences`."""

    verdict: Verdict
    message: str
    admitted: bool = False
    unplaced: bool = False
    """True when its queue keeps it for want of a place or of an answer, though it has quota for it."""
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
    """What a team's own limit lacks: the resource, and how much would do."""
    placed_pods: tuple[Pods, ...] = ()
    """Where its pods stand, for what comes after it."""


@dataclass(frozen=True, slots=True)
class Excess:
    """More of something than all pods of a namespace may have together."""

    resource: str
    requested: int
    available: int
    hard: int

    @property
    def is_permanent(self) -> bool:
        """Whether it is too much also when no other pod is there."""
        return self.requested > self.hard

    @property
    def lacking(self) -> int:
        """How much must be given back before there is room."""
        return self.requested + self.available - self.hard


def not_started(outcome: JobOutcome, **said: Any) -> JobOutcome:
    """The same when none of its pods comes to run; what is said of it instead."""
    return replace(outcome, pods_started=0, nodes=0, nodes_to_start={}, **said)


def waiting(
    outcome: JobOutcome, message: str, conditions: tuple[str, ...], meanwhile: str
) -> JobOutcome:
    """The same when it is not let in yet: nobody gives way to it either."""
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
    """It cannot start, whoever else runs."""
    return JobOutcome(
        verdict=Verdict.NEVER, message=message, reasons=reasons, assignment=assignment, pools=pools
    )
