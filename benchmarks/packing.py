"""Savings by packing on a public trace: GPUs for its fractional pods, dollars per hour for all GPU pods.

    python benchmarks/packing.py            about a minute on an idle machine of two cores
    python benchmarks/packing.py --quick    slices only

Reads the openb trace from $GPUYARD_TRACES, else from `traces` next to $GPUYARD_UPSTREAM. The exit code is 1 if
a result is not proved, 30,000 requests take longer than LIMIT_MS, or the machines are further than GAP from
their bound. benchmarks/packing.md describes the sides.
"""

from __future__ import annotations

import argparse
import csv
import importlib.metadata
import os
import platform
import random
import statistics
import sys
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

from gpuyard_advisor.advice.packing.machines import MachinePacking, pack_machines, quick_machines
from gpuyard_advisor.advice.packing.needs import PARTS, Demand, eighths
from gpuyard_advisor.advice.packing.slices import pack_slices, single_profile_gpus, slice_for
from gpuyard_core.catalogue.gpus import MIG_PRODUCTS

LIMIT_MS = 100
GAP = 0.001
RUNS = 5
REQUESTS = 30_000
A100 = MIG_PRODUCTS["A100-40"]
STEP_MILLI, STEP_MIB = 4000, 16 * 1024  # 4 CPU threads and 16 GiB, then twice as much, and so on
LEAST_GPU_GIB = 16  # the smallest GPU of the trace's cluster is a T4


def trace() -> list[tuple[Fraction, int, int]]:
    """GPUs, thousandths of CPU threads and MiB of every pod that requests a GPU or a part of one."""
    folder = os.environ.get("GPUYARD_TRACES") or str(
        Path(os.environ.get("GPUYARD_UPSTREAM", "../shared/upstream"), "..", "traces")
    )
    path = Path(folder, "openb", "openb_pod_list_default.csv")
    if not path.exists():
        sys.exit(f"no {path}: set GPUYARD_TRACES to the folder that has openb/")
    with path.open(encoding="utf-8") as file:
        return [
            (
                Fraction(int(row["num_gpu"]) * int(row["gpu_milli"]), 1000),
                int(row["cpu_milli"]),
                int(row["memory_mib"]),
            )
            for row in csv.DictReader(file)
            if row["num_gpu"] != "0"
        ]


def slices(pods: list[tuple[Fraction, int, int]]) -> bool:
    """GPUs for the fractional pods, and the time of 30,000 requests."""
    parts = [gpus for gpus, _, _ in pods if gpus < 1]
    given = Counter(slice_for(A100, compute=part) for part in parts)
    demand = {profile.name: count for profile, count in given.items() if profile}
    packing = pack_slices(A100, demand)
    print("GPUs for the fractional pods, on A100-40")
    print(f"  one GPU each          {len(parts):6,}")
    print(f"  single-profile GPUs   {single_profile_gpus(A100, demand):6,}")
    print(
        f"  packed                {packing.minimum_gpus:6,}   bound {packing.bound:,}, gap {packing.gap}"
    )
    rng = random.Random(0)  # noqa: S311  the same demand every time
    names = [p.name for p in A100.profiles if not p.variant]
    many = Counter(rng.choices(names, [rng.random() for _ in names], k=REQUESTS))
    took = []
    for _ in range(RUNS):
        started = time.process_time()
        pack_slices(A100, many)
        took.append((time.process_time() - started) * 1000)
    median = statistics.median(took)
    print(
        f"  {REQUESTS:,} requests        {median:6.0f} ms of CPU, median of {RUNS}; limit {LIMIT_MS}"
    )
    return packing.gap == 0 and median <= LIMIT_MS


def doubled(value: int, step: int) -> int:
    """The step, doubled until it is at least the value."""
    while step < value:
        step *= 2
    return step


def needs(pods: list[tuple[Fraction, int, int]]) -> list[Demand]:
    """The pods as kinds: parts of a GPU in eighths, CPU and memory up to the next size."""
    kinds = Counter(
        (Fraction(eighths(gpus), PARTS), doubled(cpu, STEP_MILLI), doubled(memory, STEP_MIB))
        for gpus, cpu, memory in pods
    )
    return [
        Demand(
            name=f"{gpus} GPU, {cpu // 1000} CPU, {memory // 1024} GiB",
            pods=count,
            gpus=gpus,
            gpu_memory_gib=LEAST_GPU_GIB,
            cpu_milli=cpu,
            memory_mib=memory,
        )
        for (gpus, cpu, memory), count in kinds.items()
    ]


def machines(wanted: list[Demand]) -> bool:
    """Dollars per hour for all GPU pods, in three ways, on each cloud."""
    count = sum(n.pods for n in wanted)
    print(f"\n$/hour on demand for {count:,} pods of {len(wanted)} kinds")
    print("cloud  by score     quick     exact     bound      gap  score:exact  quick:exact  CPU s")
    sound = True
    for cloud in ("aws", "gcp"):
        started = time.process_time()
        by_score = quick_machines(wanted, cloud, by_score=True)
        quick = quick_machines(wanted, cloud)
        exact = pack_machines(wanted, cloud)
        took = time.process_time() - started
        if not (
            isinstance(by_score, MachinePacking)
            and isinstance(quick, MachinePacking)
            and isinstance(exact, MachinePacking)
        ):
            sys.exit(f"{cloud}: some pods fit on no machine")
        print(
            f"{cloud:<5} {by_score.usd:>9,.2f} {quick.usd:>9,.2f} {exact.usd:>9,.2f}"
            f" {exact.bound:>9,.2f} {exact.gap:>8.4%} {by_score.usd / exact.usd:>12.3f}"
            f" {quick.usd / exact.usd:>12.3f} {took:>6.1f}"
        )
        sound &= exact.gap <= GAP and exact.usd <= quick.usd <= by_score.usd
    return sound


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="slices only")
    quick: bool = parser.parse_args().quick
    print(
        f"Python {platform.python_version()}, highspy {importlib.metadata.version('highspy')}, openb trace\n"
    )
    pods = trace()
    sound = slices(pods)
    if not quick:
        sound &= machines(needs(pods))
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
