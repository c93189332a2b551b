"""Allocatable CPU and memory of a node: what the kernel reports, minus what the system reserves.

What the agents of a GPU node use is a conservative estimate of gpuyard: device plugin, feature discovery,
exporter, network and storage drivers.
"""

from collections.abc import Iterable
from math import ceil

from gpuyard.plan.records import Allocatable
from gpuyard_core.catalogue.machines import Machine
from gpuyard_core.catalogue.reserves import efa_gib, kernel_gib, kubelet_cpu, kubelet_gib

AGENTS_CPU, AGENTS_GIB = 0.5, 1.0


def karpenter_overhead(machines: Iterable[Machine]) -> float:
    """The share of memory that Karpenter subtracts from every machine type: the maximum of these machines.

    Karpenter has one setting for all types. With a smaller share it launches nodes too small for their pod.
    """
    return max((ceil(1e4 * (1 - kernel_gib(m) / m.memory_gib)) / 1e4 for m in machines), default=0)


def plan_allocatable(machine: Machine, overhead: float = 0) -> Allocatable:
    """CPU threads and memory for pods, rounded down; at most what Karpenter expects with this overhead."""
    cpu = kubelet_cpu(machine) + AGENTS_CPU
    kernel = min(kernel_gib(machine) - efa_gib(machine), machine.memory_gib * (1 - overhead))
    remaining = kernel - kubelet_gib(machine) - AGENTS_GIB
    return Allocatable(
        cpu=max(0, int(machine.vcpus - cpu)),
        memory_gib=max(0, int(remaining)),
        reserved_cpu=round(cpu, 2),
        reserved_memory_gib=round(machine.memory_gib - remaining, 1),
    )
