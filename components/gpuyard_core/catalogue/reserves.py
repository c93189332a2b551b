"""Allocatable resources of a node: the memory of the kernel, and the kubelet's reservations.

Memory is sold in round numbers, and the kernel never has all of it. Both clouds publish what their kubelets
reserve.
"""

from collections.abc import Mapping
from datetime import date
from functools import cache
from math import inf

from gpuyard_core.catalogue.fabric import pod_limit
from gpuyard_core.catalogue.machines import Machine, table_rows
from gpuyard_core.catalogue.sources import Source
from gpuyard_core.catalogue.tables.reserves import (
    EFA_HUGE_PAGES_MIB,
    EKS_MIB,
    EVICTION_MIB,
    GKE_MEMORY,
    KERNEL,
    KUBELET_CPU,
    PODS_UNKNOWN,
)

_LOOKED_UP = date(2026, 11, 22)
_MEASURED = "2i2c-org/infrastructure at 1097ae3, node-capacity-info.json: five nodes, measured"
KERNEL_SOURCE = Source(
    "the largest share that large EC2 nodes were measured with, rounded up: m6i.32xlarge and r7g.16xlarge 3.36 % of"
    " 512 GiB (pytorch/ci-infra PR 910; 1.7 % to 5.3 % over its fleet), i4i.32xlarge 3.1 % of 1 TiB"
    " (karpenter-provider-aws issue 6611); GCE: n2-highmem-64 503.9 of 512 GiB (2i2c-org/infrastructure issue 2121)."
    " No node of 2 TiB was seen",
    date(2026, 11, 28),
    verified=False,
    as_of=date(2026, 7, 16),
    second=_MEASURED,
)
KARPENTER_SOURCE = Source(
    "karpenter-provider-aws issue 7929 and pkg/providers/instancetype/types.go: memory of the type, less"
    " vmMemoryOverheadPercent of it, less what the kubelet reserves; a larger pod gets no node",
    date(2026, 11, 28),
    as_of=date(2025, 3, 19),
)
KUBELET_SOURCE = Source(
    "GKE, allocatable memory and CPU of a node, taken of the memory that the kernel has; nodeadm"
    " kubelet/eni_max_pods.go at 81fec2e: 255 MiB and 11 for each pod that gets an address. The documentation of"
    " managed node groups caps the pods at 110 or 250; a node that was measured (r5.4xlarge) is not capped",
    _LOOKED_UP,
    second=_MEASURED,
    as_of=date(2026, 7, 23),
)
EFA_SOURCE = Source(
    "awslabs node-efa document: 5128 huge pages of 2 MiB",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
_MIB = 1024
_Steps = tuple[tuple[float, float], ...]


@cache
def _kernel() -> Mapping[str, tuple[float, float]]:
    return {cloud: (float(share), float(gib)) for cloud, share, gib in table_rows(KERNEL)}


@cache
def _steps(table: str) -> _Steps:
    return tuple(
        (inf if size == "-" else float(size), float(share)) for size, share in table_rows(table)
    )


def kernel_gib(machine: Machine) -> float:
    """The memory of the machine's kernel, which is the node's capacity in Kubernetes."""
    share, gib = _kernel().get(machine.cloud, _kernel()["none"])
    return machine.memory_gib * (1 - share) - gib


def kubelet_cpu(machine: Machine) -> float:
    """CPUs that the kubelet reserves."""
    return _stepped(machine.vcpus, _steps(KUBELET_CPU))


def kubelet_gib(machine: Machine) -> float:
    """Memory that the kubelet reserves, plus its eviction threshold."""
    fixed, each = EKS_MIB
    reserved = (
        _stepped(kernel_gib(machine), _steps(GKE_MEMORY))
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
