"""The machine to suggest instead of a rejected one: the most similar machine of the same cloud."""

from collections.abc import Iterable, Iterator

from gpuyard.provider import provider_of
from gpuyard.spec.platform import Cloud
from gpuyard.spec.pools import HostShape
from gpuyard_core.catalogue.gpus import Gpu
from gpuyard_core.catalogue.machines import Capacity, Machine
from gpuyard_core.findings import Fix, Path

SYSTEM_FAMILIES = ("m7i.", "e2-standard-")
"""The families suggested among machines without GPUs of the same size: every region has them."""


def nearest_machine_by_size(
    machine: Machine, cloud: Cloud, modes: Iterable[Capacity], *, with_gpu: bool
) -> Machine | None:
    """The machine, with or without GPUs, whose CPUs and memory are closest to those of this machine."""
    results = [m for m in _on_sale(cloud, modes) if m.is_gpu_machine is with_gpu]
    if with_gpu:
        results = [m for m in results if m.gpu_fraction == 1 and m.arch == machine.arch]
    return min(
        results, key=lambda m: _size_distance(m, machine.vcpus, machine.memory_gib), default=None
    )


def find_machine_with_gpus(
    gpu: Gpu, gpus: int, vcpus: int, cloud: Cloud, modes: Iterable[Capacity]
) -> Machine | None:
    """The machine with this number of whole GPUs of this type, or the next larger number."""
    results = [
        m
        for m in _on_sale(cloud, modes)
        if m.gpu is not None and m.gpu.name == gpu.name and m.gpu_fraction == 1 and m.gpus >= gpus
    ]
    return min(
        results, key=lambda m: (m.gpus, *_size_distance(m, vcpus, m.memory_gib)), default=None
    )


def smallest_system(shape: HostShape, cloud: Cloud) -> Machine | None:
    """The smallest of the cloud's usual machines that has the described CPUs and memory."""
    large = (m for m in _usual(cloud) if m.vcpus >= shape.cpu and m.memory_gib >= shape.memory_gib)
    return min(large, key=lambda m: (m.vcpus, m.memory_gib), default=None)


def largest_system(cloud: Cloud) -> Machine:
    """The largest of the cloud's usual machines."""
    return max(_usual(cloud), key=lambda m: (m.vcpus, m.memory_gib))


def _usual(cloud: Cloud) -> Iterator[Machine]:
    family = provider_of(cloud).system_family
    machines = _on_sale(cloud, [Capacity.ON_DEMAND])
    return (m for m in machines if m.name.startswith(family) and not m.is_gpu_machine)


def suggest_machine(machine: Machine | None, path: Path) -> Fix | None:
    """The fix that names a machine."""
    if machine is None:
        return None
    return Fix(message=f"write {machine.name}", at=path, value=machine.name)


def _on_sale(cloud: Cloud, modes: Iterable[Capacity]) -> Iterator[Machine]:
    """Machines of this cloud that are sold with each of these capacity types; all clouds for `cloud: none`."""
    provider, required_modes = provider_of(cloud), set(modes)
    for machine in provider.machines.values():
        if not provider.sells_machines or required_modes <= machine.sold:
            yield machine


def _size_distance(machine: Machine, vcpus: int, memory_gib: int) -> tuple[int, int, bool, str]:
    """The distance of a machine from a size; ties go to the usual families, then to the name."""
    unusual = not machine.name.startswith(SYSTEM_FAMILIES)
    return abs(machine.vcpus - vcpus), abs(machine.memory_gib - memory_gib), unusual, machine.name
