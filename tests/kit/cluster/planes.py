"""CPU of control planes: of parts that are not waited for before the run ends.

A part of a cluster that this process started is counted by the kernel once it has ended; until then here. Of
a part that another program of the tests left behind, the last seen value is kept.
"""

import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from gpuyard.simulate import processes

MARKS = (f"{processes.MARK}=".encode(), b"KWOK_WORKDIR=")
"""In the environment of each part: of gpuyard's clusters, and of those that kwokctl starts."""
OF = "GPUYARD_SECONDS_OF"
"""The owner of a part: a worker counts those that it and its programs started."""
PAUSE = 2.0
"""Seconds between two samples; CPU after the last one is lost."""
YOUNG = 5.0
_TICKS = os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")
_STARTED = 19  # index in the fields after the name


@dataclass
class Planes:
    """The parts that were seen, and their CPU then."""

    whose: str = field(default_factory=lambda: str(os.getpid()))
    _known: dict[tuple[str, str], float | None] = field(
        default_factory=dict[tuple[str, str], float | None]
    )
    """By id and start: seconds; None for other processes."""
    _mine: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Those that run as children of this process."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def watch(self) -> threading.Event:
        """Sample until the event is set; this process's programs inherit the owner."""
        os.environ[OF] = self.whose
        over = threading.Event()

        def work() -> None:
            while not over.wait(PAUSE):
                self.spent()

        threading.Thread(target=work, daemon=True, name="planes").start()
        return over

    def parts(self) -> set[str]:
        """The ids of the parts that were seen."""
        with self._lock:
            return {pid for (pid, _), seconds in self._known.items() if seconds is not None}

    def spent(self) -> float:
        """Seconds of CPU so far, except those that the kernel already counts."""
        with self._lock:
            existing = {}
            for folder in _PROC.glob("[0-9]*"):
                fields = _stat(folder)
                if len(fields) > _STARTED:
                    existing[folder.name, fields[_STARTED]] = fields
            for one in self._mine - existing.keys():
                del self._known[one]
            self._mine &= existing.keys()
            for one, fields in existing.items():
                self._look(one, fields)
            return sum(seconds for seconds in self._known.values() if seconds is not None)

    def _look(self, one: tuple[str, str], fields: list[str]) -> None:
        if one not in self._known and self._is_part(one[0]):
            self._known[one] = 0.0
        elif one not in self._known and time.monotonic() - int(one[1]) / _TICKS > YOUNG:
            self._known[one] = None  # before that it may not have executed its program yet
        if self._known.get(one) is not None:
            self._known[one] = sum(int(each) for each in fields[11:15]) / _TICKS
            if fields[1] == str(os.getpid()):
                self._mine.add(one)

    def _is_part(self, pid: str) -> bool:
        try:
            environment = (_PROC / pid / "environ").read_bytes().split(b"\0")
        except OSError:
            return False
        ours = f"{OF}={self.whose}".encode() in environment
        return ours and any(each.startswith(MARKS) for each in environment)


def _stat(folder: Path) -> list[str]:
    """The fields of a process after its name; none if it is gone."""
    try:
        return (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except (OSError, ValueError):
        return []
