"""What a share is held to: all at once, one too many waits, no neighbour is seen, no memory beyond it."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from gpuyard_validator.results import Action, Evidence, Report, Result, Status
from gpuyard_validator.shares.record import ShareExpectations, ShareObservation
from gpuyard_validator.values import UnknownValue, known

PLAN = "the plan"
_LIMIT = "nvidia.com/mps: a share of memory each (k8s-device-plugin v0.20.0)"

Judge = Callable[[ShareExpectations, ShareObservation], Evidence]


def together(expected: ShareExpectations, seen: ShareObservation) -> Evidence:
    """As many pods run at once as the nodes advertise; who began late has waited for one of them."""
    result, late = (
        known(seen.together, "how many ran at once"),
        known(seen.waited, "who was first"),
    )
    few = not late and result < expected.at_once
    wrong = f"{result} of {expected.at_once} shares could be used at once" if few else ""
    value = expected.at_once if late else result
    return _judge(value, expected.at_once, PLAN, wrong, "pods")


def waits(expected: ShareExpectations, seen: ShareObservation) -> Evidence:
    """One pod more than there are shares does not run beside them."""
    over = max(0, known(seen.together, "how many ran at once") - expected.at_once)
    wrong = f"{over} more than the plan's {expected.at_once} shares ran at once" if over else ""
    return _judge(over, 0, PLAN, wrong, "pods")


def devices(_: ShareExpectations, seen: ShareObservation) -> Evidence:
    """One: a slice does not see its neighbour, nor a share another GPU."""
    result = known(seen.devices, "the devices it sees")
    wrong = "" if result == 1 else f"it sees {result} devices, and has one"
    return _judge(result, 1, PLAN, wrong, "devices")


def within(expected: ShareExpectations, seen: ShareObservation) -> Evidence:
    """Half of its own memory is to be had, whoever else is there."""
    result = known(seen.within, "whether it can allocate its memory")
    wrong = "" if result else f"half of its {expected.memory_mib} MiB could not be allocated"
    return _judge(result, floor=True, source=_LIMIT, wrong=wrong)


def beyond(expected: ShareExpectations, seen: ShareObservation) -> Evidence:
    """More than its own is not: else one pod takes what is another's."""
    result = known(seen.beyond, "whether it can allocate more")
    wrong = f"more than its {expected.memory_mib} MiB could be allocated" if result else ""
    return _judge(result, floor=False, source=_LIMIT, wrong=wrong)


SHARES: Mapping[str, tuple[str, str]] = {
    "share.together": (
        "not all shares can be used at once",
        "look at the device plugin's log and at the label nvidia.com/gpu.replicas; a pod may hold one",
    ),
    "share.waits": (
        "more pods run at once than there are shares",
        "look whether something hands out GPUs beside the device plugin, as NVIDIA_VISIBLE_DEVICES in a pod",
    ),
    "share.devices": (
        "a pod sees devices that it does not have",
        "look at the toolkit's accept-nvidia-visible-devices settings and at privileged pods",
    ),
    "share.memory_within": (
        "a share's own memory is not to be had",
        "look who else is on the GPU, and whether the MPS daemon runs",
    ),
    "share.memory_beyond": (
        "a share may take more memory than its own",
        "look whether the pod reaches the MPS daemon: without it nothing holds it to its share",
    ),
}
"""What each says when it fails, and what to do then."""
_JUDGES: Mapping[str, Judge] = {
    "share.together": together,
    "share.waits": waits,
    "share.devices": devices,
    "share.memory_within": within,
    "share.memory_beyond": beyond,
}
"""Who judges."""
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
    """Why a check has nothing to look at."""
    if name in _OF_MEMORY and expected.memory_mib is None:
        return "nothing holds a share to its memory"
    if name == "share.waits" and not expected.spare:
        return "no pod is there for which there is no share"
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
