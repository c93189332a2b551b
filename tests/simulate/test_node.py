"""All fakes together on one node, step by step until nothing is left to do."""

from dataclasses import replace
from typing import Any

import pytest

from gpuyard_simulate.agents import cloud_node, cluster_policy
from gpuyard_simulate.agents.gpu_operator import MountedConfig, Operator, read_operator
from gpuyard_simulate.agents.node import Event, changes, is_fake_node
from gpuyard_simulate.drivers import upgrading
from gpuyard_simulate.tolerations import USUAL
from kit.every import every

MIG = (
    "version: v1\nmig-configs: {cut: [{devices: all, mig-enabled: true, mig-devices: {1g.5gb: 7}}]}"
)
OPERATOR = Operator(
    mig=MountedConfig("mig", {"config.yaml": MIG}, "all-disabled"),
    plugin=MountedConfig("plugin", {"mixed": "version: v1\nflags: {migStrategy: mixed}"}),
)


def node(machine: str, **labels: str) -> dict[str, Any]:
    named = {
        f"nvidia.com/{key.replace('__', '.').replace('_', '-')}": value
        for key, value in labels.items()
    }
    metadata = {
        "name": "n-0",
        "labels": {"node.kubernetes.io/instance-type": machine, **named},
        "annotations": {},
    }
    return {"metadata": metadata, "status": {}}


def settle(
    item: dict[str, Any], operator: Operator | None, gpu_pods: int = 0
) -> tuple[list[str], list[Event]]:
    """Write changes as the API server would until there are none; returns MIG states and events."""
    states, events = [], []
    for _ in range(8):
        found = changes(item, operator, lambda: gpu_pods)
        events += [event for event in found.events if event not in events]
        if not found.metadata and not found.status:
            return states, events
        for section, patch in ((item["metadata"], found.metadata), (item["status"], found.status)):
            for name, change in patch.items():
                merged = {**section.get(name, {}), **change}
                section[name] = {key: value for key, value in merged.items() if value is not None}
        states.append(item["metadata"]["labels"].get("nvidia.com/mig.config.state", "-"))
    pytest.fail(f"never settles: {item}")


def devices(item: dict[str, Any]) -> dict[str, str]:
    return {
        name: count for name, count in item["status"]["allocatable"].items() if "nvidia" in name
    }


def test_a_mig_node_settles_by_way_of_pending():
    item = node("p4d.24xlarge", mig__config="cut", device_plugin__config="mixed")
    states, events = settle(item, OPERATOR)
    assert states == ["pending", "success"]
    assert events == []
    assert devices(item) == {"nvidia.com/mig-1g.5gb": "56"}
    assert item["status"]["capacity"] == item["status"]["allocatable"]


def test_there_are_no_devices_while_gpus_are_cut():
    item = node("p4d.24xlarge", mig__config="cut", device_plugin__config="mixed")
    assert "nvidia.com/gpu" not in changes(item, OPERATOR, lambda: 0).allocatable


def test_a_second_layout_takes_the_first_ones_devices_and_labels_away():
    item = node("p4d.24xlarge", mig__config="cut", device_plugin__config="mixed")
    settle(item, OPERATOR)
    whole = MountedConfig(
        "mig",
        {"config.yaml": "version: v1\nmig-configs: {w: [{devices: all, mig-enabled: false}]}"},
    )
    item["metadata"]["labels"]["nvidia.com/mig.config"] = "w"
    states, _ = settle(item, Operator(mig=whole, plugin=OPERATOR.plugin))
    assert states == ["pending", "success"]
    assert devices(item) == {"nvidia.com/gpu": "8"}
    assert not [name for name in item["metadata"]["labels"] if "mig-1g" in name]


def test_pods_on_the_gpus_make_the_cut_fail():
    item = node("p4d.24xlarge", mig__config="cut", device_plugin__config="mixed")
    _, events = settle(item, OPERATOR, gpu_pods=1)
    assert events == [
        Event(
            "MigConfigFailed",
            "cut: In use by another client: 1 pods on this node hold its GPUs",
            "mig-manager",
        )
    ]
    assert devices(item) == {"nvidia.com/gpu": "8"}


