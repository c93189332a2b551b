"""What a share must be, and what a pod that has one has seen of it."""

from dataclasses import dataclass

from gpuyard_validator.values import NOT_QUERIED, Answer, Malformed, decode, parsed, parsed_as

SCHEMA = "gpuyard.dev/share/v2"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareExpectations:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareObservation:
    """What became of it."""

    node: str
    devices: Answer[int] = NOT_QUERIED
    """GPUs, or slices of them, that this pod sees."""
    together: Answer[int] = NOT_QUERIED
    """The most pods of the run that ran at once, as far as this one lived."""
    waited: Answer[bool] = NOT_QUERIED
    """Whether others had ended when this one began: it had to wait for a share."""
    within: Answer[bool] = NOT_QUERIED
    """Whether half of its memory could be allocated."""
    beyond: Answer[bool] = NOT_QUERIED
    """Whether more than its memory could be."""


def read_observation(text: str) -> ShareObservation:
    """What was seen elsewhere; a value that is none is missing.

    Raises:
        Malformed: it is no such document.
    """
    result: ShareObservation = decode(ShareObservation, parsed(text, "seen"))
    return result


def read_expectations(text: str) -> ShareExpectations:
    """What a document asks for.

    Raises:
        Malformed: it is none.
    """
    result: ShareExpectations = decode(ShareExpectations, parsed_as(SCHEMA, text, "share"))
    if result.at_once < 1:
        raise Malformed(f"at_once: at least 1 is needed, not {result.at_once}")
    return result
