"""Decides which workloads are idle and what to do: pure functions without clock or network."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from gpuyard_agents.idle.measure import Reading
from gpuyard_agents.idle.settings import Team
from gpuyard_agents.idle.workloads import Unit, Workload


class State(StrEnum):
    """State of a unit. Only `idle` leads to an action."""

    EXEMPT = "kept"
    """It has the label that keeps it."""
    WITHOUT_GPU = "without_gpu"
    STARTING = "starting"
    """Not all of its pods run."""
    YOUNG = "young"
    """It has run for less than the idle period."""
    UNMEASURED = "unmeasured"
    """The activity of at least one GPU is not known for the whole period."""
    BUSY = "busy"
    IDLE = "idle"


class Step(StrEnum):
    """The action."""

    NOTHING = "nothing"
    WARN = "warn"
    WAIT = "wait"
    """Warned, and the grace period is not over."""
    SUSPEND = "suspend"
    STUCK = "stuck"
    """Warned, the grace period is over, but it cannot be suspended."""
    RESET = "forget"
    """Warned, and no longer idle."""
    RESUME = "resume"
    """Suspended by this program, and now labelled to be kept."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A unit with its state and the next step."""

    unit: Unit
    state: State
    step: Step


def state_without_measurements(
    unit: Unit, team: Team, now: datetime, *, kept: bool
) -> State | None:
    """The state without measurements; None when measurements are needed."""
    holding = [pod for pod in unit.pods if pod.gpus or pod.claims]
    if kept or unit.kept:
        return State.EXEMPT
    if not holding:
        return State.WITHOUT_GPU
    if not all(pod.running and pod.started for pod in unit.pods):
        return State.STARTING
    since = now - timedelta(minutes=team.after_minutes)
    if any(pod.started and pod.started > since for pod in holding) or any(
        w.admitted and w.admitted > since for w in unit.workloads
    ):
        return State.YOUNG
    if any(pod.claims for pod in holding):
        return State.UNMEASURED
    return None


def state_from_measurements(unit: Unit, team: Team, readings: Mapping[str, Reading]) -> State:
    """One busy GPU makes the unit busy; one GPU without measurements prevents idle."""
    holding = [pod for pod in unit.pods if pod.gpus]
    results = [readings.get(pod.name) for pod in holding]
    if any(each and each.percent > team.below_percent for each in results):
        return State.BUSY
    is_complete = all(
        each and each.devices >= pod.gpus for pod, each in zip(holding, results, strict=True)
    )
    return State.IDLE if is_complete else State.UNMEASURED


def step_for(unit: Unit, state: State, team: Team, now: datetime) -> Step:
    """The next step, unless this is a dry run."""
    if state is not State.IDLE:
        return Step.RESET if any(w.warned or w.suspended for w in unit.workloads) else Step.NOTHING
    if unit.warned is None:
        return Step.WARN
    if now < unit.warned + timedelta(minutes=team.grace_minutes):
        return Step.WAIT
    return Step.STUCK if unit.cannot_suspend_reason else Step.SUSPEND


def is_resumable(workload: Workload) -> bool:
    """Suspended by this program, and not yet resumed."""
    return workload.suspended and not workload.active and not workload.finished
