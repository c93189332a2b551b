"""Inputs of a resource with markers for values that are unknown before a deployment."""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import (
    Base64,
    Joined,
    Json,
    PathInProject,
    late_value_names,
    resolve_values,
)
from gpuyard.spec.late_inputs import is_late_input, is_late_list


class UnknownMarker(Enum):
    """Marker for an unknown value."""

    COMPUTED = "known after the deployment"
    QUERIED = "a value queried from the cloud"
    """Assumed to be the value at creation of the resource."""


def replace_unknowns(value: Any, known: Callable[[str], Any]) -> Any:
    """The value with markers; a string that contains a marker becomes the marker."""
    settled: Any
    match value:
        case Joined() | Json() | Base64() | PathInProject():
            marks = [
                m for name in late_value_names(value) if isinstance(m := known(name), UnknownMarker)
            ]
            computed = UnknownMarker.COMPUTED in marks
            mark = UnknownMarker.COMPUTED if computed else UnknownMarker.QUERIED
            settled = mark if marks else resolve_values(value, known)
        case UnresolvedOutput(name):
            result = known(name)
            settled = result if isinstance(result, UnknownMarker) else resolve_values(value, known)
        case Mapping():
            settled = {key: replace_unknowns(each, known) for key, each in value.items()}
        case list() | tuple() if any(map(is_late_list, value)):
            settled = UnknownMarker.QUERIED
        case list() | tuple():
            settled = [replace_unknowns(each, known) for each in value]
        case str() if is_late_input(value):
            settled = UnknownMarker.QUERIED
        case _:
            settled = value
    return settled


def has_unknown(value: Any, mark: UnknownMarker) -> bool:
    """Whether a value contains the marker."""
    if isinstance(value, Mapping):
        return any(has_unknown(each, mark) for each in value.values())
    if isinstance(value, list):
        return any(has_unknown(each, mark) for each in value)
    return value is mark


def at_path(value: Any, steps: list[str]) -> Any:
    """The value at a path of fields and indices; a marker on the way is the result."""
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
