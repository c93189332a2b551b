"""The machine to take instead of one that cannot be: of the same cloud, and as like it as there is one."""

from collections.abc import Iterable, Iterator

from gpuyard.catalogue.gpus import Gpu
from gpuyard.catalogue.machines import MACHINES, Capacity, Machine
from gpuyard.findings import Fix, Path
from gpuyard.spec.platform import Cloud
from gpuyard.spec.pools import HostShape

SYSTEM_FAMILIES = ("m7i.", "e2-standard-")
"""Of machines without GPUs that have the same size, these are suggested: every region has them."""
_FOR_SHAPES = ("m7i.", "n2-standard-")
"""What stands for a machine that is only described."""


def machines_of_size(
    machine: Machine, cloud: Cloud, modes: Iterable[Capacity], *, with_gpu: bool
) -> Machine | None:
    """The machine with GPUs, or without, whose CPUs and memory are most like these."""
    results = [m for m in _on_sale(cloud, modes) if m.is_gpu_machine is with_gpu]
    if with_gpu:
        results = [m for m in results if m.gpu_fraction == 1 and m.arch == machine.arch]
    return min(
        results, key=lambda m: _size_distance(m, machine.vcpus, machine.memory_gib), default=None
    )


def with_gpus(
    gpu: Gpu, gpus: int, vcpus: int, cloud: Cloud, modes: Iterable[Capacity]
) -> Machine | None:
    """The machine with as many of these whole GPUs, or the next more."""
    results = [
        m
        for m in _on_sale(cloud, modes)
        if m.gpu is not None and m.gpu.name == gpu.name and m.gpu_fraction == 1 and m.gpus >= gpus
    ]
    return min(
        results, key=lambda m: (m.gpus, *_size_distance(m, vcpus, m.memory_gib)), default=None
    )


def smallest_system(shape: HostShape, cloud: Cloud) -> Machine | None:
    """The smallest of the cloud's usual machines that has what is described."""
    large = (m for m in _usual(cloud) if m.vcpus >= shape.cpu and m.memory_gib >= shape.memory_gib)
    return min(large, key=lambda m: (m.vcpus, m.memory_gib), default=None)


def largest_system(cloud: Cloud) -> Machine:
    """The largest of them."""
    return max(_usual(cloud), key=lambda m: (m.vcpus, m.memory_gib))


def _usual(cloud: Cloud) -> Iterator[Machine]:
    return (m for m in _on_sale(cloud, [Capacity.ON_DEMAND]) if m.name.startswith(_FOR_SHAPES))


def suggest_machine(machine: Machine | None, path: Path) -> Fix | None:
    """The fix that names a machine."""
    if machine is None:
        return None
    return Fix(message=f"write {machine.name}", at=path, value=machine.name)


def _on_sale(cloud: Cloud, modes: Iterable[Capacity]) -> Iterator[Machine]:
    """Machines of this cloud that are sold in each of these ways; of all clouds on nodes of one's own."""
    seller = cloud.value if cloud in {Cloud.AWS, Cloud.GCP} else None
    required_modes = set(modes)
    for machine in MACHINES.values():
        if seller is None or (machine.cloud == seller and required_modes <= machine.sold):
            yield machine


def _size_distance(machine: Machine, vcpus: int, memory_gib: int) -> tuple[int, int, bool, str]:
    """How far a machine is from a size; of two that are as far the usual one, then the name decides."""
    unusual = not machine.name.startswith(SYSTEM_FAMILIES)
    return abs(machine.vcpus - vcpus), abs(machine.memory_gib - memory_gib), unusual, machine.name
