"""A share of a node: each check passes on one that is well, and one fault makes exactly it fail."""

import json
import runpy
import sys
from dataclasses import replace
from http.client import HTTPException

import pytest

from gpuyard_validator.load.cuda import CardError, NoLibrary
from gpuyard_validator.results import Code, Status
from gpuyard_validator.shares import __main__ as command
from gpuyard_validator.shares.checks import (
    SCHEMA,
    SHARES,
    ShareExpectations,
    ShareObservation,
    judge,
    read_expectations,
)
from gpuyard_validator.shares.measure import HOLD, MIB, ProbeInputs, measure_share
from gpuyard_validator.snapshot import CannotRead
from gpuyard_validator.values import Malformed, Missing, MissingReason, decode, encode, parse_json
from kit.cases.hardware import SLICES, altered, machine
from kit.every import every

SHARED = 4
MEMORY = 4096


class Clock:
    """Time that passes in naps and in reading."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 0.01
        return self.now

    def pause(self, seconds):
        self.now += seconds


class Card:
    """A GPU by MPS: no more than the share is given, and an error of its own where it is asked to break."""

    def __init__(self, most=MEMORY, code=2):
        self.most, self.code, self.held = most, code, 0

    def device(self, size):
        if self.held + size > self.most * MIB:
            raise CardError("cuMemAlloc_v2", self.code, "CUDA_ERROR")
        self.held += size
        return 1

    def free(self):
        self.held = 0


def job(*looks):
    """A Job that says (ready, succeeded), and the last of these from then on."""
    said = list(looks)

    def ask():
        ready, succeeded = said.pop(0) if len(said) > 1 else said[0]
        return {"status": {"ready": ready or None, "succeeded": succeeded or None}}

    return ask


def wanted(**more):
    found = ShareExpectations(
        schema=SCHEMA, pool="dev", resource="nvidia.com/gpu.shared", at_once=SHARED, spare=1,
        memory_mib=MEMORY,
    )  # fmt: skip
    return replace(found, **more)


class Reader:
    def __init__(self, found):
        self.found = found

    def read(self):
        return self.found


def one_gpu(name="L4"):
    whole = machine(name)
    return replace(whole, gpus=whole.gpus[:1])


def cut(*slices):
    """What NVML shows a pod with these slices of one GPU."""
    return altered(one_gpu("H100"), 0, mig_current=True, instances=tuple(SLICES[s] for s in slices))


def reported(wanted, *, shows=None, card=Card, looks=((2, 0), (4, 0)), seconds=60.0):
    clock = Clock()
    means = ProbeInputs(
        machine=Reader(shows or one_gpu()).read, card=card, ask=job(*looks) if looks else None,
        seconds=seconds, pause=clock.pause, clock=clock,
    )  # fmt: skip
    return judge(wanted, measure_share(wanted, means))


def against(report):
    return {each.check for each in report.blocking_results}


def test_a_share_that_is_well_passes_every_check():
    report = reported(wanted())
    assert report.code is Code.PASSED
    assert {each.check for each in report.results} == set(SHARES)
    assert all(each.evidence.status is Status.PASS for each in report.results)


def broken():
    raise NoLibrary("no libcuda.so.1")


FAULTS = [
    ("share.together", {"looks": ((1, 0), (3, 0))}),
    ("share.waits", {"looks": ((4, 0), (5, 0))}),
    ("share.devices", {"shows": cut("1g.10gb", "1g.10gb")}),
    ("share.devices", {"shows": machine("H100")}),
    ("share.memory_within", {"card": lambda: Card(MEMORY // 4)}),
    ("share.memory_beyond", {"card": lambda: Card(MEMORY * 2)}),
]


@every("check, fault", FAULTS)
def test_a_fault_is_noticed_by_its_check_alone(check, fault):
    found = reported(wanted(), **fault)
    assert against(found) == {check}
    (one,) = {each.check: each.evidence for each in found.blocking_results}.values()
    assert one.status is Status.FAIL
    assert one.reason
    assert one.source


def test_every_check_has_a_fault():
    assert {check for check, _ in FAULTS} == set(SHARES)


def test_a_slice_that_sees_itself_alone_passes():
    assert reported(wanted(memory_mib=None), shows=cut("1g.10gb")).code is Code.PASSED


def test_one_that_had_to_wait_says_nothing_of_how_many_ran():
    """The pod that is one too many begins when another has ended."""
    report = reported(wanted(), looks=((1, 4), (1, 4)))
    assert report.code is Code.PASSED


def test_one_that_began_before_its_job_had_counted_who_ended_has_waited_all_the_same():
    report = reported(wanted(), looks=((3, 0), (1, 3), (1, 4)))
    assert report.code is Code.PASSED


def test_one_too_many_is_seen_while_all_hold_on():
    late = [(4, 0)] * (HOLD - 1) + [(5, 0)]
    assert against(reported(wanted(), looks=late)) == {"share.waits"}


def test_what_could_not_be_found_out_is_not_passed():
    assert against(reported(wanted(), looks=())) == {"share.together", "share.waits"}
    of_memory = {"share.memory_within", "share.memory_beyond"}
    assert against(reported(wanted(), card=broken)) == of_memory
    assert "share.memory_beyond" in against(reported(wanted(), card=lambda: Card(code=999)))
    assert against(reported(wanted(), shows=replace(one_gpu(), gpus=()))) == {"share.devices"}
    blind = altered(one_gpu("H100"), 0, mig_current=True, instances=Missing(MissingReason.FAILED))
    assert against(reported(wanted(), shows=blind)) == {"share.devices"}


def test_a_job_that_once_does_not_answer_is_asked_again_and_one_that_never_does_is_unknown():
    said = [OSError("reset"), HTTPException("cut")]

    def sometimes():
        if said:
            raise said.pop()
        return {"status": {"ready": 4}}

    def never():
        raise OSError("refused")

    for ask, seconds, found in (
        (sometimes, 60.0, set()),
        (never, 60.0, {"share.together", "share.waits"}),
        (sometimes, 0.0, {"share.together", "share.waits"}),
    ):
        clock = Clock()
        means = ProbeInputs(
            machine=Reader(one_gpu()).read, card=Card, ask=ask, seconds=seconds,
            pause=clock.pause, clock=clock,
        )  # fmt: skip
        assert against(judge(wanted(), measure_share(wanted(), means))) == found


def test_where_no_pod_is_one_too_many_none_has_to_wait():
    assert reported(wanted(spare=0), looks=((4, 0), (5, 0))).code is Code.PASSED


@every("text, said", [("{", "seen: not JSON"), ("{}", "node: missing")])
def test_what_was_seen_elsewhere_is_a_document(text, said):
    with pytest.raises(Malformed, match=said):
        decode(ShareObservation, parse_json(text, "seen"))


def test_what_another_pod_has_seen_is_judged_by_the_same_checks(files, capsys):
    seen = {"node": "dev-000", "devices": 2, "together": 4, "waited": False, "within": True}
    (files / "seen.json").write_text(json.dumps(seen | {"beyond": False}))
    assert run(files, "--seen", files / "seen.json") == 1
    said = json.loads(capsys.readouterr().out)
    failed = [each["id"] for each in said["checks"] if each["status"] == "fail"]
    assert (said["node"], failed) == ("dev-000", ["share.devices"])


def test_it_waits_no_longer_than_it_may():
    report = reported(wanted(), looks=((1, 0),), seconds=10.0)
    assert against(report) == {"share.together"}


@every(
    "text, said",
    [
        ("{", "share: not JSON"),
        ("{}", "schema: must be gpuyard.dev/share/v2, not None"),
        (json.dumps({"schema": SCHEMA}), "pool: missing"),
        ("[]", "document: must be an object"),
    ],
)
def test_a_document_that_is_none_is_refused(text, said):
    with pytest.raises(Malformed, match=said):
        read_expectations(text)


def test_a_node_without_shares_is_none():
    text = json.dumps(encode(wanted()))
    assert read_expectations(text) == wanted()
    with pytest.raises(Malformed, match="at_once: must be at least 1"):
        read_expectations(json.dumps(encode(wanted(at_once=0))))


@pytest.fixture
def files(tmp_path, monkeypatch):
    (tmp_path / "share.json").write_text(json.dumps(encode(wanted())))
    monkeypatch.setattr(command, "NvmlReader", lambda _: Reader(one_gpu()))
    monkeypatch.setattr(command, "CudaCard", lambda _: Card())
    monkeypatch.setattr(command, "job_of", lambda name: job((4, 0)) if name == "j" else None)
    monkeypatch.setattr("gpuyard_validator.shares.measure.PAUSE_SECONDS", 0)
    return tmp_path


def run(files, *more):
    return command.main(["--expect", str(files / "share.json"), *map(str, more)])


def test_exit_codes_and_last_words(files, capsys, monkeypatch):
    log = files / "log"
    assert run(files, "--job", "j", "--termination-log", log) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["verdict"] == "passed"
    assert log.read_text().startswith(err)
    monkeypatch.setattr(command, "CudaCard", lambda _: Card(MEMORY * 2))
    assert run(files, "--job", "j", "--termination-log", log) == 1
    assert (
        "fail: share.memory_beyond on nvidia.com/gpu.shared: could allocate more than its 4096 MiB"
        in log.read_text()
    )

    def gone(_):
        raise CannotRead("no driver")

    monkeypatch.setattr(command, "NvmlReader", gone)
    assert run(files, "--termination-log", log) == 3
    assert log.read_text() == "cannot run: no driver\n"
    (files / "share.json").write_text("{")
    assert run(files) == 3


def test_each_check_is_explained(capsys, monkeypatch):
    for name, check in SHARES.items():
        words = (check.description, check.remediation)
        assert command.main(["--explain", name]) == 0
        said = capsys.readouterr().out
        assert all(each in said for each in (name, *words))
    monkeypatch.delitem(sys.modules, "gpuyard_validator.shares.__main__")
    monkeypatch.setattr(sys, "argv", ["shares", "--explain", "share.waits"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("gpuyard_validator.shares", run_name="__main__")
    assert ended.value.code == 0
