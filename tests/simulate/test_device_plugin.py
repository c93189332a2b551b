"""What the fake device plugin advertises, and what it refuses."""

import pytest

from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_simulate.agents.device_plugin import devices
from gpuyard_simulate.agents.gpu_operator import MountedConfig, Operator
from gpuyard_simulate.agents.hardware import Hardware
from gpuyard_simulate.agents.node import refuses_pod
from gpuyard_simulate.agents.plugin_config import (
    CONFIG_LABEL,
    ConfigRefused,
    PluginConfig,
    config_for,
    parse,
)
from gpuyard_simulate.gke_plugin import pod_rejection_reason

A100 = MACHINES["p4d.24xlarge"]
SEVENTHS = {"1g.5gb": 7}
MIX = {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}


def eight(*layout: dict[str, int] | None) -> Hardware:
    """Eight GPUs; the last one given stands for the rest."""
    return Hardware(A100, (*layout, *(layout[-1],) * (8 - len(layout))))


def shared(
    strategy: str = "none", method: str = "time-slicing", rename: bool = False, **replicas: int
) -> PluginConfig:
    names = {
        "nvidia.com/" + {"gpu": "gpu"}.get(name, "mig-1g.5gb"): n for name, n in replicas.items()
    }
    return PluginConfig(strategy, method, rename, names)


@pytest.mark.parametrize(
    ("hardware", "config", "advertised"),
    [
        (eight(None), PluginConfig(), {"gpu": 8}),
        (eight(None), PluginConfig("single"), {"gpu": 8}),
        (eight(None), PluginConfig("mixed"), {"gpu": 8}),
        (eight(SEVENTHS), PluginConfig(), {"gpu": 8}),
        (eight(SEVENTHS), PluginConfig("single"), {"gpu": 56}),
        (eight(SEVENTHS), PluginConfig("mixed"), {"mig-1g.5gb": 56}),
        (eight(MIX), PluginConfig("mixed"), {"mig-1g.5gb": 16, "mig-2g.10gb": 8, "mig-3g.20gb": 8}),
        (eight(SEVENTHS, None), PluginConfig("mixed"), {"gpu": 7, "mig-1g.5gb": 7}),
        (eight({}, None), PluginConfig("mixed"), {"gpu": 7}),
        (eight({"1g.5gb+me": 1}), PluginConfig("mixed"), {"mig-1g.5gb.me": 8}),
        (eight(None), shared(gpu=4), {"gpu": 32}),
        (eight(None), shared(gpu=4, rename=True), {"gpu.shared": 32}),
        (eight(None), shared(method="mps", gpu=8), {"gpu": 64}),
        (eight(SEVENTHS), shared("mixed", sevenths=2), {"mig-1g.5gb": 112}),
        (eight(SEVENTHS), shared("mixed", sevenths=2, rename=True), {"mig-1g.5gb.shared": 112}),
        (
            eight(MIX),
            shared("mixed", sevenths=2),
            {"mig-1g.5gb": 32, "mig-2g.10gb": 8, "mig-3g.20gb": 8},
        ),
    ],
)
def test_devices(hardware: Hardware, config: PluginConfig, advertised: dict[str, int]):
    names = {
        name.removeprefix("nvidia.com/"): count for name, count in devices(hardware, config).items()
    }
    assert names == advertised


@pytest.mark.parametrize(
    ("hardware", "config", "reason"),
    [
        (eight(MIX), PluginConfig("single"), "more than one MIG profile"),
        (eight(SEVENTHS, None), PluginConfig("single"), "on for some GPUs and off for others"),
        (eight({}), PluginConfig("single"), "a GPU with MIG on has no slices"),
        (
            eight(SEVENTHS),
            shared("single", method="mps", gpu=4),
            "MPS is not supported for MIG devices",
        ),
        (eight({"9g.9gb": 1}), PluginConfig("mixed"), "does not match any resource"),
    ],
)
def test_refused_hardware(hardware: Hardware, config: PluginConfig, reason: str):
    with pytest.raises(ConfigRefused, match=reason):
        devices(hardware, config)


FILES = {
    "mixed": "version: v1\nflags: {migStrategy: mixed}",
    "mps": "version: v1\nsharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 8}]}}",
}


def operator(strategy: str = "", **source: object) -> Operator:
    return Operator(
        mig_strategy=strategy, plugin=MountedConfig(**{"name": "plugin", "data": FILES, **source})
    )


def test_the_label_chooses_the_configuration():
    assert config_for({CONFIG_LABEL: "mixed"}, operator())[0] == PluginConfig("mixed")


def test_without_a_label_the_default_holds_and_without_a_default_an_empty_one():
    assert config_for({}, operator(default="mixed"))[0] == PluginConfig("mixed")
    assert config_for({}, operator())[0] == PluginConfig()


def test_without_a_config_map_the_label_means_nothing():
    assert config_for({CONFIG_LABEL: "nowhere"}, Operator())[0] == PluginConfig()


