"""What can still be read of a state that was cut short: its resources up to the cut.

The engine writes them so that none names one that comes later, so what comes before the cut holds together.
"""

import json
import re
from typing import Any

_RESOURCES = re.compile(r'"resources"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")
_END = "]}}}"
"""Of the list, the deployment, the checkpoint and the whole."""

StateFile = dict[str, Any]


def leftover_state(text: str) -> StateFile | None:
    """The state with the resources that are whole; None where it is cut before the first of them."""
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
    """Of a stack that was never brought up there are none."""
    return list(_latest(state).get("resources") or [])


def join_states(remaining: StateFile, before: StateFile) -> StateFile:
    """What is left of a state, and behind it what an older one has besides.

    What was replaced since then may be there still, under another identity: it is to be deleted, as the
    engine had it. What was deleted since then is there recurring: the next `up` deletes it, or finds it gone.
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
