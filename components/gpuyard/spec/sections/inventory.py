"""The dump of a machine of your own, as `gpuyard validate --inventory` writes it.

The program that writes it (`gpuyard_validator.inventory`) stands beside this package, and neither imports the
other: a test holds both to one schema. A stack file names the file; what stands in it takes its place
before anything is read, so that whoever has the platform has all of it.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from gpuyard.errors import UsageError
from gpuyard.findings import Finding, Fix, Path, error
from gpuyard.spec.base import SpecModel
from gpuyard.spec.values import Count, Positive, Switch, Text

Files = Callable[[str], bytes]
"""The file of a name that a stack file says; UsageError says in a sentence why there is none."""
VERSION = "gpuyard.dev/machine/v1"
Mib = Annotated[int, Field(strict=True, ge=1, le=1 << 40)]
Label = Annotated[str, Field(strict=True, max_length=317)]


class InventoryGpu(SpecModel):
    """One GPU of a dump."""

    name: Text
    """As NVML has it: NVIDIA H100 80GB HBM3."""
    memory_mib: Mib
    """Its memory in MiB."""
    numa: Count | None
    """The NUMA node of its bus; null where the host says none."""
    nvlinks: Count | None
    """NVLinks that are up; null where it has none."""


class InventoryNuma(SpecModel):
    """One NUMA node of a dump, which has CPUs."""

    index: Count
    """Its number."""
    cpus: Positive
    """CPU threads in it."""
    memory_mib: Mib
    """Its memory in MiB, as the kernel counts it."""


class InventoryAdapter(SpecModel):
    """One RDMA device of a dump."""

    name: Text
    """As NCCL has it: mlx5_0."""
    driver: Annotated[str, Field(strict=True, max_length=253)]
    """mlx5_core and others."""
    link: Annotated[str, Field(strict=True, max_length=253)]
    """InfiniBand or Ethernet."""
    gbps: Annotated[float, Field(strict=True, ge=0, le=1e6, allow_inf_nan=False)]
    """Gigabit a second of its port."""
    active: Switch
    """Whether its port is up."""
    numa: Count | None
    """The NUMA node of its bus; null where the host says none."""


class InventoryNode(SpecModel):
    """One node that is like the machine of a dump."""

    name: Text
    """Its name in the cluster."""
    labels: dict[Text, Label]
    """Its labels, but for those that say what it is."""


class MachineInventory(SpecModel):
    """A machine of your own, and the nodes that are like it."""

    version: Literal["gpuyard.dev/machine/v1"]
    """gpuyard.dev/machine/v1."""
    node: Text
    """Where it was taken."""
    driver: Text | None
    """The driver that ran there; null where it said none."""
    gpus: Annotated[tuple[InventoryGpu, ...], Field(min_length=1, max_length=64)]
    """Its GPUs."""
    joined: Switch | None
    """Every GPU reaches every other by NVLink; null where they have none."""
    numa: Annotated[tuple[InventoryNuma, ...], Field(max_length=64)]
    """Its NUMA nodes; empty where the host says none."""
    adapters: Annotated[tuple[InventoryAdapter, ...], Field(max_length=128)]
    """Its RDMA devices."""
    nodes: Annotated[tuple[InventoryNode, ...], Field(max_length=5000)]
    """Nodes that are like it; empty where nobody gave any."""


def _dump_kind(value: Any) -> str:
    return "<dump>" if isinstance(value, Mapping | MachineInventory) else "<file>"


MachineInventoryRef = Annotated[
    Annotated[Text, Tag("<file>")] | Annotated[MachineInventory, Tag("<dump>")],
    Discriminator(_dump_kind),
]


def with_inventories(platform: Any, files: Files | None) -> tuple[Any, list[Finding]]:
    """The platform with what stands in the files of its dumps; one that cannot be read goes, and is told."""
    pools = platform.get("pools") if isinstance(platform, Mapping) else None
    if files is None or not isinstance(pools, list):
        return platform, []
    findings: list[Finding] = []
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
        raise UsageError("it is no JSON") from None
    if not isinstance(result, dict):
        raise UsageError("no dump stands in it")
    if result.get("version") != VERSION:
        raise UsageError(f"{VERSION} is understood, and its version is {result.get('version')!r}")
    return result


def _unreadable(name: str, why: str, path: Path) -> Finding:
    return error(
        "pool.dump_file",
        path,
        f"the dump cannot be read: {why}",
        value=name,
        allowed="a file that `gpuyard validate --inventory FILE` wrote, named from where Pulumi.yaml is",
        fix=Fix(message="write one on a node of the pool, or remove `inventory`", at=path),
    )


def unread_inventory(path: Path, name: str) -> Finding:
    """A name that is still one: whoever handed the platform in reads no files."""
    return replace(_unreadable(name, "nobody here reads files", path), fix=None)
