"""System nodes for the controllers: no job uses them, and they must exist before the pools."""

from collections.abc import Iterator
from dataclasses import replace

from gpuyard.plan.draft import Draft
from gpuyard.plan.pools.machines import (
    find_machine_in_cloud,
    largest_system,
    nearest_machine,
    nearest_machine_by_size,
    smallest_system,
    suggest_machine,
)
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import HostShape
from gpuyard_core.catalogue.machines import Capacity, Machine, find_machine
from gpuyard_core.catalogue.sources import Source, find_source
from gpuyard_core.findings import Diagnostic, Fix, Path, error, warning

_MODES = [Capacity.ON_DEMAND]
_PATH: Path = ("system", "machine")
_ENOUGH = 2


def decide_system(draft: Draft) -> tuple[Draft, list[Diagnostic]]:
    """The machine of the system nodes; only the cost depends on it, so an unknown machine is allowed."""
    spec, system = draft.spec, draft.spec.system
    if system is None:
        return draft, []
    if isinstance(system.machine, HostShape):
        return _of_shape(draft, system.machine)
    machine, findings = find_machine_in_cloud(
        system.machine, spec.cloud, _MODES, _PATH, with_gpu=False
    )
    if machine is None and find_machine(system.machine) is None:
        findings = [_unknown(spec, system.machine)]
        return replace(draft, system=_unpriced(spec, system.machine, 0, 0)), findings
    if machine is not None and machine.is_gpu_machine:
        gpus = f"{machine.gpus} × {machine.gpu.name}" if machine.gpu else ""
        findings.append(
            warning(
                "system.gpu_machine",
                _PATH,
                f"system nodes run controllers and no jobs: {gpus} a node would be paid for and never used",
                given=machine.name,
                allowed="a machine without GPUs",
                fix=suggest_machine(
                    nearest_machine_by_size(machine, spec.cloud, _MODES, with_gpu=False), _PATH
                ),
            )
        )
    return replace(draft, system=machine), findings


def check_system(draft: Draft) -> Iterator[Diagnostic]:
    """Reject a new cluster in a cloud without nodes for its controllers."""
    spec = draft.spec
    if not draft.provider.sells_machines or spec.cluster_exists:
        return
    if spec.system is not None:
        # DNS and controllers run on system nodes; on EKS, also the autoscaler that would start the first one
        nodes = spec.system.nodes
        if not (nodes.low if draft.provider.needs_autoscaler else nodes.high):
            enough = f"2..{nodes.high}" if nodes.high > _ENOUGH else str(_ENOUGH)
            yield error(
                "system.no_nodes",
                ("system", "nodes"),
                f"on {spec.cloud.value} controllers and add-ons need system nodes, and none would start",
                given=str(nodes),
                allowed="a minimum of 1; with 2, controllers stay available when one node fails",
                fix=Fix.write(enough, ("system", "nodes")),
            )
        yield from draft.provider.check_system(spec, spec.system)
        return
    machine = draft.provider.system_machine
    yield error(
        "system.missing",
        ("system",),
        f"controllers need nodes without GPUs, and on {spec.cloud.value} the cluster starts without nodes",
        allowed="system: {machine: TYPE, nodes: 2..3}",
        fix=Fix(
            message=f"add system: {{machine: {machine}, nodes: 2..3}}",
            at=("system",),
            value={"machine": machine, "nodes": "2..3"},
        ),
    )


def _of_shape(draft: Draft, shape: HostShape) -> tuple[Draft, list[Diagnostic]]:
    """In a cloud, the smallest usual machine of this size; otherwise a machine as described."""
    if not draft.provider.sells_machines:
        name = f"{shape.cpu}cpu-{shape.memory_gib}gib"
        return replace(draft, system=_unpriced(draft.spec, name, shape.cpu, shape.memory_gib)), []
    machine = smallest_system(shape, draft.spec.cloud)
    findings = [] if machine else [_too_large(draft.spec.cloud, shape)]
    return replace(draft, system=machine), findings


def _unpriced(spec: PlatformSpec, name: str, vcpus: int, memory_gib: int) -> Machine:
    """A machine known only from the stack file; its price is in `prices`, or unknown."""
    day = find_source("ec2-offers").checked_on
    return Machine(
        name=name,
        cloud=spec.cloud.value,
        vcpus=vcpus,
        memory_gib=memory_gib,
        source=Source("the stack file", day, verified=False, as_of=day),
    )


def _unknown(spec: PlatformSpec, name: str) -> Diagnostic:
    suggestion = nearest_machine(name, spec.cloud, with_gpu=False)
    return warning(
        "system.machine_unknown",
        _PATH,
        "the catalogue has no such machine: the plan is valid if it exists, but the bill lacks its price",
        given=name,
        allowed="a machine of the catalogue, a price under `prices`, or {cpu, memory_gib}",
        fix=Fix.write(suggestion, _PATH)
        if suggestion
        else Fix(message="add its price: prices: {machines: {NAME: USD an hour}}"),
    )


def _too_large(cloud: Cloud, shape: HostShape) -> Diagnostic:
    largest = largest_system(cloud)
    return error(
        "system.too_large",
        _PATH,
        "no standard machine is this large, and controllers need far less; you can also write a machine type",
        given=f"{shape.cpu} CPUs, {shape.memory_gib} GiB",
        allowed=f"at most {largest.vcpus} CPUs and {largest.memory_gib} GiB, or a machine type",
        fix=suggest_machine(largest, _PATH),
    )
