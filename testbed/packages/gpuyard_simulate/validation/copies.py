"""A program of gpuyard that runs repeatedly: each run forks a process that has imported its modules.

Most of the time of a short program is its start. It runs the current source: when the source has changed since
the process started, another one is started. The process ends with its stdin, so it never outlives its parent.
"""

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gpuyard_simulate import processes

FORKING: Final = Path(__file__).with_name("forking.py")
WITH: Final = "GPUYARD_SIM_WITH"
"""In its environment, instead of a part's mark: a search for stray processes skips it."""
_TRIES: Final = 2
"""If the process was killed, another one is started."""

Stamp = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class Run:
    """How a program ended, and its output."""

    code: int
    output: str


@dataclass(slots=True, weakref_slot=True, eq=False)
class WarmProcesses:
    """Runs of one program, one after the other; not thread-safe."""

    package: str
    flags: tuple[str, ...] = ()
    """Of Python."""
    carried: Mapping[str, str] = field(default_factory=dict[str, str])
    """The program's files by path, the program itself below `program`; empty: the installed
    version.
    """
    _process: "subprocess.Popen[bytes] | None" = field(default=None, init=False)
    _stamp: Stamp = field(default=(), init=False)

    def run(self, words: Sequence[str], files: Mapping[str, str] | None = None) -> Run:
        """Run the program to its end; `files` are the changed ones."""
        request, code = {"words": list(words), "files": dict(files or {})}, None
        for _ in range(_TRIES):
            if answer := _request(self._running_process(), request):
                return Run(**json.loads(answer))
            code = self.end()
        return Run(code or 1, f"{self.package} was ended\n")

    def end(self) -> int | None:
        """End the process; returns its exit code if it had started."""
        process, self._process = self._process, None
        return None if process is None else _finish(process)

    def _running_process(self) -> "subprocess.Popen[bytes]":
        """A process with the current source."""
        now = self._text()
        if self._process is not None and now != self._stamp:
            self.end()
        if self._process is None:
            self._stamp = now
            self._process = subprocess.Popen(
                [sys.executable, *self.flags, str(FORKING), self.package],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=_environment(),
            )
            weakref.finalize(self, _finish, self._process)
            _send(self._process, dict(self.carried))
        return self._process

    def _text(self) -> Stamp:
        """Modification time and size of each installed file."""
        if self.carried:
            return ()
        result = importlib.util.find_spec(self.package.partition(".")[0])
        folders = (result and result.submodule_search_locations) or ()
        stats = {str(file): file.stat() for each in folders for file in Path(each).rglob("*.py")}
        return tuple((name, stats[name].st_mtime_ns, stats[name].st_size) for name in sorted(stats))


def _finish(process: "subprocess.Popen[bytes]") -> int:
    """Its exit code, after its stdin was closed."""
    for pipe in filter(None, (process.stdin, process.stdout)):
        with contextlib.suppress(BrokenPipeError):
            pipe.close()
    return process.wait()


def _request(process: "subprocess.Popen[bytes]", what: Mapping[str, Any]) -> bytes:
    """Its response; empty if it has ended."""
    assert process.stdout is not None  # noqa: S101  a pipe
    return process.stdout.readline() if _send(process, what) else b""


def _send(process: "subprocess.Popen[bytes]", what: Mapping[str, Any]) -> bool:
    """Whether the request could be sent."""
    assert process.stdin is not None  # noqa: S101  a pipe
    try:
        process.stdin.write(f"{json.dumps(what)}\n".encode())
        process.stdin.flush()
    except BrokenPipeError:
        return False
    return True


def _environment() -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if name != processes.MARK}
    return own | {WITH: os.environ.get(processes.MARK, "")}
