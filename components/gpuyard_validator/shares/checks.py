"""Checks of shares: all usable at once, no more than planned, no other devices visible, no memory beyond the share."""

from dataclasses import dataclass

from gpuyard_validator.checks.check import PLAN, check, evaluate
from gpuyard_validator.results import Evidence, Report
from gpuyard_validator.run import result_of
from gpuyard_validator.values import (
    NOT_QUERIED,
    Answer,
    Malformed,
    decode,
    parsed_as,
    require_known,
)

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


def read_expectations(text: str) -> ShareExpectations:
    """The expectations of a document.

    Raises:
        Malformed: it is invalid.
    """
    result: ShareExpectations = decode(ShareExpectations, parsed_as(SCHEMA, text, "share"))
    if result.at_once < 1:
        raise Malformed(f"at_once: must be at least 1, not {result.at_once}")
    return result


_LIMIT = "nvidia.com/mps: a share of memory each (k8s-device-plugin v0.20.0)"


def all_shares_usable(expected: ShareExpectations, seen: ShareObservation) -> Evidence:
    """As many pods run at once as the nodes advertise; a pod that started late had to wait for a share."""
    result, late = (
        require_known(seen.together, "the number of pods that ran at once"),
        require_known(seen.waited, "the order of the pods"),
    )
    few = not late and result < expected.at_once
    wrong = f"only {result} of {expected.at_once} shares were usable at once" if few else ""
    value = expected.at_once if late else result
    return evaluate(value, expected.at_once, PLAN, wrong, unit="pods")


def extra_pod_waits(expected: ShareExpectations, seen: ShareObservation) -> Evidence:
    """One more pod than there are shares does not run at the same time."""
    over = max(
        0, require_known(seen.together, "the number of pods that ran at once") - expected.at_once
    )
    wrong = (
        f"{over} more pods ran at once than the plan's {expected.at_once} shares" if over else ""
    )
    return evaluate(over, 0, PLAN, wrong, unit="pods")


def devices(_: ShareExpectations, seen: ShareObservation) -> Evidence:
    """One device: a slice does not see another slice, a share does not see another GPU."""
    result = require_known(seen.devices, "the number of visible devices")
    wrong = "" if result == 1 else f"the pod sees {result} devices, but has one"
    return evaluate(result, 1, PLAN, wrong, unit="devices")


def share_memory_allocatable(expected: ShareExpectations, seen: ShareObservation) -> Evidence:
    """Half of its memory can be allocated, whatever else runs on the GPU."""
    result = require_known(seen.within, "whether its memory can be allocated")
    wrong = "" if result else f"could not allocate half of its {expected.memory_mib} MiB"
    return evaluate(result, floor=True, source=_LIMIT, wrong=wrong)


def memory_limit_enforced(expected: ShareExpectations, seen: ShareObservation) -> Evidence:
    """More than its share cannot be allocated: otherwise a pod takes memory of another."""
    result = require_known(seen.beyond, "whether more memory can be allocated")
    wrong = f"could allocate more than its {expected.memory_mib} MiB" if result else ""
    return evaluate(result, floor=False, source=_LIMIT, wrong=wrong)


def _no_limit(expected: ShareExpectations) -> str:
    return "no memory limit applies to a share" if expected.memory_mib is None else ""


def _no_spare(expected: ShareExpectations) -> str:
    return "" if expected.spare else "the run has no extra pod"


SHARES = {
    each.id: each
    for each in (
        check("share.together", all_shares_usable),
        check("share.waits", extra_pod_waits, _no_spare),
        check("share.devices", devices),
        check("share.memory_within", share_memory_allocatable, _no_limit),
        check("share.memory_beyond", memory_limit_enforced, _no_limit),
    )
}


def judge(expected: ShareExpectations, seen: ShareObservation) -> Report:
    """The report of one pod."""
    scope = expected.resource
    return Report(
        node=seen.node,
        pool=expected.pool,
        source=scope,
        driver="",
        required=True,
        results=tuple(
            result_of(each, scope, expected, seen, must=True) for each in SHARES.values()
        ),
    )
