"""Demands of pods: which machines fit them, and why others are excluded.

A node's GPUs are counted in eighths. Pods with a fraction of a GPU use a half, a quarter or an eighth: such
fractions always fit together if their sum does. Slices are packed by layout instead.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from gpuyard.plan.pools.machines import plan_allocatable
from gpuyard_advisor.advice.offers.offers import price_of
from gpuyard_core.catalogue.machines import MACHINES, Capacity, Machine

PARTS = 8
"""Parts of one GPU: an eighth is the smallest fraction that a cloud sells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Equal pods, and the requests of each."""

    name: str
    pods: int
    gpus: Fraction = Fraction(1)
    """Whole GPUs, or a fraction of one, rounded up to a half, a quarter or an eighth."""
    slice: str = ""
    """A MIG profile, instead of `gpus`."""
    fraction: Fraction | None = None
    """Only machines with this fraction of each GPU; any when None. A fractional GPU (g6f) is not shared further:
    one pod uses it."""
    gpu: str = ""
    """The GPU's catalogue name; any when empty."""
    gpu_memory_gib: int = 0
    """Minimum GPU memory."""
    cpu_milli: int = 0
    memory_mib: int = 0
    colocated: bool = False
    """Pods of one job: each on a separate node, and all nodes of one machine type."""
    machines: frozenset[str] = frozenset()
    """Allowed machine types; any when empty."""
    arch: str = "amd64"

    @property
    def parts(self) -> int:
        """Eighths of GPUs; 0 for a slice."""
        return 0 if self.slice else eighths(self.gpus)


def eighths(gpus: Fraction) -> int:
    """GPUs in eighths: a fraction is rounded up to a half, a quarter or an eighth, more to whole GPUs."""
    if gpus > Fraction(1, 2):
        return -(-gpus.numerator // gpus.denominator) * PARTS
    return next(n for n in (1, 2, 4) if gpus <= Fraction(n, PARTS))


@dataclass(frozen=True, slots=True)
class PricedMachine:
    """A candidate machine with its hourly price."""

    machine: Machine
    usd: float

    @property
    def allocatable(self) -> tuple[int, int, int]:
        """Allocatable eighths of GPUs, thousandths of CPU threads, and MiB of memory."""
        machine, left = self.machine, plan_allocatable(self.machine)
        parts = machine.gpus * machine.gpu_fraction * PARTS
        return int(parts), left.cpu * 1000, left.memory_gib * 1024


@dataclass(frozen=True, slots=True)
class ExcludedMachine:
    """A machine that fits some pods but is excluded."""

    machine: Machine
    why: str


def size(need: Demand) -> tuple[int, int, int]:
    """The resources of one pod, without its slice."""
    return need.parts, need.cpu_milli, need.memory_mib


def fits_demand(machine: Machine, need: Demand) -> bool:
    """Whether one pod fits on an empty node."""
    gpu = machine.gpu
    if gpu is None or machine.arch != need.arch:
        return False
    if need.machines and machine.name not in need.machines:
        return False
    if (need.gpu and gpu.name != need.gpu) or gpu.memory_gib < need.gpu_memory_gib:
        return False
    if need.fraction is not None and machine.gpu_fraction != need.fraction:
        return False
    if need.slice and not _cuts(machine, need.slice):
        return False
    return all(
        a <= b for a, b in zip(size(need), PricedMachine(machine, 0.0).allocatable, strict=True)
    )


def _cuts(machine: Machine, profile: str) -> bool:
    product = machine.gpu.mig if machine.gpu and machine.gpu_fraction == 1 else None
    result = product.profile(profile) if product else None
    return result is not None and not result.variant


def candidate_machines(
    needs: Iterable[Demand],
    cloud: str,
    capacity: Capacity,
    machines: Mapping[str, Machine] = MACHINES,
) -> tuple[tuple[PricedMachine, ...], tuple[ExcludedMachine, ...]]:
    """The candidate machines of a cloud by price, and the excluded machines that fit some pods."""
    demands = tuple(needs)
    priced: list[PricedMachine] = []
    left_out: list[ExcludedMachine] = []
    for machine in machines.values():
        if machine.cloud != cloud or not any(fits_demand(machine, need) for need in demands):
            continue
        price = price_of(machine, capacity)
        if capacity not in machine.sold:
            ways = ", ".join(sorted(c.value for c in machine.sold))
            left_out.append(ExcludedMachine(machine, f"not sold {capacity.value}, only {ways}"))
        elif price is None:
            since = machine.source.checked_on
            left_out.append(
                ExcludedMachine(machine, f"{capacity.value} price unknown as of {since}")
            )
        else:
            priced.append(PricedMachine(machine, price.high))
    return tuple(sorted(priced, key=lambda p: (p.usd, p.machine.name))), tuple(left_out)


def undominated(
    needs: tuple[Demand, ...], machines: Iterable[PricedMachine]
) -> tuple[PricedMachine, ...]:
    """Remove machines for which another has at most the price, at least the resources, and fits the same pods."""
    retained: list[PricedMachine] = []
    fitting_needs = {
        p.machine.name: frozenset(n for n in needs if fits_demand(p.machine, n)) for p in machines
    }
    for one in sorted(machines, key=lambda p: (p.usd, [-r for r in p.allocatable], p.machine.name)):
        if not any(_replaces(other, one, needs, fitting_needs) for other in retained):
            retained.append(one)
    return tuple(retained)


def _replaces(
    other: PricedMachine,
    one: PricedMachine,
    needs: tuple[Demand, ...],
    fitting_needs: Mapping[str, frozenset[Demand]],
) -> bool:
    cut = any(need.slice for need in needs)
    if cut and (other.machine.gpu is None or other.machine.gpu.mig != _product(one.machine)):
        return False  # slices of different GPUs are packed differently
    return fitting_needs[other.machine.name] >= fitting_needs[one.machine.name] and all(
        a >= b for a, b in zip(other.allocatable, one.allocatable, strict=True)
    )


def _product(machine: Machine) -> object:
    return machine.gpu.mig if machine.gpu else None
