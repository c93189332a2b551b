"""Autoscaled node groups whose minimum or maximum changes."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gpuyard.changes.deployed_state import DeployedResource
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import ClampedNumber, CloudCall, CloudGraph, CloudResource

_GROUP = "aws:eks/nodeGroup:NodeGroup"
_ASKED = "aws:eks/getNodeGroup:getNodeGroup"
_CONFIG, _DESIRED = "scalingConfig", "desiredSize"
_BOUNDS = ("minSize", "maxSize")


def with_sizes(graph: CloudGraph, existing: Mapping[str, DeployedResource]) -> CloudGraph | None:
    """The graph in which each node group with new bounds keeps its size, within these bounds.

    None where no bounds change.

    EKS accepts bounds only with a desired size between them. For an ignored field, Pulumi sends the value of
    its last deployment, which the autoscaler may have changed since: so the current size is read from EKS.
    """
    groups = {
        each.name: existing[each.name]
        for each in graph.resources
        if each.name in existing and _has_new_bounds(each, existing[each.name])
    }
    if not groups:
        return None
    return replace(
        graph,
        resources=tuple(_sized(each) if each.name in groups else each for each in graph.resources),
        calls=(*graph.calls, *(_call(name, group) for name, group in groups.items())),
    )


def _has_new_bounds(each: CloudResource, existing: DeployedResource) -> bool:
    if each.kind != _GROUP or not each.ignores:
        return False
    before: Any = existing.outputs.get(_CONFIG)
    after = each.inputs[_CONFIG]
    return isinstance(before, Mapping) and any(before.get(k) != after[k] for k in _BOUNDS)


def _call(name: str, group: DeployedResource) -> CloudCall:
    args = {key: group.outputs[key] for key in ("clusterName", "nodeGroupName")}
    return CloudCall(kind=_ASKED, name=_name(name), args=args, outputs=(f"{_CONFIG}s",))


def _name(group: str) -> str:
    return f"size-of-{group}"


def _sized(each: CloudResource) -> CloudResource:
    bounds = each.inputs[_CONFIG]
    low, high = (bounds[key] for key in _BOUNDS)
    now = UnresolvedOutput(f"{_name(each.name)}.{_CONFIG}s.0.{_DESIRED}")
    sized = {**bounds, _DESIRED: ClampedNumber(now, low, high)}
    return replace(each, inputs={**each.inputs, _CONFIG: sized}, ignores=())
