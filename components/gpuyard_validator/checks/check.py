"""A check: its id, when it applies, and an evaluation of one GPU or of the whole node."""

from collections.abc import Callable
from dataclasses import dataclass

from gpuyard_validator.expectations import Expectations
from gpuyard_validator.results import Action, Evidence, Status
from gpuyard_validator.snapshot import Gpu, Snapshot
from gpuyard_validator.thresholds import Threshold

Applies = Callable[[Expectations], str]
"""Why the check does not apply; empty when it applies."""
OfGpu = Callable[[Expectations, Gpu], Evidence]
OfNode = Callable[[Expectations, Snapshot], Evidence]

PLAN = "the plan"
DEVICE = "the device's own limit"
NVML = "NVML"


def applies_everywhere(_: Expectations) -> str:
    """Applies to every machine."""
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check; exactly one of `gpu` and `node` is set."""

    id: str
    group: str
    description: str
    """What is wrong when the check fails, in one sentence."""
    remediation: str
    """What to do about a failure."""
    gpu: OfGpu | None = None
    node: OfNode | None = None
    inapplicable_reason: Applies = applies_everywhere
    is_required: bool = True
    """A machine fails when this check applies but cannot run. False where drivers in use do not report the value."""
    unit: str = ""
    """The unit of the threshold, where a lower threshold can be accepted; otherwise empty."""


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
    """Evidence that passes when `wrong` is empty; otherwise `wrong` is the reason."""
    return Evidence(
        status=status if wrong else Status.PASS,
        value=value,
        threshold=floor,
        source=source,
        unit=unit,
        reason=wrong,
        action=action if wrong else Action.NONE,
    )


def evaluate_minimum(
    value: float, floor: Threshold, unit: str, wrong: str, status: Status = Status.FAIL
) -> Evidence:
    """Evidence of a value that must reach its threshold."""
    bad = wrong if value < floor.value else ""
    return evaluate(value, floor.value, floor.source_text, bad, unit=unit, status=status)


def responding_gpus(machine: Snapshot) -> tuple[Gpu, ...]:
    """GPUs that respond; `gpu.answers` reports the others."""
    return tuple(gpu for gpu in machine.gpus if gpu.answers is True)
