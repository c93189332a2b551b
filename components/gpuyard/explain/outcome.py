"""Outcome of a job, as the steps of the decision hand it on."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gpuyard.explain.records import Preempted, Verdict
from gpuyard.scheduler.desk import Pods, Running
from gpuyard.scheduler.flavors import Assignment, Considered
from gpuyard.scheduler.nodes import Room


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome:
    """What becomes of a job; every sentence about it is in `sentences`."""

    verdict: Verdict
    says: str
    admitted: bool = False
    unplaced: bool = False
    """True when its queue keeps it for want of a place or of an answer, though it has quota for it."""
    pools: tuple[str, ...] = ()
    pods_started: int = 0
    nodes: int = 0
    nodes_to_start: Mapping[str, int] = field(default_factory=dict[str, int])
    conditions: tuple[str, ...] = ()
    meanwhile: str = ""
    preempts: tuple[Preempted, ...] = ()
    gone: tuple[Running, ...] = ()
    reasons: tuple[Considered, ...] = ()
    cautions: tuple[str, ...] = ()
    assignment: Assignment | None = None
    rooms: Mapping[str, Room] = field(default_factory=dict[str, Room])
    beyond: tuple[str, int] | None = None
    """What a team's own limit lacks: the resource, and how much would do."""
    homes: tuple[Pods, ...] = ()
    """Where its pods stand, for what comes after it."""


@dataclass(frozen=True, slots=True)
class Excess:
    """More of something than all pods of a namespace may have together."""

    resource: str
    asks: int
    has: int
    hard: int

    @property
    def for_good(self) -> bool:
        """Whether it is too much also when no other pod is there."""
        return self.asks > self.hard

    @property
    def lacking(self) -> int:
        """How much must be given back before there is room."""
        return self.asks + self.has - self.hard


def unstarted(outcome: JobOutcome, **said: Any) -> JobOutcome:
    """The same when none of its pods comes to run; what is said of it instead."""
    return replace(outcome, pods_started=0, nodes=0, nodes_to_start={}, **said)


def held_back(
    outcome: JobOutcome, says: str, conditions: tuple[str, ...], meanwhile: str
) -> JobOutcome:
    """The same when it is not let in yet: nobody gives way to it either."""
    return unstarted(
        outcome,
        verdict=Verdict.WAITS,
        says=says,
        admitted=False,
        conditions=conditions,
        meanwhile=meanwhile,
        preempts=(),
        gone=(),
    )


def never(
    says: str,
    reasons: tuple[Considered, ...] = (),
    assignment: Assignment | None = None,
    pools: tuple[str, ...] = (),
) -> JobOutcome:
    """It cannot start, whoever else runs."""
    return JobOutcome(
        verdict=Verdict.NEVER, says=says, reasons=reasons, assignment=assignment, pools=pools
    )
