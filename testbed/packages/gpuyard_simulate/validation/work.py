"""Results of fake GPUs under load: above every threshold, except for the faults of the node.

Fake nodes exchange data by TCP, because they have no other transport. Measured values of real GPUs
are kept only with the thresholds that use them.
"""

from collections.abc import Mapping
from typing import Any, Final

_RATES: Final = {
    "memory": 9000e9,
    "to_device": 64e9,
    "to_host": 64e9,
    "peers": 1000e9,
    "product": 3000e12,
    "step": 2900e12,
}
"""In bytes or operations per second."""
_BUS: Final = 1000e9
_SIZE: Final = 1 << 33


def load_of(
    gpu: Mapping[str, Any], other_gpus: list[int], watts: int, *, soak: bool
) -> dict[str, Any]:
    """A GPU's results; `work` in its faults replaces rates and sets how it ended.

    `{"work": {"product": 100e12, "ended": "hung"}}`
    """
    broken = dict(gpu.get("work") or {})
    tasks = [task for task in _RATES if task != "step" or soak]
    rates = [
        _rate(task, broken.get(task, _RATES[task]), other)
        for task in tasks
        for other in (other_gpus if task == "peers" else [None])
    ]
    seen = [
        {
            "task": task,
            "samples": 3,
            "reasons": broken.get("reasons", 4),
            "margin": broken.get("margin", 12),
            "milliwatts": watts,
            "sm_mhz": 1700,
            "pcie_generation": 5,
            "pcie_width": 16,
            "uncorrected": broken.get("uncorrected", 0),
            "remapped": 0,
        }
        for task in tasks
    ]
    return {
        "uuid": gpu["uuid"],
        "ended": broken.get("ended", "done"),
        "output": broken.get("output", ""),
        "code": 0,
        "missing_library": "",
        "versions": ["simulated"],
        "rates": rates,
        "seen": seen,
    }


def _rate(task: str, speed: float, other: int | None) -> dict[str, Any]:
    return {
        "task": task,
        "other": other,
        "amount": speed,
        "seconds": 1.0,
        "rounds": 10,
        "wrong": 0,
    }


def collectives_of(node: str, nodes: int, gpus: int, today: str) -> dict[str, Any]:
    """A successful run of the collectives on all these nodes, recorded under this node's name."""
    ranks = list(range(nodes * gpus))
    return {
        "on": today,
        "nodes": nodes,
        "gpus": gpus,
        "ends": [{"rank": rank, "node": node, "end": "done", "output": ""} for rank in ranks],
        "measures": [
            {
                "operation": operation,
                "size": _SIZE,
                "ranks": ranks,
                "seconds": _SIZE / _BUS,
                "wrong": 0,
            }
            for operation in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
        ],
        "slow": [],
        "bisected": True,
        "versions": ["simulated"],
        "logs": [_log(rank, nodes, gpus) for rank in ranks],
    }


def _log(rank: int, nodes: int, gpus: int) -> str:
    """NCCL's log of one rank: a channel within its node, and one to the next."""
    first = rank - rank % gpus
    lines = "NCCL INFO Using network Socket\n"
    if gpus > 1:
        after = first + (rank + 1) % gpus
        lines += f"NCCL INFO Channel 00/0 : {rank}[0] -> {after}[1] via P2P/CUMEM\n"
    if nodes > 1:
        after = (rank + gpus) % (nodes * gpus)
        lines += f"NCCL INFO Channel 00/0 : {rank}[0] -> {after}[0] [send] via NET/Socket/0\n"
    return lines
