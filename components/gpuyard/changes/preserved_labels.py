"""Configurations that nodes still carry by name: kept beside the new ones until no node has them any more.

A node agent that starts anew looks its label's value up, and a change that fails goes back to the one before.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import yaml

from gpuyard.changes.deployed_state import DeployedResource, DeployedState
from gpuyard.names import MIG_CONFIG_LABEL, PLUGIN_CONFIG_LABEL
from gpuyard.render.text import yaml_text

_MIG_KEY = "config.yaml"
_CONFIG_MAP = "kubernetes:core/v1:ConfigMap"


def with_preserved_labels(
    objects: Iterable[Mapping[str, Any]], state: DeployedState
) -> list[Mapping[str, Any]]:
    """The same objects; a ConfigMap of configurations has those of the last deployment that nodes had."""
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
    """Of a node, a node group of EKS, a node pool of GKE."""
    for path in (("metadata", "labels"), ("labels",), ("nodeConfig", "labels")):
        at: Any = each.outputs
        for step in path:
            at = at.get(step) if isinstance(at, Mapping) else None
        if isinstance(at, Mapping):
            yield at


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
    """Only what was made by us is read: it is YAML, and has both keys."""
    if not isinstance(before, str):
        return text
    now, old = yaml.safe_load(text), yaml.safe_load(before)
    retained = {k: v for k, v in old["mig-configs"].items() if k in carried}
    if retained.keys() <= now["mig-configs"].keys():
        return text
    return yaml_text({**now, "mig-configs": retained | now["mig-configs"]})
