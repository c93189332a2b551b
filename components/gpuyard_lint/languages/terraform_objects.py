"""Kubernetes objects as in Terraform's Kubernetes provider: a resource type each, in blocks.

    resource "kubernetes_deployment_v1" "serve" { spec { template { spec { container { … } } } } }

is a Deployment. Terraform shows blocks as lists; where Kubernetes has a single object, it is
extracted. Maps with user keys (labels, limits, data) are attributes and remain unchanged.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gpuyard_core.manifests.fields import PartlyKnown
from gpuyard_lint.items import FileLocation
from gpuyard_lint.rules.rule import UnknownValue, read_table

_KINDS: Mapping[str, list[str]] = read_table("terraform_objects")
OBJECTS: Mapping[str, list[str]] = {
    f"kubernetes_{name}{ending}": kind for name, kind in _KINDS.items() for ending in ("", "_v1")
} | {"kubernetes_horizontal_pod_autoscaler_v2": ["autoscaling/v2", "HorizontalPodAutoscaler"]}
"""By Terraform's type: apiVersion and kind."""
_MANY: Mapping[str, str] = read_table("terraform_lists")
"""Blocks that may repeat, and the list in Kubernetes."""
_CAPITALS: Mapping[str, str] = {
    "host_ipc": "hostIPC",
    "host_pid": "hostPID",
    "host_ip": "hostIP",
    "cluster_ip": "clusterIP",
    "load_balancer_ip": "loadBalancerIP",
}
_SAME_TOO = frozenset({"ports", "limits"})
"""The provider also has fields with these names."""
_OWN = {own: name for name, own in (*_MANY.items(), *_CAPITALS.items()) if own not in _SAME_TOO}
_REQUIRED = "required_during_scheduling_ignored_during_execution"
_NODES = "node_affinity"
_SECRET, _PLAIN = "Secret", "stringData"


def kubernetes_object(kind: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The object of a resource of this type."""
    version, name = OBJECTS[kind]
    fields = _mapping(values, within="")
    if name == _SECRET and "data" in fields:
        fields[_PLAIN] = fields.pop("data")  # the provider encodes it
    return {"apiVersion": version, "kind": name, **fields}


def object_location(kind: str, place: FileLocation) -> FileLocation:
    """The paths of fields in such an object, and their Terraform names."""
    name = _secret_name if OBJECTS[kind][1] == _SECRET else kubernetes_name
    return replace(place, pulumi_name=name, to_document_name=provider_name)


def _mapping(values: Mapping[str, Any], within: str) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for key, value in values.items():
        converted = _value(key, value, within)
        if converted is not None:
            blocks = isinstance(value, list | UnknownValue)
            results[kubernetes_name(key) if blocks else _camel(key)] = converted
    return PartlyKnown(results) if isinstance(values, PartlyKnown) else results


def _value(key: str, value: Any, within: str) -> Any:
    """The value at a key; None for an absent block."""
    if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
        return value
    below = [_mapping(each, within=key) for each in value]
    many = key in _MANY or (key == _REQUIRED and within != _NODES)
    if many or len(below) > 1:
        return below
    return below[0] if below else None


def kubernetes_name(key: str) -> str:
    """The Kubernetes name of a block or field."""
    return _MANY.get(key) or _camel(key)


def provider_name(key: str) -> str:
    """The provider's name of a Kubernetes field."""
    return _OWN.get(key) or snake_case(key)


def _secret_name(key: str) -> str:
    return _PLAIN if key == "data" else kubernetes_name(key)


def _camel(key: str) -> str:
    return _CAPITALS.get(key) or camel_case(key)


def camel_case(key: str) -> str:
    """A Terraform field in camel case, as in Kubernetes and Pulumi."""
    return re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), key)


def snake_case(key: str) -> str:
    """The other way round."""
    return re.sub(r"(?<=[a-z0-9])[A-Z]", lambda m: f"_{m[0].lower()}", key)
