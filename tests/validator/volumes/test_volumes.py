"""Volumes that are read: what is there, how fast, past what the node remembers, and what cannot be told."""

import errno
import json
import os
import runpy
import sys
import threading
from dataclasses import replace

import pytest

from gpuyard_validator.results import Code, Status
from gpuyard_validator.values import Malformed, Missing, MissingReason, decode, encode, parse_json
from gpuyard_validator.volumes import __main__ as command
from gpuyard_validator.volumes import measure
from gpuyard_validator.volumes.checks import (
    READ,
    SCHEMA,
    VOLUMES,
    Reading,
    VolumeExpectations,
    VolumeObservation,
    judge,
    read_expectations,
)
from gpuyard_validator.volumes.measure import in_time, measure_volumes, pieces_of, speed
from kit.every import every

MIB = 1 << 20


class Clock:
    """A second for each look at it."""

    def __init__(self, step=1.0):
        self.now, self.step, self.lock = 0.0, step, threading.Lock()

    def __call__(self):
        with self.lock:
            self.now += self.step
            return self.now


@pytest.fixture
def volume(tmp_path, monkeypatch):
    """Two large files and a small one; 5 MiB are enough to tell here, and a block is one MiB."""
    monkeypatch.setattr(measure, "LEAST_BYTES", 5 * MIB)
    monkeypatch.setattr(measure, "BLOCK", MIB)
    (tmp_path / "data" / "deep").mkdir(parents=True)
    (tmp_path / "data" / "small").write_bytes(b"x")
    (tmp_path / "data" / "deep" / "large").write_bytes(bytes(4 * MIB + 5))
    (tmp_path / "data" / "other").write_bytes(bytes(2 * MIB))
    (tmp_path / "data" / "link").symlink_to("other")
    return tmp_path / "data"


def reading(path, floor=1.0):
    return Reading(name="corpus", path=str(path), threshold_mb_per_s=floor, source="its class")


def wanted(*readings):
    return VolumeExpectations(schema=SCHEMA, pool="train", readings=readings)


def reported(volume, floor=1.0):
    asked = wanted(reading(volume, floor))
    return judge(asked, measure_volumes(asked, "train-000", Clock(0.01)))


def why(report):
    (one,) = report.blocking_results
    return one.evidence.status, one.evidence.reason


def test_a_volume_that_is_fast_enough_passes(volume):
    report = reported(volume)
    assert (report.code, report.node, report.pool) == (Code.PASSED, "train-000", "train")
    (one,) = report.results
    assert (one.check, one.scope, one.figure) == (READ, "corpus", "storage.read.corpus")
    assert one.evidence.value > 1
    assert (one.evidence.threshold, one.evidence.unit, one.evidence.source) == (
        1.0,
        "MB/s",
        "its class",
    )


def test_a_slow_one_fails(volume):
    status, reason = why(reported(volume, floor=1e9))
    assert (status, reason) == (Status.FAIL, "the read rate is below its threshold")


def test_what_cannot_be_told_is_not_passed(volume, tmp_path):
    (empty := tmp_path / "empty").mkdir()
    (few := tmp_path / "few").mkdir()
    (few / "one").write_bytes(bytes(2 * MIB))
    told = "of its first 1 files, those of at least 1 MiB have 2 MiB in total; a measurement needs 5 MiB"
    assert why(reported(empty)) == (Status.SKIP, "not run: the volume is empty")
    assert why(reported(few)) == (Status.SKIP, f"not run: {told}")
    assert why(reported(tmp_path / "none")) == (
        Status.SKIP,
        "not run: cannot be read: No such file or directory",
    )


def test_every_byte_of_the_large_files_is_read_once_by_streams_that_go_forward(volume):
    streams = pieces_of(volume, Clock(0.01))
    assert len(streams) == 7, "a block each, and what is left of the file"
    read = [(p.path.name, p.begin, p.size) for pieces in streams for p in pieces]
    assert read == [
        *(("large", n * MIB, MIB) for n in range(4)), ("large", 4 * MIB, 5),
        ("other", 0, MIB), ("other", MIB, MIB),
    ]  # fmt: skip


