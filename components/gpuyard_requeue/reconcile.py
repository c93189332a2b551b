"""One look: nodes that go, the gangs on them, gangs that may queue again, and nodes of lower rungs."""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from gpuyard_gate.loop import Say, event, listed
from gpuyard_idle.web import Refused, Server
from gpuyard_requeue.capacity_options import PoolOptions, fallback_nodes, read_ladder
from gpuyard_requeue.decisions import (
    Termination,
    has_lost_pod,
    is_lost,
    may_have_lost_pod,
    may_requeue,
    patch,
    stopped,
    termination_of,
)

_KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
_FELL = "LadderFellThrough"
_EXISTS = 409


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the program is told."""

    every_seconds: float
    selectors: tuple[str, ...]
    """Of nodes that may go, pool by pool."""
    flavors: tuple[str, ...]
    """What queues call these pools, in the same order."""
    namespaces: tuple[str, ...]
    """Where gangs run."""
    taints: tuple[str, ...]
    """Keys by which somebody says that a node goes; one that ends in / is the beginning of several."""
    kinds: tuple[str, ...]
    """What starts again when its workload does: batch/Job."""
    workload: str
    """Annotation of pods: the workload that they belong to."""
    interrupted: str
    """Label of workloads, from the moment when they are stopped until they queue again."""
    ladders: tuple[PoolOptions, ...]
    """Of pools that are bought in several ways, whether their nodes may go or not."""


@dataclass(slots=True)
class _Lost:
    """What a workload loses, and where."""

    node: Termination
    pods: list[dict[str, Any]] = field(default_factory=list)


def read_settings(text: str) -> Settings:
    """The settings of a document.

    Raises:
        ValueError, TypeError, KeyError: it is none.
    """
    raw = dict(json.loads(text))
    ladders = tuple(read_ladder(each) for each in raw.pop("ladders"))
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in raw.items()}
    return Settings(**fields, ladders=ladders)


def reconcile(server: Server, settings: Settings, say: Say) -> int:
    """Stop what has lost a part, start what has stopped; how many workloads that concerned.

    Raises:
        Refused, Unreachable: the API server did not do what it was asked.
    """
    going: list[Termination] = []
    nodes_by_selector: dict[str, list[dict[str, Any]]] = {}
    for selector in (*settings.selectors, *(each.selector for each in settings.ladders)):
        if selector not in nodes_by_selector:
            nodes_by_selector[selector] = list(
                listed(server, "/api/v1/nodes", labelSelector=selector)
            )
    for selector, flavor in zip(settings.selectors, settings.flavors, strict=True):
        nodes = nodes_by_selector[selector]
        going += [
            result for node in nodes if (result := termination_of(node, settings.taints, flavor))
        ]
    _TOLD.intersection_update(
        n["metadata"].get("uid", "") for each in nodes_by_selector.values() for n in each
    )
    for ladder in settings.ladders:
        _report(server, ladder, nodes_by_selector[ladder.selector], say)
    changed = 0
    for space in settings.namespaces:
        try:
            changed += _in_space(server, settings, space, going, say)
        except Refused as refused:
            say(f"{space}: left alone: {refused}")
    return changed


_TOLD: set[str] = set()
"""Uids of nodes that were told of, while they are there. Who begins anew tells again, under the same name."""


def _report(server: Server, ladder: PoolOptions, nodes: list[dict[str, Any]], say: Say) -> None:
    for node, message in fallback_nodes(nodes, ladder, datetime.now(UTC)):
        name, uid = node["metadata"]["name"], node["metadata"]["uid"]
        if uid in _TOLD:
            continue
        event_object = event(
            "gpuyard-requeue",
            {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid},
            namespace="default",
            once=f"{uid} {_FELL}",
            reason=_FELL,
            message=message,
            warns=True,
        )
        try:
            path = "/api/v1/namespaces/default/events"
            server.ask("POST", path, json.dumps(event_object), "application/json")
            say(f"{name}: {_FELL}: {message}")
        except Refused as refused:
            if refused.status != _EXISTS:
                say(f"{name}: not told: {refused}")
                continue
        _TOLD.add(uid)


def _in_space(
    server: Server, settings: Settings, space: str, going: list[Termination], say: Say
) -> int:
    changed = 0
    missing, now = _lost_pods(server, settings, space, going), datetime.now(UTC)
    new = [node for node in going if may_have_lost_pod(node, now)]
    for workload in listed(server, _place(space)) if missing or new else ():
        node = _for(workload, missing.get(workload["metadata"]["name"]), new, settings.kinds)
        if node is None:
            continue
        message = (
            f"Node {node.name} goes, for {node.reason}: all pods are stopped at once, and the job"
            " queues again as a whole."
        )
        body = patch(workload, settings.interrupted, "true", active=False)
        changed += _write(server, workload, body, ("GangInterrupted", message), say)
    label = f"{settings.interrupted}=true"
    for workload in listed(server, _place(space), labelSelector=label):
        again = may_requeue(workload)
        if again is False:
            continue
        body = patch(workload, settings.interrupted, None, active=again)
        message = (
            "All its pods were stopped: it queues again." if again else "Nothing to start again."
        )
        changed += _write(server, workload, body, ("GangRequeued", message), say)
    return changed


def _lost_pods(
    server: Server, settings: Settings, space: str, going: list[Termination]
) -> dict[str, _Lost]:
    """By workload: the pods that end with their nodes."""
    results: dict[str, _Lost] = {}
    for node in going:
        for pod in _pods_on(server, space, node):
            name = (pod["metadata"].get("annotations") or {}).get(settings.workload)
            if name and is_lost(pod, node):
                results.setdefault(name, _Lost(node)).pods.append(pod)
    return results


def _for(
    workload: dict[str, Any], missing: _Lost | None, new: list[Termination], kinds: tuple[str, ...]
) -> Termination | None:
    """The node for which a workload is stopped."""
    if missing and stopped(workload, missing.pods, kinds):
        return missing.node
    return next((node for node in new if has_lost_pod(workload, node, kinds)), None)


def _pods_on(server: Server, space: str, node: Termination) -> Iterator[dict[str, Any]]:
    path = f"/api/v1/namespaces/{space}/pods"
    return listed(server, path, fieldSelector=f"spec.nodeName={node.name}")


def _place(space: str) -> str:
    return f"{_KUEUE}/namespaces/{space}/workloads"


def _write(
    server: Server,
    workload: dict[str, Any],
    body: Any,
    reason_and_message: tuple[str, str],
    say: Say,
) -> bool:
    """Whether it was done; else it is judged anew in the next look, and keeps no other from its own.

    The event first: it is said again after an accident, under the same name, and so only once. Its name
    has the generation: a change of the spec moves that on, and Kueue's many writes of the status do not.
    """
    metadata = workload["metadata"]
    space, name = metadata["namespace"], metadata["name"]
    try:
        with suppress(Refused):
            event = json.dumps(_event(workload, *reason_and_message))
            server.ask("POST", f"/api/v1/namespaces/{space}/events", event, "application/json")
        path = f"{_place(space)}/{quote(name)}"
        server.ask("PATCH", path, json.dumps(body), "application/merge-patch+json")
    except Refused as refused:
        say(f"{space}/{name}: left alone: {refused}")
        return False
    say(f"{space}/{name}: {': '.join(reason_and_message)}")
    return True


def _event(workload: dict[str, Any], reason: str, message: str) -> dict[str, Any]:
    """Of what people know it by."""
    metadata = workload["metadata"]
    owner = metadata["ownerReferences"][0]
    about = {key: owner[key] for key in ("apiVersion", "kind", "name", "uid")}
    return event(
        "gpuyard-requeue",
        {**about, "namespace": metadata["namespace"]},
        namespace=metadata["namespace"],
        once=f"{metadata['uid']} {metadata['generation']} {reason}",
        reason=reason,
        message=message,
        warns=reason == "GangInterrupted",
    )
