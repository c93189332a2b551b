"""Read inputs, where an unknown value is never an error."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from testbed.plugins.kubernetes.values import UNKNOWN, Unknown

Inputs: TypeAlias = Mapping[str, Any]
Rule: TypeAlias = Callable[[Inputs], Iterator[str]]


def at(inputs: Any, path: str) -> Any:
    """The value at a path, None if missing, UNKNOWN if not known yet."""
    value = inputs
    for step in path.split("."):
        if isinstance(value, Unknown):
            return UNKNOWN
        if not isinstance(value, Mapping):
            return None
        value = value.get(step)
    return value


def has(inputs: Any, path: str) -> bool:
    """Whether a value is given at a path, known or not; an empty text or list does not count."""
    return at(inputs, path) not in (None, "", [], {})


def text(inputs: Any, path: str) -> str:
    """The text at a path; "" where there is none or it is not known yet."""
    value = at(inputs, path)
    return value if isinstance(value, str) else ""


def number(inputs: Any, path: str, default: float | None = None) -> float | None:
    """The number at a path; None if unknown."""
    value = at(inputs, path)
    if value is None:
        return default
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def items(inputs: Any, path: str) -> list[Any]:
    """The known items of the list at a path."""
    value = at(inputs, path)
    return (
        [each for each in value if not isinstance(each, Unknown)] if isinstance(value, list) else []
    )


def mapping(inputs: Any, path: str) -> Mapping[str, Any]:
    """The mapping at a path; empty if unknown."""
    value = at(inputs, path)
    return value if isinstance(value, Mapping) else {}


def within(key: str, domains: tuple[str, ...]) -> bool:
    """Whether a label is in one of these domains or a subdomain."""
    domain = key.rpartition("/")[0]
    return any(domain == each or domain.endswith(f".{each}") for each in domains)


def unsure(inputs: Any, *paths: str) -> bool:
    """Whether one of these values is not known yet."""
    return any(isinstance(at(inputs, path), Unknown) for path in paths)
