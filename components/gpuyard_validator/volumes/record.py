"""Which volumes are to be read, how fast at least, and what a pod that has them has seen."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard_validator.values import Answer, Malformed, decode, parsed, parsed_as

SCHEMA = "gpuyard.dev/volumes/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A volume, and how fast one node reads it at least."""

    name: str
    path: str
    floor_mb_per_s: float
    """10^6 bytes a second."""
    source: str
    """Who says that this is little enough to ask for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """All volumes that a node of a pool reads."""

    schema: str
    pool: str
    readings: tuple[Reading, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What became of it."""

    node: str
    reads: Mapping[str, Answer[float]]
    """MB/s, by name; where nothing could be read, why."""


def read_seen(text: str) -> Seen:
    """What was seen elsewhere; a value that is none is missing.

    Raises:
        Malformed: it is no such document.
    """
    found: Seen = decode(Seen, parsed(text, "seen"))
    return found


def read_wanted(text: str) -> Wanted:
    """What a document asks for.

    Raises:
        Malformed: it is none, or asks for nothing.
    """
    found: Wanted = decode(Wanted, parsed_as(SCHEMA, text, "volumes"))
    if not found.readings:
        raise Malformed("readings: at least one is needed")
    return found
