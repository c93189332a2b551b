"""Which nodes go, which gangs lose a part with them, and what to write: pure, no clock, no network."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

Object = Mapping[str, Any]
_OVER = {"Succeeded", "Failed"}
_CLOSED = "node.kubernetes.io/unschedulable"
"""Kubernetes' own taint of a closed node: it says since when."""
_DRAINS = timedelta(minutes=2)
"""From when a node is closed: what loses a pod later loses it by something else."""
_TOLD = timedelta(minutes=10)
"""And so much later all of that is known."""


@dataclass(frozen=True, slots=True)
class Termination:
    """A node that takes no more pods."""

    name: str
    reason: str
    is_certain: bool
    """It goes; else it is closed, perhaps by a person, and pods that run on it may stay."""
    flavor: str = ""
    """What queues call nodes of its pool."""
    cordoned_since: str = ""
    """Since when it is closed, where that is known and no more is."""


def termination_of(node: Object, taints: Sequence[str], flavor: str = "") -> Termination | None:
    """Whether a node goes. `taints`: keys of a notice, or how they begin where one ends in `/`."""
    name, spec = str(node["metadata"]["name"]), node["spec"]
    taints_by_key = {str(taint["key"]): taint for taint in spec.get("taints") or ()}
    for key in taints_by_key:
        if any(_is(key, notice) for notice in taints):
            return Termination(name, f"it has the taint {key}", is_certain=True, flavor=flavor)
    if "deletionTimestamp" in node["metadata"]:
        return Termination(name, "it is being deleted", is_certain=True, flavor=flavor)
    if spec.get("unschedulable"):
        closed = str(taints_by_key.get(_CLOSED, {}).get("timeAdded") or "")
        return Termination(
            name, "it is drained", is_certain=False, flavor=flavor, cordoned_since=closed
        )
    return None


def _is(key: str, notice: str) -> bool:
    return key.startswith(notice) if notice.endswith("/") else key == notice


def is_lost(pod: Object, node: Termination) -> bool:
    """Whether a pod ends with its node. From one that is only closed pods are put out, or go on."""
    status = pod.get("status") or {}
    put_out = any(
        each["type"] == "DisruptionTarget" and each["status"] == "True"
        for each in status.get("conditions") or ()
    )
    return put_out or (node.is_certain and status.get("phase") not in _OVER)


def stopped(workload: Object, pods: Iterable[Object], kinds: Sequence[str]) -> bool:
    """Whether a workload is a gang that runs, and has lost one of these pods.

    Pods from before it was admitted last have been stopped already.
    """
    admitted = _runs_since(workload, kinds)
    return admitted is not None and any(
        pod["metadata"]["creationTimestamp"] >= admitted for pod in pods
    )


def has_lost_pod(workload: Object, node: Termination, kinds: Sequence[str]) -> bool:
    """Whether a gang that ran whole on nodes such as this one lacks a pod since this one goes.

    A pod that ends at once is gone before anybody looks, and nothing tells then where it ran.
    """
    admitted = _runs_since(workload, kinds)
    status = workload.get("status") or {}
    since = next(
        (
            str(each["lastTransitionTime"])
            for each in status.get("conditions") or ()
            if (each["type"], each["status"]) == ("PodsReady", "False")
            and each.get("reason") == "WaitForRecovery"
        ),
        "",
    )
    if admitted is None or since < admitted or node.flavor not in _flavors(status):
        return False
    return node.is_certain or (
        bool(node.cordoned_since)
        and timedelta() <= _time(since) - _time(node.cordoned_since) <= _DRAINS
    )


def may_have_lost_pod(node: Termination, now: datetime) -> bool:
    """Whether a gang may have lost a pod by it that nobody has seen; not for one closed long ago."""
    return node.is_certain or (
        bool(node.cordoned_since) and now - _time(node.cordoned_since) <= _TOLD
    )


def _flavors(status: Object) -> set[str]:
    assigned = (status.get("admission") or {}).get("podSetAssignments") or ()
    return {str(name) for each in assigned for name in (each.get("flavors") or {}).values()}


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _runs_since(workload: Object, kinds: Sequence[str]) -> str | None:
    """Since when a workload is admitted that is a gang and would start again.

    A single pod is made again by its job. `kinds`: of owners that start again when their workload does; pods
    that nobody makes would be gone.
    """
    spec = workload["spec"]
    since = _since(workload)
    owners = {
        f"{each['apiVersion'].rpartition('/')[0]}/{each['kind']}"
        for each in workload["metadata"].get("ownerReferences") or ()
    }
    gang = sum(int(each.get("count", 1)) for each in spec["podSets"]) > 1
    if not gang or not owners & set(kinds) or "Finished" in since or not spec.get("active", True):
        return None
    return since.get("Admitted")


def may_requeue(workload: Object) -> bool | None:
    """Whether one that was stopped may queue again; None where there is nothing left to start.

    It has given its quota back when all of its pods have been told to end, and not before.
    """
    since = _since(workload)
    if "Finished" in since or workload["spec"].get("active", True):
        return None
    return "QuotaReserved" not in since


def _since(workload: Object) -> dict[str, str]:
    """Conditions that hold, and since when: times of Kubernetes are in order as text."""
    result = (workload.get("status") or {}).get("conditions") or ()
    return {c["type"]: c["lastTransitionTime"] for c in result if c["status"] == "True"}


def patch(workload: Object, label: str, value: str | None, *, active: bool | None) -> Object:
    """Of the one version that was judged."""
    version = workload["metadata"]["resourceVersion"]
    changed: dict[str, Any] = {"metadata": {"resourceVersion": version, "labels": {label: value}}}
    return changed if active is None else {**changed, "spec": {"active": active}}
