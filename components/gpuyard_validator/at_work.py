"""A machine's GPUs at work: one after the other, then in the profile soak all together, for long."""

import time
from collections.abc import Sequence
from dataclasses import replace

from gpuyard_validator.expectations import SOAK, Expectations
from gpuyard_validator.load.parent import WORKER, Shift, Watch, put_to_work, together
from gpuyard_validator.load.record import ALONE, Load, Task, Todo
from gpuyard_validator.snapshot import Snapshot
from gpuyard_validator.values import UNASKED, Answer, Missing

ALONE_SHARE, SOAK_SHARE, END_SHARE = 0.2, 0.3, 0.05
"""Of the time for a whole run: work of each GPU alone, the steps of a training, and what may follow those."""
GPU_SECONDS = 120.0
"""For one GPU alone, at most: contexts on all of a node, a library of half a gigabyte, its work."""
TASK_SECONDS = 1.0
NO_BF16 = ("Volta", "Turing")


def left(profile: str, seconds: float) -> float:
    """What of the time for a whole run the collectives have; all nodes reckon the same."""
    if profile == SOAK:
        return seconds * (1 - ALONE_SHARE - SOAK_SHARE - END_SHARE)
    return seconds * (1 - ALONE_SHARE)


def at_work(
    expected: Expectations,
    machine: Snapshot,
    watch: Watch,
    seconds: float,
    command: Sequence[str] = WORKER,
) -> Snapshot:
    """The machine, with what came of its GPUs. Cut and shared ones do nothing, nor do silent ones."""
    if expected.sharing != "none":
        return machine
    indexes = [gpu.index for gpu in machine.gpus if gpu.answers is True]
    numbers = "fp16" if expected.architecture in NO_BF16 else "bf16"
    todo = Todo(tasks=tuple(ALONE), numbers=numbers, seconds=TASK_SECONDS)
    found: dict[int, Answer[Load]] = {}
    until = time.monotonic() + seconds * ALONE_SHARE
    for index in indexes:
        most = min(GPU_SECONDS, until - time.monotonic())
        if most > 0:
            shift = Shift(gpus=(index,), todo=todo, seconds=most)
            found |= put_to_work(shift, watch, command)
    well = tuple(n for n in indexes if not isinstance(found.get(n, UNASKED), Missing))
    if expected.profile == SOAK and well:
        long = replace(todo, tasks=(Task.STEP,), seconds=seconds * SOAK_SHARE)
        shift = Shift(gpus=well, todo=long, seconds=seconds * (SOAK_SHARE + END_SHARE))
        after = put_to_work(shift, watch, command)
        found |= {n: together(found[n], after[n]) for n in well}
    gpus = tuple(replace(gpu, load=found.get(gpu.index, UNASKED)) for gpu in machine.gpus)
    return replace(machine, gpus=gpus)
