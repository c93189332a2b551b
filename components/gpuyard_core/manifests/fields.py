"""Reads fields of plain values, some of which may be unknown.

In a preview, some values are known only after deployment. Reading one raises NotEvaluatedError:
an unevaluated rule is not a rule without findings.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar


class UnknownValue:
    """Placeholder for a value that a preview does not know yet."""

    def __repr__(self) -> str:
        return "(not known yet)"


UNKNOWN = UnknownValue()
_LISTS = (list, tuple)


class PartlyKnown(dict[Any, Any]):
    """A mapping that may have further keys: the value of a missing key is unknown."""

    def get(self, key: Any, default: Any = None) -> Any:
        """The value if the key is present, else UNKNOWN: the key may still be added."""
        return super().get(key, UNKNOWN if default is None else default)


class PlaceholderText(str):
    """Text that replaces an unresolved placeholder: known as text, unknown as any other type."""

    __slots__ = ()


class NotEvaluatedError(Exception):
    """A rule read a value that is not known yet: it has no result, which is not a pass."""


def known_value(value: Any) -> Any:
    """The value if it is known; otherwise raises NotEvaluatedError."""
    if value is UNKNOWN:
        raise NotEvaluatedError
    return value


_Value = TypeVar("_Value")


def if_known(values: Iterable[_Value]) -> list[_Value]:
    """All values; none if a value that they depend on is not known yet."""
    try:
        return list(values)
    except NotEvaluatedError:
        return []


def _no_text(value: Any) -> Any:
    """A value that must not be text, if it is known."""
    if isinstance(value, PlaceholderText):
        raise NotEvaluatedError
    return known_value(value)


def mapping(value: Any, *keys: str) -> Mapping[Any, Any]:
    """A mapping, or the one at these keys below it; empty if missing or of another type."""
    for key in keys:
        value = mapping(value).get(key)
    if type(value) is dict:  # the usual case; the check below is slow
        return value
    return value if isinstance(_no_text(value), Mapping) else {}


def complete_mapping(value: Any) -> Mapping[Any, Any]:
    """A mapping whose keys are all known, for callers that check which keys are missing."""
    if isinstance(value, PartlyKnown):
        raise NotEvaluatedError
    return mapping(value)


def block(value: Any) -> Mapping[str, Any]:
    """A block of a cloud resource; Terraform writes one that may occur once as a list of one."""
    alone = isinstance(known_value(value), list | tuple) and len(value) == 1
    return mapping(value[0] if alone else value)


def items(value: Any, *keys: str) -> list[Any]:
    """A list, or the one at these keys below it; empty if missing or of another type."""
    value = _below(value, keys)
    return list(value) if isinstance(_no_text(value), _LISTS) else []


def mappings(value: Any, *keys: str) -> list[Mapping[Any, Any]]:
    """The mappings of a list; items of other types are excluded."""
    return [item for item in items(value, *keys) if isinstance(_no_text(item), Mapping)]


def text(value: Any, *keys: str) -> str:
    """Text, or the one at these keys below it; "" if missing or of another type."""
    value = _below(value, keys)
    return value if isinstance(known_value(value), str) else ""


def enum_value(value: Any, *keys: str) -> str:
    """Text that must be one of several values; an unresolved placeholder is unknown."""
    return str(_no_text(text(value, *keys)))


def _below(value: Any, keys: tuple[str, ...]) -> Any:
    return mapping(value, *keys[:-1]).get(keys[-1]) if keys else value


def is_true(value: Any) -> bool:
    """Whether the value is true; the clouds' SDKs write some booleans as text."""
    value = _no_text(value)
    return value is True or (isinstance(value, str) and value.lower() == "true")


def number(value: Any) -> float | None:
    """A number, also if written as text, as Kubernetes quantities of whole units often are."""
    value = _no_text(value)
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    finite = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    return value if finite else None


def at_path(value: Any, path: Sequence[str | int]) -> Any:
    """The value at a path, known or not; None if there is none."""
    for step in path:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list | tuple) else None
        else:
            value = value.get(step) if isinstance(value, Mapping) else None
    return value


def at(value: Any, *steps: str | int) -> Any:
    """The value at this path, None if missing; raises NotEvaluatedError if a step is unknown."""
    for step in steps:
        if isinstance(step, int):
            inside = items(value)
            value = inside[step] if step < len(inside) else None
        else:
            value = block(value).get(step)
    return known_value(value)
