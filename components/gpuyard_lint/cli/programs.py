"""Run `helm` and `kustomize` with limits: without the user's configuration, and without network if possible."""

import ctypes
import math
import os
import re
import signal
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic

SECONDS = 10
"""Time limit of one run."""
ALL_SECONDS = 60
"""Time limit of all runs together."""
MOST_BYTES = 16 * 1024 * 1024
MOST_MEMORY = 512 * 1024 * 1024
"""Limit of the data segment: Go reserves more address space than it uses."""
_MOST_SAID = 64 * 1024
_ERROR = "error: "
_SAYS = 200
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
"""Flags of unshare(2)."""
_FELL = re.compile(r"^(?:fatal error|panic|runtime): (.+)", re.MULTILINE)
"""The first line of a Go crash; a stack trace follows."""
_LOGGED = re.compile(r"[IWEF]\d{4} [\d:.]+\s+\d+ [\w./-]+:\d+\] ")
"""Prefix of a kubectl log line: date, time, process id, source location."""


_LIBC = ctypes.CDLL(None)


class ProgramError(Exception):
    """A program failed; the message is the reason."""


@dataclass(slots=True)
class ProgramTime:
    """The time budget of all programs."""

    seconds: float = math.inf
    """The remaining time of the whole run, at most `ALL_SECONDS`."""
    end: float = field(init=False)

    def __post_init__(self) -> None:
        """Start the clock."""
        self.seconds = min(self.seconds, ALL_SECONDS)
        self.end = monotonic() + self.seconds

    @property
    def is_exhausted(self) -> bool:
        """Whether the budget is used up."""
        return monotonic() > self.end

    def message(self, what: str) -> str:
        """Message about an input for which no time was left."""
        return f"the time limit of {self.seconds:.0f} s for helm and kustomize is used up: check this {what} alone"


def output_of(*words: str) -> bytes:
    """Run a program and return its output; ProgramError when it fails or exceeds a limit."""
    name = os.path.basename(words[0])  # noqa: PTH119  a name as it is
    with (
        tempfile.TemporaryDirectory() as home,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        try:
            ran = subprocess.Popen(  # noqa: S603  a program of the user's PATH, no shell, no threads here
                words,
                cwd=home,
                env=_environment(home),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                preexec_fn=_bounded,  # noqa: PLW1509
            )
        except OSError as e:
            raise ProgramError(f"{name} could not be started: {e.strerror}") from e
        try:
            code = ran.wait(SECONDS)
        except subprocess.TimeoutExpired as e:
            raise ProgramError(f"{name} took longer than {SECONDS} s") from e
        finally:
            _end(ran)
        size = out.seek(0, os.SEEK_END)
        if size > MOST_BYTES:
            raise ProgramError(f"the output exceeds {MOST_BYTES:,} bytes")
        if code:
            err.seek(0)
            raise ProgramError(_reason(name, err.read(_MOST_SAID).decode(errors="replace"), code))
        out.seek(0)
        return out.read()


def _end(ran: subprocess.Popen[bytes]) -> None:
    """Kill the program and its children."""
    with suppress(ProcessLookupError):
        os.killpg(ran.pid, signal.SIGKILL)
    ran.wait()


def _environment(home: str) -> dict[str, str]:
    """An environment without the user's repositories, plugins, clusters and proxies."""
    names = [
        f"{who}_{what}_HOME" for who in ("HELM", "XDG") for what in ("CACHE", "CONFIG", "DATA")
    ]
    own = dict.fromkeys((*names, "HELM_PLUGINS", "HOME", "TMPDIR"), home)
    inherited = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    return {**inherited, **own, "KUBECONFIG": os.devnull, "GOMEMLIMIT": "200MiB"}


def _bounded() -> None:
    """In the child process: limit memory, time and output, and unshare the network.

    Where the system grants no network namespace, the program runs in the user's.
    """
    import resource

    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES + 1, MOST_BYTES + 1))
    resource.setrlimit(resource.RLIMIT_CPU, (2 * SECONDS, 2 * SECONDS))
    unshare = getattr(_LIBC, "unshare", None)
    if unshare is not None and unshare(_NEW_NETWORK):
        unshare(_NEW_USER | _NEW_NETWORK)


def _reason(name: str, words: str, code: int) -> str:
    """Why it failed; without the stack trace of a Go program."""
    fell = _FELL.search(words)
    if fell and "memory" in fell[1]:
        return f"{name} ran out of memory"
    silent = (
        f"{name} was killed by signal {-code}"
        if code < 0
        else f"{name} failed without an error message"
    )
    return fell[1][:_SAYS] if fell else _message(words) or silent


def _message(words: str) -> str:
    """Its error message in one line."""
    lines = [_LOGGED.sub("", line.strip(), count=1) for line in words.splitlines() if line.strip()]
    result = next((line for line in lines if line.lower().startswith(_ERROR)), "")
    return (result[len(_ERROR) :] or (lines[-1] if lines else ""))[:_SAYS]
