"""What a share is held to: all at once, one too many waits, no neighbour is seen, no memory beyond it."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from gpuyard_validator.results import Action, Evidence, Report, Result, Status
from gpuyard_validator.shares.record import Seen, Wanted
from gpuyard_validator.values import NotKnown, known

PLAN = "the plan"
_LIMIT = "nvidia.com/mps: a share of memory each (k8s-device-plugin v0.20.0)"

Judge = Callable[[Wanted, Seen], Evidence]


def together(wanted: Wanted, seen: Seen) -> Evidence:
    """As many pods run at once as the nodes advertise; who began late has waited for one of them."""
    found, late = known(seen.together, "how many ran at once"), known(seen.late, "who was first")
    few = not late and found < wanted.at_once
    wrong = f"{found} of {wanted.at_once} shares could be used at once" if few else ""
    value = wanted.at_once if late else found
    return _judged(value, wanted.at_once, PLAN, wrong, "pods")


def waits(wanted: Wanted, seen: Seen) -> Evidence:
    """One pod more than there are shares does not run beside them."""
    over = max(0, known(seen.together, "how many ran at once") - wanted.at_once)
    wrong = f"{over} more than the plan's {wanted.at_once} shares ran at once" if over else ""
    return _judged(over, 0, PLAN, wrong, "pods")


def devices(_: Wanted, seen: Seen) -> Evidence:
    """One: a slice does not see its neighbour, nor a share another GPU."""
    found = known(seen.devices, "the devices it sees")
    wrong = "" if found == 1 else f"it sees {found} devices, and has one"
    return _judged(found, 1, PLAN, wrong, "devices")


def within(wanted: Wanted, seen: Seen) -> Evidence:
    """Half of its own memory is to be had, whoever else is there."""
    found = known(seen.within, "whether it can allocate its memory")
    wrong = "" if found else f"half of its {wanted.memory_mib} MiB could not be allocated"
    return _judged(found, floor=True, source=_LIMIT, wrong=wrong)


def beyond(wanted: Wanted, seen: Seen) -> Evidence:
    """More than its own is not: else one pod takes what is another's."""
    found = known(seen.beyond, "whether it can allocate more")
    wrong = f"more than its {wanted.memory_mib} MiB could be allocated" if found else ""
    return _judged(found, floor=False, source=_LIMIT, wrong=wrong)


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


def judge(wanted: Wanted, seen: Seen) -> Report:
    """The report of one pod."""
    return Report(
        node=seen.node,
        pool=wanted.pool,
        source=wanted.resource,
        driver="",
        required=True,
        results=tuple(_results(wanted, seen)),
    )


def _results(wanted: Wanted, seen: Seen) -> Iterator[Result]:
    for name, judges in _JUDGES.items():
        if why := _needless(name, wanted):
            skipped = _skipped(f"does not apply: {why}")
            yield Result(check=name, scope=wanted.resource, required=False, evidence=skipped)
            continue
        found = _evidence(partial(judges, wanted, seen))
        yield Result(check=name, scope=wanted.resource, required=True, evidence=found)


def _needless(name: str, wanted: Wanted) -> str:
    """Why a check has nothing to look at."""
    if name in _OF_MEMORY and wanted.memory_mib is None:
        return "nothing holds a share to its memory"
    if name == "share.waits" and not wanted.spare:
        return "no pod is there for which there is no share"
    return ""


def _evidence(judges: Callable[[], Evidence]) -> Evidence:
    try:
        return judges()
    except NotKnown as problem:
        return _skipped(f"not run: {problem}")


def _skipped(reason: str) -> Evidence:
    return Evidence(status=Status.SKIP, value=None, floor=None, source="", reason=reason)


def _judged(value: object, floor: object, source: str, wrong: str, unit: str = "") -> Evidence:
    return Evidence(
        status=Status.FAIL if wrong else Status.PASS,
        value=value,
        floor=floor,
        source=source,
        unit=unit,
        reason=wrong,
        action=Action.LOOK if wrong else Action.NONE,
    )