def test_the_operators_strategy_beats_the_file():
    """The trap: the chart's default `single` makes every migStrategy of a file dead."""
    assert config_for({CONFIG_LABEL: "mixed"}, operator("single"))[0].strategy == "single"
    assert config_for({}, Operator(mig_strategy="single"))[0].strategy == "single"


def test_a_strategy_for_the_whole_cluster_kills_mps():
    with pytest.raises(ConfigRefused, match="mixed is not supported with MPS"):
        config_for({CONFIG_LABEL: "mps"}, operator("mixed"))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ({}, "no configuration 'nowhere' in ConfigMap plugin; available: mixed, mps"),
        ({"data": None}, "ConfigMap plugin does not exist"),
        ({"data": {}}, "available: none"),
    ],
)
def test_an_unknown_configuration_stops_the_plugin(source: dict[str, object], reason: str):
    with pytest.raises(ConfigRefused, match=reason):
        config_for({CONFIG_LABEL: "nowhere"}, operator(**source))


def test_a_shared_configuration_is_read():
    shared = "{renameByDefault: true, resources: [{name: nvidia.com/gpu, replicas: 4}]}"
    text = f"version: v1\nsharing: {{timeSlicing: {shared}}}"
    assert parse(text) == PluginConfig("none", "time-slicing", True, {"nvidia.com/gpu": 4})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not a device plugin configuration"),
        ("- a", "not a device plugin configuration"),
        ("flags: {}", "version must be v1, not None"),
        (
            "version: v1\nflags: {migStrategy: both}",
            "migStrategy must be one of none, single, mixed",
        ),
        ("version: v1\nsharing: {timeSlicing: {resources: []}}", None),
        ("version: v1\nsharing: {timeSlicing: {replicas: 4}}", "sharing without resources"),
        (
            "version: v1\nsharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 1}]}}",
            "at least 2 replicas",
        ),
        (
            "version: v1\nsharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 49}]}}",
            "at most 48 clients",
        ),
        (
            "version: v1\nsharing: {mps: {resources: [1]}, timeSlicing: {resources: [1]}}",
            "exclude each other",
        ),
    ],
)
def test_a_file_the_plugin_would_refuse_is_refused(text: str, reason: str | None):
    with pytest.raises(ConfigRefused, match=reason):
        parse(text)


SHARES = "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: %d}]}}"


def told(replicas: int, strategy: str = "", name: str = "plugin") -> Operator:
    """An operator whose two configurations share GPUs so."""
    data = {"slices": SHARES % replicas, "slices.2": SHARES % replicas}
    return Operator(strategy, plugin=MountedConfig(name, data))


@pytest.mark.parametrize(
    ("label", "operator", "replicas"),
    [
        ("slices", told(8), 4),  # another file under the same name is seen by nobody
        ("slices", Operator(plugin=MountedConfig("plugin", {})), 4),
        ("slices.2", told(8), 8),  # another name is
        ("slices", told(8, "none"), 8),  # and so is another pod
        ("slices", told(8, name="other"), 8),
    ],
)
def test_a_plugin_reads_its_file_when_it_starts_and_when_the_label_changes(
    label, operator, replicas
):
    config, started = config_for({CONFIG_LABEL: "slices"}, told(4))
    assert config.replicas == {"nvidia.com/gpu": 4}
    found, _ = config_for({CONFIG_LABEL: label}, operator, started)
    assert found.replicas == {"nvidia.com/gpu": replicas}


# ── GKE's own ─────────────────────────────────────────────────────────────────────────────────────
CLIENTS = "cloud.google.com/gke-max-shared-clients-per-gpu"
MANY = (
    "Pod was rejected: Allocate failed due to rpc error: code = Unknown desc = invalid request"
    " for sharing GPU, at most 1 nvidia.com/gpu can be requested on multi-GPU nodes"
)


def asks(*counts):
    return [{"resources": {"limits": {"nvidia.com/gpu": str(n)}}} if n else {} for n in counts]


@pytest.mark.parametrize(
    ("labels", "gpus", "containers", "why"),
    [
        ({CLIENTS: "4"}, "32", asks(0, 1, 1), ""),
        ({CLIENTS: "4"}, "32", asks(1, 2), MANY),
        ({CLIENTS: "4"}, "4", asks(2), ""),
        ({}, "8", asks(8), ""),
        ({CLIENTS: "4"}, None, asks(2), ""),
    ],
    ids=["one each", "two", "of one GPU", "whole GPUs", "nothing is handed out yet"],
)
def test_a_container_has_one_share_where_there_are_several_gpus(labels, gpus, containers, why):
    assert pod_rejection_reason(labels, {"nvidia.com/gpu": gpus} if gpus else {}, containers) == why


def test_the_node_fails_such_a_pod_whoever_runs_beside():
    node = {
        "metadata": {"labels": {CLIENTS: "4"}, "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "status": {"allocatable": {"nvidia.com/gpu": "32"}},
    }
    assert refuses_pod(node, {"spec": {"containers": asks(2)}}, None) == MANY
    assert refuses_pod(node, {"spec": {"containers": asks(1)}}, None) == ""
    assert refuses_pod({"metadata": {}}, {"spec": {"containers": asks(2)}}, None) == ""
