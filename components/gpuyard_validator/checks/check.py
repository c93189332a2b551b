"""What a check is: a name, when it applies, and a judgement of one GPU or of the whole node."""

from collections.abc import Callable
from dataclasses import dataclass

from gpuyard_validator.expectations import Expectations
from gpuyard_validator.results import Action, Evidence, Status
from gpuyard_validator.snapshot import Gpu, Snapshot
from gpuyard_validator.thresholds import Threshold

Applies = Callable[[Expectations], str]
"""Why it does not apply; empty when it does."""
OfGpu = Callable[[Expectations, Gpu], Evidence]
OfNode = Callable[[Expectations, Snapshot], Evidence]

PLAN = "the plan"
DEVICE = "the device's own limit"
NVML = "NVML's own verdict"


def always(_: Expectations) -> str:
    """It applies to every machine."""
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check; either of `gpu` and `node` is set."""

    id: str
    group: str
    description: str
    """What is wrong when it fails, in one sentence."""
    remediation: str
    """What to do then."""
    gpu: OfGpu | None = None
    node: OfNode | None = None
    applies: Applies = always
    is_required: bool = True
    """When it applies and could not be run, the machine does not pass. False where drivers in use lack it."""
    unit: str = ""
    """What its floor is counted in, where somebody may accept a lower one; empty where nobody may."""


def evaluate(
    value: object,
    floor: object,
    source: str,
    wrong: str = "",
    *,
    unit: str = "",
    action: Action = Action.INVESTIGATE,
    status: Status = Status.FAIL,
) -> Evidence:
    """Evidence: good without `wrong`, which says what is."""
    return Evidence(
        status=status if wrong else Status.PASS,
        value=value,
        threshold=floor,
        source=source,
        unit=unit,
        reason=wrong,
        action=action if wrong else Action.NONE,
    )


def at_least(
    value: float, floor: Threshold, unit: str, wrong: str, status: Status = Status.FAIL
) -> Evidence:
    """Evidence of a value that must reach its floor."""
    bad = wrong if value < floor.value else ""
    return evaluate(value, floor.value, floor.source_text, bad, unit=unit, status=status)


def alive(machine: Snapshot) -> tuple[Gpu, ...]:
    """GPUs that answer; of the others `gpu.answers` tells."""
    return tuple(gpu for gpu in machine.gpus if gpu.answers is True)
