"""The machine inventory: what gpuyard plans by, for machines that are not in its catalogue.

It combines a snapshot of one machine with the Kubernetes nodes of the same kind. The reader
(`gpuyard.spec.sections.inventory`) and this module do not import each other.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard_validator.snapshot import Adapter, CannotRead, Gpu, NumaNode, Snapshot
from gpuyard_validator.values import Answer, Missing, T, encode, schema_of

VERSION = "gpuyard.dev/machine/v1"
"""Changes whenever the meaning of the document changes."""
_OF_MACHINES = ("feature.node.kubernetes.io", "beta.kubernetes.io", "nvidia.com")
"""Label domains that describe a node, not its location."""
_CLIQUE, _TOPOGRAPH = "nvidia.com/gpu.clique", "network.topology.nvidia.com"
"""Labels of those domains that describe the location."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpedGpu:
    """One GPU."""

    name: str
    """As NVML writes it: NVIDIA H100 80GB HBM3."""
    memory_mib: int
    numa: int | None
    """NUMA node of its PCI bus; null where the host reports none."""
    nvlinks: int | None
    """Number of active NVLinks; null where it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpedAdapter:
    """One RDMA device."""

    name: str
    """As NCCL writes it: mlx5_0."""
    driver: str
    link: str
    """InfiniBand or Ethernet."""
    gbps: float
    active: bool
    numa: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpedNode:
    """One node of the same kind, with the labels that may describe its location."""

    name: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineInventory:
    """One machine, and the nodes of the same kind."""

    version: str
    node: str
    """The node where the inventory was recorded."""
    driver: str | None
    gpus: tuple[DumpedGpu, ...]
    joined: bool | None
    """Every GPU reaches every other over NVLink; null without NVLink."""
    numa: tuple[NumaNode, ...]
    """Empty where the host reports none."""
    adapters: tuple[DumpedAdapter, ...]
    nodes: tuple[DumpedNode, ...]
    """Empty without --nodes."""


def inventory_document(machine: Snapshot, nodes: str | None = None) -> str:
    """The inventory as a document; `nodes` is the output of `kubectl get nodes -o json`.

    Raises:
        CannotRead: a GPU does not report what a plan needs, or `nodes` is no such output.
    """
    links = [_known(gpu.nvlinks) for gpu in machine.gpus]
    joined = all(gpu.unreachable == () for gpu in machine.gpus) if any(links) else None
    result = MachineInventory(
        version=VERSION,
        node=machine.node,
        driver=_known(machine.driver),
        gpus=tuple(_gpu(gpu) for gpu in machine.gpus),
        joined=joined,
        numa=_known(machine.numa) or (),
        adapters=tuple(_adapter(each) for each in _known(machine.adapters) or ()),
        nodes=tuple(_nodes(nodes)) if nodes is not None else (),
    )
    return json.dumps(encode(result), indent=1) + "\n"


def schema() -> dict[str, Any]:
    """The JSON Schema of the document."""
    result = schema_of(MachineInventory)
    result["properties"]["version"] = {"const": VERSION}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": VERSION, **result}


def _known(answer: Answer[T]) -> T | None:
    return None if isinstance(answer, Missing) else answer


def _gpu(gpu: Gpu) -> DumpedGpu:
    name, memory = _known(gpu.name), _known(gpu.memory_mib)
    if gpu.answers is not True or name is None or memory is None:
        raise CannotRead(
            f"GPU {gpu.index} does not report its product: record the inventory on a healthy machine"
        )
    links = _known(gpu.nvlinks)
    return DumpedGpu(
        name=name,
        memory_mib=memory,
        numa=_known(gpu.numa),
        nvlinks=sum(links) if links else None,
    )


def _adapter(result: Adapter) -> DumpedAdapter:
    return DumpedAdapter(
        name=result.name,
        driver=result.driver,
        link=result.link,
        gbps=result.gbps,
        active=result.active,
        numa=_known(result.numa),
    )


def _nodes(text: str) -> Iterator[DumpedNode]:
    """The items of a list, or a single object, sorted by name."""
    try:
        result = json.loads(text)
        items = result["items"] if result["kind"].endswith("List") else [result]
        named = {str(item["metadata"]["name"]): item["metadata"] for item in items}
        wrong = [item["kind"] for item in items if item["kind"] != "Node"]
        labels = {name: dict(meta.get("labels") or {}) for name, meta in named.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
        raise CannotRead(
            f"not the output of `kubectl get nodes -o json` ({type(problem).__name__})"
        ) from None
    if wrong:
        raise CannotRead(
            f"a {wrong[0]} is not a Node: use the output of `kubectl get nodes -o json`"
        )
    for name, each in sorted(labels.items()):
        place_labels = {key: str(value) for key, value in sorted(each.items()) if _says_where(key)}
        yield DumpedNode(name=name, labels=place_labels)


def _says_where(key: str) -> bool:
    domain, _, _ = key.rpartition("/")
    theirs = any(domain == d or domain.endswith(f".{d}") for d in _OF_MACHINES)
    return not theirs or key == _CLIQUE or domain == _TOPOGRAPH
