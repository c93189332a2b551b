"""Reports out: what each reader of them finds, and the program's arguments and exit codes."""

import json
import runpy
import sys
from dataclasses import replace
from math import isfinite
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sizes
from gpuyard_validator import command, nvml
from gpuyard_validator import report as report_module
from gpuyard_validator.checks import CHECKS
from gpuyard_validator.expectations import CollectivePeers
from gpuyard_validator.host import Host
from gpuyard_validator.report import (
    DIGEST_BYTES,
    FIGURES_SCHEMA,
    as_json,
    as_junit,
    as_prometheus,
    report_summary,
    termination_message,
)
from gpuyard_validator.results import Action, Evidence, Report, Result, Status, worst_action
from gpuyard_validator.run import validate
from gpuyard_validator.snapshot import snapshot_json
from gpuyard_validator.thresholds import Quantity, common, gpus, limits, threshold_of
from gpuyard_validator.values import Missing, MissingReason, encode
from kit.cases.figures import FIGURES
from kit.cases.hardware import CARDS, altered, expected, machine
from kit.every import every
from kit.searches import examples


def broken():
    """A node with a fault, a warning and a check that could not run."""
    bad = altered(machine("H100"), remap_failure=True, power_limit_mw=1)
    return validate(
        expected("H100"),
        altered(
            bad,
            2,
            vbios=Missing(MissingReason.FAILED, "no"),
            ecc_current=Missing(MissingReason.FAILED),
        ),
    )


def test_the_digest_has_the_verdict_first_then_check_device_value_and_floor():
    lines = report_summary(broken()).splitlines()
    assert lines[0].startswith("failed: node node-1, pool train: ")
    assert lines[0].endswith("2 failed")
    assert lines[1] == (
        "fail: memory.remapped_rows on gpu 1: no spare rows are left; value True, threshold False"
        " (NVML); needs: replace"
    )
    assert lines[2].startswith(
        "required and skip: ecc.mode on gpu 2: not run: ECC is unknown (failed)"
    )
    assert "warn: power.limit on gpu 1" in lines[3]
    assert report_summary(validate(expected("T4"), machine("T4"))).startswith("passed: node node-1")


def test_the_digest_fits_a_termination_message():
    many = replace(machine("H100"), node="n" * 9000)
    for index in range(8):
        many = altered(
            many,
            index,
            remap_failure=True,
            uuid="é" * 4000,
            name="é" * 4000,
            ecc_current=False,
            pcie_width=1,
            pcie_generation=1,
            sram_uncorrected=9,
            thermal_margin=0,
            processes=(1,),
        )
    said = report_summary(validate(expected("H100"), many))
    assert len(said.encode()) <= DIGEST_BYTES
    assert said.startswith("failed: node nnn")
    assert " more" in said.splitlines()[-1]


TEXTS = st.text(max_size=600)
PARTS = ("driver", "vbios", "gsp_firmware", "inforom_image")
VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS)


@st.composite
def reports(draw):
    """Any report at all, also what no check of ours says."""
    names = [*CHECKS, *(f"x.{n}" for n in range(40))]
    evidence = st.builds(
        Evidence, status=st.sampled_from(Status), value=VALUES, threshold=VALUES, source=TEXTS,
        unit=TEXTS, reason=TEXTS, action=st.sampled_from(Action),
    )  # fmt: skip
    one = st.builds(
        Result, check=st.sampled_from(names), scope=TEXTS, required=st.booleans(), evidence=evidence
    )
    return Report(
        node=draw(TEXTS), pool=draw(TEXTS), source="", driver="", required=draw(st.booleans()),
        results=tuple(draw(st.lists(one, max_size=60))),
        parts=draw(st.dictionaries(st.sampled_from(PARTS), st.lists(TEXTS, max_size=9).map(tuple))),
    )  # fmt: skip


@settings(max_examples=examples(60), deadline=None)
@given(reports())
def test_any_report_fits_a_termination_message_and_begins_with_its_verdict(report):
    said = termination_message(report)
    assert len(said.encode()) <= DIGEST_BYTES
    assert said.startswith(f"{report.verdict}: node ")
    assert said.startswith(report_summary(report))
    *_, last = said.splitlines()
    if last.startswith("{"):
        told = json.loads(last)
        assert told["schema"] == FIGURES_SCHEMA
        assert all(len(each.encode()) <= 40 for found in told["parts"].values() for each in found)
        for row in told["checks"].values():
            assert row["min"] <= row["max"]
            assert row["floor"] is None or isfinite(row["floor"])
            assert len(row["unit"].encode()) <= 120
            assert len(told["sources"][row["source"]].encode()) <= 120
    assert json.loads(as_json(report))["verdict"] == report.verdict
    ET.fromstring(as_junit(report))  # noqa: S314  written by ourselves
    assert as_prometheus(report, 0).endswith(" 0\n")


