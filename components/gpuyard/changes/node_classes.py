"""Pools whose Karpenter node class changes, compared with the last deployment.

A running node stays: Karpenter marks it as drifted, and the disruption budgets replace it only in the
disruption window. New nodes have the new class.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpuyard.changes.deployed_state import DeployedState
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import unresolved_output_names
from gpuyard.render.objects import Object


def changed_node_classes(plan: PlatformPlan, state: DeployedState, component: str) -> list[str]:
    """Stable names of these pools; a pool without deployed objects is new and not among them.

    The state also has what the API server adds, so a field that the plan no longer sets is not detected.
    """
    begins = f"{component}-karpenter:"
    existing = {
        each.name.removeprefix(begins): each.outputs.get("spec")
        for each in state.resources
        if each.name.startswith(begins)
    }
    return [
        pool
        for pool, objects in plan.provider.karpenter_nodes(plan).items()
        if any(
            not _holds(existing[name], expected)
            for name, expected in _node_specs(objects)
            if name in existing
        )
    ]


def _node_specs(objects: Sequence[Object]) -> Iterator[tuple[str, Any]]:
    """What defines a node: the class and the template of a NodePool, without limits and disruption."""
    for obj in objects:
        name = f"{obj['kind']}:{obj['metadata']['name']}"
        if obj["kind"] == "EC2NodeClass":
            yield name, obj["spec"]
        elif obj["kind"] == "NodePool":
            yield name, {"template": obj["spec"]["template"]}


def _holds(existing: Any, expected: Any) -> bool:
    """Whether the expected values exist; late values are assumed to be unchanged."""
    if isinstance(expected, Mapping):
        known = existing if isinstance(existing, Mapping) else {}
        return all(_holds(known.get(key), value) for key, value in expected.items())
    if isinstance(expected, list | tuple):
        same = isinstance(existing, list | tuple) and len(existing) == len(expected)
        return same and all(map(_holds, existing, expected))
    return bool(unresolved_output_names(expected)) or existing == expected
