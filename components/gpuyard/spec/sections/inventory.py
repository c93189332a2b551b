"""The inventory of a machine of your own, as `gpuyard validate --inventory` writes it.

`gpuyard_validator.inventory` writes it. Neither package imports the other; a test compares both with one
schema. A stack file names the file; its content replaces the name before validation, so that a platform
object is always complete.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from gpuyard_core.errors import UsageError
from gpuyard_core.findings import Diagnostic, Fix, Path, error
from gpuyard_core.models.values import Count, Positive, SpecModel, Switch, Text

Files = Callable[[str], bytes]
"""Reads a file that a stack file names; raises UsageError with the reason if it cannot."""
VERSION = "gpuyard.dev/machine/v1"
Mib = Annotated[int, Field(strict=True, ge=1, le=1 << 40)]
Label = Annotated[str, Field(strict=True, max_length=317)]


class InventoryGpu(SpecModel):
    """One GPU of a machine inventory."""

    name: Text
    """Product name from NVML: NVIDIA H100 80GB HBM3."""
    memory_mib: Mib
    """GPU memory in MiB."""
    numa: Count | None
    """NUMA node of its PCI bus; null if the host reports none."""
    nvlinks: Count | None
    """Number of active NVLinks; null if it has none."""


class InventoryNuma(SpecModel):
    """One NUMA node with CPUs of a machine inventory."""

    index: Count
    """Index of the NUMA node."""
    cpus: Positive
    """CPU threads of the NUMA node."""
    memory_mib: Mib
    """Memory of the NUMA node in MiB, as the kernel counts it."""


class InventoryAdapter(SpecModel):
    """One RDMA device of a machine inventory."""

    name: Text
    """Device name, as NCCL uses it: mlx5_0."""
    driver: Annotated[str, Field(strict=True, max_length=253)]
    """Kernel driver, for example mlx5_core."""
    link: Annotated[str, Field(strict=True, max_length=253)]
    """Link layer: InfiniBand or Ethernet."""
    gbps: Annotated[float, Field(strict=True, ge=0, le=1e6, allow_inf_nan=False)]
    """Speed of its port in Gbit/s."""
    active: Switch
    """Whether its port is up."""
    numa: Count | None
    """NUMA node of its PCI bus; null if the host reports none."""


class InventoryNode(SpecModel):
    """One node identical to the machine of an inventory."""

    name: Text
    """Node name in the cluster."""
    labels: dict[Text, Label]
    """Node labels that describe the location of the node, not its hardware."""


class MachineInventory(SpecModel):
    """A machine of your own, and the nodes identical to it."""

    version: Literal["gpuyard.dev/machine/v1"]
    """Format version: gpuyard.dev/machine/v1."""
    node: Text
    """Node on which the inventory was taken."""
    driver: Text | None
    """NVIDIA driver version of the node; null if the driver reported none."""
    gpus: Annotated[tuple[InventoryGpu, ...], Field(min_length=1, max_length=64)]
    """GPUs of the machine."""
    joined: Switch | None
    """Whether every GPU reaches every other by NVLink; null if they have no NVLink."""
    numa: Annotated[tuple[InventoryNuma, ...], Field(max_length=64)]
    """NUMA nodes of the machine; empty if the host reports none."""
    adapters: Annotated[tuple[InventoryAdapter, ...], Field(max_length=128)]
    """RDMA devices of the machine."""
    nodes: Annotated[tuple[InventoryNode, ...], Field(max_length=5000)]
    """Nodes identical to the machine; empty if none were given."""


def _dump_kind(value: Any) -> str:
    return "<dump>" if isinstance(value, Mapping | MachineInventory) else "<file>"


MachineInventoryRef = Annotated[
    Annotated[Text, Tag("<file>")] | Annotated[MachineInventory, Tag("<dump>")],
    Discriminator(_dump_kind),
]


def with_inventories(platform: Any, files: Files | None) -> tuple[Any, list[Diagnostic]]:
    """The platform with its inventory files inlined; an unreadable one is dropped with a finding."""
    pools = platform.get("pools") if isinstance(platform, Mapping) else None
    if files is None or not isinstance(pools, list):
        return platform, []
    findings: list[Diagnostic] = []
    read: list[Any] = []
    for index, pool in enumerate(pools):
        name = pool.get("inventory") if isinstance(pool, Mapping) else None
        if not isinstance(name, str):
            read.append(pool)
            continue
        path: Path = ("pools", index, "inventory")
        try:
            read.append({**pool, "inventory": _document(files(name))})
        except UsageError as problem:
            findings.append(_unreadable(name, str(problem), path))
            read.append({key: value for key, value in pool.items() if key != "inventory"})
    return {**platform, "pools": read}, findings


def _document(data: bytes) -> dict[str, Any]:
    try:
        result = json.loads(data)
    except (ValueError, RecursionError):
        raise UsageError("not JSON") from None
    if not isinstance(result, dict):
        raise UsageError("not a machine inventory")
    if result.get("version") != VERSION:
        raise UsageError(f"version {result.get('version')!r} is not supported, only {VERSION}")
    return result


def _unreadable(name: str, why: str, path: Path) -> Diagnostic:
    return error(
        "pool.dump_file",
        path,
        f"the machine inventory cannot be read: {why}",
        given=name,
        allowed="a file written by `gpuyard validate --inventory FILE`, as a path relative to Pulumi.yaml",
        fix=Fix(message="create one on a node of the pool, or remove `inventory`", at=path),
    )


def unread_inventory(path: Path, name: str) -> Diagnostic:
    """The finding for a file name in a platform that was passed in without access to files."""
    return replace(
        _unreadable(name, "a platform passed as a value cannot name a file", path), fix=None
    )
