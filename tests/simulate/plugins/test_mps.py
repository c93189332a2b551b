"""The fake MPS daemon: shares come after it, and each client has what a share of the plan is."""

import json
from fractions import Fraction
from typing import Any

import pytest

from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_simulate import mps
from gpuyard_simulate.agents.device_plugin import devices
from gpuyard_simulate.agents.gpu_operator import MountedConfig, Operator
from gpuyard_simulate.agents.hardware import Hardware
from gpuyard_simulate.agents.node import changes
from gpuyard_simulate.agents.plugin_config import ConfigRefused, PluginConfig
from kit.stacks import plan_of, platform, pool

FILE = (
    "version: v1\nsharing: {{mps: {{renameByDefault: {rename},"
    " resources: [{{name: nvidia.com/gpu, replicas: {n}}}]}}}}"
)


def operator(n: int = 4, rename: str = "true") -> Operator:
    text = FILE.format(n=n, rename=rename)
    return Operator(plugin=MountedConfig("plugin", {"mps": text, "whole": "version: v1"}))


def node(machine: str = "p4d.24xlarge") -> dict[str, Any]:
    labels = {
        "node.kubernetes.io/instance-type": machine,
        "nvidia.com/device-plugin.config": "mps",
    }
    return {"metadata": {"name": "n", "labels": labels, "annotations": {}}, "status": {}}


def step(item: dict[str, Any], told: Operator) -> list[str]:
    """One look of the agents, written as an API server would; what they complained of."""
    found = changes(item, told, lambda: 0)
    for section, patch in ((item["metadata"], found.metadata), (item["status"], found.status)):
        for name, change in patch.items():
            merged = {**section.get(name, {}), **change}
            section[name] = {key: value for key, value in merged.items() if value is not None}
    return [event.message for event in found.events]


def shares(item: dict[str, Any]) -> dict[str, str]:
    found = item["status"].get("allocatable", {})
    return {name: count for name, count in found.items() if name.startswith("nvidia.com/")}


def test_label_then_daemon_then_shares():
    item, told = node(), operator()
    seen = []
    for _ in range(4):
        step(item, told)
        labelled = item["metadata"]["labels"].get(mps.CAPABLE)
        seen.append((labelled, mps.RUNNING in item["metadata"]["annotations"], bool(shares(item))))
    assert seen == [
        ("true", False, False),
        ("true", True, False),
        ("true", True, True),
        ("true", True, True),
    ]
    assert shares(item) == {"nvidia.com/gpu.shared": "32"}


def test_another_file_under_the_same_name_changes_neither_daemon_nor_plugin():
    item = node()
    for _ in range(4):
        step(item, operator())
    before = item["metadata"]["annotations"][mps.RUNNING]
    for _ in range(4):
        step(item, operator(n=8))
    assert item["metadata"]["annotations"][mps.RUNNING] == before
    assert shares(item) == {"nvidia.com/gpu.shared": "32"}


def test_a_node_that_shares_no_more_has_no_daemon():
    item, told = node(), operator()
    for _ in range(4):
        step(item, told)
    item["metadata"]["labels"]["nvidia.com/device-plugin.config"] = "whole"
    step(item, told)
    assert mps.RUNNING not in item["metadata"]["annotations"]
    assert shares(item) == {"nvidia.com/gpu": "8"}


def test_too_many_clients_of_an_old_gpu_are_refused():
    item = node("p3dn.24xlarge")
    told = operator(n=17)
    said = [message for _ in range(3) for message in step(item, told)]
    assert any("maximum allowed replicas exceeded: 17 > 16" in each for each in said)
    assert shares(item) == {}


def test_a_machine_without_gpus_has_nothing_to_set():
    config = PluginConfig(sharing="mps", replicas={"nvidia.com/gpu": 2})
    assert mps.mps_daemon_settings(Hardware(MACHINES["m7i.xlarge"], ()), config) == "{}"


@pytest.mark.parametrize("replicas", [2, 3, 7, 20, 48])
@pytest.mark.parametrize("machine", ["p4d.24xlarge", "p5.48xlarge", "g6.12xlarge"])
def test_clients_have_what_a_share_of_the_plan_is(machine, replicas):
    plan = plan_of(platform([pool(machine=machine, sharing={"mps": replicas})]))
    (one,) = plan.pools
    (advertised,) = one.advertised
    gpu = MACHINES[machine].gpu
    assert gpu is not None
    config = PluginConfig(sharing="mps", rename=True, replicas={"nvidia.com/gpu": replicas})
    hardware = Hardware(MACHINES[machine], (None,) * MACHINES[machine].gpus)
    (limits,) = json.loads(mps.mps_daemon_settings(hardware, config)).values()
    share = advertised.gpu_share
    assert share == Fraction(1, replicas)
    assert limits["memory_mib"] == int(gpu.memory_gib * 1024 * share)
    assert limits["memory_mib"] * replicas <= gpu.memory_gib * 1024
    assert limits["threads_percent"] == int(100 * share)
    assert limits["pipe"].startswith("/run/nvidia/mps/nvidia.com/gpu.shared/")


def test_a_cut_gpu_has_no_daemon():
    cut = Hardware(MACHINES["p4d.24xlarge"], ({"1g.5gb": 7}, *[None] * 7))
    config = PluginConfig(sharing="mps", replicas={"nvidia.com/gpu": 2})
    with pytest.raises(ConfigRefused, match="MPS is not supported for MIG devices"):
        devices(cut, config)
