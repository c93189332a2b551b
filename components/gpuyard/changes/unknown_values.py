"""The inputs of a resource as far as they are known before a deployment."""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from gpuyard.plan.records.late import Late
from gpuyard.render.cloud.graph import Base64, Joined, Json, names_in, resolve_values


class UnknownMarker(Enum):
    """In place of a value that is not known."""

    COMPUTED = "known after the deployment"
    QUERIED = "an answer of the cloud"
    """Taken for what it was when the resource was made."""


def replace_unknowns(value: Any, known: Callable[[str], Any]) -> Any:
    """The plain tree; a text around a mark is that mark."""
    match value:
        case Joined() | Json() | Base64():
            marks = [m for name in names_in(value) if isinstance(m := known(name), UnknownMarker)]
            if marks:
                return (
                    UnknownMarker.COMPUTED
                    if UnknownMarker.COMPUTED in marks
                    else UnknownMarker.QUERIED
                )
            return resolve_values(value, known)
        case Late(name):
            result = known(name)
            return (
                result
                if isinstance(result, UnknownMarker)
                else resolve_values(value, lambda _: result)
            )
        case Mapping():
            return {key: replace_unknowns(each, known) for key, each in value.items()}
        case list() | tuple():
            return [replace_unknowns(each, known) for each in value]
        case _:
            return value


def has_unknown(value: Any, mark: UnknownMarker) -> bool:
    """Whether it stands anywhere in a tree."""
    if isinstance(value, Mapping):
        return any(has_unknown(each, mark) for each in value.values())
    if isinstance(value, list):
        return any(has_unknown(each, mark) for each in value)
    return value is mark


def at_path(value: Any, steps: list[str]) -> Any:
    """What lies at a path of fields and places; a mark on the way is what lies there."""
    for step in steps:
        if isinstance(value, UnknownMarker):
            return value
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value
