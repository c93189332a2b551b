"""Node groups of an EKS cluster as Cluster Autoscaler sees them, and its resizes.

A group with nodes is described by one of them. A group at zero is described only by its machine and the
tags of its auto-scaling group, as for the real one without `eks:DescribeNodegroup`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import yaml

from gpuyard_core.catalogue.node_pools import ACCELERATOR_LABEL
from gpuyard_core.names import GPU
from gpuyard_simulate.agents.autoscaler import accepts
from gpuyard_simulate.api import ApiError
from testbed.plugins.cloud.inside import eks
from testbed.plugins.cloud.inside.autoscaler import Autoscaler, Resize, Scalable
from testbed.plugins.cloud.inside.joining import GROUP
from testbed.plugins.cloud.inside.rooms import Room, needs_its_node, room_of
from testbed.plugins.cloud.rules.looking import at, items, text
from testbed.plugins.cloud.service.ties import Resource, values

_TAG = "aws:autoscaling/tag:Tag"
_TOLD = "k8s.io/cluster-autoscaler/node-template/"
_ASG = ["resources", "autoscalingGroups", "name"]
_PODS = "110"  # assumed by the real one for every machine
_PRIORITIES = "/api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-priority-expander"
_STARTUP = "startup-taint.cluster-autoscaler.kubernetes.io/"
_NOT_READY = "node.kubernetes.io/not-ready"
_WITH_GPUS = {ACCELERATOR_LABEL, "cloud.google.com/gke-accelerator"}
_GONE = 404
_OVER = ("Succeeded", "Failed")


class Cloud(Protocol):
    """The calls to an account."""

    def all(self, kind: str = "") -> list[Resource]: ...

    def images(self) -> Mapping[str, str]: ...

    def missing(self, id_: str) -> tuple[int, str]: ...

    def coming(self, id_: str) -> int: ...

    def settle(self) -> None: ...

    def scale(self, id_: str, size: int) -> None: ...


class Asked(Protocol):
    """The calls to an API server."""

    def call(self, method: str, path: str, /) -> Any: ...


def priorities(api: Asked) -> dict[int, list[str]]:
    """The configuration of the expander `priority`; empty without one."""
    try:
        result = api.call("GET", _PRIORITIES)
    except ApiError as problem:
        if problem.status == _GONE:
            return {}
        raise
    return dict(yaml.safe_load(result["data"]["priorities"]))


def step(cloud: Cloud, api: Asked, autoscaler: Autoscaler, now: float) -> list[Resize]:
    """One iteration of the autoscaler."""
    cloud.settle()
    ids: dict[str, str] = {}
    groups: list[Scalable] = []
    blocked, nodes = (
        cloud.all(),
        [begun(each) for each in api.call("GET", "/api/v1/nodes")["items"]],
    )
    pods = api.call("GET", "/api/v1/pods")["items"]
    used = {each["spec"].get("nodeName") for each in pods if needs_a_node(each)}
    for group in blocked:
        if group.kind == eks.GROUP and group.state.get("status") == "ACTIVE":
            groups.append(_scalable(group, blocked, nodes, cloud, used))
            ids[groups[-1].name] = group.id
    message = autoscaler.look(groups, without_room(pods, nodes), now)
    for each in message:
        cloud.scale(ids[each.group], each.size)
    return message


def begun(node: dict[str, Any]) -> dict[str, Any]:
    """A node as it will be after its start: without its startup taints."""
    spec = node["spec"]
    retained = [t for t in spec.get("taints") or [] if not t["key"].startswith(_STARTUP)]
    return {**node, "spec": {**spec, "taints": retained}}


def without_room(pods: list[dict[str, Any]], nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The pods that fit on no existing node: the scheduler will place the others."""
    rooms = {each["metadata"]["name"]: room_of(each) for each in nodes}
    for pod in pods:
        where = pod["spec"].get("nodeName")
        if where in rooms and (pod.get("status") or {}).get("phase") not in _OVER:
            rooms[where].put(pod)
    return [pod for pod in pods if not _placed(pod, nodes, rooms)]


