"""A node's part: a process for each GPU, a deadline that nothing can hold up, looks at the driver meanwhile.

Whatever happens, the processes are gone when `run_load` returns, and it returns in time.
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
"""What each GPU's process runs, with its number and what to do after it."""
TAIL = 300
LOOK_SECONDS = 0.5


class Watch(Protocol):
    """Whoever can say how a GPU is while it works."""

    def sample(self, index: int, task: str) -> LoadSample:
        """Now. Errors and remapped rows are counts since the driver was loaded."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRun:
    """GPUs that work at one time, and what each does."""

    gpus: tuple[int, ...]
    todo: LoadPlan
    seconds: float
    """For all of it; what is left of the processes then is killed."""


@dataclass
class _Gpu:
    """One GPU's process, and what it has said."""

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
    """What came of each GPU; without the library that work needs nothing is known of it."""
    until = time.monotonic() + shift.seconds
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
    """Two shifts of one GPU; the second counts where the first was well."""
    if isinstance(first, Missing) or first.ended != DONE or isinstance(second, Missing):
        return first
    return Load(
        uuid=second.uuid,
        ended=second.ended,
        output=second.output,
        code=second.code,
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
    """Until each has ended; whoever has not in time hangs."""
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
    """What the driver says now, added to what it has said of the same work."""
    task = gpu.said.get("begin")
    if gpu.over or task is None:
        return
    now = since(watch.sample(gpu.index, task), gpu.before)
    gpu.looks[task] = merge_samples(gpu.looks[task], now) if task in gpu.looks else now


def since(now: LoadSample, before: LoadSample) -> LoadSample:
    """Counts become what has been added."""
    return replace(
        now,
        uncorrected=_both(now.uncorrected, before.uncorrected, lambda a, b: a - b),
        remapped=_both(now.remapped, before.remapped, lambda a, b: a - b),
    )


def merge_samples(one: LoadSample, two: LoadSample) -> LoadSample:
    """Both looks as one."""
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
        end, words = HUNG, f"{gpu.during}: it did not end in time"
    elif "failed" in reply:
        end, words = CRASHED, f"{gpu.during}: {reply['failed']}"
    elif "end" not in reply:
        tail = gpu.errors.read_text(encoding="utf-8", errors="replace").strip()[-TAIL:]
        code = gpu.process.returncode
        end, words = CRASHED, f"{gpu.during}: its process ended with {code}: {tail}".rstrip(": ")
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
