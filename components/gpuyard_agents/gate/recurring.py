"""`python -m gpuyard_agents.gate.recurring`: sends nodes that have passed to validation again, each when it is idle.

It removes the node's passed label; nodes without a verdict are then validated. It uses no GPU, nor does the
validation: work that arrives meanwhile starts at once.
"""

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuyard_agents.agent import (
    FAILED,
    FINE,
    UNUSABLE,
    Say,
    load_settings,
    parser,
    report_and_patch,
    run_once,
    say,
)
from gpuyard_agents.client import JsonClient, list_objects, resource_path
from gpuyard_agents.gate.decisions import PASSED_WORD, Names, Node, max_unavailable_nodes
from gpuyard_agents.gate.reconcile import list_nodes

NODES_PENDING = 3
"""Exit code of one iteration: some nodes remain."""
_ON_NODES = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Nodes of one kind."""

    name: str
    selector: str
    resources: tuple[str, ...]
    """Extended resources and device classes of pods that use its GPUs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The agent's settings."""

    every_seconds: float
    run_seconds: float
    """Time limit for waiting until nodes are idle."""
    most_at_once_percent: int
    """Maximum share of a pool's nodes without a verdict; at least one node."""
    names: Names
    again: str
    """Annotation of nodes: the run that last sent them to validation."""
    pools: tuple[Pool, ...]


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when no node remains or the time is over; with `--once` 3 while some remain."""
    options_parser = parser("gpuyard_agents.gate.recurring")
    options_parser.add_argument(
        "--run", required=True, help="a name of this run: each node is sent once"
    )
    options = options_parser.parse_args(arguments)
    settings = load_settings(Settings, options.settings)
    if settings is None:
        return UNUSABLE
    until = time.monotonic() + settings.run_seconds
    while True:
        remaining = run_once(options, lambda server: reconcile(server, settings, options.run, say))
        if options.once:
            return FAILED if remaining is None else NODES_PENDING if remaining else FINE
        if remaining == 0:
            return FINE
        if time.monotonic() + settings.every_seconds > until:
            say(
                f"time limit reached; nodes that were never idle: {'unknown' if remaining is None else remaining}"
            )
            return FINE if remaining is not None else FAILED
        time.sleep(settings.every_seconds)


def reconcile(server: JsonClient, settings: Settings, run: str, say: Say) -> int:
    """Send idle nodes to validation; returns the number of remaining nodes.

    Raises:
        RequestRejected, Unreachable: the API server did not serve the request.
    """
    pods = list(list_objects(server, resource_path("v1", "pods"), fieldSelector=_ON_NODES))
    remaining = 0
    for pool in settings.pools:
        nodes = list_nodes(server, pool.selector, settings.names)
        busy = {pod["spec"].get("nodeName") for pod in pods if uses_gpus(pod, pool.resources)}
        looked_at = sum(settings.names.checked not in node.labels for node in nodes)
        for node in nodes:
            if not is_due(node, settings.again, run):
                continue
            if node.name in busy or looked_at >= max_unavailable_nodes(
                nodes, settings.most_at_once_percent
            ):
                remaining += 1
                continue
            refused = _send(server, node, settings, run)
            looked_at += not refused
            remaining += bool(refused)
            say(f"{pool.name} {node.name}: {refused or 'validation runs again'}")
    return remaining


def is_due(node: Node, again: str, run: str) -> bool:
    """Whether a node has passed, but not in this run: one that failed or waits is validated anyway."""
    has_passed = (
        node.labels.get(node.names.result) == PASSED_WORD and node.names.checked in node.labels
    )
    return has_passed and node.annotations.get(again) != run and _ready(node)


def _ready(node: Node) -> bool:
    """Whether its kubelet responds: otherwise its validation pod cannot run."""
    conditions = (node.raw.get("status") or {}).get("conditions") or ()
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)


def uses_gpus(pod: Mapping[str, Any], resources: Sequence[str]) -> bool:
    """Whether a pod uses a GPU."""
    return any(
        key in resources and str(count) != "0"
        for kind in ("initContainers", "containers")
        for container in pod["spec"].get(kind) or ()
        for part in ("requests", "limits")
        for key, count in ((container.get("resources") or {}).get(part) or {}).items()
    )


def _send(server: JsonClient, node: Node, settings: Settings, run: str) -> str:
    """Why it failed; the next iteration tries again."""
    metadata = {
        "resourceVersion": node.raw["metadata"]["resourceVersion"],
        "labels": {settings.names.checked: None},
        "annotations": {settings.again: run},
    }
    path = resource_path("v1", "nodes", name=node.name)
    return report_and_patch(server, path, {"metadata": metadata})


if __name__ == "__main__":
    sys.exit(main())
