"""Pools of which Karpenter is told another node: what the last deployment left of their classes and the plan.

A node that runs stays: Karpenter calls it drifted, and our budgets let none go for that but in hours of
upkeep. Each that comes is of the new class.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpuyard.changes.deployed import Stand
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import late_names
from gpuyard.render.objects import Object
from gpuyard.render.platform import karpenter_nodes_of


def reclassed(plan: PlatformPlan, stand: Stand, component: str) -> list[str]:
    """By their first names; a pool of which nothing is there yet is new, and changes nothing.

    What the API server adds of its own is in the state too: a field that the plan gives no more is not seen.
    """
    begins = f"{component}-karpenter:"
    there = {
        each.name.removeprefix(begins): each.outputs.get("spec")
        for each in stand.resources
        if each.name.startswith(begins)
    }
    return [
        pool
        for pool, objects in karpenter_nodes_of(plan).items()
        if any(
            not _holds(there[name], wanted) for name, wanted in _wanted(objects) if name in there
        )
    ]


def _wanted(objects: Sequence[Object]) -> Iterator[tuple[str, Any]]:
    """What makes a node: the class, and the template of a NodePool, not how many and how they go."""
    for obj in objects:
        name = f"{obj['kind']}:{obj['metadata']['name']}"
        if obj["kind"] == "EC2NodeClass":
            yield name, obj["spec"]
        elif obj["kind"] == "NodePool":
            yield name, {"template": obj["spec"]["template"]}


def _holds(there: Any, wanted: Any) -> bool:
    """Whether all that is wanted is there; what a cloud tells late is as it was."""
    if isinstance(wanted, Mapping):
        known = there if isinstance(there, Mapping) else {}
        return all(_holds(known.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list | tuple):
        same = isinstance(there, list | tuple) and len(there) == len(wanted)
        return same and all(map(_holds, there, wanted))
    return bool(late_names(wanted)) or there == wanted
