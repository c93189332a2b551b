"""Which running jobs a waiting job should preempt, by what both are predicted to need."""

from collections.abc import Iterable
from dataclasses import dataclass

PREEMPTION_RATIO = 0.3
"""The waiting job must need less than this share of what the other has left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningEstimate:
    """A running job and what it is predicted to have left."""

    name: str
    priority: int
    remaining_seconds: float | None
    """None: not enough data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptionAdvice:
    """Whether to preempt one running job, and why."""

    name: str
    preempt: bool
    reason: str


def advise_preemption(
    priority: int,
    expected_seconds: float | None,
    running: Iterable[RunningEstimate],
    ratio: float = PREEMPTION_RATIO,
) -> tuple[PreemptionAdvice, ...]:
    """Advice for each running job: first those to preempt, by lowest priority, then longest left.

    Args:
        priority: Of the waiting job.
        expected_seconds: Its predicted duration; None: not enough data.
        running: The jobs whose GPUs it could use.
        ratio: The waiting job must need less than this share of what the other has left.
    """
    results: list[tuple[tuple[bool, int, float], PreemptionAdvice]] = []
    for job in running:
        reason = ""
        left = job.remaining_seconds
        if job.priority >= priority:
            reason = f"its priority {job.priority} is not lower than {priority}"
        elif expected_seconds is None or left is None:
            which = "the waiting job" if expected_seconds is None else "it"
            reason = f"not enough data to predict {which}"
        elif expected_seconds >= ratio * left:
            reason = (
                f"the waiting job needs {expected_seconds:,.0f} s, not less than {ratio:g} × "
                f"{left:,.0f} s that it has left"
            )
        preempt = not reason
        if preempt:
            reason = f"{expected_seconds:,.0f} s are less than {ratio:g} × {left:,.0f} s left"
        order = (not preempt, job.priority, -(left or 0.0))
        results.append((order, PreemptionAdvice(name=job.name, preempt=preempt, reason=reason)))
    return tuple(advice for _, advice in sorted(results, key=lambda one: one[0]))
