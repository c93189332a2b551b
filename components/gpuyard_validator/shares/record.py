"""What a share must be, and what a pod that has one has seen of it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard_validator.values import UNASKED, Answer, Malformed, decode

SCHEMA = "gpuyard.dev/share/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A volume that is read as fast as so many jobs need it."""

    path: str
    """A file, or a folder of which the largest file is read."""
    floor_mb_per_s: float
    source: str
    """Who says that this is little enough to ask for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One share, of so many that the nodes of the run have."""

    schema: str
    pool: str
    resource: str
    """What a pod asks for: nvidia.com/gpu.shared, nvidia.com/mig-1g.5gb."""
    at_once: int
    """So many of its pods run at once: the shares of all its nodes."""
    spare: int
    """So many more there are, and they wait; 0 where such a pod would find another place."""
    memory_mib: int | None
    """What one may allocate, where something holds it to that (MPS); null where nothing does."""
    readings: tuple[Reading, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What became of it."""

    node: str
    devices: Answer[int] = UNASKED
    """GPUs, or slices of them, that this pod sees."""
    together: Answer[int] = UNASKED
    """The most pods of the run that ran at once, as far as this one lived."""
    late: Answer[bool] = UNASKED
    """Whether others had ended when this one began: it had to wait for a share."""
    within: Answer[bool] = UNASKED
    """Whether half of its memory could be allocated."""
    beyond: Answer[bool] = UNASKED
    """Whether more than its memory could be."""
    reads: Mapping[str, float] | None = None
    """MB/s, by path; what could not be read is not there."""


def read_seen(text: str) -> Seen:
    """What was seen elsewhere; a value that is none is missing.

    Raises:
        Malformed: it is no such document.
    """
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise Malformed(f"seen: not JSON: {problem}") from None
    found: Seen = decode(Seen, raw)
    return found


def read_wanted(text: str) -> Wanted:
    """What a document asks for.

    Raises:
        Malformed: it is none.
    """
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise Malformed(f"share: not JSON: {problem}") from None
    if isinstance(raw, dict) and raw.get("schema") != SCHEMA:
        raise Malformed(f"schema: {SCHEMA} is understood, not {raw.get('schema')!r}")
    found: Wanted = decode(Wanted, raw)
    if found.at_once < 1:
        raise Malformed(f"at_once: at least 1 is needed, not {found.at_once}")
    return found
