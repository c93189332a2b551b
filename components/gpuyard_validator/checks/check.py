"""A check: its id, when it applies, and an evaluation of one GPU or of the whole node."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from gpuyard_validator.expectations import Expectations
from gpuyard_validator.results import Action, Evidence, Status
from gpuyard_validator.snapshot import Gpu, Snapshot
from gpuyard_validator.thresholds import DATA, Threshold
from gpuyard_validator.values import read_table

Applies = Callable[[Any], str]
"""Why the check does not apply to these expectations; empty when it applies."""
Judge = Callable[[Any, Any], Evidence]
"""Evaluates expectations and what was seen: a GPU, a machine, a share."""

PLAN = "the plan"
DEVICE = "the device's own limit"
NVML = "NVML"


EACH_GPU = "each GPU"


def applies_everywhere(_: Expectations) -> str:
    """Applies to every machine."""
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check: a row of checks.csv, and its evaluation."""

    id: str
    group: str
    scope: str
    """What it evaluates: each GPU, the node, each share."""
    is_required: bool
    """A machine fails when this check applies but cannot run. False where drivers in use do not report the value."""
    unit: str
    """The unit of the threshold, where a lower threshold can be accepted; otherwise empty."""
    description: str
    """What is wrong when the check fails, in one sentence."""
    remediation: str
    """What to do about a failure."""
    judge: Judge
    inapplicable_reason: Applies


def check(name: str, judge: Judge, inapplicable_reason: Applies = applies_everywhere) -> Check:
    """The check with this id."""
    row = dict(_rows()[name])
    required = row.pop("required") == "yes"
    return Check(**row, is_required=required, judge=judge, inapplicable_reason=inapplicable_reason)


@cache
def _rows() -> Mapping[str, Mapping[str, str]]:
    return {row["id"]: row for row in read_table(DATA / "checks.csv")}


def skipped(reason: str, source: str = "") -> Evidence:
    """Evidence of a check that did not run."""
    return Evidence(status=Status.SKIP, value=None, threshold=None, source=source, reason=reason)


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
