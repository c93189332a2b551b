"""The openb trace as the published simulator of FGD runs it, and the policies that it compares.

Source: hkust-adsl/kubernetes-scheduler-simulator@8f3d6417 and its scheduler, mental2008/kubernetes v1.20.5-minor:
among nodes with equal scores it chooses the first name, and names get a random prefix.
"""

from __future__ import annotations

import csv
import os
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gpuyard_advisor.advice.placement.fragmentation import FragmentationPolicy, typical_pods
from gpuyard_advisor.advice.placement.nodes import (
    MILLI,
    Choice,
    Cluster,
    GpuNode,
    Placer,
    PodRequest,
    Policy,
    take_first,
)
from shared.go_random import GoRandom

LOAD = 1.3
WATCHES = (10, 11, 9, 12)
"""Numbers that the watches of the simulator's informers draw before nodes get names, the most frequent first.

They start concurrently, so the number differs between published runs.
"""
ROUNDING = 0.011
POPULAR = 95  # typical pods are at least so many percent of all


def traces() -> Path:
    """The folder of public traces."""
    beside = Path(os.environ.get("GPUYARD_UPSTREAM", "../shared/upstream"), "..", "traces")
    folder = Path(os.environ.get("GPUYARD_TRACES") or beside)
    if not (folder / "openb").exists():
        sys.exit(f"no {folder / 'openb'}: set GPUYARD_TRACES to the folder that has openb/")
    return folder


