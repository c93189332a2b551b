"""Processes of GPUs that work: what they say, how they end, what the driver said meanwhile; none is left."""

import sys
import time
from dataclasses import replace

import pytest

from gpuyard_validator.checks import CHECKS
from gpuyard_validator.command import collectives_seconds, measure_gpu_loads
from gpuyard_validator.load import parent
from gpuyard_validator.load.parent import (
    LoadRun,
    combine_loads,
    counts_since,
    merge_samples,
    run_load,
)
from gpuyard_validator.load.record import Load, LoadPlan, LoadSample
from gpuyard_validator.results import Action, Code
from gpuyard_validator.run import validate
from gpuyard_validator.values import NOT_QUERIED, Missing, MissingReason
from kit.cases.hardware import expected, machine
from kit.every import every
from kit.ranks.group import ROOT, alive
from kit.waiting import until

SMALL = LoadPlan(
    tasks=("memory", "product"), numbers="bf16", seconds=0.0, copy=1 << 16, host=1 << 14, side=16
)


class Driver:
    """What a driver says of GPUs at work; `values` may be another at each look."""

    def __init__(self, **values):
        self.values, self.looks = values, []

    def sample(self, index, task):
        self.looks.append((index, task))
        found = {n: v(len(self.looks)) if callable(v) else v for n, v in self.values.items()}
        return LoadSample(task=task, samples=1, **found)


@pytest.fixture
def work(cuda, monkeypatch):
    """GPUs of a driver with these faults at work, each in a process of its own."""

    def done(faults="", gpus=(0, 1), todo=SMALL, seconds=60.0, watch=None, folder="whole", **more):
        monkeypatch.setenv("FAKE_CUDA", faults)
        monkeypatch.setenv("LD_LIBRARY_PATH", str(cuda / folder))
        monkeypatch.setenv("PYTHONPATH", str(ROOT / "components"))
        shift = LoadRun(gpus=gpus, todo=todo, timeout_seconds=seconds)
        return run_load(shift, watch or Driver(), **more)

    return done


def test_gpus_work_at_the_same_time_and_each_is_known_by_its_uuid(work):
    watch = Driver(reasons=4, margin=20, uncorrected=7, remapped=2)
    found = work(watch=watch)
    assert [found[n].uuid[:6] for n in (0, 1)] == ["GPU-a0", "GPU-a1"]
    for load in found.values():
        assert (load.ended, load.output, load.code, load.missing_library) == ("done", "", 0, "")
        assert [(r.task, r.wrong) for r in load.rates] == [("memory", 0), ("product", 0)]
        assert [(s.task, s.reasons, s.uncorrected, s.remapped) for s in load.seen] == [
            ("memory", 4, 0, 0),
            ("product", 4, 0, 0),
        ], "errors from before are not of this load"
        assert load.versions == ("CUDA 13.1", "cuBLAS 130100")


@every(
    "faults, end, said, code",
    [
        ("oom", "crashed", "memory: cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2)", 2),
        (
            "ecc=4",
            "crashed",
            "memory: cuStreamSynchronize: CUDA_ERROR_ECC_UNCORRECTABLE (214)",
            214,
        ),
        ("die=1", "crashed", "memory: the process ended with -6", 0),
        ("noinit", "crashed", "its start: cuInit: CUDA_ERROR_NO_DEVICE (100)", 100),
    ],
)
def test_how_a_gpu_broke_is_told_with_what_it_did(work, faults, end, said, code):
    load = work(faults, gpus=(0,))[0]
    assert (load.ended, load.output, load.code) == (end, said, code)


def test_one_that_hangs_is_killed_in_time_and_leaves_nothing(work):
    began = time.monotonic()
    load = work("hang", gpus=(0,), seconds=3.0)[0]
    assert time.monotonic() - began < 20
    assert (load.ended, load.output) == ("hung", "memory: not finished in time")
    until(lambda: not alive("gpuyard_validator.load.worker"))


