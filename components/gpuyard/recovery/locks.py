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

from gpuyard.errors import EnvironmentLacks
from gpuyard.recovery.cut_states import mend
from gpuyard.recovery.stack import PulumiStack

_SAID = re.compile(r"created by (\S+)@(\S+) \(pid (\d+)\) at (\S+)")
_LOCKED = ("currently locked by", "Another update is currently in progress")


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a stack."""

    user: str
    host: str
    process: int
    since: str

    @property
    def gone(self) -> bool:
        """Whether it ran here and has ended."""
        return self.host == socket.gethostname() and not _alive(self.process)

    def __str__(self) -> str:
        return f"process {self.process} of {self.user} on {self.host}, since {self.since}"


def release(stack: PulumiStack) -> list[str]:
    """Take the lock of a killed run away, and mend a state that it left cut short; what was done.

    Raises:
        EnvironmentLacks: somebody else holds the stack, or nobody can tell from here that he does not.
    """
    held = _in_files(stack.files, stack) if stack.files else _asked(stack)
    if left := [holder for holder in held if not holder.gone]:
        raise EnvironmentLacks(
            f"stack {stack.name} is held by {'; '.join(map(str, left))}. Wait for it to end; where it is "
            f"gone for sure, `pulumi cancel --stack {stack.name}`, then this again"
        )
    did = mend(stack)  # before any command of the engine, which would not read it
    if held:
        stack.ask("cancel", "--yes")
    return [*did, *(f"{holder}, was killed: its lock is removed" for holder in held)]


def _in_files(backend: Path, stack: PulumiStack) -> list[Holder]:
    """Without starting the engine; a lock that is half written names nobody, and is left to the engine."""
    found = sorted((backend / ".pulumi" / "locks").glob(f"**/{stack.project}/{stack.name}/*.json"))
    return list(_read(found))


def _read(files: list[Path]) -> Iterator[Holder]:
    for file in files:
        try:
            lock = json.loads(file.read_text(encoding="utf-8"))
            yield Holder(lock["username"], lock["hostname"], int(lock["pid"]), lock["timestamp"])
        except (OSError, ValueError, KeyError, TypeError):
            continue


def _asked(stack: PulumiStack) -> list[Holder]:
    """By the smallest thing that needs the lock: a refresh of what has no provider."""
    root = f"urn:pulumi:{stack.name}::{stack.project}::pulumi:pulumi:Stack::{stack.project}-{stack.name}"
    code, said = stack.tried("refresh", "--yes", "--skip-preview", "--target", root)
    if code == 0 or not any(word in said for word in _LOCKED):
        return []
    found = [Holder(user, host, int(pid), at) for user, host, pid, at in _SAID.findall(said)]
    if not found:
        raise EnvironmentLacks(
            f"stack {stack.name} is held, and its backend does not say by whom: {said.strip()}\n"
            f"Where that run is gone for sure, `pulumi cancel --stack {stack.name}`, then this again"
        )
    return found


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
