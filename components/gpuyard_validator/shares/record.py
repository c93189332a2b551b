"""Expectations of a share, and the measurements of a pod that has one."""

from dataclasses import dataclass

from gpuyard_validator.values import NOT_QUERIED, Answer, Malformed, decode, parse_json, parsed_as

SCHEMA = "gpuyard.dev/share/v2"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareExpectations:
    """One of the shares of the run's nodes."""

    schema: str
    pool: str
    resource: str
    """The extended resource that a pod requests: nvidia.com/gpu.shared, nvidia.com/mig-1g.5gb."""
    at_once: int
    """Number of pods that run at once: the shares of all its nodes."""
    spare: int
    """Number of extra pods, which must wait; 0 where such a pod could run on other nodes."""
    memory_mib: int | None
    """Memory limit of one share, where MPS enforces one; otherwise null."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareObservation:
    """The measurements."""

    node: str
    devices: Answer[int] = NOT_QUERIED
    """GPUs, or slices, that this pod sees."""
    together: Answer[int] = NOT_QUERIED
    """The most pods of the run that ran at once during this pod's lifetime."""
    waited: Answer[bool] = NOT_QUERIED
    """Whether other pods had ended before this one started: it had to wait for a share."""
    within: Answer[bool] = NOT_QUERIED
    """Whether half of its memory could be allocated."""
    beyond: Answer[bool] = NOT_QUERIED
    """Whether more than its memory could be allocated."""


def read_observation(text: str) -> ShareObservation:
    """Measurements recorded elsewhere; an invalid value is missing.

    Raises:
        Malformed: the document is invalid.
    """
    result: ShareObservation = decode(ShareObservation, parse_json(text, "seen"))
    return result


def read_expectations(text: str) -> ShareExpectations:
    """The expectations of a document.

    Raises:
        Malformed: it is invalid.
    """
    result: ShareExpectations = decode(ShareExpectations, parsed_as(SCHEMA, text, "share"))
    if result.at_once < 1:
        raise Malformed(f"at_once: must be at least 1, not {result.at_once}")
    return result
