"""Active migration: pods on a later rule of a ComputeClass move to nodes of an earlier one.

Nodes of every rule but the first can be drained. A node is drained if its pods fit on nodes elsewhere;
else the autoscaler requests nodes of an earlier rule of the class that fit them. A node is kept if a pod on
it has no controller, must not be evicted, or is at its disruption budget; a pool keeps its minimum.
The real one chooses among pools at random and takes nodes one by one; of a fake pool the last ones go.

Source: GoogleCloudPlatform/cluster-autoscaler at 7d250507 (2026-08-21), below pkg/defrag:
plugins/highprioritymigration/high_priority_migration.go, processor/node_filter.go and processor.go.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuyard_simulate.agents.autoscaler import accepts
from testbed.plugins.cloud.inside.autoscaler import Autoscaler, Resize, Scalable
from testbed.plugins.cloud.inside.rooms import STAYS, Pod, Room, room_of, selected

OVER = ("Succeeded", "Failed")


@dataclass(frozen=True)
class Leaving:
    """A pool of a later rule, and the nodes to remove."""

    group: Scalable
    size: int
    nodes: frozenset[str]
    better: tuple[Scalable, ...]
    """Pools of earlier rules of its class."""


@dataclass(frozen=True)
class Seen:
    """The pods and ready nodes of the cluster."""

    nodes: Sequence[Mapping[str, Any]]
    pods: Sequence[Pod]
    budgets: Sequence[Mapping[str, Any]]


def migrate(
    leaving: Sequence[Leaving], seen: Seen, autoscaler: Autoscaler, now: float
) -> list[Resize]:
    """The first pool that can shrink, or an earlier one that must grow for it."""
    for each in leaving:
        moved = [pod for pod in seen.pods if _on(pod, each.nodes)]
        if not moved or each.size < each.group.least or _blocked(moved, seen.budgets):
            continue
        remaining = list(_without_room(moved, each.nodes, seen))
        if not remaining:
            return [Resize(each.group.name, each.size, "its pods have room elsewhere")]
        if grown := autoscaler.grow_for(each.better, remaining, now):
            return grown
    return []


def _on(pod: Pod, nodes: frozenset[str]) -> bool:
    """Whether it runs on one of these nodes and must move."""
    owners = pod["metadata"].get("ownerReferences") or ()
    over = (pod.get("status") or {}).get("phase") in OVER
    daemon = any(each["kind"] == "DaemonSet" for each in owners)
    return pod["spec"].get("nodeName") in nodes and not over and not daemon


def _blocked(pods: Sequence[Pod], budgets: Sequence[Mapping[str, Any]]) -> bool:
    return any(
        not pod["metadata"].get("ownerReferences")
        or (pod["metadata"].get("annotations") or {}).get(STAYS) == "false"
        for pod in pods
    ) or any(
        sum(selected(pod, each) for pod in pods)
        > int((each.get("status") or {}).get("disruptionsAllowed") or 0)
        for each in budgets
    )


def _without_room(pods: Sequence[Pod], removed: frozenset[str], seen: Seen) -> Iterator[Pod]:
    """The pods that fit on no remaining node."""
    others = [each for each in seen.nodes if each["metadata"]["name"] not in removed]
    rooms: dict[str, Room] = {each["metadata"]["name"]: room_of(each) for each in others}
    for pod in seen.pods:
        where = pod["spec"].get("nodeName")
        if where in rooms and (pod.get("status") or {}).get("phase") not in OVER:
            rooms[where].put(pod)
    for pod in pods:
        if not any(
            accepts(node, pod["spec"]) and rooms[node["metadata"]["name"]].takes(pod)
            for node in map(dict, others)
        ):
            yield pod
