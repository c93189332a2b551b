"""The volumes to read with their minimum rates, and the measurements of a pod."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard_validator.values import Answer, Malformed, decode, parse_json, parsed_as

SCHEMA = "gpuyard.dev/volumes/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A volume, and the minimum read rate of one node."""

    name: str
    path: str
    threshold_mb_per_s: float
    """10^6 bytes a second."""
    source: str
    """Source of the minimum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeExpectations:
    """All volumes that a node of a pool reads."""

    schema: str
    pool: str
    readings: tuple[Reading, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeObservation:
    """The measurements."""

    node: str
    reads: Mapping[str, Answer[float]]
    """MB/s by volume; the reason where it could not be read."""


def read_observation(text: str) -> VolumeObservation:
    """Measurements recorded elsewhere; an invalid value is missing.

    Raises:
        Malformed: the document is invalid.
    """
    result: VolumeObservation = decode(VolumeObservation, parse_json(text, "seen"))
    return result


def read_expectations(text: str) -> VolumeExpectations:
    """The expectations of a document.

    Raises:
        Malformed: it is invalid or empty.
    """
    result: VolumeExpectations = decode(VolumeExpectations, parsed_as(SCHEMA, text, "volumes"))
    if not result.readings:
        raise Malformed("readings: must have at least one")
    return result
