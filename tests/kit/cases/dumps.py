"""An inventory of a machine of your own: two sockets, eight adapters next to GPUs, one for storage."""

import json
from dataclasses import replace
from typing import Any

from gpuyard_validator.inventory import inventory_document
from gpuyard_validator.snapshot import Adapter, NumaNode, Snapshot
from kit.cases.hardware import machine

ROWS = {"a": ("a1", "a2"), "b": ("b1", "b2")}
"""Racks by row: each has two nodes."""


def hall_machine() -> Snapshot:
    result = machine("H200")
    return replace(
        result,
        node="h200-a1-1",
        driver="595.91.07",
        gpus=tuple(replace(gpu, numa=gpu.index // 4) for gpu in result.gpus),
        numa=tuple(NumaNode(index=n, cpus=96, memory_mib=1_031_000) for n in (0, 1)),
        adapters=(
            *(
                replace(each, name=f"mlx5_{n}", numa=n // 4)
                for n, each in enumerate(result.adapters)
            ),
            Adapter(
                name="mlx5_8", driver="mlx5_core", active=True, link="Ethernet", gbps=100.0, numa=0
            ),
        ),
    )


def node(name: str, **labels: str) -> dict[str, Any]:
    reported = {"kubernetes.io/hostname": name, "nvidia.com/gpu.count": "8"}
    return {"kind": "Node", "metadata": {"name": name, "labels": reported | labels}}


def hall_nodes() -> str:
    """The nodes, as kubectl writes them."""
    results = [
        node(f"h200-{rack}-{n}", **{"site.example/row": row, "site.example/rack": rack})
        for row, racks in ROWS.items()
        for rack in racks
        for n in (1, 2)
    ]
    return json.dumps({"kind": "List", "items": results})


def hall_dump(**changes: Any) -> dict[str, Any]:
    """The inventory as a document, with these fields replaced."""
    results: dict[str, Any] = json.loads(inventory_document(hall_machine(), hall_nodes()))
    return results | changes
