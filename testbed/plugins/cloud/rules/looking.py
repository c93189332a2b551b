"""Looks into inputs, where a value that is not known yet says nothing."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from testbed.plugins.kubernetes.values import UNKNOWN, Unknown

Inputs: TypeAlias = Mapping[str, Any]
Rule: TypeAlias = Callable[[Inputs], Iterator[str]]


def at(inputs: Any, path: str) -> Any:
    """The value at a path, None where nothing is, UNKNOWN where it cannot be known yet."""
    value = inputs
    for step in path.split("."):
        if isinstance(value, Unknown):
            return UNKNOWN
        if not isinstance(value, Mapping):
            return None
        value = value.get(step)
    return value


def has(inputs: Any, path: str) -> bool:
    """Whether something is given at a path, known or not; an empty text or list is nothing."""
    return at(inputs, path) not in (None, "", [], {})


def text(inputs: Any, path: str) -> str:
    """The text at a path; "" where there is none or it is not known yet."""
    value = at(inputs, path)
    return value if isinstance(value, str) else ""


def number(inputs: Any, path: str, default: float | None = None) -> float | None:
    """The figure at a path; None where it is not known."""
    value = at(inputs, path)
    if value is None:
        return default
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def items(inputs: Any, path: str) -> list[Any]:
    """The items of the list at a path that are known."""
    value = at(inputs, path)
    return (
        [each for each in value if not isinstance(each, Unknown)] if isinstance(value, list) else []
    )


def mapping(inputs: Any, path: str) -> Mapping[str, Any]:
    """The keys and values at a path; none where it is not known."""
    value = at(inputs, path)
    return value if isinstance(value, Mapping) else {}


def within(key: str, domains: tuple[str, ...]) -> bool:
    """Whether a label is of one of these domains, or of one below."""
    domain = key.rpartition("/")[0]
    return any(domain == each or domain.endswith(f".{each}") for each in domains)


def unsure(inputs: Any, *paths: str) -> bool:
    """Whether one of these is not known yet."""
    return any(isinstance(at(inputs, path), Unknown) for path in paths)