def rows(name: str) -> list[dict[str, str]]:
    """Rows of a CSV file of the trace."""
    with (traces() / "openb" / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def nodes() -> list[GpuNode]:
    """The GPU nodes, by name."""
    return [
        GpuNode(
            cpu_milli=int(row["cpu_milli"]),
            memory_mib=int(row["memory_mib"]),
            gpus=int(row["gpu"]),
            gpu=row["model"],
        )
        for row in sorted(rows("openb_node_list_gpu_node"), key=lambda row: row["sn"])
    ]


def pods(trace: str) -> list[PodRequest]:
    """The pods of a variant of the trace, by name."""
    return [
        PodRequest(
            cpu_milli=int(row["cpu_milli"]),
            memory_mib=int(row["memory_mib"]),
            gpus=int(row["num_gpu"]),
            gpu_milli=int(row["gpu_milli"]) if row["num_gpu"] != "0" else 0,
            gpu_models=tuple(filter(None, row.get("gpu_spec", "").split("|")))
            if row["num_gpu"] != "0"
            else (),
        )
        for row in sorted(rows(f"openb_pod_list_{trace}"), key=lambda row: row["name"])
    ]


def arrivals(
    trace: Sequence[PodRequest], cluster: Sequence[GpuNode], seed: int, watches: int
) -> tuple[list[PodRequest], list[GpuNode]]:
    """Pods in their order, cut or repeated to 130 % of the GPUs, and nodes in the order of their new names."""
    drawn = GoRandom(seed)
    drawn.int63()
    order: list[Any] = list(trace)
    drawn.shuffle(order)
    requested = sum(pod.total_milli for pod in trace)
    target = LOAD * sum(node.gpus for node in cluster) * MILLI
    while requested > target:
        requested -= order.pop(drawn.intn(len(order))).total_milli
    while requested < target:
        pod = trace[drawn.intn(len(trace))]
        if requested + pod.gpu_milli > target:
            break
        requested += pod.total_milli
        order.append(pod)
    for _ in range(watches):
        drawn.int63()
    prefix = drawn.perm(len(cluster))
    return order, [cluster[i] for i in sorted(range(len(cluster)), key=prefix.__getitem__)]


def published(trace: str, policy: str) -> dict[int, dict[int, float]]:
    """Published percent of GPUs allocated, by seed and percent of GPUs requested so far."""
    return {
        int(row["seed"]): {at: float(row[str(at)]) for at in range(131)}
        for row in rows("published_allo")
        if row["workload"] == f"openb_pod_list_{trace}" and row["sc_policy"].endswith(policy)
    }


def place(order: Sequence[PodRequest], placer: Placer, total_gpus: int) -> dict[int, float]:
    """Percent of GPUs allocated by percent requested so far, averaged and rounded as published."""
    requested = allocated = 0
    percents: dict[int, list[float]] = defaultdict(list)
    for pod in order:
        requested += pod.total_milli
        if placer.place(pod):
            allocated += pod.total_milli
        at = round(requested / total_gpus / 10)
        percents[at].append(round(allocated / total_gpus / 10, 2))
    return {at: round(sum(each) / len(each), 2) for at, each in percents.items()}


def random_node(rng: random.Random) -> Policy:
    """Equal scores, and a random GPU for a part of one."""

    def score(cluster: Cluster, pod: PodRequest, fitting: Any) -> tuple[Any, Any]:
        if not pod.is_shared:
            return np.zeros(len(fitting)), -1
        gpus = [np.flatnonzero(cluster.gpu_milli[row] >= pod.gpu_milli) for row in fitting]
        return np.zeros(len(fitting)), np.array([rng.choice(each) for each in gpus])

    return score


def best_fit(cluster: Cluster, pod: PodRequest, fitting: Any) -> tuple[Any, Any]:
    """BestFit of the simulator: the least CPU and GPU left, as a share of 128 CPUs and eight GPUs."""
    cpu = (cluster.cpu[fitting] - pod.cpu_milli) / 128000 * 0.5
    gpu = (cluster.gpu_milli[fitting].sum(axis=1) - pod.total_milli) / 8000 * 0.5
    return np.trunc((1.0 - (cpu + gpu)) * 100), -1


class PublishedFgd:
    """FGD of the simulator with its rounding; sums are in its order, since they decide between equal nodes."""

    def __init__(self, cluster: Cluster, trace: Sequence[PodRequest]) -> None:
        """Typical pods are the most frequent kinds, with those that request no GPU."""
        kinds = Counter(
            (pod.cpu_milli, pod.gpu_milli, pod.gpus, "|".join(pod.gpu_models)) for pod in trace
        )
        typical: list[tuple[tuple[int, int, int, str], float]] = []
        seen = 0
        for kind, count in sorted(kinds.items(), key=lambda each: (each[1], each[0]), reverse=True):
            if seen >= POPULAR * len(trace) / 100:
                break
            seen += count
            typical.append((kind, count / len(trace)))
        self._share = np.array([share / (seen / len(trace)) for _, share in typical])[:, None]
        self._cpu, milli, self._gpus = (
            np.array([kind[i] for kind, _ in typical])[:, None] for i in range(3)
        )
        self._sizes, self._size = np.unique(milli[:, 0], return_inverse=True)
        self._no_gpu = milli == 0
        self._allowed = np.array(
            [cluster.allowed([*filter(None, kind[3].split("|"))]) for kind, _ in typical]
        )
        self._now = self._fragment(cluster.cpu, cluster.gpu_milli, self._allowed)
        self._seen = 0

    def __call__(self, cluster: Cluster, pod: PodRequest, fitting: Any) -> tuple[Any, Any]:
        """Scores of the nodes, and the GPU for a part of one."""
        changed = np.unique(np.array(cluster.changes[self._seen :], dtype=int))
        self._seen = len(cluster.changes)
        if len(changed):
            self._now[changed] = self._fragment(
                cluster.cpu[changed], cluster.gpu_milli[changed], self._allowed[:, changed]
            )
        cpu, gpus = cluster.cpu[fitting] - pod.cpu_milli, cluster.gpu_milli[fitting]
        if not pod.is_shared:
            enough = gpus >= pod.gpu_milli
            gpus[enough & (enough.cumsum(axis=1) <= pod.gpus)] -= pod.gpu_milli
            after = self._fragment(cpu, gpus, self._allowed[:, fitting])
            return _rounded(self._now[fitting] - after), -1
        row, gpu = np.nonzero(gpus >= pod.gpu_milli)
        left = gpus[row]
        left[np.arange(len(row)), gpu] -= pod.gpu_milli
        after = self._fragment(cpu[row], left, self._allowed[:, fitting[row]])
        scores = np.full(gpus.shape, -np.inf)
        scores[row, gpu] = _rounded(self._now[fitting[row]] - after)
        best = scores.argmax(axis=1)
        return scores[np.arange(len(fitting)), best], best

    def _fragment(self, cpu: Any, gpus: Any, allowed: Any) -> Any:
        count = len(cpu)
        if count == 1:  # numpy adds a single column in another order
            cpu, gpus, allowed = cpu.repeat(2), gpus.repeat(2, axis=0), allowed.repeat(2, axis=1)
        enough = gpus[None] >= self._sizes[:, None, None]
        hosts = enough.sum(axis=2)[self._size] >= self._gpus
        small = np.where(enough, 0, gpus[None]).sum(axis=2)[self._size]
        has_cpu = cpu[None] >= self._cpu
        usable = allowed & ~self._no_gpu
        whole = self._share * gpus.sum(axis=1)[None].astype(float)
        lacks_gpu = np.where(usable & hosts & has_cpu, self._share * small, 0.0)
        lacks_gpu += np.where(usable & ~hosts & has_cpu, whole, 0.0)
        total = np.add.reduce(np.where(usable & ~hosts & ~has_cpu, whole, 0.0), axis=0)
        total = total + np.add.reduce(lacks_gpu, axis=0)
        for kind in (
            usable & hosts & ~has_cpu,
            self._no_gpu & has_cpu,
            self._no_gpu & ~has_cpu,
            ~allowed & ~self._no_gpu,
        ):
            total = total + np.add.reduce(np.where(kind, whole, 0.0), axis=0)
        return total[:count]


def _rounded(less: Any) -> Any:
    return np.trunc(1.0 / (1.0 + np.exp(-less / 1000)) * 100)


def kube_scheduler(
    strategy: str, weights: tuple[int, int, int] = (1, 1, 0), *, balance_gpus: bool = False
) -> Policy:
    """NodeResourcesFit and NodeResourcesBalancedAllocation of kube-scheduler 1.36, each with weight 1.

    `weights` of CPU, memory and GPUs, which count in thousandths, as if they were an extended resource of that
    many units. `balance_gpus` adds them to the resources that the second plugin balances.
    """

    def score(cluster: Cluster, pod: PodRequest, fitting: Any) -> tuple[Any, Any]:
        resources = [
            (cluster.cpu[fitting], cluster.cpu_capacity[fitting], pod.cpu_milli),
            (cluster.memory[fitting], cluster.memory_capacity[fitting], pod.memory_mib),
        ]
        if pod.gpus:  # a pod that does not request an extended resource does not score it
            free = cluster.gpu_milli[fitting].sum(axis=1)
            resources.append((free, cluster.gpu_count[fitting] * MILLI, pod.total_milli))
        total, weighed = np.zeros(len(fitting), dtype=int), 0
        for (free, capacity, request), each in zip(resources, weights, strict=False):
            left = free - request
            amount = capacity - left if strategy == "MostAllocated" else left
            total += amount * 100 // capacity * each
            weighed += each
        balanced = resources[: 3 if balance_gpus else 2]
        before, after = (
            np.std(
                [
                    (capacity - free + asked * request) / capacity
                    for free, capacity, request in balanced
                ],
                axis=0,
            )
            for asked in (0, 1)
        )
        better = np.trunc((1 - after) * 100) - np.trunc((1 - before) * 100)
        return total // weighed + 50 + (50 + better) // 2, -1

    return score


Made = tuple[Policy, Choice]
POLICIES: dict[str, Callable[[Cluster, Sequence[PodRequest], random.Random], Made]] = {
    "Random": lambda _c, _p, rng: (random_node(rng), rng.randrange),
    "LeastAllocated": lambda _c, _p, rng: (kube_scheduler("LeastAllocated"), rng.randrange),
    "MostAllocated": lambda _c, _p, rng: (kube_scheduler("MostAllocated"), rng.randrange),
    "MostAllocated, GPUs with weight 5": lambda _c, _p, rng: (
        kube_scheduler("MostAllocated", (1, 1, 5)),
        rng.randrange,
    ),
    "LeastAllocated, GPUs balanced": lambda _c, _p, rng: (
        kube_scheduler("LeastAllocated", balance_gpus=True),
        rng.randrange,
    ),
    "BestFit": lambda _c, _p, _r: (best_fit, take_first),
    "FGD": lambda c, p, _r: (PublishedFgd(c, p), take_first),
    "gpuyard": lambda c, p, _r: (FragmentationPolicy(c, typical_pods(p)), take_first),
}


def run(
    policy: str, trace: str, seed: int, watches: int = WATCHES[0]
) -> tuple[dict[int, float], int]:
    """Percent of GPUs allocated by percent requested, and the number of pods."""
    kinds, plain = pods(trace), nodes()
    order, named = arrivals(kinds, plain, seed, watches)
    cluster = Cluster(named)
    scores, choose = POLICIES[policy](cluster, kinds, random.Random(seed))  # noqa: S311  repeatable
    placer = Placer(cluster, scores, choose)
    return place(order, placer, sum(node.gpus for node in plain)), len(order)


def equal_points(allocated: dict[int, float], published: dict[int, float]) -> int:
    """Published points that equal ours; they are rounded twice."""
    return sum(abs(allocated[at] - percent) < ROUNDING for at, percent in published.items())


def run_as_published(policy: str, trace: str, seed: int) -> tuple[dict[int, float], int]:
    """The run that equals the published one in most points, over the numbers of `WATCHES`."""
    expected = published(trace, policy)[seed]
    best: tuple[dict[int, float], int] | None = None
    for watches in WATCHES:
        found = run(policy, trace, seed, watches)
        if best is None or equal_points(found[0], expected) > equal_points(best[0], expected):
            best = found
        if equal_points(best[0], expected) == len(expected):
            break
    return best or ({}, 0)
