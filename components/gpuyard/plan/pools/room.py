"""Allocatable CPU and memory of a node: the machine less what its system keeps.

Both clouds publish what their kubelets keep. The agents of a GPU node are an estimate of ours, on the safe
side: device plugin, feature discovery, exporter, network and storage drivers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from gpuyard.catalogue.machines import Machine
from gpuyard.catalogue.sources import Source
from gpuyard.plan.records import NodeRoom

KUBELET_SOURCE = Source(
    "GKE node allocatable, and max-pods rules of amazon-eks-ami (nodeadm): shares kept by the kubelet",
    date(2026, 11, 21),
    verified=False,
)
AGENTS_CPU, AGENTS_GIB = 0.5, 1.0
EFA_HUGE_PAGES_GIB = 5128 * 2 / 1024
"""Huge pages of 2 MiB that the EFA driver takes when it starts (awslabs node-efa document)."""
_MIB = 1024
_EVICTION_MIB = 100
_FEW_PODS, _MANY_PODS, _MANY_CPUS = 110, 250, 30
"""Pods that EKS allows on a node, by whether it has fewer than thirty CPUs."""

_CPU_STEPS: tuple[tuple[float, float], ...] = ((1, 0.06), (1, 0.01), (2, 0.005), (1e9, 0.0025))
"""So many of the next CPUs, and the share of them that is kept; the same on both clouds."""
_GKE_MEMORY_STEPS: tuple[tuple[float, float], ...] = (
    (4, 0.25),
    (4, 0.2),
    (8, 0.1),
    (112, 0.06),
    (1e9, 0.02),
)


@dataclass(frozen=True, slots=True)
class _Kept:
    cpu: float
    gib: float


def plan_room(machine: Machine) -> NodeRoom:
    """CPU threads and memory for pods, rounded down."""
    kept = _kept(machine)
    return NodeRoom(
        cpu=max(0, int(machine.vcpus - kept.cpu)),
        memory_gib=max(0, int(machine.memory_gib - kept.gib)),
        reserved_cpu=round(kept.cpu, 2),
        reserved_memory_gib=round(kept.gib, 1),
    )


def _kept(machine: Machine) -> _Kept:
    pods = _FEW_PODS if machine.vcpus < _MANY_CPUS else _MANY_PODS
    memory: Mapping[str, float] = {"gcp": _stepped(machine.memory_gib, _GKE_MEMORY_STEPS)}
    kubelet = memory.get(machine.cloud, (255 + 11 * pods) / _MIB)
    efa = EFA_HUGE_PAGES_GIB if machine.efa_interfaces else 0.0
    return _Kept(
        cpu=_stepped(machine.vcpus, _CPU_STEPS) + AGENTS_CPU,
        gib=kubelet + _EVICTION_MIB / _MIB + AGENTS_GIB + efa,
    )


def _stepped(amount: float, steps: tuple[tuple[float, float], ...]) -> float:
    kept, left = 0.0, amount
    for size, share in steps:
        kept += min(left, size) * share
        left -= min(left, size)
    return kept
