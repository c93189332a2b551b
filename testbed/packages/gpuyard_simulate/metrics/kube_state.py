"""The series of kube-state-metrics that rules of gpuyard read, from objects of the cluster."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpuyard_core.manifests.quantities import quantity

Value = Mapping[str, Any]
_UNITS = {"cpu": "core", "memory": "byte", "ephemeral-storage": "byte"}
_PHASES = ("Pending", "Succeeded", "Failed", "Unknown", "Running")


def text_of(nodes: Iterable[Value], pods: Iterable[Value], namespaces: Iterable[Value]) -> str:
    """The exposition text."""
    nodes, pods, namespaces = [*nodes], [*pods], [*namespaces]
    lines: list[str] = []
    for name, series in (
        ("kube_node_info", _each(nodes, _node_info)),
        ("kube_node_labels", _each(nodes, lambda node: {"node": _name(node), **_labels(node)})),
        ("kube_node_status_condition", _conditions(nodes)),
        ("kube_node_status_allocatable", _allocatable(nodes)),
        ("kube_node_spec_unschedulable", _unschedulable(nodes)),
        ("kube_namespace_labels", _each(namespaces, _namespace)),
        ("kube_pod_info", _each(pods, _pod_info)),
        ("kube_pod_labels", _each(pods, lambda pod: {**_pod(pod), **_labels(pod)})),
        ("kube_pod_owner", _each(pods, _owner)),
        ("kube_pod_container_resource_requests", _requests(pods)),
        ("kube_pod_status_phase", _phases(pods)),
    ):
        lines.append(f"# TYPE {name} gauge")
        lines += [_line(name, labels, value) for labels, value in series]
    return "\n".join([*lines, ""])


def _each(values: Iterable[Value], labels: Any) -> Iterator[tuple[dict[str, str], float]]:
    for value in values:
        yield labels(value), 1


def _name(value: Value) -> str:
    return str(value["metadata"]["name"])


def _labels(value: Value) -> dict[str, str]:
    """Labels of an object as label_<name> in snake case (kube-state-metrics internal/store/utils.go)."""
    found = value["metadata"].get("labels") or {}
    return {f"label_{_snake_case(k)}": str(v) for k, v in sorted(found.items())}


def _snake_case(name: str) -> str:
    return re.sub("([a-z0-9])([A-Z])", r"\1_\2", re.sub("[^a-zA-Z0-9_]", "_", name)).lower()


def _namespace(value: Value) -> dict[str, str]:
    return {"namespace": _name(value), **_labels(value)}


def _node_info(node: Value) -> dict[str, str]:
    info = (node.get("status") or {}).get("nodeInfo") or {}
    return {
        "node": _name(node),
        "kernel_version": str(info.get("kernelVersion", "")),
        "kubelet_version": str(info.get("kubeletVersion", "")),
        "provider_id": str((node.get("spec") or {}).get("providerID", "")),
    }


def _conditions(nodes: Iterable[Value]) -> Iterator[tuple[dict[str, str], float]]:
    for node in nodes:
        for condition in (node.get("status") or {}).get("conditions") or ():
            for status in ("true", "false", "unknown"):
                labels = {"node": _name(node), "condition": condition["type"], "status": status}
                yield labels, float(condition["status"].lower() == status)


def _allocatable(nodes: Iterable[Value]) -> Iterator[tuple[dict[str, str], float]]:
    for node in nodes:
        for labels, value in _amounts((node.get("status") or {}).get("allocatable")):
            yield {"node": _name(node), **labels}, value


def _amounts(given: Mapping[str, Any] | None) -> Iterator[tuple[dict[str, str], float]]:
    """Amounts of resources, with the names and units of kube-state-metrics."""
    for name, amount in (given or {}).items():
        value = quantity(amount)
        if value is not None:
            resource = re.sub("[^a-zA-Z0-9_]", "_", name)
            yield {"resource": resource, "unit": _UNITS.get(name, "integer")}, float(value)


def _unschedulable(nodes: Iterable[Value]) -> Iterator[tuple[dict[str, str], float]]:
    for node in nodes:
        yield {"node": _name(node)}, float(bool((node.get("spec") or {}).get("unschedulable")))


def _pod(pod: Value) -> dict[str, str]:
    metadata = pod["metadata"]
    return {
        "namespace": metadata["namespace"],
        "pod": metadata["name"],
        "uid": str(metadata.get("uid", "")),
    }


def _pod_info(pod: Value) -> dict[str, str]:
    owner: Value = next(iter(pod["metadata"].get("ownerReferences") or ()), {})
    return {
        **_pod(pod),
        "node": str(pod["spec"].get("nodeName", "")),
        "created_by_kind": str(owner.get("kind", "")),
        "created_by_name": str(owner.get("name", "")),
        "priority_class": str(pod["spec"].get("priorityClassName", "")),
        "host_network": str(bool(pod["spec"].get("hostNetwork"))).lower(),
    }


def _owner(pod: Value) -> dict[str, str]:
    owner: Value = next(iter(pod["metadata"].get("ownerReferences") or ()), {})
    return {
        **_pod(pod),
        "owner_kind": str(owner.get("kind", "")),
        "owner_name": str(owner.get("name", "")),
        "owner_is_controller": str(bool(owner.get("controller"))).lower(),
    }


def _requests(pods: Iterable[Value]) -> Iterator[tuple[dict[str, str], float]]:
    for pod in pods:
        node = str(pod["spec"].get("nodeName", ""))
        for container in pod["spec"]["containers"]:
            resources = container.get("resources") or {}
            asked = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
            for labels, value in _amounts(asked):
                own = {"container": str(container["name"]), "node": node}
                yield {**_pod(pod), **own, **labels}, value


def _phases(pods: Iterable[Value]) -> Iterator[tuple[dict[str, str], float]]:
    for pod in pods:
        phase = (pod.get("status") or {}).get("phase", "Unknown")
        for each in _PHASES:
            yield {**_pod(pod), "phase": each}, float(each == phase)


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    escaped = {k: v.replace("\\", r"\\").replace('"', r"\"") for k, v in labels.items()}
    text = ",".join(f'{key}="{item}"' for key, item in escaped.items())
    return f"{name}{{{text}}} {value:g}"
