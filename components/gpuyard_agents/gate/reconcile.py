"""One iteration over every pool: read its nodes and validation pods, decide, write."""

from dataclasses import dataclass
from typing import Any

from gpuyard_agents.agent import Say, event, report_and_patch
from gpuyard_agents.client import JsonClient, list_objects, resource_path
from gpuyard_agents.gate.decisions import (
    Change,
    Names,
    Node,
    ValidatedPool,
    change_for,
    check_outcome,
    max_unavailable_nodes,
)

MOST_CHANGES = 100
"""Maximum number of nodes changed in one iteration; the next one continues."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The agent's settings."""

    namespace: str
    """Namespace of the validation pods."""
    every_seconds: float
    max_unavailable_percent: int
    names: Names
    pools: tuple[ValidatedPool, ...]


def reconcile(server: JsonClient, settings: Settings, say: Say) -> int:
    """Apply all changes; returns the number of nodes concerned.

    Raises:
        RequestRejected, Unreachable: the API server did not serve the request.
    """
    changes_left = MOST_CHANGES
    for pool in settings.pools:
        nodes = list_nodes(server, pool.selector, settings.names)
        outcomes = {
            pod["spec"].get("nodeName"): check_outcome(pod)
            for pod in list_objects(
                server,
                resource_path("v1", "pods", settings.namespace),
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
            path = resource_path("v1", "nodes", name=node.name)
            refused = report_and_patch(server, path, change.patch(node), _event(node, change))
            closed += not refused and not node.is_tainted and "unschedulable" in change.spec
            say(f"{pool.name} {node.name}: {refused or f'{change.reason}: {change.message}'}")
    return MOST_CHANGES - changes_left


def list_nodes(server: JsonClient, selector: str, names: Names) -> list[Node]:
    """The nodes of a pool that are not being deleted."""
    return [
        Node(each, names)
        for each in list_objects(server, resource_path("v1", "nodes"), labelSelector=selector)
        if "deletionTimestamp" not in each["metadata"]
    ]


def _event(node: Node, change: Change) -> dict[str, Any]:
    return event(
        "gpuyard-gate",
        # the form that kubectl describe looks up
        {"kind": "Node", "name": node.name, "uid": node.name},
        once=f"{node.raw['metadata'].get('uid')} {change.reason} {change.message} {node.boot}",
        reason=change.reason,
        message=change.message,
        warns=change.reason in {"NodeFailedCheck", "NodeNotChecked"},
    )
