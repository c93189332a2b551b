"""Pools of which Karpenter is told another node: what the last deployment left of their classes and the plan.

A node that runs stays: Karpenter calls it drifted, and our budgets let none go for that but in hours of
upkeep. Each that comes is of the new class.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpuyard.changes.deployed_state import DeployedState
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import late_names
from gpuyard.render.objects import Object
from gpuyard.render.platform import karpenter_nodes_of


def changed_node_classes(plan: PlatformPlan, state: DeployedState, component: str) -> list[str]:
    """By their first names; a pool of which nothing is there yet is new, and changes nothing.

    What the API server adds of its own is in the state too: a field that the plan gives no more is not seen.
    """
    begins = f"{component}-karpenter:"
    existing = {
        each.name.removeprefix(begins): each.outputs.get("spec")
        for each in state.resources
        if each.name.startswith(begins)
    }
    return [
        pool
        for pool, objects in karpenter_nodes_of(plan).items()
        if any(
            not _holds(existing[name], expected)
            for name, expected in _node_specs(objects)
            if name in existing
        )
    ]


def _node_specs(objects: Sequence[Object]) -> Iterator[tuple[str, Any]]:
    """What makes a node: the class, and the template of a NodePool, not how many and how they go."""
    for obj in objects:
        name = f"{obj['kind']}:{obj['metadata']['name']}"
        if obj["kind"] == "EC2NodeClass":
            yield name, obj["spec"]
        elif obj["kind"] == "NodePool":
            yield name, {"template": obj["spec"]["template"]}


def _holds(existing: Any, expected: Any) -> bool:
    """Whether all that is wanted is there; what a cloud tells late is as it was."""
    if isinstance(expected, Mapping):
        known = existing if isinstance(existing, Mapping) else {}
        return all(_holds(known.get(key), value) for key, value in expected.items())
    if isinstance(expected, list | tuple):
        same = isinstance(existing, list | tuple) and len(existing) == len(expected)
        return same and all(map(_holds, existing, expected))
    return bool(late_names(expected)) or existing == expected
