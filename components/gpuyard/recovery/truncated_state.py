"""Repair of a truncated state of a file backend, for example after the disk was full during `up`.

Pulumi rewrites the whole state into the same file at each step, so its end may be missing, and no Pulumi
command can then read it. The previous copies are next to it, and may be truncated too.
"""

import json
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpuyard.recovery.stack import PulumiStack
from gpuyard_core.errors import EnvironmentMissing

_RESOURCES = re.compile(r'"resources"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")
_END = "]}}}"
"""Closing brackets of the list, the deployment, the checkpoint and the document."""

StateFile = dict[str, Any]


def leftover_state(text: str) -> StateFile | None:
    """The state with its complete resources; None when there is none."""
    begun = _RESOURCES.search(text)
    if begun is None:
        return None
    resources: list[Any] = []
    decoder = json.JSONDecoder()
    at = begun.end()
    while True:
        try:
            between = _BETWEEN.match(text, at)
            result, at = decoder.raw_decode(text, between.end() if between else at)
        except ValueError:
            break
        resources.append(result)
    try:
        state: StateFile = json.loads(text[: begun.end()] + _END)
        state["checkpoint"]["latest"]["resources"] = resources
    except (ValueError, KeyError):
        return None
    return state if resources else None


def resources_of(state: StateFile) -> list[StateFile]:
    """The resources of a state; a stack that was never deployed has none."""
    return list(_latest(state).get("resources") or [])


def join_states(remaining: StateFile, before: StateFile) -> StateFile:
    """Merge a truncated state with an older one, whose additional resources follow.

    A resource that was replaced since may still exist with another id, and is marked for deletion, as Pulumi
    does. One that was deleted since appears again: the next `up` deletes it, or finds it missing.
    """
    newer = resources_of(remaining)
    known = {_key(each): each.get("id") for each in newer}
    behind: list[StateFile] = []
    for each in resources_of(before):
        if _key(each) not in known:
            behind.append(each)
        elif each.get("id") != known[_key(each)] and not each.get("delete"):
            behind.append(each | {"delete": True})
    urns = {each["urn"] for each in newer}
    latest = _latest(before) | _latest(remaining) | {"resources": newer + behind}
    latest["pending_operations"] = [
        each
        for each in latest.get("pending_operations") or []
        if not (each["type"] == "creating" and each["resource"]["urn"] in urns)
    ]
    return remaining | {"checkpoint": remaining["checkpoint"] | {"latest": latest}}


def _latest(state: StateFile) -> StateFile:
    return (state.get("checkpoint") or {}).get("latest") or {}


def _key(resource: dict[str, Any]) -> tuple[str, bool]:
    return resource["urn"], bool(resource.get("delete"))


def repair_state(stack: PulumiStack) -> list[str]:
    """Replace a truncated state; returns what was done.

    The new state is the newest complete copy, plus the additional resources of the truncated one.

    Raises:
        EnvironmentMissing: no copy is complete, and nothing is readable in the truncated state.
    """
    if stack.files is None:
        return []
    folder = stack.files / ".pulumi"
    state_file = folder / "stacks" / stack.project / f"{stack.name}.json"
    if not state_file.is_file() or _read_complete(state_file) is not None:
        return []
    # the copy before the last step, then those of complete runs, newest first
    backups = sorted((folder / "backups" / stack.project / stack.name).glob("*.json"), reverse=True)
    copies = [state_file.with_name(f"{state_file.name}.bak"), *backups]
    wholes = ((each, result) for each in copies if (result := _read_complete(each)) is not None)
    fragments = [
        remaining
        for each in (state_file, *copies)
        if _read_complete(each) is None and (remaining := leftover_state(_text(each)))
    ]
    longest = max(fragments, key=lambda state: len(resources_of(state)), default=None)
    known, origin = _known(next(wholes, None), longest)
    if known is None:
        raise EnvironmentMissing(
            f"the state {state_file} is truncated, as by a full disk, and no complete copy is "
            "next to it. Restore it from a backup; without one, remove the file, and `gpuyard "
            "adopt` writes imports of the running resources"
        )
    backup = state_file.with_name(f"{state_file.name}.cut")
    shutil.copyfile(state_file, backup)
    state_file.write_text(json.dumps(known), encoding="utf-8")
    return [
        f"the state was truncated, as by a full disk: {origin}; the truncated file is kept as {backup.name}"
    ]


def _known(
    newest: tuple[Path, dict[str, Any]] | None, remaining: dict[str, Any] | None
) -> tuple[dict[str, Any] | None, str]:
    """The restored state, and a description of its origin."""
    if newest is None:
        count = len(resources_of(remaining or {}))
        return remaining, f"{count} of its resources were recovered"
    copy, copied_state = newest
    written = datetime.fromtimestamp(copy.stat().st_mtime, UTC)
    origin = f"{copy.name} of {written:%Y-%m-%dT%H:%M:%SZ} replaces it"
    if remaining is None:
        return copied_state, origin
    both = join_states(remaining, copied_state)
    more = len(resources_of(both)) - len(resources_of(copied_state))
    return both, f"{origin}, and {more} more of its resources were recovered" if more else origin


def _read_complete(file: Path) -> dict[str, Any] | None:
    try:
        result = json.loads(_text(file))
    except ValueError:
        return None
    return result if isinstance(result, dict) else None


def _text(file: Path) -> str:
    """Content of a file; a character split by the truncation is dropped, and a missing file is empty."""
    try:
        return file.read_bytes().decode("utf-8", errors="ignore")
    except OSError:
        return ""
