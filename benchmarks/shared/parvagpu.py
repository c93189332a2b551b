"""ParvaGPU's profiles and objectives, and its algorithm, from MunQ-Lee/ParvaGPU_SC24 `src/*.c`."""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, floor
from pathlib import Path

from gpuyard_advisor.advice.placement.serving import MeasuredReplica, ServiceDemand, best_throughput

PROFILES = {1: "1g.10gb", 2: "2g.20gb", 3: "3g.40gb", 4: "4g.40gb", 7: "7g.80gb"}
SIZES = {name: size for size, name in PROFILES.items()}
SETS = 6
_STARTS = {7: (0,), 4: (0,), 3: (4,), 2: (0, 4, 2), 1: (0, 6, 4, 1, 2, 3, 5)}
_HALF = 3  # slices of a profile that two of fill the memory of a GPU
_PROCESSES = 3  # one file has measurements of more, for which the program has no space
_FREED_AT = 4  # GPUs with at most so many slices are emptied and their services placed again


def demands(folder: Path, index: int, factor: int) -> list[ServiceDemand]:
    """Services of a set, with their rates multiplied; a replica may use nine tenths of half the latency."""
    files = sorted((folder / "parvagpu" / "prof_data").glob("*.csv"))
    rates, latencies = (_table(folder, name)[index] for name in ("req_rate", "latency"))
    services = []
    for file, rate, latency in zip(files, rates, latencies, strict=True):
        if rate == "N/A":
            continue
        with file.open(encoding="utf-8") as lines:
            measured = [
                MeasuredReplica(
                    profile=PROFILES[int(row["Mig instance"])],
                    throughput=float(row["Throughput"]) * int(row["Workload Number"]),
                    latency_ms=float(row["Latency"]) * 1000,
                )
                for row in csv.DictReader(lines)
                if int(row["Workload Number"]) <= _PROCESSES
            ]
        services.append(
            ServiceDemand(
                name=file.stem,
                rate=int(rate) * factor,
                throughput=best_throughput(measured, int(float(latency)) / 2 * 0.9),
            )
        )
    return services


def _table(folder: Path, name: str) -> list[list[str]]:
    path = folder / "parvagpu" / "SLO" / f"SLO_{name}.csv"
    return [line.split(",") for line in path.read_text(encoding="utf-8").split()]


@dataclass(slots=True)
class _Service:
    demand: ServiceDemand
    by_size: dict[int, float]
    best: int
    last: int
    freed: float = 0.0


@dataclass(slots=True)
class _Gpu:
    used: int = 0
    slots: dict[int, tuple[int, _Service]] = field(default_factory=dict)


def parvagpu_gpus(services: Sequence[ServiceDemand]) -> int:
    """GPUs that ParvaGPU uses: its configurator, its allocator, and its relocation of small segments."""
    queues: dict[int, deque[_Service]] = {size: deque() for size in (7, 4, 3, 2, 1)}
    gpus = [_Gpu() for _ in range(400)]
    for demand in services:
        by_size = {SIZES[name]: rate for name, rate in demand.throughput.items()}
        best = max(sorted(by_size), key=lambda size: by_size[size] / size)
        segments = ceil(demand.rate / by_size[best]) - 1
        rest = demand.rate - segments * by_size[best]
        last = next(size for size in sorted(by_size) if rest <= by_size[size])
        service = _Service(demand, by_size, best, last)
        queues[best].extend([service] * segments)
        queues[last].append(service)
    _place(queues, gpus)
    for gpu in reversed(gpus):
        if gpu.used <= _FREED_AT:
            _relocate(gpu, queues, gpus)
    return sum(gpu.used > 0 for gpu in gpus)


def _place(queues: dict[int, deque[_Service]], gpus: list[_Gpu]) -> None:
    for size, queue in queues.items():
        while queue:
            gpu = min(
                (each for each in gpus if _fits(each, size)), key=lambda each: 7 - each.used - size
            )
            slot = next((start for start in _STARTS[size] if start not in gpu.slots), -1)
            gpu.slots[slot] = (size, queue.popleft())
            gpu.used += size


def _fits(gpu: _Gpu, size: int) -> bool:
    first, second = (gpu.slots.get(start, (0,))[0] for start in (0, 4))
    if size == second == _HALF:
        return False
    if size == 1 and first == second == _HALF:
        return False
    return 7 - gpu.used >= size


def _relocate(gpu: _Gpu, queues: dict[int, deque[_Service]], gpus: list[_Gpu]) -> None:
    for slot in range(7):
        if slot not in gpu.slots:
            continue
        size, service = gpu.slots.pop(slot)
        gpu.used -= size
        service.freed += service.by_size[size if size == service.best else service.last]
        one, two = (service.by_size.get(each) for each in (1, 2))
        if two and (not one or two / 2 > one):
            count = max((floor if one else ceil)(service.freed / two), 0)
            queues[2].extend([service] * count)
            service.freed -= count * two
        if one:
            count = max(ceil(service.freed / one), 0)
            queues[1].extend([service] * count)
            service.freed -= count * one
        _place(queues, gpus)
