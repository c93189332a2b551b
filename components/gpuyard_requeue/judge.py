"""Which nodes go, which gangs lose a part with them, and what to write: pure, no clock, no network."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Object = Mapping[str, Any]
_OVER = {"Succeeded", "Failed"}


@dataclass(frozen=True, slots=True)
class Leaving:
    """A node that takes no more pods."""

    name: str
    why: str
    surely: bool
    """It goes; else it is closed, perhaps by a person, and pods that run on it may stay."""


def leaving(node: Object, taints: Sequence[str]) -> Leaving | None:
    """Whether a node goes. `taints`: keys of a notice, or how they begin where one ends in `/`."""
    name, spec = str(node["metadata"]["name"]), node["spec"]
    for taint in spec.get("taints") or ():
        if any(_is(str(taint["key"]), notice) for notice in taints):
            return Leaving(name, f"it has the taint {taint['key']}", surely=True)
    if "deletionTimestamp" in node["metadata"]:
        return Leaving(name, "it is being deleted", surely=True)
    if spec.get("unschedulable"):
        return Leaving(name, "it is drained", surely=False)
    return None


def _is(key: str, notice: str) -> bool:
    return key.startswith(notice) if notice.endswith("/") else key == notice


def is_lost(pod: Object, node: Leaving) -> bool:
    """Whether a pod ends with its node. From one that is only closed pods are put out, or go on."""
    status = pod.get("status") or {}
    put_out = any(
        each["type"] == "DisruptionTarget" and each["status"] == "True"
        for each in status.get("conditions") or ()
    )
    return put_out or (node.surely and status.get("phase") not in _OVER)


def stopped(workload: Object, pods: Iterable[Object], kinds: Sequence[str]) -> bool:
    """Whether a workload is a gang that runs, and has lost one of these pods.

    A single pod is made again by its job. Pods from before it was admitted last have been stopped already.
    `kinds`: of owners that start again when their workload does; pods that nobody makes would be gone.
    """
    spec = workload["spec"]
    since = _since(workload)
    owners = {
        f"{each['apiVersion'].rpartition('/')[0]}/{each['kind']}"
        for each in workload["metadata"].get("ownerReferences") or ()
    }
    gang = sum(int(each.get("count", 1)) for each in spec["podSets"]) > 1
    if not gang or not owners & set(kinds) or "Finished" in since or not spec.get("active", True):
        return False
    admitted = since.get("Admitted")
    return admitted is not None and any(
        pod["metadata"]["creationTimestamp"] >= admitted for pod in pods
    )


def starts_again(workload: Object) -> bool | None:
    """Whether one that was stopped may queue again; None where there is nothing left to start.

    It has given its quota back when all of its pods have been told to end, and not before.
    """
    since = _since(workload)
    if "Finished" in since or workload["spec"].get("active", True):
        return None
    return "QuotaReserved" not in since


def _since(workload: Object) -> dict[str, str]:
    """Conditions that hold, and since when: times of Kubernetes are in order as text."""
    found = (workload.get("status") or {}).get("conditions") or ()
    return {c["type"]: c["lastTransitionTime"] for c in found if c["status"] == "True"}


def patch(workload: Object, label: str, value: str | None, *, active: bool | None) -> Object:
    """Of the one version that was judged."""
    version = workload["metadata"]["resourceVersion"]
    changed: dict[str, Any] = {"metadata": {"resourceVersion": version, "labels": {label: value}}}
    return changed if active is None else {**changed, "spec": {"active": active}}
