"""Machines of a pool, from the catalogue or described, and whether the cloud sells them as required."""

from collections.abc import Iterable, Iterator
from math import ceil

from gpuyard.plan.records import Allocatable
from gpuyard.provider import provider_of
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import HostShape, MachineShape, Pool
from gpuyard_core.catalogue.gpus import Gpu, find_gpu, gpu_spellings
from gpuyard_core.catalogue.machines import UNDESCRIBED, Capacity, Machine, find_machine
from gpuyard_core.catalogue.reserves import efa_gib, kernel_gib, kubelet_cpu, kubelet_gib
from gpuyard_core.catalogue.sources import Source
from gpuyard_core.findings import Diagnostic, Fix, Path, error
from gpuyard_core.suggestions import format_options, nearest_name, suggested_names

_SHOWN_NAMES = 6


def choose_machines(
    spec: PlatformSpec, pool: Pool, path: Path
) -> tuple[tuple[Machine, ...], list[Diagnostic]]:
    """The machines of a pool, preferred first, and the findings about them.

    A misspelled name that has a fix is planned as the suggested machine, so that the rest of the pool is
    checked too; without a suggestion the pool has no machine.
    """
    modes = [option.mode for option in pool.capacity]
    if isinstance(pool.machine, MachineShape):
        return _described(pool.machine, spec.cloud, modes, (*path, "machine"))
    results: list[Machine] = []
    findings: list[Diagnostic] = []
    listed = not isinstance(pool.machine, str)
    for index, name in enumerate(pool.machines):
        where = (*path, "machine", index) if listed else (*path, "machine")
        machine, problems = find_machine_in_cloud(name, spec.cloud, modes, where, with_gpu=True)
        if machine is not None and not machine.is_gpu_machine:
            fix: Fix | None = Fix.remove(where)
            if len(pool.machines) == 1:  # alone it is replaced by a machine of its size with GPUs
                instead = nearest_machine_by_size(machine, spec.cloud, modes, with_gpu=True)
                fix = suggest_machine(instead, where) or Fix(message="write a machine with GPUs")
            problems = [
                error(
                    "pool.no_gpu",
                    where,
                    "this machine has no GPU",
                    given=machine.name,
                    allowed="a machine with GPUs; machines without GPUs belong to `system`",
                    fix=fix,
                )
            ]
            machine = None
        findings += problems
        if machine is None and (meant := problems[0].fix) and isinstance(meant.value, str):
            machine = find_machine(meant.value, provider_of(spec.cloud).machines)
        results += [machine] if machine else []
    unlike = _unlike(results, (*path, "machine"))
    return tuple(results[:1] if unlike else results), [*findings, *unlike]


def _described(
    shape: MachineShape, cloud: Cloud, modes: list[Capacity], path: Path
) -> tuple[tuple[Machine, ...], list[Diagnostic]]:
    gpu, problems = find_gpu(shape.gpu), list[Diagnostic]()
    if gpu is None:
        meant = suggested_names(shape.gpu, gpu_spellings())
        suggestion = meant[0] if len(meant) == 1 else None
        problems = [
            error(
                "pool.gpu_unknown",
                (*path, "gpu"),
                "the catalogue has no such GPU",
                given=shape.gpu,
                allowed=", ".join(gpu_spellings()),
                fix=Fix.write(suggestion, (*path, "gpu"))
                if suggestion
                else Fix(message=f"write {format_options(meant)}")
                if meant
                else None,
            )
        ]
        gpu = find_gpu(suggestion) if suggestion else None
    if gpu is None:
        return (), problems
    if provider_of(cloud).sells_machines:
        return _not_sold(gpu, shape, cloud, modes, path)
    machine = Machine(
        name=f"{gpu.name}x{shape.gpus}".lower(),
        cloud=cloud.value,
        vcpus=shape.cpu,
        memory_gib=shape.memory_gib,
        gpu=gpu,
        gpus=shape.gpus,
        source=Source(
            "described in the stack file",
            gpu.source.checked_on,
            as_of=gpu.source.checked_on,
        ),
    )
    return (machine,), problems


def _not_sold(
    gpu: Gpu, shape: MachineShape, cloud: Cloud, modes: list[Capacity], path: Path
) -> tuple[tuple[Machine, ...], list[Diagnostic]]:
    """Clouds sell machine types: suggest the type closest to the description."""
    nearest = find_machine_with_gpus(gpu, shape.gpus, shape.cpu, cloud, modes)
    problem = error(
        "pool.machine_described",
        path,
        f"{cloud.value} needs a machine type; a described machine is for your own clusters only",
        allowed="a machine type",
        fix=suggest_machine(nearest, path),
    )
    return (nearest,) if nearest else (), [problem]