def test_the_whole_of_it_is_counted(volume, monkeypatch):
    monkeypatch.setattr(measure, "STREAMS", 2)
    (large, rest) = pieces_of(volume, Clock(0.01))
    assert [len(large), len(rest)] == [4, 3]
    assert measure._read(rest, 1e9, Clock()) == 2 * MIB + 5
    assert measure._read(large, 0.0, Clock()) == MIB, "one piece at least, however late it is"


def test_no_more_is_read_than_is_needed(volume, monkeypatch):
    monkeypatch.setattr(measure, "READ_BYTES", 3 * MIB)
    assert sum(p.size for pieces in pieces_of(volume, Clock(0.01)) for p in pieces) == 3 * MIB


def test_a_volume_with_very_many_names_is_not_listed_to_its_end(volume, monkeypatch):
    monkeypatch.setattr(measure, "NAMES", 0)
    assert pieces_of(volume, Clock(0.01)) == Missing(MissingReason.FAILED, "the volume is empty")
    monkeypatch.setattr(measure, "NAMES", 2000)
    assert pieces_of(volume, Clock(100.0)) == Missing(MissingReason.FAILED, "the volume is empty")


def test_a_folder_that_nobody_may_open_is_passed_over(volume, monkeypatch):
    """The root of an NFS export has a lost+found of root's own."""
    real = os.scandir

    def guarded(path):
        if str(path).endswith("deep"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path)

    monkeypatch.setattr(measure.os, "scandir", guarded)
    assert "have 2 MiB" in pieces_of(volume, Clock(0.01)).detail


def test_what_a_store_fetches_first_is_measured_again(volume, monkeypatch):
    passes = [10.0, 500.0]
    monkeypatch.setattr(measure, "_pass", lambda *_: passes.pop(0))
    assert speed(reading(volume, 400.0), Clock(0.01)) == 500.0
    passes[:] = [450.0, 1.0]
    assert speed(reading(volume, 400.0), Clock(0.01)) == 450.0
    assert passes == [1.0], "one pass was enough"
    passes[:] = [50.0, 1.0]
    assert speed(reading(volume, 400.0), Clock(0.01)) == 50.0


def test_bytes_by_time_are_the_speed(volume):
    """Seven pieces of 6 MiB and 5 bytes, each look at the clock a second."""
    found = measure._pass(pieces_of(volume, Clock(0.01)), Clock())
    assert found == pytest.approx((6 * MIB + 5) / 1e6)


