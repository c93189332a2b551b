"""nvidia-ml-py over a small library in C: structures, versions, handles and codes are those of a driver.

It is built where there is a C compiler, in well under a second; elsewhere these tests are skipped.
"""

import ctypes
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pynvml
import pytest

from gpuyard_validator.host import Host
from gpuyard_validator.load.record import LoadSample
from gpuyard_validator.nvml import NvmlReader, NvmlWatch
from gpuyard_validator.snapshot import CannotRead
from gpuyard_validator.values import Missing, MissingReason, encode
from kit.cases.hardware import expected
from kit.waiting import PATIENCE

HERE = Path(__file__).parent
SONAME = "libnvidia-ml.so.1"
COMPILER = shutil.which("cc")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler in PATH")


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """A folder with the library, for each driver: of today, and older than some questions."""
    root = tmp_path_factory.mktemp("nvml")
    for name, flags in {"new": [], "old": ["-DOLD"]}.items():
        (root / name).mkdir()
        out = root / name / SONAME
        subprocess.run(
            [
                COMPILER,
                "-shared",
                "-fPIC",
                "-Wall",
                "-Werror",
                "-Wno-unused-function",
                *flags,
                "-o",
                out,
                HERE / "fake_nvml.c",
            ],
            check=True,
        )
    return root


@pytest.fixture
def use(libraries, monkeypatch):
    """A driver with these faults."""

    def chosen(faults="", driver="new"):
        monkeypatch.setenv("FAKE_NVML", faults)
        monkeypatch.setattr(pynvml, "nvmlLib", ctypes.CDLL(libraries / driver / SONAME))
        monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})

    return chosen


@pytest.fixture
def record(use, tmp_path):
    """What the reader makes of a driver with these faults."""

    bus = tmp_path / "sys/bus/pci/devices/0000:1b:00.0"
    bus.mkdir(parents=True)
    (bus / "numa_node").write_text("1\n")

    def read(faults="", driver="new"):
        use(faults, driver)
        return NvmlReader(Host(tmp_path, {})).read()

    return read


def why(answer):
    return answer.reason if isinstance(answer, Missing) else answer


def test_what_a_driver_says_is_read(record):
    machine = record("pages cut")
    first = machine.gpus[0]
    assert (machine.source, machine.driver, len(machine.gpus)) == ("nvml", "580.105.08", 2)
    assert (first.name, first.uuid, first.pci_id) == ("NVIDIA H100 80GB HBM3", "GPU-0", "2330")
    assert (first.memory_mib, first.gsp_firmware) == (81559, "580.105.08")
    assert (first.remapped_uncorrectable, first.remap_pending, first.remap_failure) == (
        2,
        True,
        False,
    )
    assert (first.retired_pages, first.retired_pending) == (3, True)
    assert (first.recovery_action, first.unrepairable, first.repair_pending) == (1, False, True)
    assert (first.sram_uncorrected, first.sram_threshold, first.dram_uncorrected) == (5, True, 20)
    assert (first.clock_reasons, first.thermal_margin) == (0x9, -2)
    assert (first.power_limit_mw, first.power_default_mw, first.max_sm_mhz) == (
        600_000,
        700_000,
        1980,
    )
    assert (first.pcie_generation, first.pcie_width) == (5, 8)
    assert first.nvlinks == tuple(n != 4 for n in range(18))
    assert first.nvlink_recoveries == 1
    assert (first.unreachable, machine.gpus[1].unreachable) == ((1,), ())
    assert (first.fabric.state, first.fabric.clique, first.fabric.health) == (3, 7, 0x10)
    assert first.fabric.cluster == "abababab-abab-abab-abab-abababababab"
    assert (first.processes, first.utilization) == ((4711,), 42)
    assert (first.mig_current, first.ecc_current, first.inforom_valid) == (True, True, True)
    assert [(i.gpu_slices, i.memory_mib) for i in first.instances] == [(1, 9728)] * 6, (
        "one place is empty"
    )


