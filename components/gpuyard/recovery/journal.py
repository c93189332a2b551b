"""Read the complete resources of a truncated state.

The engine writes them so that none refers to a later one, so the part before the truncation is consistent.
"""

import json
import re
from typing import Any

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
            result, at = decoder.raw_decode(text, _after(text, at))
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


def _after(text: str, at: int) -> int:
    match = _BETWEEN.match(text, at)
    return match.end() if match else at
