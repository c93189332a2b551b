"""`python -m gpuyard_gate.recurring`: sends nodes that have passed to be checked again, each when it is idle.

It takes away the mark that a node has passed; who looks at nodes without a verdict does the rest. It holds no
GPU and neither does the check: work that comes meanwhile begins at once.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from gpuyard_gate.decisions import PASSED_WORD, Names, Node, max_unavailable_nodes
from gpuyard_gate.loop import FAILED, FINE, UNUSABLE, Say, listed, options, run_once, say
from gpuyard_idle.web import Refused, Server

NODES_PENDING = 3
"""Exit code of one look: some nodes are still to be looked at."""
_ON_NODES = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Nodes of one kind."""

    name: str
    selector: str
    resources: tuple[str, ...]
    """What a pod asks for that works on its GPUs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the program is told."""

    every_seconds: float
    run_seconds: float
    """For so long it waits for nodes to be idle."""
    most_at_once_percent: int
    """Of a pool's nodes so many may be without a verdict, and one always."""
    names: Names
    again: str
    """Annotation of nodes: by which run they were last sent to be checked."""
    pools: tuple[Pool, ...]


def read_settings(text: str) -> Settings:
    """The settings of a document.

    Raises:
        ValueError, TypeError, KeyError: it is none.
    """
    raw: dict[str, Any] = json.loads(text)
    names = Names(**raw.pop("names"))
    pools = tuple(
        Pool(name=each["name"], selector=each["selector"], resources=tuple(each["resources"]))
        for each in raw.pop("pools")
    )
    return Settings(names=names, pools=pools, **raw)


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when no node is left, or its time is over; with `--once` 3 while some are left."""
    parsed_args = _parser().parse_args(arguments)
    try:
        settings = read_settings(parsed_args.settings.read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError, KeyError) as problem:
        say(f"cannot begin: {problem!r}")
        return UNUSABLE
    until = time.monotonic() + settings.run_seconds
    while True:
        remaining = run_once(
            parsed_args, lambda server: reconcile(server, settings, parsed_args.run, say)
        )
        if parsed_args.once:
            return FAILED if remaining is None else NODES_PENDING if remaining else FINE
        if remaining == 0:
            return FINE
        if time.monotonic() + settings.every_seconds > until:
            say(
                f"the time is over; nodes that were never idle: {'unknown' if remaining is None else remaining}"
            )
            return FINE if remaining is not None else FAILED
        time.sleep(settings.every_seconds)


def reconcile(server: Server, settings: Settings, run: str, say: Say) -> int:
    """Send those that are idle, and return how many are left.

    Raises:
        Refused, Unreachable: the API server did not do what it was asked.
    """
    pods = list(listed(server, "/api/v1/pods", fieldSelector=_ON_NODES))
    remaining = 0
    for pool in settings.pools:
        nodes = [
            Node(each, settings.names)
            for each in listed(server, "/api/v1/nodes", labelSelector=pool.selector)
            if "deletionTimestamp" not in each["metadata"]
        ]
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
            say(f"{pool.name} {node.name}: {refused or 'is checked again'}")
    return remaining


def is_due(node: Node, again: str, run: str) -> bool:
    """Whether a node has passed, and not in this run: one that failed, or waits, is looked at anyway."""
    has_passed = (
        node.labels.get(node.names.result) == PASSED_WORD and node.names.checked in node.labels
    )
    return has_passed and node.annotations.get(again) != run and _ready(node)


def _ready(node: Node) -> bool:
    """Whether its kubelet answers: else nobody could look, and it would stand there unchecked."""
    conditions = (node.raw.get("status") or {}).get("conditions") or ()
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)


def uses_gpus(pod: Mapping[str, Any], resources: Sequence[str]) -> bool:
    """Whether a pod has something of a GPU."""
    return any(
        key in resources and str(count) != "0"
        for container in _containers(pod["spec"])
        for part in ("requests", "limits")
        for key, count in ((container.get("resources") or {}).get(part) or {}).items()
    )


def _containers(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from spec.get("initContainers") or ()
    yield from spec.get("containers") or ()


def _send(server: Server, node: Node, settings: Settings, run: str) -> str:
    """Why it was not done: it is tried again in the next look."""
    metadata = {
        "resourceVersion": node.raw["metadata"]["resourceVersion"],
        "labels": {settings.names.checked: None},
        "annotations": {settings.again: run},
    }
    path, body = f"/api/v1/nodes/{quote(node.name)}", json.dumps({"metadata": metadata})
    try:
        server.ask("PATCH", path, body, "application/merge-patch+json")
    except Refused as refused:
        return f"left alone: {refused}"
    return ""


def _parser() -> argparse.ArgumentParser:
    parser = options("gpuyard_gate.recurring")
    parser.add_argument("--run", required=True, help="a name of this run: each node is sent once")
    return parser


if __name__ == "__main__":
    sys.exit(main())
