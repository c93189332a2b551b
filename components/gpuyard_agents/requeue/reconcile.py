"""One iteration: lost nodes, their gangs, gangs that may queue again, and nodes of fallback options."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from gpuyard_agents.agent import Say, event, report_and_patch
from gpuyard_agents.client import (
    EXISTS,
    JsonClient,
    RequestRejected,
    list_objects,
    post_event,
    resource_path,
)
from gpuyard_agents.requeue.decisions import (
    PoolOptions,
    Termination,
    fallback_nodes,
    has_lost_any_of,
    has_lost_pod,
    is_lost,
    may_have_lost_pod,
    may_requeue,
    patch,
    termination_of,
)

_KUEUE = "kueue.x-k8s.io/v1beta2"
_FALLBACK = "CapacityFallback"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The agent's settings."""

    every_seconds: float
    selectors: tuple[str, ...]
    """Label selectors of nodes that may be interrupted, pool by pool."""
    flavors: tuple[str, ...]
    """Resource flavors of these pools, in the same order."""
    namespaces: tuple[str, ...]
    """Namespaces of gangs."""
    taints: tuple[str, ...]
    """Taint keys of interruption notices; one that ends in / is a prefix."""
    kinds: tuple[str, ...]
    """Kinds that restart with their workload: batch/Job."""
    workload: str
    """Annotation of pods: their workload."""
    interrupted: str
    """Label of workloads from stop to requeue."""
    pool_options: tuple[PoolOptions, ...]
    """Pools with several capacity options, whether their nodes may be interrupted or not."""


@dataclass(slots=True)
class _Lost:
    """The node that a workload loses, and why."""

    node: Termination
    pods: list[dict[str, Any]] = field(default_factory=list)


def reconcile(server: JsonClient, settings: Settings, say: Say) -> int:
    """Stop gangs that lost a pod, requeue stopped ones; returns the number of workloads concerned.

    Raises:
        RequestRejected, Unreachable: the API server did not serve the request.
    """
    going: list[Termination] = []
    nodes_by_selector: dict[str, list[dict[str, Any]]] = {}
    for selector in (*settings.selectors, *(each.selector for each in settings.pool_options)):
        if selector not in nodes_by_selector:
            nodes_by_selector[selector] = list(
                list_objects(server, resource_path("v1", "nodes"), labelSelector=selector)
            )
    for selector, flavor in zip(settings.selectors, settings.flavors, strict=True):
        nodes = nodes_by_selector[selector]
        going += [
            result for node in nodes if (result := termination_of(node, settings.taints, flavor))
        ]
    _REPORTED.intersection_update(
        n["metadata"].get("uid", "") for each in nodes_by_selector.values() for n in each
    )
    for pool in settings.pool_options:
        _report(server, pool, nodes_by_selector[pool.selector], say)
    changed = 0
    for space in settings.namespaces:
        try:
            changed += _in_space(server, settings, space, going, say)
        except RequestRejected as refused:
            say(f"{space}: skipped: {refused}")
    return changed


_REPORTED: set[str] = set()
"""Uids of reported nodes while they exist. After a restart the events are repeated under the same names."""


def _report(server: JsonClient, pool: PoolOptions, nodes: list[dict[str, Any]], say: Say) -> None:
    for node, message in fallback_nodes(nodes, pool, datetime.now(UTC)):
        name, uid = node["metadata"]["name"], node["metadata"]["uid"]
        if uid in _REPORTED:
            continue
        event_object = event(
            "gpuyard-requeue",
            {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid},
            once=f"{uid} {_FALLBACK}",
            reason=_FALLBACK,
            message=message,
            warns=True,
        )
        try:
            post_event(server, event_object)
            say(f"{name}: {_FALLBACK}: {message}")
        except RequestRejected as refused:
            if refused.status != EXISTS:
                say(f"{name}: event not recorded: {refused}")
                continue
        _REPORTED.add(uid)


def _in_space(
    server: JsonClient, settings: Settings, space: str, going: list[Termination], say: Say
) -> int:
    changed = 0
    path = resource_path(_KUEUE, "workloads", space)
    missing, now = _lost_pods(server, settings, space, going), datetime.now(UTC)
    new = [node for node in going if may_have_lost_pod(node, now)]
    for workload in list_objects(server, path) if missing or new else ():
        node = _lost_node(workload, missing, new, settings.kinds)
        if node is None:
            continue
        message = (
            f"Node {node.name} is being removed ({node.reason}): all pods are stopped at once, and the job"
            " queues again as a whole."
        )
        body = patch(workload, settings.interrupted, "true", active=False)
        changed += _write(server, workload, body, ("GangInterrupted", message), say)
    for workload in list_objects(server, path, labelSelector=f"{settings.interrupted}=true"):
        again = may_requeue(workload)
        if again is False:
            continue
        body = patch(workload, settings.interrupted, None, active=again)
        message = (
            "All its pods are stopped: it queues again." if again else "Nothing is left to start."
        )
        changed += _write(server, workload, body, ("GangRequeued", message), say)
    return changed


def _lost_pods(
    server: JsonClient, settings: Settings, space: str, going: list[Termination]
) -> dict[str, _Lost]:
    """By workload: the pods that end with their nodes."""
    results: dict[str, _Lost] = {}
    path = resource_path("v1", "pods", space)
    for node in going:
        for pod in list_objects(server, path, fieldSelector=f"spec.nodeName={node.name}"):
            name = (pod["metadata"].get("annotations") or {}).get(settings.workload)
            if name and is_lost(pod, node):
                results.setdefault(name, _Lost(node)).pods.append(pod)
    return results


def _lost_node(
    workload: dict[str, Any],
    missing: dict[str, _Lost],
    new: list[Termination],
    kinds: tuple[str, ...],
) -> Termination | None:
    """The node for which a workload is stopped."""
    lost = missing.get(workload["metadata"]["name"])
    if lost and has_lost_any_of(workload, lost.pods, kinds):
        return lost.node
    return next((node for node in new if has_lost_pod(workload, node, kinds)), None)


def _write(
    server: JsonClient,
    workload: dict[str, Any],
    body: Any,
    reason_and_message: tuple[str, str],
    say: Say,
) -> bool:
    """Whether it was done. The event is of the owner that people know.

    Its name has the generation: a change of the spec increments it, Kueue's status updates do not.
    """
    metadata, (reason, message) = workload["metadata"], reason_and_message
    space, name, owner = metadata["namespace"], metadata["name"], metadata["ownerReferences"][0]
    about = {key: owner[key] for key in ("apiVersion", "kind", "name", "uid")}
    event_object = event(
        "gpuyard-requeue",
        {**about, "namespace": space},
        once=f"{metadata['uid']} {metadata['generation']} {reason}",
        reason=reason,
        message=message,
        warns=reason == "GangInterrupted",
    )
    path = resource_path(_KUEUE, "workloads", space, name)
    refused = report_and_patch(server, path, body, event_object)
    say(f"{space}/{name}: {refused or f'{reason}: {message}'}")
    return not refused