def test_an_unknown_plugin_configuration_means_no_devices():
    item = node("g6.12xlarge", device_plugin__config="nowhere")
    _, events = settle(item, OPERATOR)
    assert [event.reason for event in events] == ["DevicePluginFailed"]
    assert devices(item) == {}
    assert item["status"]["allocatable"]["cpu"] == "48"


MPS = MountedConfig(
    "plugin",
    {"mps": "version: v1\nsharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 8}]}}"},
    "mps",
)


@every(
    "item, operator, waits",
    [
        (node("g6.12xlarge"), Operator(), False),
        (node("g6.12xlarge", device_plugin__config="nowhere"), OPERATOR, True),
        (node("g6.12xlarge"), Operator(plugin=MPS), True),
        (node("g6.12xlarge", gpu__deploy__operands="false"), Operator(plugin=MPS), False),
        (node("m7i.xlarge"), Operator(plugin=MPS), False),
    ],
)
def test_what_does_not_come_up_is_said(item, operator, waits):
    assert changes(item, operator, lambda: 0).is_pending is waits


def test_the_mps_daemon_comes_and_nothing_waits_any_more():
    item = node("g6.12xlarge")
    settle(item, Operator(plugin=MPS))
    assert not changes(item, Operator(plugin=MPS), lambda: 0).is_pending
    assert devices(item) == {"nvidia.com/gpu": "32"}


def test_a_node_that_keeps_the_operators_pods_off_has_nothing_from_them():
    """As nodes that GKE serves: their devices are those of its own plugin."""
    item = node("p4d.24xlarge", gpu__deploy__operands="false", mig__config="cut")
    before = dict(item["metadata"]["labels"])
    assert settle(item, OPERATOR) == (["-"], [])
    found = item["metadata"]["labels"].keys() - before.keys()
    assert not [name for name in found if "nvidia.com" in name]
    assert devices(item) == {}


def test_without_an_operator_a_gpu_machine_is_an_ordinary_one():
    item = node("p5.48xlarge")
    settle(item, None)
    assert item["status"]["allocatable"] == {
        "cpu": "192",
        "memory": "2048Gi",
        "pods": "110",
        "ephemeral-storage": "30400G",
        "vpc.amazonaws.com/efa": "32",
    }
    assert item["metadata"]["labels"]["kubernetes.io/arch"] == "amd64"


def test_a_machine_without_gpus_is_never_labelled_as_one():
    item = node("m7i.xlarge")
    settle(item, OPERATOR)
    assert not [name for name in item["metadata"]["labels"] if name.startswith("nvidia.com")]
    assert item["status"]["allocatable"]["ephemeral-storage"] == "100Gi"


def test_a_machine_nobody_knows_keeps_the_status_it_came_with():
    item = node("toaster")
    item["status"] = {"allocatable": {"nvidia.com/gpu": "3"}}
    settle(item, OPERATOR)
    assert item["status"] == {"allocatable": {"nvidia.com/gpu": "3"}}


def test_only_fake_nodes_are_touched():
    item = node("p5.48xlarge")
    assert not is_fake_node(item)
    item["metadata"]["annotations"]["kwok.x-k8s.io/node"] = "fake"
    assert is_fake_node(item)


def test_the_operator_is_read_from_its_policy():
    policy = {
        "metadata": {"name": "cluster-policy"},
        "spec": {
            "mig": {"strategy": "single"},
            "migManager": {"config": {"name": "a", "default": "all-disabled"}},
            "devicePlugin": {"config": {"name": "b"}},
        },
    }
    found = read_operator(policy, {"a": {"config.yaml": MIG}})
    assert found == Operator(
        "single", MountedConfig("a", {"config.yaml": MIG}, "all-disabled"), MountedConfig("b", None)
    )
    assert read_operator({"spec": {}}, {}) == Operator()
    brings = {"spec": {"driver": {"version": "595.91.07"}}}
    assert read_operator(brings, {}) == Operator(driver_version="595.91.07")
    brings["spec"]["driver"]["enabled"] = False  # type: ignore[assignment]
    assert read_operator(brings, {}) == Operator(driver=False)
    assert read_operator(None, {}) is None


