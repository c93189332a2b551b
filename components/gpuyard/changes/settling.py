"""The inputs of a resource as far as they are known before a deployment."""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from gpuyard.plan.records.late import Late
from gpuyard.render.cloud.graph import Base64, Joined, Json, names_in, settle


class Mark(Enum):
    """In place of a value that is not known."""

    LATER = "known after the deployment"
    ASKED = "an answer of the cloud"
    """Taken for what it was when the resource was made."""


def settled(value: Any, known: Callable[[str], Any]) -> Any:
    """The plain tree; a text around a mark is that mark."""
    match value:
        case Joined() | Json() | Base64():
            marks = [m for name in names_in(value) if isinstance(m := known(name), Mark)]
            if marks:
                return Mark.LATER if Mark.LATER in marks else Mark.ASKED
            return settle(value, known)
        case Late(name):
            found = known(name)
            return found if isinstance(found, Mark) else settle(value, lambda _: found)
        case Mapping():
            return {key: settled(each, known) for key, each in value.items()}
        case list() | tuple():
            return [settled(each, known) for each in value]
        case _:
            return value


def has_mark(value: Any, mark: Mark) -> bool:
    """Whether it stands anywhere in a tree."""
    if isinstance(value, Mapping):
        return any(has_mark(each, mark) for each in value.values())
    if isinstance(value, list):
        return any(has_mark(each, mark) for each in value)
    return value is mark


def at_path(value: Any, steps: list[str]) -> Any:
    """What lies at a path of fields and places; a mark on the way is what lies there."""
    for step in steps:
        if isinstance(value, Mark):
            return value
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value