def test_figures_that_have_no_room_are_left_out_whole(monkeypatch):
    report = validate(expected("H100"), machine("H100"))
    room = len(report_summary(report).encode())
    monkeypatch.setattr(report_module, "DIGEST_BYTES", room + 400)
    told = json.loads(termination_message(report).splitlines()[-1])
    assert 0 < len(told["checks"]) < 8
    monkeypatch.setattr(report_module, "DIGEST_BYTES", room + 190)
    told = json.loads(termination_message(report).splitlines()[-1])
    assert (set(told["parts"]), told["checks"]) == (set(PARTS), {}), (
        "what must be alike comes first"
    )
    monkeypatch.setattr(report_module, "DIGEST_BYTES", room + 10)
    assert termination_message(report) == report_summary(report)


def test_what_must_be_alike_over_a_pool_is_told_as_far_as_it_is_known():
    one = altered(machine("H100"), 2, vbios="96.00.74.00.09")
    one = altered(one, 3, gsp_firmware=Missing(MissingReason.NOT_SUPPORTED), inforom_image="i" * 99)
    report = validate(expected("H100"), replace(one, driver=Missing(MissingReason.FAILED)))
    told = json.loads(termination_message(report).splitlines()[-1])["parts"]
    whole = machine("H100").gpus[0]
    assert told == {
        "vbios": sorted([whole.vbios, "96.00.74.00.09"]),
        "gsp_firmware": [whole.gsp_firmware],
        "inforom_image": [whole.inforom_image, "i" * 37 + "…"],
    }
    assert json.loads(as_json(report))["parts"]["inforom_image"] == [whole.inforom_image, "i" * 99]
    assert "driver" in validate(expected("H100"), machine("H100")).parts


def test_the_termination_message_is_the_golden_one(golden):
    golden(FIGURES, termination_message(validate(expected("H100"), machine("H100"))))


def test_figures_are_of_numbers_and_have_their_floor():
    said = termination_message(validate(expected("H100"), machine("H100")))
    told = json.loads(said.splitlines()[-1])
    assert told["checks"]["gpu.count"] == {
        "min": 8, "max": 8, "floor": 8, "unit": "GPUs", "source": told["sources"].index("the plan"),
    }  # fmt: skip
    assert "gpu.product" not in told["checks"]
    assert "memory.remapped_rows" in told["checks"]
    assert len(said.encode()) < DIGEST_BYTES * 3 // 4, "room for more checks"


def test_json_has_every_result_with_its_evidence():
    found = json.loads(as_json(broken()))
    assert (found["verdict"], found["exit_code"], found["action"]) == ("failed", 1, "replace")
    assert found["counts"]["fail"] == 1
    (row,) = [
        c for c in found["checks"] if (c["id"], c["scope"]) == ("memory.remapped_rows", "gpu 1")
    ]
    assert row == {
        "id": "memory.remapped_rows", "scope": "gpu 1", "required": True, "status": "fail", "value": True,
        "threshold": False, "source": "NVML", "unit": "", "reason": "no spare rows are left",
        "action": "replace",
    }  # fmt: skip
    assert {c["id"] for c in found["checks"]} == set(CHECKS)


def test_junit_and_prometheus_tell_the_same():
    report = broken()
    suite = ET.fromstring(as_junit(report))  # noqa: S314  written by ourselves
    cases = suite.findall("testcase")
    assert int(suite.get("tests")) == len(cases) == len(report.results)
    assert int(suite.get("failures")) == len(suite.findall("testcase/failure")) == 2
    assert int(suite.get("skipped")) == len(suite.findall("testcase/skipped")) > 0

    def oh(*_):
        raise ValueError("\x00")

    failing = {"gpu.count": replace(CHECKS["gpu.count"], judge=oh)}
    suite = ET.fromstring(as_junit(validate(expected("T4"), machine("T4"), failing)))  # noqa: S314
    assert (suite.get("errors"), len(suite.findall("testcase/error"))) == ("1", 1)
    lines = as_prometheus(replace(report, node='a"b\\'), 1e9).splitlines()
    assert 'gpu_validation_passed{node="a\\"b\\\\",pool="train"} 0' in lines
    assert any(
        line.startswith('gpu_validation_check_status{check="memory.remapped_rows"')
        and 'gpu="1",required="true"} 2' in line
        for line in lines
    )
    assert lines[-1].endswith(" 1000000000")
    assert 'pool="train"} 1' in as_prometheus(validate(expected("T4"), machine("T4")), 0)


