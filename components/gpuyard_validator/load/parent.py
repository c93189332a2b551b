"""The load on one node: a process for each GPU, an enforced deadline, and samples of the driver meanwhile.

`run_load` always returns in time, and all its processes have ended by then.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from gpuyard_validator.load.record import CRASHED, DONE, HUNG, Load, LoadPlan, LoadSample, Rate
from gpuyard_validator.values import Answer, Missing, MissingReason, decode, encode

WORKER = (sys.executable, "-B", "-m", "gpuyard_validator.load.worker")
"""The command of each GPU's process; the GPU's number and the work follow."""
TAIL = 300
LOOK_SECONDS = 0.5


class Watch(Protocol):
    """Samples a GPU's state while it works."""

    def sample(self, index: int, task: str) -> LoadSample:
        """A sample. Errors and remapped rows are counts since the driver was loaded."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRun:
    """GPUs that work at one time, and the work of each."""

    gpus: tuple[int, ...]
    todo: LoadPlan
    timeout_seconds: float
    """Time limit of the shift; remaining processes are then killed."""


@dataclass
class _Gpu:
    """One GPU's process and its replies."""

    index: int
    process: subprocess.Popen[str]
    errors: Path
    before: LoadSample
    during: str = "its start"
    said: dict[str, Any] = field(default_factory=dict)
    rates: list[Rate] = field(default_factory=list)
    looks: dict[str, LoadSample] = field(default_factory=dict)
    over: bool = False
    hung: bool = False


_Events: TypeAlias = "queue.SimpleQueue[tuple[_Gpu, str | None]]"


def run_load(
    shift: LoadRun, watch: Watch, command: Sequence[str] = WORKER
) -> dict[int, Answer[Load]]:
    """The result of each GPU; unknown where the library for the work is missing."""
    until = time.monotonic() + shift.timeout_seconds
    events: _Events = queue.SimpleQueue()
    with tempfile.TemporaryDirectory(prefix="loads-") as folder:
        gpus = [_started(n, shift.todo, watch, command, Path(folder)) for n in shift.gpus]
        try:
            for gpu in gpus:
                threading.Thread(target=_read, args=(gpu, events), daemon=True).start()
            _follow(gpus, events, watch, until)
        finally:
            for gpu in gpus:
                _kill(gpu)
        return {gpu.index: _load(gpu) for gpu in gpus}


def combine_loads(first: Answer[Load], second: Answer[Load]) -> Answer[Load]:
    """Two shifts of one GPU; the second counts where the first finished."""
    if isinstance(first, Missing) or first.ended != DONE or isinstance(second, Missing):
        return first
    return replace(
        second,
        missing_library=first.missing_library or second.missing_library,
        versions=second.versions or first.versions,
        rates=first.rates + second.rates,
        seen=first.seen + second.seen,
    )