def find_machine_in_cloud(
    name: str, cloud: Cloud, modes: list[Capacity], path: Path, *, with_gpu: bool
) -> tuple[Machine | None, list[Diagnostic]]:
    """A machine of the catalogue that this cloud sells; only machines of the wanted kind are suggested."""
    if (machine := find_machine(name, provider_of(cloud).machines)) is not None:
        return machine, []
    machine, names = find_machine(name), _names(cloud, with_gpu=with_gpu)
    if machine is None and with_gpu and (gpu := find_gpu(name)):
        return None, [_a_gpu(gpu, name, names, cloud, path)]
    if name.lower() in UNDESCRIBED:
        return None, [
            error(
                "pool.machine_unknown",
                path,
                "the memory and network of this machine are unknown: no public source listed them on"
                f" {UNDESCRIBED[name.lower()].checked_on}, so gpuyard cannot validate the pool",
                given=name,
                allowed=f"one of the {len(names)} machines of the catalogue",
                fix=Fix(message="choose another machine: `gpuyard offers` ranks them"),
            )
        ]
    suggestion = nearest_name(name, names)
    shown = ", ".join(
        ([suggestion] if suggestion else []) + [n for n in names if n != suggestion][:_SHOWN_NAMES]
    )
    problem = (
        "the catalogue has no such machine"
        if machine is None
        else f"{machine.cloud} sells it, {cloud.value} does not"
    )
    return None, [
        error(
            "pool.machine_unknown" if machine is None else "pool.machine_cloud",
            path,
            problem,
            given=name,
            allowed=f"{shown}, … ({len(names)} in the catalogue)",
            fix=Fix.write(suggestion, path)
            if suggestion
            else suggest_machine(_closest_machine(machine, cloud, modes, with_gpu=with_gpu), path),
        )
    ]


def _a_gpu(gpu: Gpu, name: str, names: list[str], cloud: Cloud, path: Path) -> Diagnostic:
    """A GPU name instead of a machine name: list the machines with this GPU."""
    provider = provider_of(cloud)
    seller = provider.name if provider.sells_machines else None
    having = [n for n in names if provider.machines[n].gpu == gpu]
    described = f"describe it: {{gpu: {gpu.name}, gpus: 8, cpu: 192, memory_gib: 2048}}"
    advice = ["write the machine type"] if having else []
    return error(
        "pool.machine_unknown",
        path,
        "this is a GPU, but a machine is required",
        given=name,
        allowed=", ".join(having) or f"{seller or 'the catalogue'} has no machine with it",
        fix=Fix(message=", or ".join(advice if seller else [*advice, described]))
        if having or not seller
        else None,
    )


def nearest_machine(name: str, cloud: Cloud, *, with_gpu: bool) -> str | None:
    """The machine of this cloud whose name is nearest to the one in the stack file."""
    return nearest_name(name, _names(cloud, with_gpu=with_gpu))


def _names(cloud: Cloud, *, with_gpu: bool) -> list[str]:
    machines = provider_of(cloud).machines
    return [name for name, machine in machines.items() if machine.is_gpu_machine is with_gpu]


def _closest_machine(
    machine: Machine | None, cloud: Cloud, modes: list[Capacity], *, with_gpu: bool
) -> Machine | None:
    """The machine of this cloud that is most similar to one of another cloud."""
    if machine is None:
        return None
    if machine.gpu is not None and with_gpu:
        return find_machine_with_gpus(machine.gpu, machine.gpus, machine.vcpus, cloud, modes)
    return nearest_machine_by_size(machine, cloud, modes, with_gpu=with_gpu)


def _unlike(machines: list[Machine], path: Path) -> list[Diagnostic]:
    """Machines of one pool must have the same GPU, GPU count and architecture."""
    kinds = {(m.gpu.name if m.gpu else "", m.gpus, m.gpu_fraction, m.arch) for m in machines}
    if len(kinds) <= 1:
        return []
    first = machines[0].name
    return [
        error(
            "pool.machines_unlike",
            path,
            "the machines of one pool must have the same number and type of GPUs, and the same architecture",
            given=", ".join(
                f"{m.name} ({m.gpus} × {m.gpu.name if m.gpu else '-'}, {m.arch})" for m in machines
            ),
            allowed=f"machines like {first}",
            fix=Fix(message="create a pool for each kind", at=path, value=first),
        )
    ]


# What the agents of a GPU node use is a conservative estimate of gpuyard: device plugin, feature discovery,
# exporter, network and storage drivers.

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
    return Fix.write(machine.name, path)


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
