"""The labels of the fake GPU Feature Discovery, case by case as v0.20 writes them."""

from typing import Any

import pytest

from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_simulate.agents.feature_discovery import change, driver_labels, labels
from gpuyard_simulate.agents.hardware import Hardware
from gpuyard_simulate.agents.plugin_config import PluginConfig

A100 = MACHINES["p4d.24xlarge"]
NAME = "NVIDIA-A100-SXM4-40GB"
WHOLE = Hardware(A100, (None,) * 8)
SEVENTHS = Hardware(A100, ({"1g.5gb": 7},) * 8)
MIX = Hardware(A100, ({"1g.5gb": 2, "3g.20gb": 1},) * 8)
MEDIA = Hardware(A100, ({"1g.5gb+me": 1},) * 8)
HALF = Hardware(A100, ({"1g.5gb": 7},) * 4 + (None,) * 4)
EMPTY = Hardware(A100, ({},) * 8)
SLICED = {"nvidia.com/gpu": 4}


def told(hardware: Hardware, config: PluginConfig, prefix: str = "gpu") -> dict[str, str]:
    """Product, count, replicas and strategy of one resource."""
    found = labels(hardware, config)
    keys = ("product", "count", "replicas", "sharing-strategy")
    return {key: found.get(f"nvidia.com/{prefix}.{key}", "missing") for key in keys}


def row(product: str, count: int, replicas: int = 1, strategy: str = "none") -> dict[str, str]:
    return {
        "product": product,
        "count": str(count),
        "replicas": str(replicas),
        "sharing-strategy": strategy,
    }


@pytest.mark.parametrize(
    ("hardware", "config", "expected"),
    [
        (WHOLE, PluginConfig(), row(NAME, 8)),
        (WHOLE, PluginConfig("single"), row(NAME, 8)),
        (
            WHOLE,
            PluginConfig(sharing="time-slicing", replicas=SLICED),
            row(f"{NAME}-SHARED", 8, 4, "time-slicing"),
        ),
        (WHOLE, PluginConfig(sharing="mps", replicas=SLICED), row(f"{NAME}-SHARED", 8, 4, "mps")),
        (
            WHOLE,
            PluginConfig(sharing="time-slicing", rename=True, replicas=SLICED),
            row(NAME, 8, 4, "time-slicing"),
        ),
        (SEVENTHS, PluginConfig("mixed"), row(NAME, 8, 0)),
        (SEVENTHS, PluginConfig("single"), row(f"{NAME}-MIG-1g.5gb", 56)),
        (
            SEVENTHS,
            PluginConfig("single", "time-slicing", replicas=SLICED),
            row(f"{NAME}-MIG-1g.5gb-SHARED", 56, 4, "time-slicing"),
        ),
        (MIX, PluginConfig("single"), row(f"{NAME}-MIG-INVALID", 0, 0, "")),
        (HALF, PluginConfig("single"), row(f"{NAME}-MIG-INVALID", 0, 0, "")),
        (EMPTY, PluginConfig("single"), row(f"{NAME}-MIG-INVALID", 0, 0, "")),
        (HALF, PluginConfig("mixed"), row(NAME, 8)),
    ],
)
def test_labels_of_gpus(hardware: Hardware, config: PluginConfig, expected: dict[str, str]):
    assert told(hardware, config) == expected


def test_labels_of_slices_under_mixed():
    assert told(MIX, PluginConfig("mixed"), "mig-3g.20gb") == row(f"{NAME}-MIG-3g.20gb", 8)
    found = labels(MIX, PluginConfig("mixed"))
    assert found["nvidia.com/mig-3g.20gb.memory"] == "20480"
    assert found["nvidia.com/mig-3g.20gb.slices.gi"] == "3"
    assert found["nvidia.com/mig.strategy"] == "mixed"


def test_a_plus_becomes_a_dot():
    assert told(MEDIA, PluginConfig("mixed"), "mig-1g.5gb.me") == row(f"{NAME}-MIG-1g.5gb.me", 8)


def test_facts_of_the_machine():
    found = labels(Hardware(MACHINES["g6.12xlarge"], (None,) * 4), PluginConfig())
    assert {
        key: found[f"nvidia.com/{key}"]
        for key in ("gpu.memory", "gpu.family", "gpu.compute.major", "gpu.machine")
    } == {
        "gpu.memory": "24576",
        "gpu.family": "ada-lovelace",
        "gpu.compute.major": "8",
        "gpu.machine": "g6.12xlarge",
    }
    assert found["nvidia.com/mig.capable"] == "false"
    assert "nvidia.com/mig.strategy" not in found, "none is no label"


@pytest.mark.parametrize(
    ("hardware", "sharing", "capable"),
    [(WHOLE, "mps", "true"), (WHOLE, "none", "false"), (MIX, "mps", "false")],
)
def test_mps_is_possible_where_it_is_configured_and_nothing_is_cut(
    hardware: Hardware, sharing: str, capable: str
):
    config = PluginConfig(sharing=sharing, replicas=SLICED if sharing == "mps" else {})
    assert labels(hardware, config)["nvidia.com/mps.capable"] == capable


def test_a_machine_without_gpus_gets_no_labels():
    assert labels(Hardware(MACHINES["m7i.xlarge"], ()), PluginConfig()) == {}


@pytest.mark.parametrize(
    ("current", "owned", "wanted", "patch"),
    [
        ({}, None, {"a": "1"}, {"a": "1"}),
        ({"a": "1"}, "a", {"a": "1"}, {}),
        ({"a": "1", "b": "2"}, "a,b", {"a": "3"}, {"a": "3", "b": None}),
        ({"mine": "x", "a": "1"}, "a", {}, {"a": None}),  # labels of others stay
        ({}, "a", {}, {}),
    ],
)
def test_labels_set_earlier_are_taken_back(
    current: dict[str, str], owned: str | None, wanted: dict[str, str], patch: Any
):
    assert change(current, owned, wanted) == patch


@pytest.mark.parametrize(
    ("version", "wanted"),
    [
        ("", {}),
        (
            "595.91.07",
            {
                "nvidia.com/cuda.driver-version.full": "595.91.07",
                "nvidia.com/cuda.driver-version.major": "595",
                "nvidia.com/cuda.driver-version.minor": "91",
                "nvidia.com/cuda.driver-version.revision": "07",
            },
        ),
        (
            "595.91",
            {
                "nvidia.com/cuda.driver-version.full": "595.91",
                "nvidia.com/cuda.driver-version.major": "595",
                "nvidia.com/cuda.driver-version.minor": "91",
            },
        ),
    ],
)
def test_a_driver_is_labelled_where_somebody_says_which_it_is(version: str, wanted: dict[str, str]):
    assert driver_labels(version) == wanted
