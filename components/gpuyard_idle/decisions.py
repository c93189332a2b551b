"""Who is idle, and what becomes of them: pure, no clock, no network."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from gpuyard_idle.measure import Reading
from gpuyard_idle.settings import Team
from gpuyard_idle.workloads import Unit, Workload


class State(StrEnum):
    """What is known of a unit. Only `idle` ever leads to anything."""

    EXEMPT = "kept"
    """Somebody has said that it is to be left alone."""
    WITHOUT_GPU = "without_gpu"
    STARTING = "starting"
    """Not all of its pods run."""
    YOUNG = "young"
    """Runs for less time than it takes to be idle."""
    UNMEASURED = "unmeasured"
    """Of one GPU at least it is not known what it did all the time."""
    BUSY = "busy"
    IDLE = "idle"


class Step(StrEnum):
    """What is done about it."""

    NOTHING = "nothing"
    WARN = "warn"
    WAIT = "wait"
    """Warned, and the grace is not over."""
    SUSPEND = "suspend"
    STUCK = "stuck"
    """Warned, the grace is over, and it cannot be suspended."""
    RESET = "forget"
    """Warned, and idle no more."""
    RESUME = "resume"
    """Suspended by this program, and now its owner wants it kept."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A unit with what is known of it and what follows."""

    unit: Unit
    state: State
    step: Step


def state_before(unit: Unit, team: Team, now: datetime, *, kept: bool) -> State | None:
    """What is known without a measurement; None when it takes one."""
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


def state_measured(unit: Unit, team: Team, readings: Mapping[str, Reading]) -> State:
    """One busy GPU makes all of it busy; one GPU that nobody measured keeps it from being idle."""
    holding = [pod for pod in unit.pods if pod.gpus]
    results = [readings.get(pod.name) for pod in holding]
    if any(each and each.percent > team.below_percent for each in results):
        return State.BUSY
    is_complete = all(
        each and each.devices >= pod.gpus for pod, each in zip(holding, results, strict=True)
    )
    return State.IDLE if is_complete else State.UNMEASURED


def step_for(unit: Unit, state: State, team: Team, now: datetime) -> Step:
    """What follows, if this is not a dry run."""
    if state is not State.IDLE:
        return Step.RESET if any(w.warned or w.suspended for w in unit.workloads) else Step.NOTHING
    if unit.warned is None:
        return Step.WARN
    if now < unit.warned + timedelta(minutes=team.grace_minutes):
        return Step.WAIT
    return Step.STUCK if unit.stuck else Step.SUSPEND


def is_resumable(workload: Workload) -> bool:
    """Suspended by this program, and not yet resumed."""
    return workload.suspended and not workload.active and not workload.finished
