"""Simulated NVML data of a fake node: healthy GPUs of its machine type with their MIG layout, less its faults.

All of it comes from the node and the catalogue, so a test that compares it with the plan's expectations proves
something. Values that the catalogue lacks (clocks, firmware, power) pass every threshold.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from gpuyard_core.catalogue.gpus import Gpu
from gpuyard_core.names import DRIVER_VERSION_LABEL
from gpuyard_simulate.agents.cloud_node import EFA_INTERFACES
from gpuyard_simulate.agents.hardware import Hardware, Slices, hardware_of
from gpuyard_simulate.validation.work import collectives_of, load_of

FAULTS: Final = "sim.gpuyard.dev/hardware-faults"
"""Annotation of a node, JSON: by GPU index the values that differ, null for a lost GPU; `node`: the
same for the machine. `{"3": {"remap_failure": true}, "5": null, "node": {"driver": "535.1"}}`.
`work` of a GPU sets its results under load, `share` what a pod with a share of one observes.
"""
_NO: Final = {"missing": "not_supported"}
_LINK_GBPS: Final = {"Volta": 50, "Ampere": 50, "Hopper": 50, "Blackwell": 100}
_FABRIC: Final = ("Hopper", "Blackwell")
_RETIRES_PAGES: Final = ("Pascal", "Volta", "Turing")
_NO_CLUSTER_UUID: Final = "00000000-0000-0000-0000-000000000000"
_DOMAIN: Final = "00000001-0000-0000-0000-000000000001"
_MIB: Final = 1024


def machine_text(node: Mapping[str, Any], expectations_json: str = "") -> str:
    """The node as a recorded machine; invalid faults are recorded as they are.

    `expectations_json`: the expectations of the validation, which determine the load on its GPUs.
    """
    hardware, name = hardware_of(node), node["metadata"]["name"]
    gpus = {} if hardware is None else {str(n): _gpu(hardware, n, name) for n in _indexes(hardware)}
    driver = (node["metadata"].get("labels") or {}).get(DRIVER_VERSION_LABEL)
    results: dict[str, Any] = {
        "node": name,
        "source": "simulated",
        "driver": driver or {"missing": "failed", "detail": "no driver was installed"},
        "kernel_driver": driver or {"missing": "failed"},
        "open_modules": True,
        "modules": ["nvidia", "nvidia_uvm"],
        "environment": {},
        "adapters": [_efa(number) for number in range(_efas(node))],
    }
    text = str((node["metadata"].get("annotations") or {}).get(FAULTS, "{}"))
    try:
        for what, instead in json.loads(text).items():
            _break(results, gpus, what, instead)
    except (ValueError, AttributeError, TypeError, KeyError):
        return text
    expectations = _parse_expectations(expectations_json)
    if expectations.get("profile", "quick") != "quick":
        _work(results, gpus, expectations)
    for gpu in gpus.values():
        gpu.pop("work", None)
    return json.dumps({**results, "gpus": list(gpus.values())})


def _efas(node: Mapping[str, Any]) -> int:
    """Number of EFA interfaces that the fake cloud has attached, by the launch template, not by the plan."""
    return int((node["metadata"].get("annotations") or {}).get(EFA_INTERFACES, 0))


def _efa(number: int) -> dict[str, Any]:
    name = f"rdmap{number}s0"
    return {"name": name, "driver": "efa", "active": True, "link": "unspecified", "gbps": 100.0}


def _parse_expectations(expectations_json: str) -> dict[str, Any]:
    try:
        result = json.loads(expectations_json)
    except ValueError:
        return {}
    return result if isinstance(result, dict) else {}


def _work(
    results: dict[str, Any], gpus: dict[str, dict[str, Any]], expectations: dict[str, Any]
) -> None:
    """Results of GPUs under load, and of all nodes together if they run collectives."""
    indexes = [gpu["index"] for gpu in gpus.values()]
    for gpu in gpus.values():
        other_gpus = [n for n in indexes if n != gpu["index"]]
        soak = expectations["profile"] == "soak"
        gpu.setdefault("load", load_of(gpu, other_gpus, gpu["power_limit_mw"], soak=soak))
    nodes = (expectations.get("collectives") or {}).get("nodes", 1)
    today = datetime.now(UTC).date().isoformat()
    results.setdefault(
        "collectives", collectives_of(results["node"], nodes, expectations["gpus"], today)
    )


def _break(
    results: dict[str, Any], gpus: dict[str, dict[str, Any]], what: str, instead: Any
) -> None:
    if what == "share":
        return  # faults of GPU shares: see shares.py
    if what == "node":
        results.update(instead)
    elif instead is None:
        del gpus[what]
    else:
        gpus[what].update(instead)


def _indexes(hardware: Hardware) -> range:
    return range(len(hardware.layout) if hardware.machine.gpu else 0)


def _gpu(hardware: Hardware, index: int, node: str) -> dict[str, Any]:
    gpu = hardware.machine.gpu
    assert gpu is not None, "a machine without GPUs has no index of one"  # noqa: S101
    return {
        "index": index,
        "answers": True,
        "name": gpu.product,
        "uuid": f"GPU-{node}-{index}",
        "serial": f"{node}-{index}",
        "pci_id": gpu.pci_id or _NO,
        "memory_mib": gpu.memory_gib * _MIB,
        **dict.fromkeys(("vbios", "gsp_firmware", "inforom_image"), "simulated"),
        "inforom_valid": True,
        "persistence": True,
        "compute_mode": 0,
        "ecc_current": True,
        "ecc_pending": True,
        **_memory(gpu),
        **_limits(),
        **_links(hardware, gpu),
        **_slices(hardware, gpu, hardware.layout[index]),
    }


def _memory(gpu: Gpu) -> dict[str, Any]:
    """Memory without faults; older architectures retire pages, later ones remap rows."""
    old = gpu.architecture in _RETIRES_PAGES
    rows = {"remapped_uncorrectable": 0, "remap_pending": False, "remap_failure": False}
    pages = {"retired_pages": 0, "retired_pending": False}
    return {
        "recovery_action": 0,
        "unrepairable": False,
        "repair_pending": False,
        **(pages if old else rows),
        **dict.fromkeys(rows if old else pages, _NO),
        "sram_uncorrected": 0,
        "sram_threshold": False,
        "dram_uncorrected": 0,
    }


def _limits() -> dict[str, Any]:
    return {
        "clock_reasons": 1,
        "thermal_margin": 40,
        "power_limit_mw": 700_000,
        "power_default_mw": 700_000,
        "max_sm_mhz": 3000,
        "pcie_generation": 5,
        "pcie_width": 16,
        "processes": [],
    }


def _links(hardware: Hardware, gpu: Gpu) -> dict[str, Any]:
    """All NVLinks of its bandwidth; the fabric of a rack has a name, that of a single node has none."""
    if not gpu.nvlink_gbps:
        names = ("nvlinks", "nvlink_recoveries", "unreachable", "fabric")
        return dict.fromkeys(names, _NO)
    rack = hardware.machine.is_rack
    fabric = {
        "state": 3,
        "status": 0,
        "cluster": _DOMAIN if rack else _NO_CLUSTER_UUID,
        "clique": 1 if rack else 0,
        "health": 0,
    }
    return {
        "nvlinks": [True] * (gpu.nvlink_gbps // _LINK_GBPS[gpu.architecture]),
        "nvlink_recoveries": 0,
        "unreachable": [],
        "fabric": fabric if gpu.architecture in _FABRIC else _NO,
    }


def _slices(hardware: Hardware, gpu: Gpu, cut: Slices | None) -> dict[str, Any]:
    product = hardware.product
    if product is None:
        return dict.fromkeys(("mig_current", "mig_pending", "instances"), _NO) | {"utilization": 0}
    on = cut is not None
    instances = [
        {
            "gpu_slices": profile.slices,
            "compute_slices": profile.slices,
            "memory_mib": gpu.memory_gib * _MIB * profile.units // product.units,
        }
        for name, count in sorted((cut or {}).items())
        for profile in [product.profile(name)]
        if profile is not None
        for _ in range(count)
    ]
    return {
        "mig_current": on,
        "mig_pending": on,
        "instances": instances,
        "utilization": _NO if on else 0,
    }
