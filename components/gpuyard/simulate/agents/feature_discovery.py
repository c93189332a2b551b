"""The fake GPU Feature Discovery: the labels it writes, by the rules of v0.20 (internal/lm there).

Memory is the nominal one of the catalogue; real devices report a few MiB less. Facts the catalogue does
not have (streaming multiprocessors, PCI class) get no label here rather than a wrong one.
"""

from collections.abc import Mapping
from typing import Final

from gpuyard.catalogue.gpus import Gpu
from gpuyard.catalogue.mig import MigProfile
from gpuyard.names import DRIVER_VERSION_LABEL
from gpuyard.simulate.agents.device_plugin import GPU
from gpuyard.simulate.agents.hardware import Hardware
from gpuyard.simulate.agents.plugin_config import PluginConfig

OWNED: Final = "nfd.node.kubernetes.io/feature-labels"
"""Annotation in which NFD notes the labels it set, so that it can take them back."""
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
    """Of the driver that answers; none where nobody says which it is."""
    parts = ("major", "minor", "revision")
    numbers = dict(zip(parts, version.split("."), strict=False)) if version else {}
    results = {f"{DRIVER}.{part}": number for part, number in numbers.items()}
    return {DRIVER_VERSION_LABEL: version, **results} if version else {}


def _whole_gpus(gpu: Gpu, hardware: Hardware, config: PluginConfig) -> NodeLabels:
    """Labels of GPUs as such; sharing is said only where at least one of them is not cut."""
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
    """MIG instances under the name of whole GPUs, or the mark of a node that cannot be one."""
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
    """MIG instances under the names of their profiles, beside whole GPUs."""
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
    """Labels of MIG instances of one profile."""
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
    """Product, count, replicas and strategy; `sharing` None: GPUs that are cut are not shared as such."""
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
    """What to patch: labels that differ, and None for those set earlier and not wanted any more."""
    before = {name for name in (owned or "").split(",") if name}
    removed: dict[str, str | None] = {
        name: None for name in sorted(before - set(expected)) if name in current
    }
    return removed | {name: value for name, value in expected.items() if current.get(name) != value}