@pytest.mark.parametrize(
    ("operator", "state"),
    [
        (Operator(), "ready"),
        (OPERATOR, "ready"),
        (Operator(plugin=MountedConfig("gone", None)), "notReady"),
        (Operator(mig=MountedConfig("gone", None)), "notReady"),
    ],
)
def test_the_policy_is_ready_when_its_config_maps_exist(operator: Operator, state: str):
    status = cluster_policy.status(operator)
    assert cluster_policy.status(operator, {"n-0"})["state"] == "notReady"
    assert status == {"namespace": "gpu-operator", "state": state}
    policy = {"metadata": {"name": "cluster-policy"}}
    assert cluster_policy.needs_update(policy, status)
    assert not cluster_policy.needs_update({**policy, "status": status}, status)
    assert not cluster_policy.needs_update({"metadata": {"name": "another"}}, status)


# ── nodes that a cloud made ───────────────────────────────────────────────────────────────────────
SAID = '{"capacity": {"cpu": "192"}, "allocatable": {"cpu": "191450m"}}'
WHOLE = Operator(plugin=MountedConfig("plugin", {"": "version: v1"}))
EFA = "vpc.amazonaws.com/efa"


def of_a_cloud(machine: str = "p5.48xlarge", **notes: str) -> dict[str, Any]:
    item = node(machine)
    names = {name: getattr(cloud_node, name) for name in notes}
    item["metadata"]["annotations"] = {
        cloud_node.KUBELET: SAID,
        **{names[name]: value for name, value in notes.items()},
    }
    return item


def test_a_kubelet_of_a_cloud_says_what_is_left_for_pods():
    found = changes(of_a_cloud(), WHOLE, lambda: 0)
    assert found.capacity == {"cpu": "192", "nvidia.com/gpu": "8"}
    assert found.allocatable == {"cpu": "191450m", "nvidia.com/gpu": "8"}


@every(
    "notes, now, gpus, again",
    [
        ({}, 99.0, None, 100.0),
        ({}, 100.0, "8", None),
        ({"DEVICES": '{"nvidia.com/gpu": 8}'}, 99.0, None, 100.0),
        ({"DEVICES": '{"nvidia.com/gpu": 8}'}, 101.0, "8", None),
    ],
)
def test_a_node_that_is_ready_has_its_gpus_when_its_driver_answers(notes, now, gpus, again):
    found = changes(of_a_cloud(GPUS_FROM="100", **notes), WHOLE, lambda: 0, now=now)
    assert (found.allocatable.get("nvidia.com/gpu"), found.requeue) == (gpus, again)
    assert found.allocatable["cpu"] == "191450m"
    assert found.is_pending is (gpus is None)


def test_efa_is_told_of_by_its_plugin_alone():
    item = of_a_cloud(EFA_INTERFACES="32")
    assert EFA not in changes(item, WHOLE, lambda: 0).allocatable
    agents = frozenset({cloud_node.EFA_PLUGIN})
    assert changes(item, WHOLE, lambda: 0, agents).allocatable[EFA] == "32"
    item["status"] = {"allocatable": {EFA: "32"}}
    assert changes(item, WHOLE, lambda: 0).allocatable[EFA] is None
    assert EFA not in changes(of_a_cloud(), WHOLE, lambda: 0, agents).allocatable


