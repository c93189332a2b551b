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

from gpuyard.errors import EnvironmentLacks
from gpuyard.recovery.left_over import joined, left_of, resources_of
from gpuyard.recovery.stack import PulumiStack


def mend(stack: PulumiStack) -> list[str]:
    """Put what is known of a state in the place of one that is cut short; what was done.

    That is the newest whole copy, with the resources that what was cut has besides.

    Raises:
        EnvironmentLacks: no copy is whole, and nothing can be read of what was cut.
    """
    if stack.files is None:
        return []
    folder = stack.files / ".pulumi"
    state = folder / "stacks" / stack.project / f"{stack.name}.json"
    if not state.is_file() or _whole(state) is not None:
        return []
    copies = list(_copies(state, folder / "backups" / stack.project / stack.name))
    wholes = ((each, found) for each in copies if (found := _whole(each)) is not None)
    known, said = _known(next(wholes, None), _left([state, *copies]))
    if known is None:
        raise EnvironmentLacks(
            f"the state {state} is cut short, as by a full disk, and no copy beside it is whole. Take one of"
            " a back-up of yours; without any, remove the file, and of what runs `gpuyard adopt` writes an"
            " import"
        )
    kept = state.with_name(f"{state.name}.cut")
    shutil.copyfile(state, kept)
    state.write_text(json.dumps(known), encoding="utf-8")
    return [
        f"the state was cut short, as by a full disk: {said}, and what was left of it is {kept.name}"
    ]


def _known(
    newest: tuple[Path, dict[str, Any]] | None, left: dict[str, Any] | None
) -> tuple[dict[str, Any] | None, str]:
    """The state that there was, as far as anything tells, and in words whence it comes."""
    if newest is None:
        return left, f"{len(resources_of(left or {}))} of its resources could still be read"
    copy, whole = newest
    said = f"{copy.name} of {_written(copy)} takes its place"
    if left is None:
        return whole, said
    both = joined(left, whole)
    more = len(resources_of(both)) - len(resources_of(whole))
    return both, f"{said}, and {more} more of its resources could still be read" if more else said


def _left(files: list[Path]) -> dict[str, Any] | None:
    """What names the most resources among what was cut."""
    found = [left for each in files if _whole(each) is None and (left := left_of(_text(each)))]
    return max(found, key=lambda state: len(resources_of(state)), default=None)


def _copies(state: Path, backups: Path) -> Iterator[Path]:
    """The one before the last step, then those of whole runs, the newest first."""
    yield state.with_name(f"{state.name}.bak")
    yield from sorted(backups.glob("*.json"), reverse=True)


def _written(file: Path) -> str:
    return f"{datetime.fromtimestamp(file.stat().st_mtime, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _whole(file: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(_text(file))
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _text(file: Path) -> str:
    """A character in two at the cut is none; a file that is not there has none."""
    try:
        return file.read_bytes().decode("utf-8", errors="ignore")
    except OSError:
        return ""
