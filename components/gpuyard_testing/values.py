"""Values of a recorded graph in addition to plain JSON: unknown values and references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeGuard, final


@final
class Unknown:
    """The type of `UNKNOWN`: a value that only a later deployment step determines."""

    _only: Unknown | None = None

    def __new__(cls) -> Unknown:
        """Return the singleton, so that `is UNKNOWN` always works."""
        if cls._only is None:
            cls._only = super().__new__(cls)
        return cls._only

    def __repr__(self) -> str:
        return "<unknown>"

    def __bool__(self) -> Literal[False]:
        return False


UNKNOWN: Final = Unknown()
"""Placeholder in recorded inputs for a value that a preview does not know yet."""


@dataclass(frozen=True)
class ResourceRef:
    """A resource passed as a property: its URN and, for custom resources, its id."""

    urn: str
    id: object = None


def is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a value is a JSON object."""
    return isinstance(value, Mapping)


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether a value is a JSON list; text is a sequence, but no list."""
    return isinstance(value, Sequence) and not isinstance(value, str)
