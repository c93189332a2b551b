"""Floors that somebody has lowered: they hold until their last day, downwards, and never in silence."""

import json
from dataclasses import replace

import pytest

from gpuyard_validator import command
from gpuyard_validator.checks import CHECKS
from gpuyard_validator.expectations import AcceptedThreshold
from gpuyard_validator.report import report_summary
from gpuyard_validator.results import Code, Status
from gpuyard_validator.run import validate
from gpuyard_validator.snapshot import snapshot_json
from gpuyard_validator.values import Malformed, encode
from kit.cases.faults import loaded, rated
from kit.cases.hardware import altered, expected, machine
from kit.every import every

DAY, BEFORE = "2026-11-25", "2026-11-24"
WARN, FAIL = Status.WARN, Status.FAIL


def lower(check="pcie.width", value=8.0, until=DAY):
    return AcceptedThreshold(check=check, value=value, reason="a riser of eight lanes", until=until)


def looked(accepted, lanes=8, day=DAY):
    """The report of a machine of which one GPU has so few lanes."""
    wanted = expected("H100", accepted=tuple(accepted))
    return validate(wanted, altered(machine("H100"), 3, pcie_width=lanes), today=day)


def told(report, check="pcie.width", scope="gpu 3"):
    (found,) = [r.evidence for r in report.results if (r.check, r.scope) == (check, scope)]
    return found


DCGM = "DCGM 4.6.0 nvvs/diag-skus.yaml.in, minimum of the pcie test (2026-11-23, not measured on hardware)"
HOLDS = f"accepted until {DAY}: a riser of eight lanes (otherwise 16: {DCGM})"


@every(
    "accepted, lanes, status, floor, source",
    [
        ([], 8, FAIL, 16, DCGM),
        ([lower()], 8, WARN, 8, HOLDS),
        ([lower()], 7, FAIL, 8, HOLDS),
        ([lower(), lower(value=12.0)], 8, WARN, 8, HOLDS),
        ([lower(value=16.0)], 8, FAIL, 16, DCGM),
        ([lower(until=BEFORE)], 8, FAIL, 16, f"{DCGM}; 8 was accepted until {BEFORE}"),
        ([lower(until=BEFORE), lower()], 8, WARN, 8, HOLDS),
        ([lower("pcie.generation", 4.0)], 8, FAIL, 16, DCGM),
    ],
)
def test_an_accepted_floor_holds_until_its_last_day_and_only_downwards(
    accepted, lanes, status, floor, source
):
    report = looked(accepted, lanes)
    found = told(report)
    assert (found.status, found.threshold, found.source) == (status, floor, source)
    assert report.code is (Code.PASSED if status is WARN else Code.FAILED)
    assert told(report, scope="gpu 2").status is Status.PASS


def test_who_lives_with_less_is_reminded():
    said = report_summary(looked([lower()]))
    assert said.splitlines()[1].startswith(
        "warn: pcie.width on gpu 3: fewer PCIe lanes than expected: accepted temporarily; value 8, threshold 8.0"
    )


def test_on_no_day_nothing_is_accepted():
    wanted = expected("H100", accepted=(lower(until="2099-12-31"),))
    report = validate(wanted, altered(machine("H100"), 3, pcie_width=8))
    assert report.code is Code.FAILED


def test_only_what_is_counted_alike_is_lowered():
    """A GPU that shares no memory with another is told in GPUs: no rate that is accepted excuses that."""
    wanted = expected("H100-loaded", accepted=(lower("work.peers", 1.0),))
    only = {"work.peers": CHECKS["work.peers"]}
    whole = machine("H100-loaded")
    some = tuple(rate for rate in whole.gpus[1].load.rates if rate.other != 3)
    alone = validate(wanted, loaded(rates=some)(whole), only, DAY)
    slow = validate(wanted, rated("peers", 2.0)(machine("H100-loaded")), only, DAY)
    assert {r.evidence.unit for r in alone.blocking_results} == {"GPUs"}
    assert not slow.blocking_results
    assert any(r.evidence.status is WARN for r in slow.results)


@every("check", ["gpu.count", "work.pcie", "nobody"])
def test_what_has_no_floor_cannot_be_lowered(check):
    with pytest.raises(Malformed) as caught:
        looked([lower("pcie.width"), lower(check)])
    assert str(caught.value) == f"accepted[1].check: {check!r} has no threshold that can be lowered"


def test_every_unit_is_that_of_its_check():
    """Else an accepted floor would change nothing, in silence."""
    for name in ("H100-loaded", "T4", "B200-loaded"):
        for each in validate(expected(name), machine(name)).results:
            ran = each.evidence.status is not Status.SKIP
            if (unit := CHECKS[each.check].unit) and ran:
                assert each.evidence.unit == unit, each


@every("until, code", [("2099-12-31", 0), ("2020-01-01", 1)])
def test_the_program_looks_at_the_clock(tmp_path, until, code):
    wanted = replace(expected("H100"), accepted=(lower(until=until),))
    (tmp_path / "wanted").write_text(json.dumps(encode(wanted)))
    seen = altered(machine("H100"), 3, pcie_width=8)
    (tmp_path / "seen").write_text(snapshot_json(seen))
    words = ["--expect", str(tmp_path / "wanted"), "--snapshot", str(tmp_path / "seen")]
    assert command.main(words) == code
