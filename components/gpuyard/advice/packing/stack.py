"""Machine demand of a platform's shapes in all pools."""

from dataclasses import dataclass, replace

from gpuyard.advice.packing.machines import MachinePacking, NoMachineFits, pack_machines
from gpuyard.advice.packing.needs import Demand
from gpuyard.plan.records import PlatformPlan, PoolPlan, ShapePlan
from gpuyard.spec.platform import PerPod
from gpuyard_core.catalogue.machines import Capacity

_MILLI, _MIB = 1000, 1024


@dataclass(frozen=True, slots=True)
class StackPacking:
    """The cheapest machines for a platform's shapes, and the cheapest of its own machine types."""

    cloud: str
    best: MachinePacking | NoMachineFits
    named: MachinePacking | NoMachineFits
    """The packing of the same shapes on the machine types of their pools."""


def needs_of(plan: PlatformPlan) -> tuple[Demand, ...]:
    """One demand for each shape, with the GPU of its pool."""
    written = {shape.name: shape.per_pod for shape in plan.spec.shapes}
    return tuple(_need(s, plan.pool(s.pool), written[s.name]) for s in plan.shapes)


def _need(shape: ShapePlan, pool: PoolPlan, pod: PerPod | None) -> Demand:
    unit = next(a for a in pool.advertised if a.resource == shape.resource)
    profile = "" if unit.unit in {"", "shared"} else unit.unit.removesuffix(".shared")
    gpu = pool.machine.gpu
    return Demand(
        name=shape.name,
        pods=shape.nodes,
        gpus=shape.per_node * unit.gpu_share if unit.unit == "" else unit.gpu_share,
        slice=profile,
        fraction=pool.machine.gpu_fraction,
        gpu=gpu.name if gpu else "",
        cpu_milli=pod.cpu * _MILLI if pod else 0,
        memory_mib=pod.memory_gib * _MIB if pod else 0,
        colocated=shape.nodes > 1,
        machines=frozenset(pool.machines),
        arch=pool.machine.arch,
    )


def clouds_of(plan: PlatformPlan) -> tuple[str, ...]:
    """Clouds of the machine types of the shapes' pools; simulated platforms use those of a real cloud."""
    return tuple(sorted({plan.pool(shape.pool).machine.cloud for shape in plan.shapes}))


def pack_stack(plan: PlatformPlan, cloud: str, capacity: Capacity) -> StackPacking:
    """Machines for all shapes at once."""
    needs = needs_of(plan)
    unrestricted = [replace(need, machines=frozenset()) for need in needs]
    return StackPacking(
        cloud, pack_machines(unrestricted, cloud, capacity), pack_machines(needs, cloud, capacity)
    )
