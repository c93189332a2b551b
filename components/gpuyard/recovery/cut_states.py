"""The state of a backend of files that was cut short, as a disk does that fills while `up` runs.

The engine writes the whole state anew at each step, into the same file, so that nothing of it may be left; no
command of the engine reads it then. Beside it lies what the engine wrote before.
"""

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from gpuyard.errors import EnvironmentLacks
from gpuyard.recovery.stack import PulumiStack


def mend(stack: PulumiStack) -> list[str]:
    """Put the newest whole copy in the place of a state that is cut short; what was done.

    Raises:
        EnvironmentLacks: no copy is whole.
    """
    if stack.files is None:
        return []
    folder = stack.files / ".pulumi"
    state = folder / "stacks" / stack.project / f"{stack.name}.json"
    if not state.is_file() or _whole(state):
        return []
    copies = _copies(state, folder / "backups" / stack.project / stack.name)
    copy = next(filter(_whole, copies), None)
    if copy is None:
        raise EnvironmentLacks(
            f"the state {state} is cut short, as by a full disk, and no copy beside it is whole. Take one of"
            " a back-up of yours; without any, remove the file, and of what runs `gpuyard adopt` writes an"
            " import"
        )
    written = datetime.fromtimestamp(copy.stat().st_mtime, UTC)
    kept = state.with_name(f"{state.name}.cut")
    shutil.copyfile(state, kept)
    shutil.copyfile(copy, state)
    said = f"{copy.name} of {written:%Y-%m-%dT%H:%M:%SZ} takes its place"
    return [
        f"the state was cut short, as by a full disk: {said}, and what was left of it is {kept.name}"
    ]


def _copies(state: Path, backups: Path) -> Iterator[Path]:
    """The one before the last step, then those of whole runs, the newest first."""
    yield state.with_name(f"{state.name}.bak")
    yield from sorted(backups.glob("*.json"), reverse=True)


def _whole(file: Path) -> bool:
    try:
        return isinstance(json.loads(file.read_text(encoding="utf-8")), dict)
    except (OSError, ValueError):
        return False
