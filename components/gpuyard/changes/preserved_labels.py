"""Configurations that node labels still name: kept with the new ones until no node uses them.

A restarted node agent looks up the value of its label, and a failed change rolls back to the previous one.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import yaml

from gpuyard.changes.deployed_state import DeployedResource, DeployedState
from gpuyard.changes.fields import at_path
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import ClampedNumber, CloudCall, CloudGraph, CloudResource
from gpuyard.render.text import yaml_text
from gpuyard_core.names import MIG_CONFIG_LABEL, PLUGIN_CONFIG_LABEL

_MIG_KEY = "config.yaml"
_CONFIG_MAP = "kubernetes:core/v1:ConfigMap"


def with_referenced_node_configs(
    objects: Iterable[Mapping[str, Any]], state: DeployedState
) -> list[Mapping[str, Any]]:
    """The objects with those configurations of the last deployment in their ConfigMap that nodes had."""
    last = {_place(each.outputs): each for each in state.resources if each.kind == _CONFIG_MAP}
    carried = {
        name
        for each in state.resources
        for labels in _labels(each)
        for key in (MIG_CONFIG_LABEL, PLUGIN_CONFIG_LABEL)
        if isinstance(name := labels.get(key), str)
    }
    return [_with(obj, last.get(_place(obj)), carried) for obj in objects]


def _labels(each: DeployedResource) -> Iterator[Mapping[str, Any]]:
    """Labels of a node, an EKS node group or a GKE node pool."""
    for path in ("metadata.labels", "labels", "nodeConfig.labels"):
        if isinstance(labels := at_path(each.outputs, path.split(".")), Mapping):
            yield labels


def _place(obj: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    meta = obj.get("metadata")
    meta = meta if isinstance(meta, Mapping) else {}
    return obj.get("kind"), meta.get("namespace"), meta.get("name")


def _with(
    obj: Mapping[str, Any], last: DeployedResource | None, carried: set[str]
) -> Mapping[str, Any]:
    before = last.outputs.get("data") if last else None
    if not isinstance(before, Mapping) or obj.get("kind") != "ConfigMap":
        return obj
    data = dict(obj["data"])
    if _MIG_KEY in data:
        data[_MIG_KEY] = _mig(data[_MIG_KEY], before.get(_MIG_KEY), carried)
    else:
        data = {k: v for k, v in before.items() if k in carried} | data
    return {**obj, "data": dict(sorted(data.items()))}


def _mig(text: str, before: Any, carried: set[str]) -> str:
    """Merge MIG configurations that gpuyard wrote: YAML with both keys."""
    if not isinstance(before, str):
        return text
    now, old = yaml.safe_load(text), yaml.safe_load(before)
    retained = {k: v for k, v in old["mig-configs"].items() if k in carried}
    if retained.keys() <= now["mig-configs"].keys():
        return text
    return yaml_text({**now, "mig-configs": retained | now["mig-configs"]})


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
    calls = (
        CloudCall(
            kind=_ASKED,
            name=f"size-of-{name}",
            args={key: group.outputs[key] for key in ("clusterName", "nodeGroupName")},
            outputs=(f"{_CONFIG}s",),
        )
        for name, group in groups.items()
    )
    resources = (_sized(each) if each.name in groups else each for each in graph.resources)
    return replace(graph, resources=tuple(resources), calls=(*graph.calls, *calls))


def _has_new_bounds(each: CloudResource, existing: DeployedResource) -> bool:
    if each.kind != _GROUP or not each.ignores:
        return False
    before: Any = existing.outputs.get(_CONFIG)
    after = each.inputs[_CONFIG]
    return isinstance(before, Mapping) and any(before.get(k) != after[k] for k in _BOUNDS)


def _sized(each: CloudResource) -> CloudResource:
    bounds = each.inputs[_CONFIG]
    low, high = (bounds[key] for key in _BOUNDS)
    now = UnresolvedOutput(f"size-of-{each.name}.{_CONFIG}s.0.{_DESIRED}")
    sized = {**bounds, _DESIRED: ClampedNumber(now, low, high)}
    return replace(each, inputs={**each.inputs, _CONFIG: sized}, ignores=())
