"""Locks of a stack: their owner, and whether its process still runs.

A file backend keeps a lock as a file, whose owner Pulumi reports. A lock is removed only when its process
ran on this host and has ended; processes of other hosts cannot be checked.
"""

import json
import os
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpuyard.recovery.stack import PulumiStack
from gpuyard.recovery.truncated_state import repair_state
from gpuyard_core.errors import EnvironmentMissing

_SAID = re.compile(r"created by (\S+)@(\S+) \(pid (\d+)\) at (\S+)")
_LOCKED = ("currently locked by", "Another update is currently in progress")


@dataclass(frozen=True, slots=True)
class LockOwner:
    """The owner of a lock."""

    user: str
    host: str
    process: int
    since: str

    @property
    def is_terminated(self) -> bool:
        """Whether its process ran on this host and has ended."""
        return self.host == socket.gethostname() and not _alive(self.process)

    def __str__(self) -> str:
        return f"process {self.process} of {self.user} on {self.host}, since {self.since}"


def release_lock(stack: PulumiStack) -> list[str]:
    """Remove the lock of a killed run and repair a truncated state; returns what was done.

    Raises:
        EnvironmentMissing: the lock is in use, or its owner cannot be checked from this host.
    """
    holders = list(_in_files(stack.files, stack)) if stack.files else _owners_by_refresh(stack)
    if running := [holder for holder in holders if not holder.is_terminated]:
        raise EnvironmentMissing(
            f"stack {stack.name} is locked by {'; '.join(map(str, running))}. Wait for it to end; "
            f"if it no longer runs, run `pulumi cancel --stack {stack.name}`, then retry"
        )
    did = repair_state(stack)  # before any Pulumi command, which cannot read it
    if holders:
        stack.query("cancel", "--yes")
    return [*did, *(f"{holder}, no longer runs: gpuyard removed its lock" for holder in holders)]


def _in_files(backend: Path, stack: PulumiStack) -> Iterator[LockOwner]:
    """Read lock files directly; an incomplete lock has no owner, and Pulumi handles it."""
    locks = (backend / ".pulumi" / "locks").glob(f"**/{stack.project}/{stack.name}/*.json")
    for file in sorted(locks):
        try:
            lock = json.loads(file.read_text(encoding="utf-8"))
            yield LockOwner(lock["username"], lock["hostname"], int(lock["pid"]), lock["timestamp"])
        except (OSError, ValueError, KeyError, TypeError):
            continue


def _owners_by_refresh(stack: PulumiStack) -> list[LockOwner]:
    """Get the owners from the error of a minimal refresh, which needs the lock."""
    root = f"urn:pulumi:{stack.name}::{stack.project}::pulumi:pulumi:Stack::{stack.project}-{stack.name}"
    code, output = stack.run("refresh", "--yes", "--skip-preview", "--target", root)
    if code == 0 or not any(word in output for word in _LOCKED):
        return []
    results = [LockOwner(user, host, int(pid), at) for user, host, pid, at in _SAID.findall(output)]
    if not results:
        raise EnvironmentMissing(
            f"stack {stack.name} is locked, and its backend does not report the owner: "
            f"{output.strip()}\nIf that update no longer runs, run `pulumi cancel --stack "
            f"{stack.name}`, then retry"
        )
    return results


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
