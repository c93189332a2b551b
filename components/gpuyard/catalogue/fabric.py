"""Fabrics: how GPUs of one machine reach GPUs of another without going through the host's TCP stack."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard.catalogue.machines import Machine
from gpuyard.catalogue.sources import GCE_GPUDIRECT, Source


@dataclass(frozen=True, slots=True)
class Fabric:
    """One way to other machines' GPUs."""

    name: str
    source: Source


GPUDIRECT: Mapping[str, Fabric] = {
    machine: Fabric(name, GCE_GPUDIRECT)
    for machine, name in (
        ("a3-highgpu-8g", "GPUDirect-TCPX"),
        ("a3-megagpu-8g", "GPUDirect-TCPXO"),
        ("a3-ultragpu-8g", "GPUDirect-RDMA"),
        ("a4-highgpu-8g", "GPUDirect-RDMA"),
        ("a4x-highgpu-4g", "GPUDirect-RDMA"),
        ("a4x-maxgpu-4g-metal", "GPUDirect-RDMA"),
    )
}
"""By GCE machine type. Types that are not here have TCP only, or nobody has published more."""


def direct_fabric(machine: Machine) -> Fabric | None:
    """EFA or GPUDirect; None when collectives between machines of this type go over TCP."""
    if machine.efa_interfaces:
        return Fabric("EFA", machine.source)
    return GPUDIRECT.get(machine.name)
