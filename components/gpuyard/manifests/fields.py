"""Reading plain values of which some may not be known yet.

A preview has values that exist only once something is deployed. Whoever meets one ends with
NotEvaluatedError: that is not the same as having found nothing.
"""

import math
from collections.abc import Mapping
from typing import Any


class UnknownValue:
    """Stands for a value that a preview does not know yet."""

    def __repr__(self) -> str:
        return "(not known yet)"


UNKNOWN = UnknownValue()
_LISTS = (list, tuple)


class PartlyKnown(dict[Any, Any]):
    """A mapping that may have more in it than is known: what it is not known to have is unknown."""

    def get(self, key: Any, default: Any = None) -> Any:
        """What is known to be there, else UNKNOWN: nobody can say that it is not there."""
        return super().get(key, UNKNOWN if default is None else default)


class FilledIn(str):
    """Text in place of a value that somebody fills in: as text it is what it is, as anything else unknown."""

    __slots__ = ()


class NotEvaluatedError(Exception):
    """A rule met a value that is not known yet: it has said nothing, which is not the same as passing."""


def known_value(value: Any) -> Any:
    """The value, when it is known; NotEvaluatedError ends the rule otherwise."""
    if value is UNKNOWN:
        raise NotEvaluatedError
    return value


def _no_text(value: Any) -> Any:
    """A value that is to be something else than text, when it is known."""
    if isinstance(value, FilledIn):
        raise NotEvaluatedError
    return known_value(value)


def mapping(value: Any, *keys: str) -> Mapping[Any, Any]:
    """A mapping, or the one below at these keys; empty when there is none or something else stands there."""
    for key in keys:
        value = mapping(value).get(key)
    if type(value) is dict:  # almost always, and the question below is slow
        return value
    return value if isinstance(_no_text(value), Mapping) else {}


def complete_mapping(value: Any) -> Mapping[Any, Any]:
    """A mapping of which all is known, for who looks for what is not in it."""
    if isinstance(value, PartlyKnown):
        raise NotEvaluatedError
    return mapping(value)


def block(value: Any) -> Mapping[str, Any]:
    """A block of a cloud resource; where it may stand once, Terraform writes a list of one."""
    alone = isinstance(known_value(value), list | tuple) and len(value) == 1
    return mapping(value[0] if alone else value)


def items(value: Any, *keys: str) -> list[Any]:
    """A list, or the one below at these keys; empty when there is none or something else stands there."""
    value = _below(value, keys)
    return list(value) if isinstance(_no_text(value), _LISTS) else []


def mappings(value: Any, *keys: str) -> list[Mapping[Any, Any]]:
    """The mappings of a list; whatever else is in it is left out."""
    return [item for item in items(value, *keys) if isinstance(_no_text(item), Mapping)]


def text(value: Any, *keys: str) -> str:
    """Text, or the one below at these keys; "" when there is none or something else stands there."""
    value = _below(value, keys)
    return value if isinstance(known_value(value), str) else ""


def enum_value(value: Any, *keys: str) -> str:
    """Text that is one of a few words, where a name that somebody fills in would be none of them."""
    return str(_no_text(text(value, *keys)))


def _below(value: Any, keys: tuple[str, ...]) -> Any:
    return mapping(value, *keys[:-1]).get(keys[-1]) if keys else value


def is_true(value: Any) -> bool:
    """True for true; the clouds' SDKs write some truths as text."""
    value = _no_text(value)
    return value is True or (isinstance(value, str) and value.lower() == "true")


def number(value: Any) -> float | None:
    """A number, also one written as text, as Kubernetes quantities of whole things often are."""
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


def at(value: Any, *steps: str | int) -> Any:
    """What stands at these steps below a value, None when nothing does; unknown anywhere ends the rule."""
    for step in steps:
        if isinstance(step, int):
            inside = items(value)
            value = inside[step] if step < len(inside) else None
        else:
            value = block(value).get(step)
    return known_value(value)
