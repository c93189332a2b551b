"""Adapters of nodes of your own: a real DaemonSet of what is rendered, and pods that ask for adapters."""

import json
from typing import Any

import pytest

from gpuyard.render.gpu_operator.adapters import adapter_objects
from gpuyard_core.names import RDMA
from gpuyard_simulate.adapters.plugin import ADAPTERS
from gpuyard_simulate.api import Api
from kit.cluster.lab import apply, delete, path_of, wait
from kit.stacks import plan_of, platform, pool

pytestmark = [pytest.mark.cluster]

FABRIC = {"kind": "infiniband", "hcas": ["mlx5_0"], "plugin": "rdma-device-plugin"}
SPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gpu-operator"}}


def node(name: str, labels: dict[str, str], link: str) -> dict[str, Any]:
    """A machine that somebody has labelled, with one adapter of this link type."""
    adapters = [{"ifNames": "ib0", "vendors": "15b3", "linkTypes": link}]
    notes = {"kwok.x-k8s.io/node": "fake", ADAPTERS: json.dumps(adapters)}
    own = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": "p5.48xlarge",
    }
    metadata = {"name": name, "labels": labels | own, "annotations": notes}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata}


def asking(name: str, where: str) -> dict[str, Any]:
    limits = {RDMA: "1", "cpu": "1"}
    container = {"name": "main", "image": "busybox", "resources": {"limits": limits}}
    spec = {
        "containers": [container],
        "nodeSelector": {"kubernetes.io/hostname": where},
        "terminationGracePeriodSeconds": 0,
    }
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def test_a_pod_has_adapters_where_there_are_some_and_waits_where_there_are_none(api: Api) -> None:
    plan = plan_of(platform([pool("hall", fabric=FABRIC)]))
    labels = dict(plan.pools[0].labels)
    objects = [
        SPACE,
        node("hall-0", labels, "infiniband"),
        node("hall-1", labels, "ether"),
        *adapter_objects(plan),
        asking("has", "hall-0"),
        asking("waits", "hall-1"),
    ]

    def gives(name: str) -> Any:
        found = api.get(f"/api/v1/nodes/{name}") or {}
        return ((found.get("status") or {}).get("allocatable") or {}).get(RDMA)

    def phase(name: str) -> Any:
        found = api.get(f"/api/v1/namespaces/default/pods/{name}") or {}
        return (found.get("status") or {}).get("phase")

    try:
        for each in objects:
            apply(api, each)
        wait(lambda: (gives("hall-0"), gives("hall-1")) == ("100", "0"), "the plugin's word")
        wait(lambda: phase("has") == "Running", "a pod with adapters")
        assert phase("waits") == "Pending"
        (daemon,) = [each for each in objects if each["kind"] == "DaemonSet"]
        delete(api, path_of(daemon))
        wait(lambda: gives("hall-0") is None, "nothing to be said by a plugin that is gone")
    finally:
        for each in reversed(objects[1:]):
            delete(api, path_of(each))