def test_one_reboot_also_resets():
    assert worst_action(broken().blocking_results) is Action.REPLACE
    assert worst_action(()) is Action.NONE


@pytest.fixture
def files(tmp_path):
    """A node that is well, and what is expected of it."""
    (tmp_path / "expected.json").write_text(json.dumps(encode(expected("T4"))))
    (tmp_path / "snapshot.json").write_text(snapshot_json(machine("T4")))
    return tmp_path


def run(files, *more):
    given = ["--expect", files / "expected.json", "--snapshot", files / "snapshot.json", *more]
    return command.main([str(each) for each in given])


def test_exit_codes_and_files(files, capsys):
    outs = {name: files / name for name in ("junit", "prometheus", "termination-log")}
    wanted = [each for name, path in outs.items() for each in (f"--{name}", path)]
    assert run(files, *wanted) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["verdict"] == "passed"
    *lines, figures = outs["termination-log"].read_text().splitlines(keepends=True)
    assert err == "".join(lines)
    assert json.loads(figures)["checks"]["gpu.count"]["max"] == 1
    assert all(path.stat().st_size for path in outs.values())
    (files / "snapshot.json").write_text(snapshot_json(altered(machine("T4"), inforom_valid=False)))
    assert run(files) == 1
    assert run(files, "--check", "gpu.count") == 0, "this one alone"
    (files / "expected.json").write_text(json.dumps(encode(expected("T4", required=False))))
    assert run(files, "--check", "fabric.domain") == 2, "nothing applied"
    (files / "expected.json").write_text("{")
    assert run(files, "--termination-log", outs["termination-log"]) == 3
    assert outs["termination-log"].read_text().startswith("cannot run: expectations: not JSON")
    assert command.main(["--snapshot", str(files / "snapshot.json")]) == 3
    assert "--expect FILE is required" in capsys.readouterr().err
    assert command.main(["--expect", str(files / "none"), "--snapshot", str(files / "none")]) == 3


def test_a_mounted_file_is_written_in_place(files, monkeypatch):
    def refuse(*_):
        raise OSError("busy")

    monkeypatch.setattr("pathlib.Path.replace", refuse)
    log = files / "termination-log"
    assert run(files, "--termination-log", log) == 0
    assert log.read_text().startswith("passed")
    assert sorted(p.name for p in files.iterdir()) == [
        "expected.json",
        "snapshot.json",
        "termination-log",
    ]