def test_a_library_that_is_not_there_is_missing_and_no_failure(work, tmp_path, monkeypatch):
    monkeypatch.setattr(parent, "WORKER", parent.WORKER)
    found = work(gpus=(0,), folder="nowhere")[0]
    assert isinstance(found, Missing)
    assert found.reason is MissingReason.NO_LIBRARY
    assert found.detail.startswith("libcuda.so.1: cannot open shared object file")
    load = work(gpus=(0,), folder="driver")[0]
    assert [r.task for r in load.rates] == ["memory"]
    assert load.missing_library.startswith("cuBLAS not found: libcublas.so.13: cannot open")


def test_words_that_are_none_of_ours_and_a_look_at_a_slow_one(work):
    program = (
        "import sys, time, json\n"
        "print('a library says hello', flush=True)\n"
        "print(json.dumps({'uuid': 'GPU-x'}), flush=True)\n"
        "print(json.dumps({'begin': 'memory'}), flush=True)\n"
        "time.sleep(1.6)\n"
        "sys.exit('and dies')\n"
    )
    watch = Driver(reasons=lambda n: 1 << n, margin=lambda n: 30 - n, milliwatts=lambda n: n)
    load = work(gpus=(0,), watch=watch, command=(sys.executable, "-c", program))[0]
    assert (load.ended, load.output) == ("crashed", "memory: the process ended with 1: and dies")
    (seen,) = load.seen
    assert seen.samples >= 2
    last = 1 + seen.samples
    assert (seen.margin, seen.milliwatts) == (30 - last, last), "the worst of all looks"
    assert seen.reasons == sum(1 << n for n in range(2, last + 1))
    assert seen.sm_mhz == NOT_QUERIED


def test_one_answer_that_failed_makes_the_whole_unknown():
    lost = Missing(MissingReason.LOST)
    one = LoadSample(task="step", samples=1, margin=5, sm_mhz=1900, uncorrected=3)
    two = LoadSample(task="step", samples=2, margin=lost, sm_mhz=1800, uncorrected=4)
    assert merge_samples(one, two).margin == lost
    assert merge_samples(two, one).margin == lost
    both = merge_samples(one, two)
    assert (both.samples, both.sm_mhz, both.uncorrected) == (3, 1800, 4)
    assert counts_since(two, one).uncorrected == 1
    assert counts_since(two, replace(one, uncorrected=lost)).uncorrected == lost


def load(**values):
    made = {
        "uuid": "GPU-1", "ended": "done", "output": "", "code": 0, "missing_library": "", "versions": ("a",),
        "rates": (), "seen": (), **values,
    }  # fmt: skip
    return Load(**made)


def test_a_second_shift_counts_only_after_a_first_that_went_well():
    lost, hung = Missing(MissingReason.NO_LIBRARY), load(ended="hung", output="step: …")
    assert combine_loads(lost, load()) == lost
    assert combine_loads(hung, load()) == hung
    assert combine_loads(load(), lost) == load()
    assert combine_loads(load(missing_library="x"), hung) == replace(hung, missing_library="x")


def small(monkeypatch):
    """Work of a test's size, whatever the profile asks for."""
    begun = parent._started

    def started(index, todo, *rest):
        tiny = replace(todo, seconds=min(todo.seconds, 0.1), copy=1 << 16, host=1 << 14, side=16)
        return begun(index, tiny, *rest)

    monkeypatch.setattr(parent, "_started", started)


HEALTHY = {
    "reasons": 4, "margin": 20, "milliwatts": 650_000, "sm_mhz": 1700, "pcie_generation": 5,
    "pcie_width": 16, "uncorrected": 0, "remapped": 0,
}  # fmt: skip


