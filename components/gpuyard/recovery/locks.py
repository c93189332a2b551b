"""Locks of a stack: who holds it, and whether that one still runs.

A backend of files keeps a lock as a file, wherever the files are; the engine itself says of it who made it.
A lock is taken away only where its process ran on this host and is gone: of another host nobody can tell.
"""

import json
import os
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpuyard.errors import EnvironmentMissing
from gpuyard.recovery.stack import PulumiStack
from gpuyard.recovery.truncated_state import repair_state

_SAID = re.compile(r"created by (\S+)@(\S+) \(pid (\d+)\) at (\S+)")
_LOCKED = ("currently locked by", "Another update is currently in progress")


@dataclass(frozen=True, slots=True)
class LockOwner:
    """Who holds a stack."""

    user: str
    host: str
    process: int
    since: str

    @property
    def is_terminated(self) -> bool:
        """Whether it ran here and has ended."""
        return self.host == socket.gethostname() and not _alive(self.process)

    def __str__(self) -> str:
        return f"process {self.process} of {self.user} on {self.host}, since {self.since}"


def release_lock(stack: PulumiStack) -> list[str]:
    """Take the lock of a killed run away, and mend a state that it left cut short; what was done.

    Raises:
        EnvironmentMissing: somebody else holds the stack, or nobody can tell from here that he does not.
    """
    holders = _in_files(stack.files, stack) if stack.files else _owners_by_refresh(stack)
    if running := [holder for holder in holders if not holder.is_terminated]:
        raise EnvironmentMissing(
            f"stack {stack.name} is held by {'; '.join(map(str, running))}. Wait for it to end; where it is "
            f"gone for sure, `pulumi cancel --stack {stack.name}`, then this again"
        )
    did = repair_state(stack)  # before any command of the engine, which would not read it
    if holders:
        stack.query("cancel", "--yes")
    return [*did, *(f"{holder}, was killed: its lock is removed" for holder in holders)]


def _in_files(backend: Path, stack: PulumiStack) -> list[LockOwner]:
    """Without starting the engine; a lock that is half written names nobody, and is left to the engine."""
    results = sorted(
        (backend / ".pulumi" / "locks").glob(f"**/{stack.project}/{stack.name}/*.json")
    )
    return list(_read(results))


def _read(files: list[Path]) -> Iterator[LockOwner]:
    for file in files:
        try:
            lock = json.loads(file.read_text(encoding="utf-8"))
            yield LockOwner(lock["username"], lock["hostname"], int(lock["pid"]), lock["timestamp"])
        except (OSError, ValueError, KeyError, TypeError):
            continue


def _owners_by_refresh(stack: PulumiStack) -> list[LockOwner]:
    """By the smallest thing that needs the lock: a refresh of what has no provider."""
    root = f"urn:pulumi:{stack.name}::{stack.project}::pulumi:pulumi:Stack::{stack.project}-{stack.name}"
    code, output = stack.run("refresh", "--yes", "--skip-preview", "--target", root)
    if code == 0 or not any(word in output for word in _LOCKED):
        return []
    results = [LockOwner(user, host, int(pid), at) for user, host, pid, at in _SAID.findall(output)]
    if not results:
        raise EnvironmentMissing(
            f"stack {stack.name} is held, and its backend does not say by whom: {output.strip()}\n"
            f"Where that run is gone for sure, `pulumi cancel --stack {stack.name}`, then this again"
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