@every(
    "machine, system, agents, gpus",
    [
        ("a3-highgpu-8g", "cos", [], None),
        ("a3-highgpu-8g", "cos", [cloud_node.EFA_PLUGIN], None),
        ("a3-highgpu-8g", "cos", [cloud_node.DRIVER_INSTALLER], "8"),
        ("a3-highgpu-8g", "cos", [cloud_node.LATEST_INSTALLER], "8"),
        ("a4x-highgpu-4g", "cos", [cloud_node.DRIVER_INSTALLER], None),
        ("a4x-highgpu-4g", "cos", [cloud_node.LATEST_INSTALLER], "4"),
        ("a3-highgpu-8g", "ubuntu", [cloud_node.DRIVER_INSTALLER], None),
        ("p5.48xlarge", "", [cloud_node.DRIVER_INSTALLER], None),
    ],
)
def test_without_a_driver_that_the_node_can_load_nobody_finds_gpus(machine, system, agents, gpus):
    item = of_a_cloud(machine, DRIVER="none")
    labels = {
        "node.kubernetes.io/instance-type": machine,
        "cloud.google.com/gke-os-distribution": system,
    }
    item["metadata"]["labels"] |= {key: value for key, value in labels.items() if value}
    bare = Operator(plugin=WHOLE.plugin, driver=False)
    found = changes(item, bare, lambda: 0, frozenset(agents))
    assert found.allocatable.get("nvidia.com/gpu") == gpus
    assert found.is_pending is (gpus is None)
    version = found.labels.get("nvidia.com/cuda.driver-version.full")
    assert version == (cloud_node.GOOGLE_DRIVER if gpus else None)


def test_a_driver_that_the_operator_brings_is_one_too():
    item = of_a_cloud(DRIVER="none")
    assert changes(item, WHOLE, lambda: 0).allocatable["nvidia.com/gpu"] == "8"


@every(
    "driver, brought, said",
    [
        ("580.159.03", "570.1.2", "580.159.03"),
        (None, "570.1.2", None),
        ("none", "570.1.2", "570.1.2"),
    ],
)
def test_the_version_of_a_driver_is_that_of_whoever_has_brought_it(driver, brought, said):
    """Whoever asks the driver is told; only where the fake's image says no version nobody knows it."""
    item = of_a_cloud(**({"DRIVER": driver} if driver else {}))
    operator = replace(WHOLE, driver_version=brought)
    found = changes(item, operator, lambda: 0).labels
    assert found.get("nvidia.com/cuda.driver-version.full") == said


def test_a_plugin_of_the_image_tells_of_devices_where_the_operators_is_off():
    item, off = of_a_cloud(DEVICES='{"nvidia.com/gpu.shared": 16}'), Operator(device_plugin=False)
    for operator in (None, off):
        found = changes(item, operator, lambda: 0).allocatable
        assert {k: v for k, v in found.items() if "gpu" in k} == {"nvidia.com/gpu.shared": "16"}
    item["metadata"]["labels"]["nvidia.com/gpu.deploy.device-plugin"] = "false"
    assert "nvidia.com/gpu" not in changes(item, WHOLE, lambda: 0).allocatable


def test_what_is_turned_off_in_the_policy():
    spec = {"driver": {"enabled": False}, "devicePlugin": {}}
    found = read_operator({"spec": spec}, {})
    assert found is not None
    assert (found.driver, found.device_plugin) == (False, True)


def test_agents_are_pods_that_run_their_image():
    def pod(phase: str, image: str) -> dict[str, Any]:
        return {"status": {"phase": phase}, "spec": {"containers": [{"image": image}]}}

    image = "602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin:v0.5.20@sha256:1"
    assert cloud_node.agent_in(pod("Running", image)) == cloud_node.EFA_PLUGIN
    assert cloud_node.agent_in(pod("Pending", image)) == ""
    assert cloud_node.agent_in(pod("Running", "nginx")) == ""
    assert cloud_node.agent_in({"spec": {"containers": []}}) == ""