def worked(faults="", profile="full", **more):
    """The verdict over a node of two H100 that has worked with this driver."""
    wanted = expected("H100", gpus=2, profile=profile, network=None, **more)
    whole = machine("H100")
    gpus = tuple(
        replace(gpu, uuid=f"GPU-{byte * 4}-{byte * 2}-{byte * 2}-{byte * 2}-{byte * 6}")
        for gpu, byte in zip(whole.gpus, ("a0", "a1"), strict=False)
    )
    found = measure_gpu_loads(wanted, replace(whole, gpus=gpus), Driver(**HEALTHY), 60.0)
    checks = {name: check for name, check in CHECKS.items() if name.startswith("work.")}
    return found, validate(wanted, found, checks)


RATES = "memory=2600 to_device=55 to_host=54 peers=390 product=740"


@every(
    "faults, check, action",
    [
        (RATES, None, None),
        (RATES.replace("2600", "1800"), "work.memory", Action.INVESTIGATE),
        (RATES.replace("to_device=55", "to_device=20"), "work.to_device", Action.INVESTIGATE),
        (RATES.replace("peers=390", "peers=45"), "work.peers", Action.INVESTIGATE),
        (RATES.replace("740", "300"), "work.product", Action.INVESTIGATE),
        (f"{RATES} flip=product", "work.results", Action.REPLACE),
        (f"{RATES} ecc=9", "work.ran", Action.RESET),
        (f"{RATES} oom", "work.ran", Action.INVESTIGATE),
    ],
)
def test_a_fault_of_the_library_becomes_the_failure_of_one_check(
    cuda, monkeypatch, faults, check, action
):
    small(monkeypatch)
    monkeypatch.setenv("FAKE_CUDA", faults)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(cuda / "whole"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "components"))
    _, report = worked()
    assert {r.check for r in report.blocking_results} == ({check} if check else set())
    assert report.code is (Code.FAILED if check else Code.PASSED)
    assert not check or report.blocking_results[0].evidence.action is action


def test_a_soak_has_steps_of_all_gpus_at_once(cuda, monkeypatch):
    small(monkeypatch)
    monkeypatch.setenv("FAKE_CUDA", RATES.replace("2600", "1e9"))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(cuda / "whole"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "components"))
    found, report = worked(profile="soak")
    assert report.code is Code.PASSED
    for gpu in found.gpus:
        assert [r.task for r in gpu.load.rates] == [
            "memory", "to_device", "to_host", "peers", "product", "step",
        ]  # fmt: skip
        assert gpu.load.seen[-1].task == "step"


def test_cut_gpus_silent_ones_and_a_run_without_time_are_not_put_to_work(monkeypatch):
    monkeypatch.setattr("gpuyard_validator.command.run_load", lambda *_: pytest.fail("it works"))
    cut = machine("A100-40", cut=True)
    assert measure_gpu_loads(expected("A100-40", cut=True), cut, Driver(), 60.0) == cut
    silent = machine("T4")
    silent = replace(silent, gpus=(replace(silent.gpus[0], answers=False),))
    wanted = expected("T4", profile="soak")
    assert measure_gpu_loads(wanted, silent, Driver(), 60.0) == silent
    late = measure_gpu_loads(wanted, machine("T4"), Driver(), 0.0)
    assert late.gpus[0].load == NOT_QUERIED


def test_the_numbers_of_an_architecture_and_the_time_that_is_left(monkeypatch):
    asked = []

    def work(shift, *_):
        asked.append(shift)
        return {n: Missing(MissingReason.NO_LIBRARY) for n in shift.gpus}

    monkeypatch.setattr("gpuyard_validator.command.run_load", work)
    for name in ("T4", "H100"):
        measure_gpu_loads(expected(name, profile="soak"), machine(name), Driver(), 1000.0)
    assert [shift.todo.numbers for shift in asked] == ["fp16"] + ["bf16"] * 8
    assert {shift.timeout_seconds for shift in asked} == {120.0}
    assert (collectives_seconds("full", 100), collectives_seconds("soak", 100)) == (
        80,
        pytest.approx(45),
    )
