"""Allocatable CPU and memory of a node: what the kernel has, less what its system keeps.

The agents of a GPU node are an estimate of ours, on the safe side: device plugin, feature discovery,
exporter, network and storage drivers.
"""

from gpuyard.catalogue.machines import Machine
from gpuyard.catalogue.reserves import efa_gib, kernel_gib, kubelet_cpu, kubelet_gib
from gpuyard.plan.records import NodeRoom

AGENTS_CPU, AGENTS_GIB = 0.5, 1.0


def plan_room(machine: Machine) -> NodeRoom:
    """CPU threads and memory for pods, rounded down."""
    cpu = kubelet_cpu(machine) + AGENTS_CPU
    left = kernel_gib(machine) - kubelet_gib(machine) - efa_gib(machine) - AGENTS_GIB
    return NodeRoom(
        cpu=max(0, int(machine.vcpus - cpu)),
        memory_gib=max(0, int(left)),
        reserved_cpu=round(cpu, 2),
        reserved_memory_gib=round(machine.memory_gib - left, 1),
    )
