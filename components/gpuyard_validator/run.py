"""All checks over one machine."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from gpuyard_validator.checks import CHECKS, Check
from gpuyard_validator.checks.check import EACH_GPU, skipped
from gpuyard_validator.checks.inventory import FIRMWARE
from gpuyard_validator.expectations import AcceptedThreshold, Expectations
from gpuyard_validator.results import Action, Evidence, Report, Result, Status
from gpuyard_validator.snapshot import Snapshot
from gpuyard_validator.values import Malformed, ReportedByOtherCheck, UnknownValue

SILENT = "gpu.answers"
NO_DATE = "9999-12-31"
"""Without a known date no accepted threshold applies."""


def validate(
    expected: Expectations,
    machine: Snapshot,
    checks: Mapping[str, Check] = CHECKS,
    today: str = NO_DATE,
) -> Report:
    """The report; an exception in a check becomes an error in the report.

    Raises:
        Malformed: an accepted threshold names a check without one.
    """
    for number, each in enumerate(expected.accepted):
        if each.check not in CHECKS or not CHECKS[each.check].unit:
            raise Malformed(
                f"accepted[{number}].check: {each.check!r} has no threshold that can be lowered"
            )
    holding = tuple(each for each in expected.accepted if each.applies(today))
    active = replace(expected, accepted=holding)
    results = [
        replace(one, evidence=apply_accepted(one.evidence, check, expected.accepted, today))
        for check in checks.values()
        for one in _results(check, active, machine)
    ]
    failed = {each.check for each in results if each.counts_against}
    return Report(
        node=machine.node,
        pool=expected.pool,
        source=machine.source,
        driver=machine.driver if isinstance(machine.driver, str) else "",
        required=expected.required,
        results=tuple(_excused(each, failed) for each in results),
        parts=part_versions(machine),
    )


def part_versions(machine: Snapshot) -> dict[str, tuple[str, ...]]:
    """Driver and firmware versions, where known: one node cannot compare itself with others."""
    versions = {"driver": [machine.driver]} | {
        part: [getattr(gpu, part) for gpu in machine.gpus] for part in FIRMWARE
    }
    known_ones = {
        part: tuple(sorted({each for each in result if isinstance(each, str)}))
        for part, result in versions.items()
    }
    return {part: result for part, result in known_ones.items() if result}


def apply_accepted(
    result: Evidence, check: Check, accepted: Iterable[AcceptedThreshold], today: str
) -> Evidence:
    """A failure at the threshold becomes a warning where the accepted threshold is reached.

    An acceptance that has expired, or is higher, changes only the text.
    """
    value, floor = result.value, result.threshold
    fails = result.status is Status.FAIL and result.unit == check.unit
    if not fails or not isinstance(value, int | float) or not isinstance(floor, int | float):
        return result
    mine = [each for each in accepted if each.check == check.id]
    lower = [each for each in mine if each.applies(today) and each.value < floor]
    if not lower:
        over = [f"{e.value:g} was accepted until {e.until}" for e in mine if not e.applies(today)]
        return replace(result, source="; ".join([result.source, *over]))
    one = min(lower, key=lambda each: each.value)
    source = f"accepted until {one.until}: {one.reason} (otherwise {floor:g}: {result.source})"
    if value < one.value:
        return replace(result, threshold=one.value, source=source)
    reason = f"{result.reason}: accepted temporarily"
    return replace(result, status=Status.WARN, threshold=one.value, source=source, reason=reason)


def _excused(result: Result, failed: set[str]) -> Result:
    """A skipped check does not count when the check that reports the cause has failed."""
    if result.evidence.status is not Status.SKIP or result.evidence.source not in failed:
        return result
    return replace(result, required=False)


def _results(check: Check, expected: Expectations, machine: Snapshot) -> Iterator[Result]:
    must = expected.required and check.is_required
    if check.scope != EACH_GPU or check.inapplicable_reason(expected):
        yield result_of(check, "node", expected, machine, must=must)
        return
    if not machine.gpus:
        yield _result(check, "node", skipped("the node has no GPU"), must=must)
    for gpu in machine.gpus:
        scope = f"gpu {gpu.index}"
        if gpu.answers is not True and check.id != SILENT:
            yield _result(check, scope, skipped(f"the GPU does not respond: see {SILENT}"))
        else:
            yield result_of(check, scope, expected, gpu, must=must)


def result_of(check: Check, scope: str, expected: Any, seen: object, *, must: bool) -> Result:
    """The result of one check; one that does not apply is not required."""
    if reason := check.inapplicable_reason(expected):
        return _result(check, scope, skipped(f"does not apply: {reason}"))
    return _result(check, scope, _evidence(partial(check.judge, expected, seen)), must=must)


def _evidence(judge: Callable[[], Evidence]) -> Evidence:
    try:
        return judge()
    except (UnknownValue, ReportedByOtherCheck) as problem:
        return skipped(f"not run: {problem}", getattr(problem, "check", ""))
    except Exception as problem:  # noqa: BLE001  one broken check hides no other
        return Evidence(
            status=Status.ERROR,
            value=None,
            threshold=None,
            source="",
            reason=f"the check failed with an exception: {type(problem).__name__}: {problem}",
            action=Action.INVESTIGATE,
        )


def _result(check: Check, scope: str, evidence: Evidence, *, must: bool = False) -> Result:
    return Result(check=check.id, scope=scope, required=must, evidence=evidence)
