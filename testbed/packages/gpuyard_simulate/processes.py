"""Processes that outlive the command that started them, with an unambiguous identity.

A process id is reused after the process ends. So a process is identified by id, start time and boot, and every
process also has its cluster and part in its environment, which finds strays without a record (a `kill -9`
between start and record).
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MARK = "GPUYARD_SIM_PART"
STOP_SECONDS = 5.0
# A killed process ends only when it gets a core; until then it keeps its ports.
KILLED_SECONDS = 60.0
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Process:
    """One process of the cluster: the id with what makes it unambiguous."""

    pid: int
    started: str

    @property
    def alive(self) -> bool:
        """Whether this very process still runs; a zombie does not."""
        return start_of(self.pid) == self.started


def start_of(pid: int) -> str | None:
    """Boot and start time of a running process, None when there is none of that id."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
    state, *rest = text.rpartition(")")[2].split()
    # A killed program whose other threads are still ending keeps its ports, although it is a zombie.
    if state in "ZX" and int(rest[16]) <= 1:
        return None
    return f"{_boot()}:{rest[18]}"  # field 22 of stat(5), counted after the name


def _boot() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()[:8]
    except OSError:
        return "boot"


def start(
    command: Sequence[str], *, mark: str, log: Path, env: Mapping[str, str] | None = None
) -> Process:
    """Start a process of its own session, so that Ctrl-C in the terminal does not reach it."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        child = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=log.parent.parent,
            env={**os.environ, **(env or {}), MARK: mark},
        )
    _unreaped.append(child)
    return Process(child.pid, start_of(child.pid) or "ended")


# Kept so that a child that dies while we wait is reaped and its object does not warn when dropped.
_unreaped: list["subprocess.Popen[bytes]"] = []


def reap() -> None:
    """Collect children that have ended: until then they are zombies."""
    for child in _unreaped:
        child.poll()


def stop(processes: Iterable[Process]) -> None:
    """End processes: SIGTERM first, then SIGKILL. Returns when none runs any more."""
    running = [process for process in processes if process.alive]
    for chosen, patience in ((signal.SIGTERM, STOP_SECONDS), (signal.SIGKILL, KILLED_SECONDS)):
        for process in running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, chosen)
        running = _wait_for_end(running, patience)
        if not running:
            return


def _wait_for_end(processes: list[Process], patience: float) -> list[Process]:
    """Processes that still run after the grace period."""
    deadline = time.monotonic() + patience
    while processes and time.monotonic() < deadline:
        reap()
        processes = [process for process in processes if process.alive]
        if processes:
            time.sleep(0.02)
    return processes


def marked_processes(mark: str) -> list[Process]:
    """Every running process whose mark starts with this, whether recorded or not."""
    prefix = f"{MARK}={mark}".encode()
    results = []
    for folder in _PROC.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            environment = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(item.startswith(prefix) for item in environment):
            started = start_of(int(folder.name))
            if started:
                results.append(Process(int(folder.name), started))
    return results


def rss_mib(pid: int) -> int:
    """Resident memory of a process in MiB, 0 when it is gone."""
    try:
        text = (_PROC / str(pid) / "status").read_text(encoding="utf-8")
    except OSError:
        return 0
    line = next((line for line in text.splitlines() if line.startswith("VmRSS:")), "VmRSS: 0 kB")
    return int(line.split()[1]) // 1024
