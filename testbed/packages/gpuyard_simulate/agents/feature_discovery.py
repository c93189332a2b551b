"""The fake GPU Feature Discovery: the labels it writes, by the rules of v0.20 (internal/lm there).

Memory is the nominal one of the catalogue; real devices report a few MiB less. Facts that the catalogue
lacks (streaming multiprocessors, PCI class) get no label instead of a wrong one.
"""

from collections.abc import Mapping
from typing import Final

from gpuyard_core.catalogue.gpus import Gpu
from gpuyard_core.catalogue.mig import MigProfile
from gpuyard_core.names import DRIVER_VERSION_LABEL
from gpuyard_simulate.agents.device_plugin import GPU
from gpuyard_simulate.agents.hardware import Hardware
from gpuyard_simulate.agents.plugin_config import PluginConfig

OWNED: Final = "nfd.node.kubernetes.io/feature-labels"
"""Annotation in which NFD records the labels it set, so that it can remove them."""
DRIVER: Final = "nvidia.com/cuda.driver-version"
NodeLabels = dict[str, str]
RUNS = "nvidia.com/gpu.machine"
"""A label that it puts on every node on which it runs."""


def labels(hardware: Hardware, config: PluginConfig) -> NodeLabels:
    """All labels of one node; none for a machine without GPUs."""
    gpu = hardware.machine.gpu
    if gpu is None or not hardware.layout:
        return {}
    results = {
        "feature.node.kubernetes.io/pci-10de.present": "true",
        "nvidia.com/gpu.present": "true",
        RUNS: hardware.machine.name,
        "nvidia.com/mig.capable": _truth(hardware.product is not None),
        "nvidia.com/mps.capable": _truth(
            config.sharing == "mps" and hardware.whole == len(hardware.layout)
        ),
        **_whole_gpus(gpu, hardware, config),
    }
    if config.strategy == "none":
        return results
    results["nvidia.com/mig.strategy"] = config.strategy
    return results | (
        _single(gpu, hardware, config)
        if config.strategy == "single"
        else _mixed(gpu, hardware, config)
    )


def driver_labels(version: str) -> NodeLabels:
    """Of the responding driver; none where the version is unknown."""
    parts = ("major", "minor", "revision")
    numbers = dict(zip(parts, version.split("."), strict=False)) if version else {}
    results = {f"{DRIVER}.{part}": number for part, number in numbers.items()}
    return {DRIVER_VERSION_LABEL: version, **results} if version else {}


def _whole_gpus(gpu: Gpu, hardware: Hardware, config: PluginConfig) -> NodeLabels:
    """Labels of whole GPUs; sharing is labelled only where at least one of them is not partitioned."""
    sharing = config if hardware.whole else None
    family = {"Ada": "ada-lovelace"}.get(gpu.architecture, gpu.architecture.lower())
    major, minor = gpu.compute_capability
    return {
        **_base(GPU, len(hardware.layout), sharing, gpu.product),
        f"{GPU}.memory": str(gpu.memory_gib * 1024),
        f"{GPU}.family": family,
        f"{GPU}.compute.major": str(major),
        f"{GPU}.compute.minor": str(minor),
    }


def _single(gpu: Gpu, hardware: Hardware, config: PluginConfig) -> NodeLabels:
    """MIG slices under the name of whole GPUs, or the label of an invalid node."""
    if hardware.whole == len(hardware.layout):
        return {}
    slices = hardware.slices()
    empty = any(cut is not None and not cut for cut in hardware.layout)
    if empty or hardware.whole or len(slices) != 1:
        invalid = {
            "product": f"{gpu.product}-MIG-INVALID",
            "count": "0",
            "replicas": "0",
            "sharing-strategy": "",
        }
        return {f"{GPU}.{key}": value for key, value in {**invalid, "memory": "0"}.items()}
    name, count = next(iter(slices.items()))
    return _instances(GPU, gpu, _profile(hardware, name), count, config)


def _mixed(gpu: Gpu, hardware: Hardware, config: PluginConfig) -> NodeLabels:
    """MIG slices by profile name, in addition to whole GPUs."""
    result: NodeLabels = {}
    for name, count in sorted(hardware.slices().items()):
        if profile := _profile(hardware, name):
            result |= _instances(profile.resource, gpu, profile, count, config)
    return result


def _profile(hardware: Hardware, name: str) -> MigProfile | None:
    return hardware.product.profile(name) if hardware.product else None


def _instances(
    resource: str, gpu: Gpu, profile: MigProfile | None, count: int, config: PluginConfig
) -> NodeLabels:
    """Labels of MIG slices of one profile."""
    name = profile.name if profile else "unknown"
    result = _base(resource, count, config, gpu.product, "MIG", name)
    if profile:
        memory_gb = int(profile.name.partition(".")[2].partition("gb")[0])
        result |= {
            f"{resource}.memory": str(memory_gb * 1024),
            f"{resource}.slices.gi": str(profile.slices),
            f"{resource}.slices.ci": str(profile.slices),
        }
    return result


def _base(resource: str, count: int, sharing: PluginConfig | None, *product: str) -> NodeLabels:
    """Product, count, replicas and strategy; `sharing` None: partitioned GPUs are not shared as whole ones."""
    replicas = sharing.replicas_of(resource) if sharing else 0
    shared = sharing is not None and replicas > 1
    parts = [part.replace("+", ".") for part in product]
    if shared and sharing and not sharing.rename:
        parts.append("SHARED")
    return {
        f"{resource}.product": "-".join(parts),
        f"{resource}.count": str(count),
        f"{resource}.replicas": str(replicas),
        f"{resource}.sharing-strategy": sharing.sharing if shared and sharing else "none",
    }


def _truth(value: bool) -> str:  # noqa: FBT001  its only argument
    return "true" if value else "false"


def change(
    current: Mapping[str, str], owned: str | None, expected: NodeLabels
) -> dict[str, str | None]:
    """The patch: labels that differ, and None for those set earlier that no longer apply."""
    before = {name for name in (owned or "").split(",") if name}
    removed: dict[str, str | None] = {
        name: None for name in sorted(before - set(expected)) if name in current
    }
    return removed | {name: value for name, value in expected.items() if current.get(name) != value}