def test_a_file_that_breaks_while_it_is_read_says_so(volume, monkeypatch):
    def broken(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(measure, "_read", broken)
    assert why(reported(volume))[1] == "not run: cannot be read: Input/output error"


def test_a_mount_that_never_answers_is_left_behind(monkeypatch):
    gate = threading.Event()

    def stuck():
        gate.wait()
        return 1.0

    assert in_time(stuck, 0.01) == Missing(MissingReason.FAILED, "no answer for 0 s")
    gate.set()
    assert in_time(lambda: 2.0, 10.0) == 2.0


@every("direct", [True, False])
def test_what_the_node_has_in_its_memory_is_not_read(volume, monkeypatch, direct):
    """Directly where the file system can; else the kernel is asked to forget it first, once a file."""
    forgotten, flags = [], []
    real = measure.fcntl.fcntl

    def fcntl(file, what, *value):
        if value:
            flags.append(bool(value[0] & os.O_DIRECT))
            if value[0] & os.O_DIRECT:
                if not direct:
                    raise OSError(errno.EINVAL, "Invalid argument")
                return 0
        return real(file, what, *value)

    monkeypatch.setattr(measure.fcntl, "fcntl", fcntl)
    monkeypatch.setattr(measure.os, "posix_fadvise", lambda *what: forgotten.append(what[1:]))
    monkeypatch.setattr(measure, "STREAMS", 1)
    (pieces,) = pieces_of(volume, Clock(0.01))
    assert measure._read(pieces, 1e9, Clock()) == 6 * MIB + 5
    assert flags == ([True, True] if direct else [True, False, True, False])
    assert forgotten == ([] if direct else [(0, 0, os.POSIX_FADV_DONTNEED)] * 2)


def test_a_file_system_that_takes_the_flag_and_refuses_to_read_is_read_the_other_way(
    volume, monkeypatch
):
    real, asked = os.preadv, []

    def preadv(file, rooms, at):
        asked.append(len(rooms[0]))
        if len(asked) == 1:
            raise OSError(errno.EINVAL, "Invalid argument")
        return real(file, rooms, at)

    monkeypatch.setattr(measure.os, "preadv", preadv)
    (first, *_) = pieces_of(volume, Clock(0.01))
    assert measure._read(first, 1e9, Clock()) == MIB
    assert asked[0] < asked[1]


def test_a_volume_of_which_nothing_was_seen_has_not_run():
    asked = wanted(reading("/x"))
    assert why(judge(asked, VolumeObservation(node="n", reads={})))[1] == "not run: unasked"


@pytest.fixture
def files(tmp_path, volume):
    (tmp_path / "volumes.json").write_text(json.dumps(encode(wanted(reading(volume)))))
    return tmp_path


def run(files, *more):
    return command.main(["--expect", str(files / "volumes.json"), *map(str, more)])


def test_exit_codes_and_last_words(files, volume, capsys, monkeypatch):
    monkeypatch.setenv("NODE_NAME", "train-007")
    log = files / "log"
    assert run(files, "--termination-log", log) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["verdict"], said["node"]) == ("passed", "train-007")
    assert '"storage.read.corpus":{' in log.read_text()
    (files / "volumes.json").write_text(json.dumps(encode(wanted(reading(volume, 1e9)))))
    assert run(files, "--termination-log", log) == 1
    assert "fail: storage.read on corpus: the read rate is below its threshold" in log.read_text()
    (files / "volumes.json").write_text("{")
    assert run(files, "--termination-log", log) == 3
    assert log.read_text().startswith("cannot run: volumes: not JSON")


def test_what_another_pod_has_seen_is_judged_by_the_same_check(files, capsys):
    missing = {"missing": "failed", "detail": "the volume is empty"}
    for reads, code in (({"corpus": 5.5}, 0), ({"corpus": 0.5}, 1), ({"corpus": missing}, 1)):
        (files / "seen.json").write_text(json.dumps({"node": "train-000", "reads": reads}))
        assert run(files, "--seen", files / "seen.json") == code
    assert (
        "required and skip: storage.read on corpus: not run: the volume is empty"
        in capsys.readouterr().err
    )


@every(
    "text, says",
    [
        ("{", "volumes: not JSON"),
        ("{}", "schema: must be gpuyard.dev/volumes/v1, not None"),
        (json.dumps({"schema": SCHEMA}), "pool: missing"),
        (
            json.dumps({"schema": SCHEMA, "pool": "p", "readings": []}),
            "readings: must have at least one",
        ),
    ],
)
def test_a_document_that_is_none_is_refused(text, says):
    with pytest.raises(Malformed, match=says):
        read_expectations(text)


def test_documents_come_back_as_they_were():
    asked = wanted(reading("/x"), replace(reading("/y"), name="home"))
    assert read_expectations(json.dumps(encode(asked))) == asked
    seen = VolumeObservation(
        node="n",
        reads={"corpus": 1.0, "home": Missing(MissingReason.FAILED, "the volume is empty")},
    )
    assert decode(VolumeObservation, encode(seen)) == seen
    with pytest.raises(Malformed, match="seen: not JSON"):
        decode(VolumeObservation, parse_json("{", "seen"))


def test_the_check_is_explained(capsys, monkeypatch):
    assert command.main(["--explain", READ]) == 0
    said = capsys.readouterr().out
    assert all(
        each in said for each in (READ, VOLUMES[READ].description, VOLUMES[READ].remediation)
    )
    monkeypatch.delitem(sys.modules, "gpuyard_validator.volumes.__main__")
    monkeypatch.setattr(sys, "argv", ["volumes", "--explain", READ])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("gpuyard_validator.volumes", run_name="__main__")
    assert ended.value.code == 0
