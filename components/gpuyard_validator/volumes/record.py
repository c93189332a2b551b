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
    threshold_mb_per_s: float
    """10^6 bytes a second."""
    source: str
    """Who says that this is little enough to ask for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeExpectations:
    """All volumes that a node of a pool reads."""

    schema: str
    pool: str
    readings: tuple[Reading, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeObservation:
    """What became of it."""

    node: str
    reads: Mapping[str, Answer[float]]
    """MB/s, by name; where nothing could be read, why."""


def read_observation(text: str) -> VolumeObservation:
    """What was seen elsewhere; a value that is none is missing.

    Raises:
        Malformed: it is no such document.
    """
    result: VolumeObservation = decode(VolumeObservation, parsed(text, "seen"))
    return result


def read_expectations(text: str) -> VolumeExpectations:
    """What a document asks for.

    Raises:
        Malformed: it is none, or asks for nothing.
    """
    result: VolumeExpectations = decode(VolumeExpectations, parsed_as(SCHEMA, text, "volumes"))
    if not result.readings:
        raise Malformed("readings: at least one is needed")
    return result
