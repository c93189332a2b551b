"""Allocatable resources of a node: the memory of the kernel, and the kubelet's reservations.

Memory is sold in round numbers, and the kernel never has all of it. Both clouds publish what their kubelets
reserve.
"""

from collections.abc import Mapping
from math import inf

from gpuyard_core.catalogue.fabric import pod_limit
from gpuyard_core.catalogue.machines import Machine

_MIB = 1024
_KERNEL: Mapping[str, tuple[float, float]] = {"gcp": (0.016, 0.15)}
_EC2_KERNEL = (0.034, 0.25)
"""Sold memory that the kernel does not have: a share and some GiB. Your own nodes are treated as on EC2
(reserves.kernel)."""
_Steps = tuple[tuple[float, float], ...]
_KUBELET_CPU: _Steps = ((1, 0.06), (1, 0.01), (2, 0.005), (inf, 0.0025))
"""Number of next CPUs, and the reserved share of them; the same on both clouds."""
_GKE_MEMORY: _Steps = ((4, 0.25), (4, 0.2), (8, 0.1), (112, 0.06), (inf, 0.02))
"""The same for GiB of memory on GKE."""
EKS_MIB = (255, 11)
"""Reserved MiB on EKS: a base, and an amount for each possible pod of the node (reserves.karpenter,
reserves.kubelet)."""
EVICTION_MIB = 100
"""Free memory below which the kubelet evicts pods."""
PODS_UNKNOWN = (110, 250, 30)
"""Pods of a node without a known limit: with fewer CPUs than the third number, and with at least as many."""
EFA_HUGE_PAGES_MIB = 5128 * 2
"""Huge pages of 2 MiB that the EFA driver reserves when it starts (reserves.efa)."""


def kernel_gib(machine: Machine) -> float:
    """The memory of the machine's kernel, which is the node's capacity in Kubernetes."""
    share, gib = _KERNEL.get(machine.cloud, _EC2_KERNEL)
    return machine.memory_gib * (1 - share) - gib


def kubelet_cpu(machine: Machine) -> float:
    """CPUs that the kubelet reserves."""
    return _stepped(machine.vcpus, _KUBELET_CPU)


def kubelet_gib(machine: Machine) -> float:
    """Memory that the kubelet reserves, plus its eviction threshold."""
    fixed, each = EKS_MIB
    reserved = (
        _stepped(kernel_gib(machine), _GKE_MEMORY)
        if machine.cloud == "gcp"
        else (fixed + each * _pods(machine)) / _MIB
    )
    return reserved + EVICTION_MIB / _MIB


def _pods(machine: Machine) -> int:
    few, many, cpus = PODS_UNKNOWN
    return pod_limit(machine) or (few if machine.vcpus < cpus else many)


def efa_gib(machine: Machine) -> float:
    """Memory that the EFA driver reserves."""
    return EFA_HUGE_PAGES_MIB / _MIB if machine.efa_interfaces else 0.0


def _stepped(amount: float, steps: _Steps) -> float:
    reserved, remaining = 0.0, amount
    for size, share in steps:
        reserved += min(remaining, size) * share
        remaining -= min(remaining, size)
    return reserved