def test_what_a_driver_refuses_is_missing_with_its_reason(record):
    refused = "norecovery nomig nolinkcount nosram nomargin nothreshold nop2p nofabric noprocesses noinforom"
    machine = record(refused)
    found = {name: why(getattr(machine.gpus[0], name)) for name in machine.gpus[0].__slots__}
    unsupported = {n for n, reason in found.items() if reason is MissingReason.NOT_SUPPORTED}
    assert unsupported == {
        "recovery_action", "mig_current", "mig_pending", "instances", "nvlinks", "nvlink_recoveries",
        "sram_threshold", "thermal_margin", "unreachable", "fabric", "retired_pages", "retired_pending",
    }  # fmt: skip
    assert {n for n, r in found.items() if r is MissingReason.NO_PERMISSION} == {
        "processes",
        "inforom_valid",
    }
    assert found["sram_uncorrected"] == 70, "the older counter is asked"
    assert (machine.gpus[0].answers, machine.gpus[0].name) == (True, "NVIDIA H100 80GB HBM3")


def test_a_driver_that_is_older_than_a_question(record):
    first = record("fabric2 nomargin", driver="old").gpus[0]
    assert why(first.unrepairable) is MissingReason.NO_FUNCTION
    assert first.clock_reasons == 0x1, "by the name that it had before"
    assert (first.fabric.state, first.fabric.health) == (3, 0x10), "by the structure of version 2"
    assert first.thermal_margin == 57


def test_gpus_that_are_lost_and_answers_that_are_broken(record):
    for faults in ("lost", "deadhandle"):
        machine = record(faults)
        assert [gpu.answers for gpu in machine.gpus] == [True, False]
        assert isinstance(machine.gpus[1].name, Missing)
    first = record("corrupt nofields latin nosensor nomargin").gpus[0]
    assert first.inforom_valid is False
    assert (why(first.recovery_action), why(first.nvlinks)) == (
        MissingReason.FAILED,
        MissingReason.FAILED,
    )
    assert (why(first.name), why(first.thermal_margin)) == (
        MissingReason.MALFORMED,
        MissingReason.NOT_SUPPORTED,
    )
    for fault in ("noplaces", "nohandles", "noattributes"):
        assert isinstance(record(f"cut {fault}").gpus[0].instances, Missing), fault
    first = record("norecoveries").gpus[0]
    assert why(first.nvlink_recoveries) is MissingReason.NOT_SUPPORTED
    assert why(record("strangetype").gpus[0].nvlinks) is MissingReason.MALFORMED


def test_a_gpu_at_work_is_looked_at(use):
    use()
    seen = NvmlWatch().sample(0, "step")
    assert seen == LoadSample(
        task="step",
        samples=1,
        reasons=0x9,
        margin=-2,
        milliwatts=655_000,
        sm_mhz=1755,
        pcie_generation=4,
        pcie_width=8,
        uncorrected=25,
        remapped=6,
    )
    use("norows pages")
    assert NvmlWatch().sample(0, "step").remapped == 3, "older memory retires pages"
    use("lost deadhandle")
    assert NvmlWatch().sample(1, "step") == LoadSample(task="step", samples=1)
    use("lost")
    assert why(NvmlWatch().sample(1, "step").sm_mhz) is MissingReason.LOST


def test_a_driver_that_does_not_start_or_count(record):
    for faults, said in (("noinit", "cannot initialize NVML"), ("nocount", "cannot count GPUs")):
        with pytest.raises(CannotRead, match=said):
            record(faults)


def test_a_driver_as_a_whole_run(libraries, tmp_path):
    """The program as a pod runs it: expectations in, verdict out, in the files that were asked for."""
    told = tmp_path / "expected.json"
    told.write_text(json.dumps(encode(expected("H100", gpus=2, network=None))))
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "gpuyard_validator",
            "--expect",
            told,
            "--root",
            tmp_path,
            "--termination-log",
            tmp_path / "termination-log",
        ],
        env={**os.environ, "LD_LIBRARY_PATH": str(libraries / "new"), "FAKE_NVML": ""},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == 1
    failed = {c["id"] for c in json.loads(ended.stdout)["checks"] if c["status"] == "fail"}
    assert failed == {
        "gpu.recovery", "memory.repair", "memory.remapped_rows", "ecc.sram", "clocks.held",
        "gpu.temperature", "pcie.width", "nvlink.links", "nvlink.errors", "nvlink.peers",
        "load.processes", "load.utilization",
    }  # fmt: skip
    assert (tmp_path / "termination-log").read_text().startswith("failed: node ")
    ended = subprocess.run(
        [sys.executable, "-m", "gpuyard_validator", "--expect", told],
        env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (3, ""), "no driver is no verdict"
    assert "cannot initialize NVML" in ended.stderr
