"""Which machine a pool is made of, looked up or described, and whether it can be had like that."""

from fractions import Fraction

from gpuyard.catalogue.gpus import find_gpu, gpu_spellings
from gpuyard.catalogue.machines import MACHINES, Machine, find_machine, machine_names
from gpuyard.catalogue.sources import Source
from gpuyard.findings import Finding, Fix, Path
from gpuyard.plan.refusals import refuse
from gpuyard.spec.nearest import nearest
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import MachineShape, Pool, System

_SHOWN_NAMES = 6


def choose_machines(
    spec: PlatformSpec, pool: Pool, path: Path
) -> tuple[tuple[Machine, ...], list[Finding]]:
    """The machines of a pool, preferred first; none when a finding refuses."""
    if isinstance(pool.machine, MachineShape):
        return _described(pool.machine, spec.cloud, (*path, "machine"))
    found: list[Machine] = []
    findings: list[Finding] = []
    listed = not isinstance(pool.machine, str)
    for index, name in enumerate(pool.machines):
        where = (*path, "machine", index) if listed else (*path, "machine")
        machine, problems = _sold_here(name, spec.cloud, where, with_gpu=True)
        findings += problems
        if machine is None:
            continue
        if not machine.is_gpu_machine:
            findings.append(_no_gpu(machine, where))
            continue
        found.append(machine)
    findings += _unlike(found, (*path, "machine"))
    return ((), findings) if findings else (tuple(found), [])


def choose_system_machine(
    spec: PlatformSpec, system: System
) -> tuple[Machine | None, list[Finding]]:
    """The machine of the system nodes."""
    return _sold_here(system.machine, spec.cloud, ("system", "machine"), with_gpu=False)


def _described(
    shape: MachineShape, cloud: Cloud, path: Path
) -> tuple[tuple[Machine, ...], list[Finding]]:
    gpu = find_gpu(shape.gpu)
    if gpu is None:
        near = nearest(shape.gpu, gpu_spellings())
        return (), [
            refuse(
                "pool.gpu_unknown",
                (*path, "gpu"),
                "no GPU of that name in the catalogue",
                given=shape.gpu,
                allowed=", ".join(gpu_spellings()),
                fix=Fix(says=f"write {near}", at=(*path, "gpu"), value=near) if near else None,
            )
        ]
    if cloud in {Cloud.AWS, Cloud.GCP}:
        return (), [
            refuse(
                "pool.machine_described",
                path,
                f"{cloud.value} sells machine types; a described machine is for clusters of your own",
                allowed="a machine type",
                fix=_type_with(gpu.name, shape.gpus, cloud, path),
            )
        ]
    machine = Machine(
        name=f"{gpu.name}x{shape.gpus}".lower(),
        cloud=cloud.value,
        vcpus=shape.cpu,
        memory_gib=shape.memory_gib,
        gpu=gpu,
        gpus=shape.gpus,
        source=Source("described in the stack file", gpu.source.checked_on),
    )
    return (machine,), []


def _type_with(gpu: str, gpus: int, cloud: Cloud, path: Path) -> Fix | None:
    """A machine type of this cloud with the described GPUs, when it sells one."""
    for machine in MACHINES.values():
        if (
            machine.cloud == cloud.value
            and machine.gpu
            and (machine.gpu.name, machine.gpus, machine.gpu_fraction) == (gpu, gpus, Fraction(1))
        ):
            return Fix(says=f"write {machine.name}", at=path, value=machine.name)
    return None


def _sold_here(
    name: str, cloud: Cloud, path: Path, *, with_gpu: bool
) -> tuple[Machine | None, list[Finding]]:
    """A catalogued machine that this cloud sells; only machines of the wanted kind are suggested."""
    seller = cloud.value if cloud in {Cloud.AWS, Cloud.GCP} else None
    machine = find_machine(name)
    if machine is not None and seller in {None, machine.cloud}:
        return machine, []
    names = [n for n in machine_names(seller) if MACHINES[n].is_gpu_machine is with_gpu]
    near = nearest(name, names)
    shown = ", ".join(([near] if near else []) + [n for n in names if n != near][:_SHOWN_NAMES])
    problem = (
        "no such machine in the catalogue"
        if machine is None
        else f"{machine.cloud} sells it, {cloud.value} does not"
    )
    return None, [
        refuse(
            "pool.machine_unknown" if machine is None else "pool.machine_cloud",
            path,
            problem,
            given=name,
            allowed=f"{shown}, … ({len(names)} in the catalogue)",
            fix=Fix(says=f"write {near}", at=path, value=near) if near else None,
        )
    ]


def _no_gpu(machine: Machine, path: Path) -> Finding:
    return refuse(
        "pool.no_gpu",
        path,
        "this machine has no GPU",
        given=machine.name,
        allowed="a GPU machine; machines without belong to `system`",
    )


def _unlike(machines: list[Machine], path: Path) -> list[Finding]:
    """Machines of one pool must be alike: same GPU, as many, same architecture."""
    kinds = {(m.gpu.name if m.gpu else "", m.gpus, m.gpu_fraction, m.arch): m for m in machines}
    if len(kinds) <= 1:
        return []
    first = machines[0]
    given = ", ".join(
        f"{m.name} ({m.gpus} × {m.gpu.name if m.gpu else '-'}, {m.arch})" for m in machines
    )
    return [
        refuse(
            "pool.machines_unlike",
            path,
            "the machines of one pool must have the same GPUs, as many, and the same architecture",
            given=given,
            allowed=f"machines like {first.name}",
            fix=Fix(says="make a pool of each kind", at=path, value=first.name),
        )
    ]
