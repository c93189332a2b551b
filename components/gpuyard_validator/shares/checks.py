"""Checks of shares: all usable at once, no more than planned, no other devices visible, no memory beyond the share."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from gpuyard_validator.results import Action, Evidence, Report, Result, Status
from gpuyard_validator.shares.record import ShareExpectations, ShareObservation
from gpuyard_validator.values import UnknownValue, require_known

PLAN = "the plan"
_LIMIT = "nvidia.com/mps: a share of memory each (k8s-device-plugin v0.20.0)"

Judge = Callable[[ShareExpectations, ShareObservation], Evidence]


def all_shares_usable(expected: ShareExpectations, seen: ShareObservation) -> Evidence:
    """As many pods run at once as the nodes advertise; a pod that started late had to wait for a share."""
    result, late = (
        require_known(seen.together, "the number of pods that ran at once"),
        require_known(seen.waited, "the order of the pods"),
    )
    few = not late and result < expected.at_once
    wrong = f"only {result} of {expected.at_once} shares were usable at once" if few else ""
    value = expected.at_once if late else result
    return _judge(value, expected.at_once, PLAN, wrong, "pods")


def extra_pod_waits(expected: ShareExpectations, seen: ShareObservation) -> Evidence:
    """One more pod than there are shares does not run at the same time."""
    over = max(
        0, require_known(seen.together, "the number of pods that ran at once") - expected.at_once
    )
    wrong = (
        f"{over} more pods ran at once than the plan's {expected.at_once} shares" if over else ""
    )
    return _judge(over, 0, PLAN, wrong, "pods")


def devices(_: ShareExpectations, seen: ShareObservation) -> Evidence:
    """One device: a slice does not see another slice, a share does not see another GPU."""
    result = require_known(seen.devices, "the number of visible devices")
    wrong = "" if result == 1 else f"the pod sees {result} devices, but has one"
    return _judge(result, 1, PLAN, wrong, "devices")


def share_memory_allocatable(expected: ShareExpectations, seen: ShareObservation) -> Evidence:
    """Half of its memory can be allocated, whatever else runs on the GPU."""
    result = require_known(seen.within, "whether its memory can be allocated")
    wrong = "" if result else f"could not allocate half of its {expected.memory_mib} MiB"
    return _judge(result, floor=True, source=_LIMIT, wrong=wrong)


def memory_limit_enforced(expected: ShareExpectations, seen: ShareObservation) -> Evidence:
    """More than its share cannot be allocated: otherwise a pod takes memory of another."""
    result = require_known(seen.beyond, "whether more memory can be allocated")
    wrong = f"could allocate more than its {expected.memory_mib} MiB" if result else ""
    return _judge(result, floor=False, source=_LIMIT, wrong=wrong)


SHARES: Mapping[str, tuple[str, str]] = {
    "share.together": (
        "not all shares are usable at once",
        "read the device plugin's log and the label nvidia.com/gpu.replicas; a pod may use a share",
    ),
    "share.waits": (
        "more pods run at once than there are shares",
        "look for GPUs that bypass the device plugin, such as NVIDIA_VISIBLE_DEVICES in a pod",
    ),
    "share.devices": (
        "a pod sees devices that it was not allocated",
        "check the toolkit's accept-nvidia-visible-devices settings, and look for privileged pods",
    ),
    "share.memory_within": (
        "the memory of a share cannot be allocated",
        "find other processes on the GPU, and check that the MPS daemon runs",
    ),
    "share.memory_beyond": (
        "a share can allocate more memory than its own",
        "check that the pod reaches the MPS daemon: without it no memory limit applies",
    ),
}
"""By id: when it fails, and what to do."""
_JUDGES: Mapping[str, Judge] = {
    "share.together": all_shares_usable,
    "share.waits": extra_pod_waits,
    "share.devices": devices,
    "share.memory_within": share_memory_allocatable,
    "share.memory_beyond": memory_limit_enforced,
}
"""The evaluation."""
_OF_MEMORY = ("share.memory_within", "share.memory_beyond")


def judge(expected: ShareExpectations, seen: ShareObservation) -> Report:
    """The report of one pod."""
    return Report(
        node=seen.node,
        pool=expected.pool,
        source=expected.resource,
        driver="",
        required=True,
        results=tuple(_results(expected, seen)),
    )


def _results(expected: ShareExpectations, seen: ShareObservation) -> Iterator[Result]:
    for name, judges in _JUDGES.items():
        if why := _needless(name, expected):
            skipped = _skipped(f"does not apply: {why}")
            yield Result(check=name, scope=expected.resource, required=False, evidence=skipped)
            continue
        result = _evidence(partial(judges, expected, seen))
        yield Result(check=name, scope=expected.resource, required=True, evidence=result)


def _needless(name: str, expected: ShareExpectations) -> str:
    """Why a check does not apply."""
    if name in _OF_MEMORY and expected.memory_mib is None:
        return "no memory limit applies to a share"
    if name == "share.waits" and not expected.spare:
        return "the run has no extra pod"
    return ""


def _evidence(judges: Callable[[], Evidence]) -> Evidence:
    try:
        return judges()
    except UnknownValue as problem:
        return _skipped(f"not run: {problem}")


def _skipped(reason: str) -> Evidence:
    return Evidence(status=Status.SKIP, value=None, threshold=None, source="", reason=reason)


def _judge(value: object, floor: object, source: str, wrong: str, unit: str = "") -> Evidence:
    return Evidence(
        status=Status.FAIL if wrong else Status.PASS,
        value=value,
        threshold=floor,
        source=source,
        unit=unit,
        reason=wrong,
        action=Action.INVESTIGATE if wrong else Action.NONE,
    )
