"""One node as it joins: its machine's resources, less the kubelet's reserves."""

import hashlib
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuyard_core.catalogue.machines import Machine
from gpuyard_core.catalogue.reserves import (
    EFA_HUGE_PAGES_MIB,
    EVICTION_MIB,
    kernel_gib,
    kubelet_cpu,
    kubelet_gib,
)
from gpuyard_core.catalogue.topology import network_labels
from gpuyard_core.manifests.quantities import quantity

_GIB = 1 << 30
_MIB = 1 << 20
_GB = 10**9
EFFECTS = {
    "NO_SCHEDULE": "NoSchedule",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
    "NO_EXECUTE": "NoExecute",
}


@dataclass(frozen=True)
class Node:
    """A node of a group or pool."""

    name: str
    group: str
    """Id of the node group or pool."""
    provider_id: str
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...]
    capacity: Mapping[str, str]
    allocatable: Mapping[str, str]
    efa: int = 0
    """Attached EFA interfaces; a device plugin must advertise them."""
    driver: bool = True
    """Whether GPUs have a driver when the node starts."""
    driver_version: str = ""
    """The driver version, from the image's table or GKE."""
    devices: Mapping[str, int] | None = None
    """Resources advertised by a device plugin of the image or the cloud; None without one."""
    gpus: int = 0
    """Of its machine."""


@dataclass(frozen=True)
class Kept:
    """The kubelet's reserves."""

    reserved: Mapping[str, str] = field(default_factory=dict[str, str])
    eviction: Mapping[str, str] = field(default_factory=dict[str, str])
    pods: int = 110
    huge_pages_mib: int = 0


def resources(
    machine: Machine, disk_bytes: int, retained: Kept
) -> tuple[dict[str, str], dict[str, str]]:
    """Capacity and allocatable."""
    memory = int(kernel_gib(machine) * _GIB)
    pages = retained.huge_pages_mib * _MIB
    cpu = machine.vcpus * 1000 - _milli(retained.reserved.get("cpu"))
    free = memory - pages - _bytes(retained.reserved.get("memory"), memory)
    free -= _bytes(retained.eviction.get("memory.available", f"{EVICTION_MIB}Mi"), memory)
    disk = disk_bytes - _bytes(retained.reserved.get("ephemeral-storage"), disk_bytes)
    disk -= _bytes(retained.eviction.get("nodefs.available", "10%"), disk_bytes)
    huge = {"hugepages-2Mi": _written(pages)} if pages else {}
    capacity = {
        "cpu": str(machine.vcpus),
        "memory": _written(memory),
        "pods": str(retained.pods),
        "ephemeral-storage": _written(disk_bytes),
        **huge,
    }
    allocatable = {
        "cpu": str(cpu // 1000) if cpu % 1000 == 0 else f"{cpu}m",
        "memory": _written(free),
        "pods": str(retained.pods),
        "ephemeral-storage": _written(disk),
        **huge,
    }
    return capacity, allocatable


def _written(count: int) -> str:
    """Bytes as the API server returns them, in whole KiB."""
    kib, units = count // 1024, ["Ki", "Mi", "Gi", "Ti"]
    while kib % 1024 == 0 and len(units) > 1:
        kib, units = kib // 1024, units[1:]
    return f"{kib}{units[0]}"


def usual(machine: Machine) -> dict[str, str]:
    """The default reserves of a cloud's image, without the eviction threshold."""
    return {
        "cpu": f"{round(kubelet_cpu(machine) * 1000)}m",
        "memory": f"{round(kubelet_gib(machine) * 1024) - EVICTION_MIB}Mi",
    }


def local_bytes(machine: Machine) -> int:
    """All local disks together."""
    return machine.nvme_gb * _GB


def gib(count: Any) -> int:
    """Bytes of a disk's size."""
    return int(count) * _GIB


def efa_pages(machine: Machine, interfaces: int) -> int:
    """MiB of huge pages that the EFA driver takes when it starts."""
    return EFA_HUGE_PAGES_MIB if interfaces and machine.efa_interfaces else 0


def _milli(text: str | None) -> int:
    result = quantity(text) if text else None
    return int(result * 1000) if result is not None else 0


def _bytes(text: Any, complete: int) -> int:
    if not text:
        return 0
    if str(text).endswith("%"):
        return int(complete * float(str(text)[:-1]) / 100)
    result = quantity(str(text))
    return int(result) if result is not None else 0


# ── position ──────────────────────────────────────────────────────────────────────────────────────
BURNED = "burned"
"""Field of a group's state: numbers of its removed machines."""
SHORT = "short"
"""The same for a GKE pool: how many nodes it lacks, regardless of its minimum."""
_LEAF = 4
"""Nodes that share the lowest network node."""


def numbers(count: int, state: Mapping[str, Any]) -> list[int]:
    """The numbers of a group's machines; a removed machine's number is never reused."""
    burned = state.get(BURNED) or ()
    return list(itertools.islice((n for n in itertools.count() if n not in burned), count))


def topology(
    machine: Machine, zone: str, number: int, *, together: str, name: str
) -> dict[str, str]:
    """Network topology labels of the nth node of a zone; nodes placed together share all but the leaf."""
    labels = network_labels(machine)
    results: dict[str, str] = {}
    for depth, label in enumerate(labels):
        below = len(labels) - 1 - depth
        spread = number // _LEAF ** (below + 1) if not together else 0
        own = name if "topology-host" in label else f"{number // _LEAF if not below else spread}"
        results[label] = f"nn-{digest(zone, together, label, own)[:17]}"
    return results


def digest(*parts: object) -> str:
    """Digits derived from these parts, always the same."""
    return hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()