def needs_a_node(pod: dict[str, Any]) -> bool:
    """Whether a pod keeps its node: DaemonSet pods do not, nor evictable pods without requests."""
    owners = pod["metadata"].get("ownerReferences") or ()
    over = (pod.get("status") or {}).get("phase") in _OVER
    if over or any(each["kind"] == "DaemonSet" for each in owners):
        return False
    return needs_its_node(pod)


def _placed(pod: dict[str, Any], nodes: list[dict[str, Any]], rooms: Mapping[str, Room]) -> bool:
    return not pod["spec"].get("nodeName") and any(
        accepts(node, pod["spec"]) and rooms[node["metadata"]["name"]].takes(pod) for node in nodes
    )


def _scalable(
    group: Resource,
    blocked: list[Resource],
    nodes: Iterable[dict[str, Any]],
    cloud: Cloud,
    used: set[str | None],
) -> Scalable:
    (name,) = values(group.state, _ASG)
    target = int(at(group.state, "scalingConfig.desiredSize") or 0)
    missing, error = cloud.missing(group.id)
    mine = [
        each for each in nodes if (each["metadata"].get("annotations") or {}).get(GROUP) == group.id
    ]
    begun_ones = [each for each in mine if not starts(each)]
    return Scalable(
        name=str(name),
        most=int(at(group.state, "scalingConfig.maxSize")),
        target=target,
        running=target - missing - cloud.coming(group.id),
        node=begun_ones[0] if begun_ones else _at_zero(group, str(name), blocked, cloud.images()),
        error=error,
        least=int(at(group.state, "scalingConfig.minSize") or 0),
        idle=bool(mine) and not any(each["metadata"]["name"] in used for each in mine),
        starting=len(mine) - len(begun_ones),
    )


def starts(node: Mapping[str, Any]) -> bool:
    """Whether it is unready for an autoscaler: its kubelet is not ready, or its GPUs are not advertised."""
    status = node["status"]
    closed = any(each["key"] == _NOT_READY for each in node["spec"].get("taints") or ())
    ready = all(
        e["status"] == "True" for e in status.get("conditions") or () if e["type"] == "Ready"
    )
    labels = node["metadata"].get("labels") or {}
    counted = (status["allocatable"].get(GPU) or "0") != "0"
    return closed or not ready or (bool(_WITH_GPUS & labels.keys()) and not counted)


def _at_zero(
    group: Resource, name: str, blocked: list[Resource], images: Mapping[str, str]
) -> dict[str, Any]:
    """The first node: from the EC2 machine and the tags."""
    machine = eks.boot(group, blocked, images).machine
    tags = [each.inputs["tag"] for each in blocked if each.kind == _TAG and _of(each, name)]
    reported = {each["key"].removeprefix(_TOLD): each["value"] for each in tags}
    zones = [
        text(each.state, "availabilityZone")
        for each in blocked
        if each.id in items(group.inputs, "subnetIds")
    ]
    allocatable = {
        "cpu": str(machine.vcpus),
        "memory": f"{machine.memory_gib:g}Gi",
        "pods": _PODS,
        **({"nvidia.com/gpu": str(machine.gpus)} if machine.gpus else {}),
    }
    return {
        "metadata": {
            "labels": {
                "kubernetes.io/arch": machine.arch,
                "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": machine.type_name,
                "topology.kubernetes.io/zone": zones[0],
                **_below("label/", reported),
            }
        },
        "spec": {"taints": [_taint(*each) for each in _below("taint/", reported).items()]},
        "status": {"allocatable": {**allocatable, **_below("resources/", reported)}},
    }


def _of(tag: Resource, name: str) -> bool:
    return bool(tag.inputs["autoscalingGroupName"] == name)


def _below(part: str, reported: Mapping[str, str]) -> dict[str, str]:
    return {
        key.removeprefix(part): value for key, value in reported.items() if key.startswith(part)
    }


def _taint(key: str, message: str) -> dict[str, str]:
    value, _, effect = message.rpartition(":")
    return {"key": key, "value": value, "effect": effect}
