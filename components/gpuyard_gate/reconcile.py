"""One iteration over every pool: read its nodes and validation pods, decide, write."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from gpuyard_gate.decisions import (
    Change,
    Names,
    Node,
    ValidatedPool,
    change_for,
    check_outcome,
    max_unavailable_nodes,
)
from gpuyard_gate.loop import event, list_objects
from gpuyard_idle.web import JsonClient, RequestRejected

MOST_CHANGES = 100
"""Maximum number of nodes changed in one iteration; the next one continues."""
_EVENTS = "/api/v1/namespaces/default/events"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The agent's settings."""

    namespace: str
    """Namespace of the validation pods."""
    every_seconds: float
    max_unavailable_percent: int
    names: Names
    pools: tuple[ValidatedPool, ...]


def read_settings(text: str) -> Settings:
    """The settings of a document.

    Raises:
        ValueError, TypeError, KeyError: the document is invalid.
    """
    raw: dict[str, Any] = json.loads(text)
    names, pools = (
        Names(**raw.pop("names")),
        tuple(ValidatedPool(**each) for each in raw.pop("pools")),
    )
    return Settings(names=names, pools=pools, **raw)


def reconcile(server: JsonClient, settings: Settings, say: Callable[[str], None]) -> int:
    """Apply all changes; returns the number of nodes concerned.

    Raises:
        Refused, Unreachable: the API server did not serve the request.
    """
    changes_left = MOST_CHANGES
    for pool in settings.pools:
        nodes = [
            Node(each, settings.names)
            for each in list_objects(server, "/api/v1/nodes", labelSelector=pool.selector)
            if "deletionTimestamp" not in each["metadata"]
        ]
        outcomes = {
            pod["spec"].get("nodeName"): check_outcome(pod)
            for pod in list_objects(
                server,
                f"/api/v1/namespaces/{settings.namespace}/pods",
                labelSelector=f"{settings.names.checks}={pool.checks},{settings.names.checked}={pool.digest}",
            )
        }
        closed = sum(node.is_tainted for node in nodes)
        most = max_unavailable_nodes(nodes, settings.max_unavailable_percent)
        for node in nodes:
            change = change_for(node, pool, outcomes.get(node.name), may_close=closed < most)
            if change is None or not changes_left:
                continue
            changes_left -= 1
            refused = _write(server, node, change)
            closed += not refused and not node.is_tainted and "unschedulable" in change.spec
            say(f"{pool.name} {node.name}: {refused or f'{change.reason}: {change.message}'}")
    return MOST_CHANGES - changes_left


def _write(server: JsonClient, node: Node, change: Change) -> str:
    """Why the change failed: the next iteration decides again, and other nodes are not affected.

    The event comes first: after a crash it is repeated under the same name, so it exists once.
    """
    event = json.dumps(_event(node, change))
    body, path = json.dumps(change.patch(node)), f"/api/v1/nodes/{quote(node.name)}"
    try:
        with suppress(RequestRejected):
            server.request_json("POST", _EVENTS, event, "application/json")
        server.request_json("PATCH", path, body, "application/merge-patch+json")
    except RequestRejected as refused:
        return f"skipped: {refused}"
    return ""


def _event(node: Node, change: Change) -> dict[str, Any]:
    return event(
        "gpuyard-gate",
        # the form that kubectl describe looks up
        {"kind": "Node", "name": node.name, "uid": node.name},
        namespace="default",
        once=f"{node.raw['metadata'].get('uid')} {change.reason} {change.message} {node.boot}",
        reason=change.reason,
        message=change.message,
        warns=change.reason in {"NodeFailedCheck", "NodeNotChecked"},
    )
