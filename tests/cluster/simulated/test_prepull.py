"""Images that nodes pull ahead: pods of a real DaemonSet, where a real API server enforces `restricted`."""

from typing import Any

import pytest

from gpuyard_core.names import prepull_name, system_namespace
from gpuyard_simulate.api import Api
from kit.cluster.lab import Lab, apply, delete, wait
from kit.cluster.queues import one_pool
from kit.stacks import plan_of

pytestmark = [pytest.mark.cluster]

NODES = 3
IMAGES = ["registry.example.org/train:1", "registry.example.org/serve@sha256:" + "1" * 64]


def raw(images: list[str]) -> dict[str, Any]:
    mirror = {"images": "mirror.example/gpu", "prepull": images}
    return one_pool("ahead", NODES, mirror=mirror, a={"guarantee": 8})


def test_every_node_has_pulled_before_anybody_asks_and_one_that_comes_later_too(api: Api) -> None:
    plan = plan_of(raw(IMAGES))
    name, space = prepull_name("ahead"), system_namespace("ahead")
    path = f"/apis/apps/v1/namespaces/{space}/daemonsets/{name}"
    pods = f"/api/v1/namespaces/{space}/pods"

    def ready() -> int:
        return int((((api.get(path) or {}).get("status")) or {}).get("numberReady", 0))

    with Lab(api, plan) as lab:
        wait(lambda: ready() == NODES, "a pod on each node to have pulled")
        found = lab.listed(pods)
        assert len({pod["spec"]["nodeName"] for pod in found}) == NODES
        for pod in found:
            assert [each["image"] for each in pod["spec"]["initContainers"]] == IMAGES
            ended = pod["status"]["initContainerStatuses"]
            assert [each["state"]["terminated"]["exitCode"] for each in ended] == [0, 0]
        node = api.get(f"/api/v1/nodes/{found[0]['spec']['nodeName']}")
        assert node is not None
        later = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": "ahead-later",
                "labels": node["metadata"]["labels"] | {"kubernetes.io/hostname": "ahead-later"},
                "annotations": {
                    key: value
                    for key, value in node["metadata"]["annotations"].items()
                    if key.startswith(("kwok", "sim."))
                },
            },
            "spec": {"taints": node["spec"].get("taints", [])},
        }
        apply(api, later)
        try:
            wait(lambda: ready() == NODES + 1, "a node that comes later to pull too")
        finally:
            delete(api, "/api/v1/nodes/ahead-later")
    wait(lambda: api.get(path) is None, "it to go with the platform")
