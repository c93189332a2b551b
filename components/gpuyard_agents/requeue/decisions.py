"""Decides which nodes are lost, which gangs lose pods, and what to write: pure, without clock or network.

It also finds new nodes of a fallback capacity option, with the preferred options that had no more nodes. A
node's capacity option is in a label from its provisioner. For older nodes, the capacity available at their
start is unknown.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

Object = Mapping[str, Any]
_OVER = {"Succeeded", "Failed"}
_CLOSED = "node.kubernetes.io/unschedulable"
"""Kubernetes' own taint of a cordoned node: it records since when."""
_DRAINS = timedelta(minutes=2)
"""From this time on the node is cordoned: later pod losses have other causes."""
_TOLD = timedelta(minutes=10)
"""Delay after which all of that is known."""
_FRESH = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Termination:
    """A cordoned or leaving node."""

    name: str
    reason: str
    is_certain: bool
    """It leaves; otherwise it is only cordoned, perhaps by a person, and its pods may stay."""
    flavor: str = ""
    """Resource flavors of its pool."""
    cordoned_since: str = ""
    """When it was cordoned, where only that is known."""


def termination_of(node: Object, taints: Sequence[str], flavor: str = "") -> Termination | None:
    """Whether a node leaves. `taints`: keys of interruption notices, or prefixes that end in `/`."""
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
            name, "it is being drained", is_certain=False, flavor=flavor, cordoned_since=closed
        )
    return None


def _is(key: str, notice: str) -> bool:
    return key.startswith(notice) if notice.endswith("/") else key == notice


def is_lost(pod: Object, node: Termination) -> bool:
    """Whether a pod ends with its node. From a cordoned node pods are evicted, or stay."""
    status = pod.get("status") or {}
    put_out = any(
        each["type"] == "DisruptionTarget" and each["status"] == "True"
        for each in status.get("conditions") or ()
    )
    return put_out or (node.is_certain and status.get("phase") not in _OVER)


def has_lost_any_of(workload: Object, pods: Iterable[Object], kinds: Sequence[str]) -> bool:
    """Whether a workload is a running gang that has lost one of these pods.

    Pods from before its last admission have been stopped already.
    """
    admitted = _runs_since(workload, kinds)
    return admitted is not None and any(
        pod["metadata"]["creationTimestamp"] >= admitted for pod in pods
    )


def has_lost_pod(workload: Object, node: Termination, kinds: Sequence[str]) -> bool:
    """Whether a gang that ran completely on such nodes lacks a pod since this node leaves.

    A pod that ends at once may be deleted before it is read; then its node is unknown.
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
    """Whether a gang may have lost an unobserved pod by it; not for a node cordoned long ago."""
    return node.is_certain or (
        bool(node.cordoned_since) and now - _time(node.cordoned_since) <= _TOLD
    )


def _flavors(status: Object) -> set[str]:
    assigned = (status.get("admission") or {}).get("podSetAssignments") or ()
    return {str(name) for each in assigned for name in (each.get("flavors") or {}).values()}


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _runs_since(workload: Object, kinds: Sequence[str]) -> str | None:
    """Admission time of a workload that is a gang and can restart.

    A single pod is recreated by its job. `kinds`: owners that restart with their workload; pods without such
    an owner would be lost.
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
    """Whether a stopped gang may queue again; None where nothing is left to start.

    Its quota is released only when all of its pods are terminating.
    """
    since = _since(workload)
    if "Finished" in since or workload["spec"].get("active", True):
        return None
    return "QuotaReserved" not in since


def _since(workload: Object) -> dict[str, str]:
    """True conditions and since when: Kubernetes timestamps sort as text."""
    result = (workload.get("status") or {}).get("conditions") or ()
    return {c["type"]: c["lastTransitionTime"] for c in result if c["status"] == "True"}


def patch(workload: Object, label: str, value: str | None, *, active: bool | None) -> Object:
    """Patch of the version that was evaluated."""
    version = workload["metadata"]["resourceVersion"]
    changed: dict[str, Any] = {"metadata": {"resourceVersion": version, "labels": {label: value}}}
    return changed if active is None else {**changed, "spec": {"active": active}}


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityOption:
    """One capacity option, in order of preference within its pool."""

    description: str
    names: tuple[str, ...]
    """Values of the label on its nodes."""
    max_nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOptions:
    """The capacity options of one pool."""

    pool: str
    selector: str
    """Labels of the pool's nodes."""
    label: str
    options: tuple[CapacityOption, ...]


def fallback_nodes(
    nodes: Sequence[dict[str, Any]], pool: PoolOptions, now: datetime
) -> Iterator[tuple[dict[str, Any], str]]:
    """New nodes although a preferred option is not full, with the message for each."""
    option_of = {name: option for option in pool.options for name in option.names}
    ways = [(n["metadata"].get("labels") or {}).get(pool.label, "") for n in nodes]
    nodes_by_option = Counter(option_of[way].description for way in ways if way in option_of)
    for node, way in zip(nodes, ways, strict=True):
        if way not in option_of or not _fresh(node, now):
            continue
        better = pool.options[: pool.options.index(option_of[way])]
        short = [r for r in better if nodes_by_option[r.description] < r.max_nodes]
        if short:
            lacks = " and ".join(
                f"{nodes_by_option[r.description]} of {r.max_nodes} {r.description}" for r in short
            )
            bought = f"The node uses capacity option {option_of[way].description}"
            yield (
                node,
                f"{bought}: pool {pool.pool} has {lacks} nodes, and no more were available.",
            )


def _fresh(node: dict[str, Any], now: datetime) -> bool:
    creation_time = node["metadata"].get("creationTimestamp")
    return isinstance(creation_time, str) and now - datetime.fromisoformat(creation_time) <= _FRESH
