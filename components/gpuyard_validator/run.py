"""All checks over one machine."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from gpuyard_validator.checks import CHECKS, Check
from gpuyard_validator.checks.inventory import FIRMWARE
from gpuyard_validator.expectations import AcceptedFloor, Expectations
from gpuyard_validator.results import Action, Evidence, Report, Result, Status
from gpuyard_validator.snapshot import Snapshot
from gpuyard_validator.values import Malformed, NotKnown, ToldBy

SILENT = "gpu.answers"
NO_DAY = "9999-12-31"
"""On no day that is known no accepted floor holds."""


def validate(
    expected: Expectations,
    machine: Snapshot,
    checks: Mapping[str, Check] = CHECKS,
    today: str = NO_DAY,
) -> Report:
    """The report; a check that breaks down is an error in it, never an end of it.

    Raises:
        Malformed: a floor is accepted that no check has.
    """
    for number, each in enumerate(expected.accepted):
        if each.check not in CHECKS or not CHECKS[each.check].unit:
            raise Malformed(f"accepted[{number}].check: {each.check!r} has no floor to be lowered")
    holding = tuple(each for each in expected.accepted if each.holds(today))
    wanted = replace(expected, accepted=holding)
    found = [
        replace(one, evidence=settled(one.evidence, check, expected.accepted, today))
        for check in checks.values()
        for one in _results(check, wanted, machine)
    ]
    failed = {each.check for each in found if each.counts_against}
    return Report(
        node=machine.node,
        pool=expected.pool,
        source=machine.source,
        driver=machine.driver if isinstance(machine.driver, str) else "",
        required=expected.required,
        results=tuple(_excused(each, failed) for each in found),
        parts=parts_of(machine),
    )


def parts_of(machine: Snapshot) -> dict[str, tuple[str, ...]]:
    """Driver and firmware, as far as they are known: one node cannot say whether the others have the same."""
    told = {"driver": [machine.driver]} | {
        part: [getattr(gpu, part) for gpu in machine.gpus] for part in FIRMWARE
    }
    known_ones = {
        part: tuple(sorted({each for each in found if isinstance(each, str)}))
        for part, found in told.items()
    }
    return {part: found for part, found in known_ones.items() if found}


def settled(
    found: Evidence, check: Check, accepted: Iterable[AcceptedFloor], today: str
) -> Evidence:
    """What failed at its floor, at the one that is accepted: reaching that is told, and does not fail.

    What is over, or asks for more, changes nothing but the words.
    """
    value, floor = found.value, found.floor
    fails = found.status is Status.FAIL and found.unit == check.unit
    if not fails or not isinstance(value, int | float) or not isinstance(floor, int | float):
        return found
    mine = [each for each in accepted if each.check == check.id]
    lower = [each for each in mine if each.holds(today) and each.value < floor]
    if not lower:
        over = [f"{e.value:g} was accepted until {e.until}" for e in mine if not e.holds(today)]
        return replace(found, source="; ".join([found.source, *over]))
    one = min(lower, key=lambda each: each.value)
    said = f"accepted until {one.until}: {one.reason} (else {floor:g}: {found.source})"
    if value < one.value:
        return replace(found, floor=one.value, source=said)
    reason = f"{found.reason}: accepted for a while"
    return replace(found, status=Status.WARN, floor=one.value, source=said, reason=reason)


def _excused(result: Result, failed: set[str]) -> Result:
    """One that another check tells of counts no second time, where that one has run and does count."""
    if result.evidence.status is not Status.SKIP or result.evidence.source not in failed:
        return result
    return replace(result, required=False)


def _results(check: Check, expected: Expectations, machine: Snapshot) -> Iterator[Result]:
    must = expected.required and check.must
    if reason := check.applies(expected):
        yield _result(check, "node", _skipped(f"does not apply: {reason}"))
        return
    if check.node is not None:
        yield _result(check, "node", _evidence(partial(check.node, expected, machine)), must=must)
        return
    of_gpu = check.gpu
    assert of_gpu is not None, "a check judges a node or a GPU"  # noqa: S101
    if not machine.gpus:
        yield _result(check, "node", _skipped("there is no GPU"), must=must)
    for gpu in machine.gpus:
        scope = f"gpu {gpu.index}"
        if gpu.answers is not True and check.id != SILENT:
            yield _result(check, scope, _skipped(f"the GPU does not answer: {SILENT}"))
        else:
            judge = partial(of_gpu, expected, gpu)
            yield _result(check, scope, _evidence(judge), must=must)


def _evidence(judge: Callable[[], Evidence]) -> Evidence:
    try:
        return judge()
    except (NotKnown, ToldBy) as problem:
        return _skipped(f"not run: {problem}", getattr(problem, "check", ""))
    except Exception as problem:  # noqa: BLE001  one broken check hides no other
        return Evidence(
            status=Status.ERROR,
            value=None,
            floor=None,
            source="",
            reason=f"the check broke down: {type(problem).__name__}: {problem}",
            action=Action.LOOK,
        )


def _skipped(reason: str, source: str = "") -> Evidence:
    return Evidence(status=Status.SKIP, value=None, floor=None, source=source, reason=reason)


def _result(check: Check, scope: str, evidence: Evidence, *, must: bool = False) -> Result:
    return Result(check=check.id, scope=scope, required=must, evidence=evidence)
