"""Load on a machine's GPUs: one GPU after the other, then, in profile soak, all together for long."""

import time
from collections.abc import Sequence
from dataclasses import replace

from gpuyard_validator.expectations import SOAK, Expectations
from gpuyard_validator.load.parent import WORKER, LoadRun, Watch, combine_loads, run_load
from gpuyard_validator.load.record import ALONE, Load, LoadPlan, Task
from gpuyard_validator.snapshot import Snapshot
from gpuyard_validator.values import NOT_QUERIED, Answer, Missing

ALONE_SHARE, SOAK_SHARE, END_SHARE = 0.2, 0.3, 0.05
"""Shares of the run time: load on each GPU alone, the training steps, and what may follow them."""
GPU_SECONDS = 120.0
"""Maximum for one GPU alone: contexts on all GPUs of a node, loading a library of 0.5 GB, and the load."""
TASK_SECONDS = 1.0
NO_BF16 = ("Volta", "Turing")


def collectives_seconds(profile: str, seconds: float) -> float:
    """The collectives' share of the run time; every node computes the same value."""
    if profile == SOAK:
        return seconds * (1 - ALONE_SHARE - SOAK_SHARE - END_SHARE)
    return seconds * (1 - ALONE_SHARE)


def measure_gpu_loads(
    expected: Expectations,
    machine: Snapshot,
    watch: Watch,
    seconds: float,
    command: Sequence[str] = WORKER,
) -> Snapshot:
    """The machine with the results of its GPUs. Partitioned, shared and unresponsive GPUs get no load."""
    if expected.sharing != "none":
        return machine
    indexes = [gpu.index for gpu in machine.gpus if gpu.answers is True]
    numbers = "fp16" if expected.architecture in NO_BF16 else "bf16"
    todo = LoadPlan(tasks=tuple(ALONE), numbers=numbers, seconds=TASK_SECONDS)
    results: dict[int, Answer[Load]] = {}
    until = time.monotonic() + seconds * ALONE_SHARE
    for index in indexes:
        most = min(GPU_SECONDS, until - time.monotonic())
        if most > 0:
            shift = LoadRun(gpus=(index,), todo=todo, timeout_seconds=most)
            results |= run_load(shift, watch, command)
    well = tuple(n for n in indexes if not isinstance(results.get(n, NOT_QUERIED), Missing))
    if expected.profile == SOAK and well:
        long = replace(todo, tasks=(Task.STEP,), seconds=seconds * SOAK_SHARE)
        shift = LoadRun(gpus=well, todo=long, timeout_seconds=seconds * (SOAK_SHARE + END_SHARE))
        after = run_load(shift, watch, command)
        results |= {n: combine_loads(results[n], after[n]) for n in well}
    gpus = tuple(replace(gpu, load=results.get(gpu.index, NOT_QUERIED)) for gpu in machine.gpus)
    return replace(machine, gpus=gpus)