def _started(
    index: int, todo: LoadPlan, watch: Watch, command: Sequence[str], folder: Path
) -> _Gpu:
    errors = folder / f"{index}.err"
    with errors.open("w", encoding="utf-8") as stderr:
        process = subprocess.Popen(  # noqa: S603  our own program, no shell
            [*command, str(index), json.dumps(encode(todo))],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,
            # Numbers as NVML counts them: CUDA's own order is by speed.
            env={**os.environ, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"},
        )
    return _Gpu(index, process, errors, watch.sample(index, ""))


def _read(gpu: _Gpu, events: _Events) -> None:
    assert gpu.process.stdout is not None, "a pipe"  # noqa: S101
    with suppress(OSError, ValueError):
        for line in gpu.process.stdout:
            events.put((gpu, line))
    events.put((gpu, None))


def _follow(
    gpus: Sequence[_Gpu],
    events: _Events,
    watch: Watch,
    until: float,
) -> None:
    """Wait until each process has ended; one that exceeds the time limit counts as hung."""
    look = time.monotonic() + LOOK_SECONDS
    while not all(gpu.over for gpu in gpus):
        now = time.monotonic()
        if now >= until:
            for gpu in gpus:
                gpu.hung = not gpu.over
            return
        if now >= look:
            for gpu in gpus:
                _sample(gpu, watch)
            look = time.monotonic() + LOOK_SECONDS
        with suppress(queue.Empty):
            gpu, line = events.get(timeout=max(0.0, min(until, look) - time.monotonic()))
            _handle_line(gpu, line, watch)


def _handle_line(gpu: _Gpu, line: str | None, watch: Watch) -> None:
    if line is None:
        gpu.over = True
        return
    try:
        reply = json.loads(line)
    except ValueError:
        return
    if "rate" in reply:
        gpu.rates.append(decode(Rate, reply["rate"]))
        return
    if "begin" in reply or "end" in reply:
        _sample(gpu, watch)
    gpu.during = reply.get("begin", gpu.during)
    gpu.said.update(reply)


def _sample(gpu: _Gpu, watch: Watch) -> None:
    """A new sample, merged with the earlier ones of the same work."""
    task = gpu.said.get("begin")
    if gpu.over or task is None:
        return
    now = counts_since(watch.sample(gpu.index, task), gpu.before)
    gpu.looks[task] = merge_samples(gpu.looks[task], now) if task in gpu.looks else now


def counts_since(now: LoadSample, before: LoadSample) -> LoadSample:
    """Replaces counts with their increase."""
    return replace(
        now,
        uncorrected=_both(now.uncorrected, before.uncorrected, lambda a, b: a - b),
        remapped=_both(now.remapped, before.remapped, lambda a, b: a - b),
    )


def merge_samples(one: LoadSample, two: LoadSample) -> LoadSample:
    """Both samples merged."""
    return replace(
        two,
        samples=one.samples + two.samples,
        reasons=_both(one.reasons, two.reasons, lambda a, b: a | b),
        margin=_both(one.margin, two.margin, min),
        milliwatts=_both(one.milliwatts, two.milliwatts, max),
        sm_mhz=_both(one.sm_mhz, two.sm_mhz, min),
        pcie_generation=_both(one.pcie_generation, two.pcie_generation, max),
        pcie_width=_both(one.pcie_width, two.pcie_width, max),
        uncorrected=_both(one.uncorrected, two.uncorrected, max),
        remapped=_both(one.remapped, two.remapped, max),
    )


def _both(one: Answer[int], two: Answer[int], make: Callable[[int, int], int]) -> Answer[int]:
    if isinstance(one, Missing):
        return one
    return two if isinstance(two, Missing) else make(one, two)


def _load(gpu: _Gpu) -> Answer[Load]:
    reply: Mapping[str, Any] = gpu.said
    if "missing" in reply:
        return Missing(MissingReason.NO_LIBRARY, str(reply["missing"]))
    end, words = DONE, ""
    if gpu.hung:
        end, words = HUNG, f"{gpu.during}: not finished in time"
    elif "failed" in reply:
        end, words = CRASHED, f"{gpu.during}: {reply['failed']}"
    elif "end" not in reply:
        tail = gpu.errors.read_text(encoding="utf-8", errors="replace").strip()[-TAIL:]
        code = gpu.process.returncode
        end, words = CRASHED, f"{gpu.during}: the process ended with {code}: {tail}".rstrip(": ")
    return Load(
        uuid=str(reply.get("uuid", "")),
        ended=end,
        output=words,
        code=int(reply.get("code", 0)),
        missing_library=str(reply.get("lacks", "")),
        versions=tuple(map(str, reply.get("versions", ()))),
        rates=tuple(gpu.rates),
        seen=tuple(gpu.looks.values()),
    )


def _kill(gpu: _Gpu) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(gpu.process.pid, signal.SIGKILL)
    gpu.process.wait()
    if gpu.process.stdout is not None:
        with suppress(OSError, ValueError):
            gpu.process.stdout.close()
