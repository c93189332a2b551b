"""Nodes with the platform's labels get the devices and labels that the real agents would give them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpuyard_simulate import cluster
from gpuyard_simulate.api import Api, connect
from kit.cluster.lab import apply, create, delete, patiently, wait

pytestmark = [pytest.mark.cluster, pytest.mark.always]

Until = Callable[..., Any]
Make = Callable[..., dict[str, Any]]
INSIDE = "gpu-operator"
POLICIES = "/apis/nvidia.com/v1/clusterpolicies"
MIG = """
version: v1
mig-configs:
  all-disabled: [{devices: all, mig-enabled: false}]
  mixed: [{devices: all, mig-enabled: true, mig-devices: {1g.5gb: 2, 2g.10gb: 1, 3g.20gb: 1}}]
  sevenths: [{devices: all, mig-enabled: true, mig-devices: {1g.5gb: 7}}]
  too-much: [{devices: all, mig-enabled: true, mig-devices: {3g.20gb: 2, 1g.5gb: 1}}]
"""
PLUGIN = {
    "whole": "version: v1\n",
    "mixed": "version: v1\nflags: {migStrategy: mixed}\n",
    "single": "version: v1\nflags: {migStrategy: single}\n",
    "shared": (
        "version: v1\n"
        "sharing: {timeSlicing: {renameByDefault: true,"
        " resources: [{name: nvidia.com/gpu, replicas: 4}]}}\n"
    ),
    "one-share": (
        "version: v1\n"
        "sharing: {timeSlicing: {renameByDefault: true, failRequestsGreaterThanOne: true,"
        " resources: [{name: nvidia.com/gpu, replicas: 4}]}}\n"
    ),
}


def config_map(name: str, data: dict[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": INSIDE},
        "data": data,
    }


def policy() -> dict[str, Any]:
    required = (
        "daemonsets",
        "dcgm",
        "dcgmExporter",
        "driver",
        "gfd",
        "nodeStatusExporter",
        "operator",
        "toolkit",
    )
    return {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "cluster-policy"},
        "spec": {
            **{part: {} for part in required},
            "mig": {},
            "migManager": {"config": {"name": "gpuyard-mig-parted", "default": "all-disabled"}},
            "devicePlugin": {"config": {"name": "gpuyard-device-plugin", "default": "whole"}},
        },
    }


@pytest.fixture(scope="module", autouse=True)
def operator(started: Any) -> Iterator[None]:
    """What a platform puts into the cluster for its node agents."""
    cluster.up(started.status.name)
    api = connect(Path(started.status.kubeconfig))
    apply(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": INSIDE}})
    apply(api, config_map("gpuyard-mig-parted", {"config.yaml": MIG}))
    apply(api, config_map("gpuyard-device-plugin", PLUGIN))
    delete(api, f"{POLICIES}/cluster-policy")  # platforms of an earlier file leave theirs
    wait(lambda: api.get(f"{POLICIES}/cluster-policy") is None, "the policy before to be gone")
    create(api, POLICIES, policy())
    account = "/api/v1/namespaces/default/serviceaccounts/default"
    wait(lambda: api.get(account), "the account that pods need")
    yield
    maps = f"/api/v1/namespaces/{INSIDE}/configmaps"
    names = ("gpuyard-mig-parted", "gpuyard-device-plugin")
    for path in (f"{POLICIES}/cluster-policy", "/api/v1/nodes", *(f"{maps}/{n}" for n in names)):
        delete(api, path)  # a platform of a later file is refused what is there already


@pytest.fixture
def make(api: Api) -> Make:
    """Create a fake node; returns it as the API server stored it."""

    def node(name: str, machine: str, **labels: str) -> dict[str, Any]:
        named = {"node.kubernetes.io/instance-type": machine}
        named |= {
            f"nvidia.com/{key.replace('_', '-').replace('-dot-', '.')}": value
            for key, value in labels.items()
        }
        metadata = {"name": name, "annotations": {"kwok.x-k8s.io/node": "fake"}, "labels": named}
        return api.apply({"apiVersion": "v1", "kind": "Node", "metadata": metadata})

    return node


def devices(node: dict[str, Any]) -> dict[str, str]:
    found = node.get("status", {}).get("allocatable", {})
    return {name: count for name, count in found.items() if name.startswith("nvidia.com/")}


def wait_for(
    api: Api, until: Until, name: str, wanted: dict[str, str], state: str | None = None
) -> dict[str, Any]:
    """Wait until a node advertises exactly these devices, and its mig-manager says this."""

    def right(node: dict[str, Any]) -> bool:
        said = node["metadata"]["labels"].get("nvidia.com/mig.config.state")
        return (
            devices(node) == wanted
            and (state is None or said == state)
            and "cpu" in node["status"]["allocatable"]
            and "conditions" in node["status"]
        )

    found: dict[str, Any] = until(lambda: api.get(f"/api/v1/nodes/{name}"), right)
    return found


def test_a_plain_gpu_machine_advertises_its_whole_gpus(api: Api, until: Until, make: Make):
    make("whole-0", "p5.48xlarge")
    node = wait_for(api, until, "whole-0", {"nvidia.com/gpu": "8"}, "success")
    labels = node["metadata"]["labels"]
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-H100-80GB-HBM3"
    assert labels["nvidia.com/gpu.count"] == "8"
    assert labels["nvidia.com/mig.config"] == "all-disabled", "the operator's default"
    assert labels["kubernetes.io/hostname"] == "whole-0"
    assert node["status"]["allocatable"]["cpu"] == "192"
    ready = [c["status"] for c in node["status"]["conditions"] if c["type"] == "Ready"]
    assert ready == ["True"]


def test_a_mig_pool_under_the_mixed_strategy_advertises_slices(api: Api, until: Until, make: Make):
    make("mixed-0", "p4d.24xlarge", mig_dot_config="mixed", device_plugin_dot_config="mixed")
    wanted = {
        "nvidia.com/mig-1g.5gb": "16",
        "nvidia.com/mig-2g.10gb": "8",
        "nvidia.com/mig-3g.20gb": "8",
    }
    node = wait_for(api, until, "mixed-0", wanted, "success")
    assert (
        node["metadata"]["labels"]["nvidia.com/mig-3g.20gb.product"]
        == "NVIDIA-A100-SXM4-40GB-MIG-3g.20gb"
    )


def test_a_mig_pool_under_the_single_strategy_advertises_slices_as_gpus(
    api: Api, until: Until, make: Make
):
    make("single-0", "p4d.24xlarge", mig_dot_config="sevenths", device_plugin_dot_config="single")
    node = wait_for(api, until, "single-0", {"nvidia.com/gpu": "56"}, "success")
    assert (
        node["metadata"]["labels"]["nvidia.com/gpu.product"] == "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"
    )


def test_a_time_sliced_pool_advertises_shares(api: Api, until: Until, make: Make):
    make("shared-0", "g6.12xlarge", device_plugin_dot_config="shared")
    wait_for(api, until, "shared-0", {"nvidia.com/gpu.shared": "16"})
    labels = until(lambda: (api.get("/api/v1/nodes/shared-0") or {})["metadata"]["labels"], shares)
    assert labels["nvidia.com/gpu.replicas"] == "4"
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-L4"


def test_a_pod_that_wants_two_shares_fails_as_the_kubelet_fails_it(
    api: Api, until: Until, make: Make
):
    make("two-0", "g6.12xlarge", device_plugin_dot_config="one-share")
    wait_for(api, until, "two-0", {"nvidia.com/gpu.shared": "16"})
    pods = "/api/v1/namespaces/default/pods"
    for name, count in (("two-shares", 2), ("one-share", 1)):
        limits = {"nvidia.com/gpu.shared": count}
        container = {"name": "main", "image": "x", "resources": {"limits": limits}}
        spec = {"nodeName": "two-0", "restartPolicy": "Never", "containers": [container]}
        create(api, pods, {"metadata": {"name": name}, "spec": spec})
    try:
        status = until(
            lambda: (api.get(f"{pods}/two-shares") or {})["status"],
            lambda found: bool(found["phase"] == "Failed"),
        )
        assert status["reason"] == "UnexpectedAdmissionError"
        assert "maximum request size for shared resources is 1; found 2" in status["message"]
        until(
            lambda: (api.get(f"{pods}/one-share") or {})["status"],
            lambda found: bool(found["phase"] == "Running"),
        )
    finally:
        for name in ("two-shares", "one-share"):
            patiently(
                lambda name=name: api.call("DELETE", f"{pods}/{name}", {"gracePeriodSeconds": 0})
            )


def test_a_held_pod_that_is_deleted_has_failed_before_it_goes(api: Api, until: Until, make: Make):
    """A Job that replaces what has failed, and nothing else, waits for that word; of unstarted pods too."""
    make("holds-0", "g6.12xlarge")
    pods = "/api/v1/namespaces/default/pods"
    nodes = {"started": "holds-0", "unstarted": "holds-1"}
    for name, node in nodes.items():
        metadata = {"name": name, "finalizers": ["example.com/held"]}
        container = {"name": "main", "image": "x"}
        spec = {"nodeName": node, "restartPolicy": "Never", "containers": [container]}
        create(api, pods, {"metadata": metadata, "spec": spec})
    try:
        for name, phase in (("started", "Running"), ("unstarted", "Pending")):
            until(
                lambda name=name: (api.get(f"{pods}/{name}") or {})["status"]["phase"],
                lambda found, phase=phase: bool(found == phase),
            )
        for name in nodes:
            delete(api, f"{pods}/{name}")
        make("holds-1", "g6.12xlarge")
        for name in nodes:
            until(
                lambda name=name: (api.get(f"{pods}/{name}") or {})["status"]["phase"],
                lambda found: bool(found == "Failed"),
            )
    finally:
        for name in nodes:
            api.patch(f"{pods}/{name}", {"metadata": {"finalizers": None}})
    until(
        lambda: [api.get(f"{pods}/{name}") for name in nodes],
        lambda found: found == [None, None],
    )


def shares(labels: dict[str, str]) -> bool:
    return "nvidia.com/gpu.replicas" in labels


def test_an_unknown_plugin_configuration_leaves_no_devices_and_an_event(
    api: Api, until: Until, make: Make
):
    make("unknown-0", "g6.12xlarge", device_plugin_dot_config="nowhere")
    message = until(lambda: events(api, "unknown-0", "DevicePluginFailed"))[0]
    where = "no configuration 'nowhere' in ConfigMap gpuyard-device-plugin"
    assert message == f"{where}; available: mixed, one-share, shared, single, whole"
    wait_for(api, until, "unknown-0", {})
    until(lambda: policy_state(api), lambda state: state == "notReady")
    delete(api, "/api/v1/nodes/unknown-0")
    until(lambda: policy_state(api), lambda state: state == "ready")


def test_an_impossible_layout_fails_and_leaves_the_gpus_as_they_were(
    api: Api, until: Until, make: Make
):
    make("too-much-0", "p4d.24xlarge", mig_dot_config="too-much")
    wait_for(api, until, "too-much-0", {"nvidia.com/gpu": "8"}, "failed")
    # the label comes first, then the event
    said = until(lambda: events(api, "too-much-0", "MigConfigFailed"))
    assert said == ["too-much: A100-40 cannot be partitioned into 1 × 1g.5gb, 2 × 3g.20gb"]


def test_a_changed_label_cuts_the_gpus_anew(api: Api, until: Until, make: Make):
    make("again-0", "p4d.24xlarge", mig_dot_config="sevenths", device_plugin_dot_config="mixed")
    wait_for(api, until, "again-0", {"nvidia.com/mig-1g.5gb": "56"}, "success")
    api.patch(
        "/api/v1/nodes/again-0", {"metadata": {"labels": {"nvidia.com/mig.config": "all-disabled"}}}
    )
    node = wait_for(api, until, "again-0", {"nvidia.com/gpu": "8"}, "success")
    assert not [name for name in node["metadata"]["labels"] if name.startswith("nvidia.com/mig-")]


def test_the_policy_becomes_ready(api: Api, until: Until):
    until(lambda: policy_state(api), lambda state: state == "ready")


def policy_state(api: Api) -> str | None:
    found = api.get(f"{POLICIES}/cluster-policy") or {}
    state: str | None = found.get("status", {}).get("state")
    return state


def events(api: Api, node: str, reason: str) -> list[str]:
    query = f"?fieldSelector=involvedObject.name%3D{node},reason%3D{reason}"
    return [
        item["message"]
        for item in api.call("GET", f"/api/v1/namespaces/default/events{query}")["items"]
    ]