def test_schema_explanations_and_recording(files, capsys, monkeypatch):
    assert command.main(["--schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "gpuyard.dev/expectations/v3"
    for name, check in CHECKS.items():
        assert command.main(["--explain", name]) == 0
        said = capsys.readouterr().out
        assert all(each in said for each in (name, check.description, check.remediation))
    assert run(files, "--record", files / "again.json") == 0
    assert (files / "again.json").read_text() == (files / "snapshot.json").read_text()
    monkeypatch.setattr(sys, "argv", ["gpuyard_validator", "--schema"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("gpuyard_validator", run_name="__main__")
    assert ended.value.code == 0


def test_without_the_binding_nothing_can_be_said(files, capsys, monkeypatch):
    def none(_):
        raise ImportError

    monkeypatch.setattr(nvml.importlib, "import_module", none)
    assert command.main(["--expect", str(files / "expected.json")]) == 3
    assert "nvidia-ml-py is not installed" in capsys.readouterr().err


def host(root, **files):
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Host(root, {"A": "1"})


OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.105.08  Release Build\nGCC version: 13\n"
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n"


def test_of_the_environment_nothing_but_bad_variables_is_recorded(tmp_path, monkeypatch):
    """A record is handed on, and what else stands there may be a token."""
    monkeypatch.setenv("NVIDIA_API_KEY", "secret")
    monkeypatch.setenv("CUDA_PROFILE", "1")
    for here in (Host(tmp_path), Host(tmp_path, {"NGC_API_KEY": "secret", "CUDA_PROFILE": "1"})):
        assert here.variables() == {"CUDA_PROFILE": "1"}


def test_the_hosts_files_are_read(tmp_path):
    empty = Host(tmp_path, {})
    answers = (empty.kernel_driver(), empty.open_modules(), empty.modules(), empty.adapters())
    assert all(isinstance(each, Missing) for each in answers)
    assert empty.node() == "unknown"
    (tmp_path / "sys/class").mkdir(parents=True)
    assert empty.adapters() == (), "no RDMA at all is an answer"
    here = host(
        tmp_path,
        proc__driver__nvidia__version=OPEN,
        proc__modules="nvidia 1 2 - Live\n\nefa 1 0 -\n",
        proc__sys__kernel__hostname="gpu-7\n",
    )
    assert (here.kernel_driver(), here.open_modules(), here.node()) == ("580.105.08", True, "gpu-7")
    assert here.modules() == ("nvidia", "efa")
    assert Host(tmp_path, {"NODE_NAME": "given"}).node() == "given"
    old = host(tmp_path, proc__driver__nvidia__version=CLOSED)
    assert (old.kernel_driver(), old.open_modules()) == ("550.54.15", False)
    odd = host(tmp_path, proc__driver__nvidia__version="NVRM\n")
    assert odd.kernel_driver().reason is MissingReason.MALFORMED


def test_rdma_devices_are_read(tmp_path):
    at = "sys__class__infiniband__mlx5_0__ports__1__"
    here = host(
        tmp_path,
        **{
            at + "state": "4: ACTIVE\n",
            at + "rate": "400 Gb/sec (4X NDR)\n",
            at + "link_layer": "InfiniBand\n",
        },
    )
    (tmp_path / "drivers/mlx5_core").mkdir(parents=True)
    (tmp_path / "sys/class/infiniband/mlx5_0/device").mkdir()
    (tmp_path / "sys/class/infiniband/mlx5_0/device/driver").symlink_to(
        tmp_path / "drivers/mlx5_core"
    )
    (tmp_path / "sys/class/infiniband/efa_0/ports/1").mkdir(parents=True)
    silent, first = here.adapters()
    assert (first.name, first.driver, first.active, first.link, first.gbps) == (
        "mlx5_0", "mlx5_core", True, "InfiniBand", 400.0,
    )  # fmt: skip
    assert (silent.name, silent.active, silent.gbps) == ("efa_0", False, 0.0)


def test_floors_are_within_what_physics_allows():
    rows = [(quantity, floor) for (quantity, _), floor in limits().items()]
    rows += [each for row in gpus().values() for each in row.items()]
    for quantity, floor in rows:
        assert floor.value > 0
        assert floor.source.read_on.startswith("20")
        assert ("not measured" in floor.source_text) is not floor.source.is_verified
        limit = {"pcie_width": 16, "pcie_generation": 6, "memory_share": 1}
        assert floor.value <= limit.get(quantity, floor.value)
    assert threshold_of(Quantity.MAX_SM_CLOCK, "nobody's") is None
    assert common(Quantity.PCIE_WIDTH).value == 16


def test_the_page_lists_every_check():
    page = (sizes.ROOT / "docs" / "concepts" / "validation.md").read_text(encoding="utf-8")
    rows = [f"| `{c.id}` | {c.description} | {c.remediation} |" for c in CHECKS.values()]
    assert [
        line for line in page[page.index("## Checks") :].splitlines() if line.startswith("| `")
    ] == rows
    optional = [f"`{c.id}`" for c in CHECKS.values() if not c.is_required]
    assert f"lack them: {', '.join(optional)}." in " ".join(page.split())


@every("name", CARDS)
def test_links_make_up_the_bandwidth(name):
    """NVLinks times the rate of one is what the product is sold with: another unit does not pass."""
    card = CARDS[name]
    rate = threshold_of(Quantity.NVLINK_RATE, card.architecture)
    assert card.links * (rate.value if rate else 0) == card.nvlink


def test_gpus_are_put_to_work_where_the_profile_is_more_than_quick(files, capsys, monkeypatch):
    asked = []

    def at_work(expected, machine, watch, seconds):
        asked.append((expected.profile, machine.node, seconds))
        return machine

    class Here:
        def read(self):
            return machine("T4")

    monkeypatch.setattr(command, "measure_gpu_loads", at_work)
    monkeypatch.setattr(command, "NvmlWatch", lambda: None)
    monkeypatch.setattr(command, "NvmlReader", lambda _: Here())
    alone = CollectivePeers(nodes=1, between="tcp")
    (files / "expected.json").write_text(json.dumps(encode(expected("T4", collectives=alone))))
    given = ["--expect", str(files / "expected.json"), "--deadline", "60"]
    assert command.main([*given, "--profile", "quick"]) == 0
    assert asked == []
    command.main([*given, "--profile", "full"])
    assert asked == [("full", machine("T4").node, 60.0)]
    assert "work." in capsys.readouterr().out
