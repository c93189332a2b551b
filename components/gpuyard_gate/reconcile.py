"""One look at every pool: read its nodes and the pods that check them, judge, write."""

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
    Pool,
    change_for,
    check_outcome,
    max_unavailable_nodes,
)
from gpuyard_gate.loop import event, listed
from gpuyard_idle.web import Refused, Server

MOST_CHANGES = 100
"""Nodes that are changed in one look; the others are in the next."""
_EVENTS = "/api/v1/namespaces/default/events"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the program is told."""

    namespace: str
    """Where the pods that check are."""
    every_seconds: float
    max_unavailable_percent: int
    names: Names
    pools: tuple[Pool, ...]


def read_settings(text: str) -> Settings:
    """The settings of a document.

    Raises:
        ValueError, TypeError, KeyError: it is none.
    """
    raw: dict[str, Any] = json.loads(text)
    names, pools = Names(**raw.pop("names")), tuple(Pool(**each) for each in raw.pop("pools"))
    return Settings(names=names, pools=pools, **raw)


def reconcile(server: Server, settings: Settings, say: Callable[[str], None]) -> int:
    """Change what is to be changed, and return how many nodes that concerned.

    Raises:
        Refused, Unreachable: the API server did not do what it was asked.
    """
    changes_left = MOST_CHANGES
    for pool in settings.pools:
        nodes = [
            Node(each, settings.names)
            for each in listed(server, "/api/v1/nodes", labelSelector=pool.selector)
            if "deletionTimestamp" not in each["metadata"]
        ]
        outcomes = {
            pod["spec"].get("nodeName"): check_outcome(pod)
            for pod in listed(
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


def _write(server: Server, node: Node, change: Change) -> str:
    """Why it was not done: then it is judged anew in the next look, and keeps no other node from its own.

    The event first: it is said again after an accident, under the same name, and so only once.
    """
    event = json.dumps(_event(node, change))
    body, path = json.dumps(change.patch(node)), f"/api/v1/nodes/{quote(node.name)}"
    try:
        with suppress(Refused):
            server.ask("POST", _EVENTS, event, "application/json")
        server.ask("PATCH", path, body, "application/merge-patch+json")
    except Refused as refused:
        return f"left alone: {refused}"
    return ""


def _event(node: Node, change: Change) -> dict[str, Any]:
    return event(
        "gpuyard-gate",
        # as kubectl describe looks for it
        {"kind": "Node", "name": node.name, "uid": node.name},
        namespace="default",
        once=f"{node.raw['metadata'].get('uid')} {change.reason} {change.message} {node.boot}",
        reason=change.reason,
        message=change.message,
        warns=change.reason in {"NodeFailedCheck", "NodeNotChecked"},
    )
