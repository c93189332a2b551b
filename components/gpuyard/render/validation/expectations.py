"""The expectations of a node for the validator: one JSON document.

The validator (`gpuyard_validator`) is a separate package that reads it; neither imports the other.
The document's schema belongs to the validator: `python -m gpuyard_validator --schema`.
"""

import json
from typing import Any

from gpuyard.plan.records import PlatformPlan, PoolCheck, PoolPlan
from gpuyard.spec.sections import FabricKind
from gpuyard_core.catalogue.gpus import Gpu

SCHEMA = "gpuyard.dev/expectations/v3"


def expectations_text(plan: PlatformPlan, pool: PoolPlan) -> str | None:
    """The expectations of a pool; None if its nodes see only part of a GPU."""
    machine = pool.machine
    if machine.gpu is None or machine.gpu_fraction != 1:
        return None
    validation = plan.spec.validation
    return _document(
        machine.gpu,
        machine.gpus,
        platform=plan.name,
        pool=pool.name,
        required=validation is not None and validation.required,
        driver=pinned_driver(plan, pool),
        rack=machine.is_rack,
        sharing=pool.sharing.value,
        layouts=[
            {"gpus": list(layout.gpus), "counts": dict(layout.counts)} for layout in pool.layouts
        ],
        network=_network(plan, pool),
        accepted=_accepted(plan, pool, at_work=False),
    )


def work_expectations_text(plan: PlatformPlan, pool: PoolPlan, check: PoolCheck) -> str:
    """The expectations of a pool whose GPUs are tested under load."""
    document: dict[str, Any] = json.loads(expectations_text(plan, pool) or "{}")
    document["profile"] = plan.validation.profile if plan.validation else "quick"
    nodes = 1 if check.single_node_reason else check.nodes
    document["accepted"] = _accepted(plan, pool, at_work=True)
    document["collectives"] = {"nodes": nodes, "between": check.transport}
    return json.dumps(document, indent=2) + "\n"


def unplanned_expectations_text(gpu: Gpu, gpus: int) -> str:
    """The expectations of a machine without a plan: what every GPU of its product must have."""
    return _document(gpu, gpus)


def _document(gpu: Gpu, gpus: int, **known: object) -> str:
    """What is known besides the product, in the order of these defaults."""
    document = {
        "schema": SCHEMA,
        "platform": "",
        "pool": "",
        "required": True,
        "gpus": gpus,
        "product": gpu.product,
        "pci_id": gpu.pci_id,
        "memory_gib": gpu.memory_gib,
        "architecture": gpu.architecture,
        "driver": None,
        "nvlink_gbps": gpu.nvlink_gbps,
        "rack": False,
        "sharing": "none",
        "layouts": [],
        "network": None,
        # Load tests have a separate document: `work_expectations_text`.
        "profile": "quick",
        "collectives": None,
        "accepted": [],
    }
    return json.dumps(document | known, indent=2) + "\n"


def _accepted(plan: PlatformPlan, pool: PoolPlan, *, at_work: bool) -> list[dict[str, Any]]:
    """Accepted thresholds of checks without GPU load, or of all: those that affect the verdict."""
    result = plan.validation.accepted_thresholds if plan.validation else ()
    return [
        {"check": each.check, "value": each.value, "reason": each.reason, "until": each.until}
        for each in result
        if each.pool == pool.name and (at_work or not each.at_work)
    ]


def pinned_driver(plan: PlatformPlan, pool: PoolPlan) -> str | None:
    """The driver of the pool's image or operator, or a simulated node's of its ClusterPolicy."""
    if pool.node_software is None:
        return plan.software["driver"]
    return pool.node_software.driver


def _network(plan: PlatformPlan, pool: PoolPlan) -> dict[str, Any] | None:
    """The adapters of gpuyard's launch template, or those in the stack file for your own nodes."""
    ours = plan.provider.network_interfaces(pool.machine)
    if efa := sum(each.kind.startswith("efa") for each in ours):
        return _adapters("efa", efa, (), None)
    fabric = pool.fabric
    if fabric is None or fabric.kind is FabricKind.ETHERNET or not fabric.hcas:
        return None
    each = fabric.gbps / len(fabric.hcas) if fabric.gbps else None
    return _adapters(fabric.kind.value, len(fabric.hcas), fabric.hcas, each)


def _adapters(
    kind: str, devices: int, names: tuple[str, ...], gbps: float | None
) -> dict[str, Any]:
    return {"kind": kind, "devices": devices, "names": list(names), "gbps_per_device": gbps}
