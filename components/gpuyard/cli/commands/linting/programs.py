"""Runs `helm` and `kustomize` over files: nothing of the user's, no network that they need, within bounds."""

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from time import monotonic

SECONDS = 10
"""So long one run may take."""
ALL_SECONDS = 60
"""So long all of them may take."""
MOST_BYTES = 16 * 1024 * 1024
MOST_MEMORY = 512 * 1024 * 1024
"""Of data: Go keeps more of addresses than it uses."""
_ERROR = "error: "
_SAYS = 200
_FELL = re.compile(r"^(?:fatal error|panic|runtime): (.+)", re.MULTILINE)
"""How Go begins what it writes of a program that falls; pages of its stack follow."""
_LOGGED = re.compile(r"[IWEF]\d{4} [\d:.]+\s+\d+ [\w./-]+:\d+\] ")
"""What kubectl's log writes before a line: day, clock, number of its process, a place in its code."""


class ProgramError(Exception):
    """A program made nothing of what it was given; the words say why."""


@dataclass(slots=True)
class ProgramTime:
    """The time that is left to all programs."""

    end: float = field(default_factory=lambda: monotonic() + ALL_SECONDS)

    @property
    def spent(self) -> bool:
        """Whether none is left."""
        return monotonic() > self.end

    @staticmethod
    def says(what: str) -> str:
        """What is told of something for which no time was left."""
        return f"programs took {ALL_SECONDS} s already: give this {what} alone"


def output_of(*words: str) -> bytes:
    """What a program writes; ProgramError where it fails, takes too long, or writes too much."""
    name = os.path.basename(words[0])  # noqa: PTH119  a name as it is
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryFile() as out:
        try:
            ran = subprocess.run(  # noqa: S603  a program of the user's PATH, no shell, no threads here
                words,
                cwd=home,
                env=_environment(home),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.PIPE,
                timeout=SECONDS,
                check=False,
                preexec_fn=_bounded,
            )
        except subprocess.TimeoutExpired as e:
            raise ProgramError(f"{name} took longer than {SECONDS} s") from e
        except OSError as e:
            raise ProgramError(f"{name} does not run: {e.strerror}") from e
        size = out.seek(0, os.SEEK_END)
        if size > MOST_BYTES:
            raise ProgramError(f"it is more than {MOST_BYTES:,} bytes")
        if ran.returncode:
            raise ProgramError(_why(name, ran.stderr.decode(errors="replace"), ran.returncode))
        out.seek(0)
        return out.read()


def _environment(home: str) -> dict[str, str]:
    """Nothing of the user's: no repositories, plugins, clusters or proxies."""
    own = {f"HELM_{each}_HOME": home for each in ("CACHE", "CONFIG", "DATA")}
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    return {**kept, **own, "HOME": home, "KUBECONFIG": os.devnull, "GOMEMLIMIT": "200MiB"}


def _bounded() -> None:
    """In the process that becomes the program: it gets no more memory, and writes no more than is read."""
    import resource

    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES + 1, MOST_BYTES + 1))


def _why(name: str, words: str, code: int) -> str:
    """Why it made nothing; of a program in Go that fell, no place in its code."""
    fell = _FELL.search(words)
    if fell and "memory" in fell[1]:
        return f"{name} ran out of memory"
    silent = f"{name} was ended by signal {-code}" if code < 0 else f"{name} fails in silence"
    return fell[1][:_SAYS] if fell else _said(words) or silent


def _said(words: str) -> str:
    """What it says of its failure, in one line."""
    lines = [_LOGGED.sub("", line.strip(), count=1) for line in words.splitlines() if line.strip()]
    found = next((line for line in lines if line.lower().startswith(_ERROR)), "")
    return (found[len(_ERROR) :] or (lines[-1] if lines else ""))[:_SAYS]
