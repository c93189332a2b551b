"""The state of a backend of files that was cut short, as a disk does that fills while `up` runs.

The engine writes the whole state anew at each step, into the same file, so that its end may be missing; no
command of the engine reads it then. Beside it lies what the engine wrote before, which may be cut as well.
"""

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpuyard.errors import EnvironmentMissing
from gpuyard.recovery.journal import join_states, leftover_state, resources_of
from gpuyard.recovery.stack import PulumiStack


def repair_state(stack: PulumiStack) -> list[str]:
    """Put what is known of a state in the place of one that is cut short; what was done.

    That is the newest whole copy, with the resources that what was cut has besides.

    Raises:
        EnvironmentMissing: no copy is whole, and nothing can be read of what was cut.
    """
    if stack.files is None:
        return []
    folder = stack.files / ".pulumi"
    state_file = folder / "stacks" / stack.project / f"{stack.name}.json"
    if not state_file.is_file() or _read_complete(state_file) is not None:
        return []
    copies = list(_copies(state_file, folder / "backups" / stack.project / stack.name))
    wholes = ((each, result) for each in copies if (result := _read_complete(each)) is not None)
    known, origin = _known(next(wholes, None), _longest_fragment([state_file, *copies]))
    if known is None:
        raise EnvironmentMissing(
            f"the state {state_file} is cut short, as by a full disk, and no copy beside it is whole. Take one of"
            " a back-up of yours; without any, remove the file, and of what runs `gpuyard adopt` writes an"
            " import"
        )
    backup = state_file.with_name(f"{state_file.name}.cut")
    shutil.copyfile(state_file, backup)
    state_file.write_text(json.dumps(known), encoding="utf-8")
    return [
        f"the state was cut short, as by a full disk: {origin}, and what was left of it is {backup.name}"
    ]


def _known(
    newest: tuple[Path, dict[str, Any]] | None, remaining: dict[str, Any] | None
) -> tuple[dict[str, Any] | None, str]:
    """The state that there was, as far as anything tells, and in words whence it comes."""
    if newest is None:
        return (
            remaining,
            f"{len(resources_of(remaining or {}))} of its resources could still be read",
        )
    copy, copied_state = newest
    origin = f"{copy.name} of {_written(copy)} takes its place"
    if remaining is None:
        return copied_state, origin
    both = join_states(remaining, copied_state)
    more = len(resources_of(both)) - len(resources_of(copied_state))
    return (
        both,
        f"{origin}, and {more} more of its resources could still be read" if more else origin,
    )


def _longest_fragment(files: list[Path]) -> dict[str, Any] | None:
    """What names the most resources among what was cut."""
    results = [
        remaining
        for each in files
        if _read_complete(each) is None and (remaining := leftover_state(_text(each)))
    ]
    return max(results, key=lambda state: len(resources_of(state)), default=None)


def _copies(state_file: Path, backups: Path) -> Iterator[Path]:
    """The one before the last step, then those of whole runs, the newest first."""
    yield state_file.with_name(f"{state_file.name}.bak")
    yield from sorted(backups.glob("*.json"), reverse=True)


def _written(file: Path) -> str:
    return f"{datetime.fromtimestamp(file.stat().st_mtime, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _read_complete(file: Path) -> dict[str, Any] | None:
    try:
        result = json.loads(_text(file))
    except ValueError:
        return None
    return result if isinstance(result, dict) else None


def _text(file: Path) -> str:
    """A character in two at the cut is none; a file that is not there has none."""
    try:
        return file.read_bytes().decode("utf-8", errors="ignore")
    except OSError:
        return ""
