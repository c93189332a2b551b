"""The dump of a machine of your own, as `gpuyard validate --dump` writes it.

The program that writes it (`gpuyard_validator.dump`) stands beside this package, and neither imports the
other: a test holds both to one schema. A stack file names the file; what stands in it takes its place
before anything is read, so that whoever has the platform has all of it.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from gpuyard.errors import UsageError
from gpuyard.findings import Finding, Fix, Path, refuse
from gpuyard.spec.base import SpecModel
from gpuyard.spec.values import Count, Positive, Switch, Text

Files = Callable[[str], bytes]
"""The file of a name that a stack file says; UsageError says in a sentence why there is none."""
VERSION = "gpuyard.dev/machine/v1"
Mib = Annotated[int, Field(strict=True, ge=1, le=1 << 40)]
Label = Annotated[str, Field(strict=True, max_length=317)]


class DumpedGpu(SpecModel):
    """One GPU of a dump."""

    name: Text
    """As NVML has it: NVIDIA H100 80GB HBM3."""
    memory_mib: Mib
    """Its memory in MiB."""
    numa: Count | None
    """The NUMA node of its bus; null where the host says none."""
    nvlinks: Count | None
    """NVLinks that are up; null where it has none."""


class DumpedNuma(SpecModel):
    """One NUMA node of a dump, which has CPUs."""

    index: Count
    """Its number."""
    cpus: Positive
    """CPU threads in it."""
    memory_mib: Mib
    """Its memory in MiB, as the kernel counts it."""


class DumpedAdapter(SpecModel):
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


class DumpedNode(SpecModel):
    """One node that is like the machine of a dump."""

    name: Text
    """Its name in the cluster."""
    labels: dict[Text, Label]
    """Its labels, but for those that say what it is."""


class Dump(SpecModel):
    """A machine of your own, and the nodes that are like it."""

    version: Literal["gpuyard.dev/machine/v1"]
    """gpuyard.dev/machine/v1."""
    node: Text
    """Where it was taken."""
    driver: Text | None
    """The driver that ran there; null where it said none."""
    gpus: Annotated[tuple[DumpedGpu, ...], Field(min_length=1, max_length=64)]
    """Its GPUs."""
    joined: Switch | None
    """Every GPU reaches every other by NVLink; null where they have none."""
    numa: Annotated[tuple[DumpedNuma, ...], Field(max_length=64)]
    """Its NUMA nodes; empty where the host says none."""
    adapters: Annotated[tuple[DumpedAdapter, ...], Field(max_length=128)]
    """Its RDMA devices."""
    nodes: Annotated[tuple[DumpedNode, ...], Field(max_length=5000)]
    """Nodes that are like it; empty where nobody gave any."""


def _dump_kind(value: Any) -> str:
    return "<dump>" if isinstance(value, Mapping | Dump) else "<file>"


DumpRef = Annotated[
    Annotated[Text, Tag("<file>")] | Annotated[Dump, Tag("<dump>")],
    Discriminator(_dump_kind),
]


def with_dumps(platform: Any, files: Files | None) -> tuple[Any, list[Finding]]:
    """The platform with what stands in the files of its dumps; one that cannot be read goes, and is told."""
    pools = platform.get("pools") if isinstance(platform, Mapping) else None
    if files is None or not isinstance(pools, list):
        return platform, []
    findings: list[Finding] = []
    read: list[Any] = []
    for index, pool in enumerate(pools):
        name = pool.get("dump") if isinstance(pool, Mapping) else None
        if not isinstance(name, str):
            read.append(pool)
            continue
        path: Path = ("pools", index, "dump")
        try:
            read.append({**pool, "dump": _document(files(name))})
        except UsageError as problem:
            findings.append(_unread(name, str(problem), path))
            read.append({key: value for key, value in pool.items() if key != "dump"})
    return {**platform, "pools": read}, findings


def _document(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise UsageError("it is no JSON") from None
    if not isinstance(found, dict):
        raise UsageError("no dump stands in it")
    if found.get("version") != VERSION:
        raise UsageError(f"{VERSION} is understood, and its version is {found.get('version')!r}")
    return found


def _unread(name: str, why: str, path: Path) -> Finding:
    return refuse(
        "pool.dump_file",
        path,
        f"the dump cannot be read: {why}",
        given=name,
        allowed="a file that `gpuyard validate --dump FILE` wrote, named from where Pulumi.yaml is",
        fix=Fix(says="write one on a node of the pool, or remove `dump`", at=path),
    )


def nobody_read(path: Path, name: str) -> Finding:
    """A name that is still one: whoever handed the platform in reads no files."""
    return replace(_unread(name, "nobody here reads files", path), fix=None)