@every(
    "init, agent",
    [
        ({}, cloud_node.DRIVER_INSTALLER),
        ({"command": ["bash", "-c", "x install --version=latest"]}, cloud_node.LATEST_INSTALLER),
        ({"securityContext": {}}, ""),
        ({"image": "busybox"}, ""),
    ],
)
def test_googles_installer_is_told_by_its_init_container(init: dict[str, Any], agent: str):
    image, may = "cos-nvidia-installer:fixed", {"privileged": True}
    spec = {
        "initContainers": [{"image": image, "securityContext": may, **init}],
        "containers": [{"image": "gke.gcr.io/pause:3.8"}],
    }
    assert cloud_node.agent_in({"status": {"phase": "Running"}, "spec": spec}) == agent


@pytest.mark.parametrize(
    ("annotations", "driver"),
    [
        ({}, "595.91.07"),
        ({cloud_node.KUBELET: SAID, cloud_node.DRIVER: "none"}, "595.91.07"),
        ({cloud_node.KUBELET: SAID}, None),
    ],
)
def test_a_node_says_which_driver_the_operator_has_brought(
    annotations: dict[str, str], driver: str | None
):
    item = node("g6.12xlarge")
    item["metadata"]["annotations"] = annotations
    found = changes(item, Operator(driver_version="595.91.07"), lambda: 0).labels
    assert found.get("nvidia.com/cuda.driver-version.full") == driver


def test_a_driver_stays_until_its_pod_is_replaced():
    """The policy alone changes nothing on a node that has one."""
    item, newest = node("g6.12xlarge"), Operator(driver_version="595.91.07")
    settle(item, Operator(driver_version="580.159.03"))
    assert item["metadata"]["annotations"][upgrading.POD] == "580.159.03"
    assert settle(item, newest) == ([], [])
    assert item["metadata"]["labels"]["nvidia.com/cuda.driver-version.full"] == "580.159.03"
    item["metadata"]["annotations"][upgrading.POD] = "595.91.07"
    settle(item, newest)
    assert item["metadata"]["labels"]["nvidia.com/cuda.driver-version.full"] == "595.91.07"
    settle(item, Operator())
    assert upgrading.POD not in item["metadata"]["annotations"]


def test_a_driver_that_does_not_come_up_leaves_no_devices():
    item, operator = node("g6.12xlarge"), Operator(driver_version="595.91.07")
    settle(item, operator)
    item["metadata"]["annotations"][upgrading.BROKEN] = "595.91.07: no symbol version"
    assert changes(item, operator, lambda: 0).is_pending
    settle(item, operator)
    assert devices(item) == {}


# ── taints ──────────────────────────────────────────────────────────────────────────────────────────

FENCE = {"key": "gpuyard.dev/pool", "value": "dev", "effect": "NoSchedule"}
ANY = {"key": "gpuyard.dev/pool", "operator": "Exists", "effect": "NoSchedule"}


def tainted(*taints):
    return {**node("g6.12xlarge"), "spec": {"taints": list(taints)}}


@every(
    "taints, tolerations, started",
    [
        ([FENCE], USUAL, False),
        ([FENCE], (ANY,), True),
        ([FENCE], ({"operator": "Exists"},), True),
        ([FENCE], ({**ANY, "operator": "Equal", "value": "other"},), False),
        ([FENCE], ({**ANY, "effect": "NoExecute"},), False),
        ([FENCE | {"effect": "PreferNoSchedule"}], (), True),
        ([{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}], USUAL, True),
        ([{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}], (), True),
    ],
)
def test_agents_start_where_they_bear_every_taint(taints, tolerations, started):
    item = tainted(*taints)
    settle(item, Operator(tolerations=tolerations))
    assert bool(devices(item)) is started


def test_a_taint_that_comes_later_ends_no_agent():
    item = tainted()
    settle(item, OPERATOR)
    item["spec"]["taints"] = [FENCE]
    settle(item, OPERATOR)
    assert devices(item) == {"nvidia.com/gpu": "4"}


@every(
    "spec, tolerations",
    [({}, USUAL), ({"daemonsets": {}}, USUAL), ({"daemonsets": {"tolerations": [ANY]}}, (ANY,))],
)
def test_what_agents_bear_is_said_by_the_policy(spec, tolerations):
    assert read_operator({"spec": spec}, {}).tolerations == tolerations
