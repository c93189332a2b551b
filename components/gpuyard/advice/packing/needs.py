"""Node needs of pods: which machines may give them, and why the others may not.

A node's GPUs are counted in eighths. Pods that take a part of a GPU take a half, a quarter or an eighth:
such parts always fit side by side, so adding them up is exact. Slices are packed by layout instead.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from gpuyard.advice.offers.offers import price_of
from gpuyard.catalogue.machines import MACHINES, Capacity, Machine
from gpuyard.plan.pools.allocatable import plan_allocatable

PARTS = 8
"""Of one GPU: an eighth is the smallest part that a cloud sells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Pods that are alike, and what each asks of a node."""

    name: str
    pods: int
    gpus: Fraction = Fraction(1)
    """Whole GPUs, or a part of one, which is rounded up to a half, a quarter or an eighth."""
    slice: str = ""
    """A MIG profile, instead of `gpus`."""
    fraction: Fraction | None = None
    """Only on machines with so much of each GPU; any when None. A part of one (g6f) is shared no further, and
    goes to one pod."""
    gpu: str = ""
    """The GPU's catalogue name; any when empty."""
    gpu_memory_gib: int = 0
    """The GPU has at least so much memory."""
    cpu_milli: int = 0
    memory_mib: int = 0
    colocated: bool = False
    """Pods of one job: every one on a node of its own, and all nodes of one machine type."""
    machines: frozenset[str] = frozenset()
    """Only on these; any when empty."""
    arch: str = "amd64"

    @property
    def parts(self) -> int:
        """Eighths of GPUs; none when it asks for a slice."""
        return 0 if self.slice else eighths(self.gpus)


def eighths(gpus: Fraction) -> int:
    """GPUs in eighths: a part is rounded up to a half, a quarter or an eighth, more to whole ones."""
    if gpus > Fraction(1, 2):
        return -(-gpus.numerator // gpus.denominator) * PARTS
    return next(n for n in (1, 2, 4) if gpus <= Fraction(n, PARTS))


@dataclass(frozen=True, slots=True)
class PricedMachine:
    """A machine that may be chosen, and what one costs an hour."""

    machine: Machine
    usd: float

    @property
    def allocatable(self) -> tuple[int, int, int]:
        """Eighths of GPUs, thousandths of CPU threads, MiB of memory: what a plan leaves for pods."""
        machine, left = self.machine, plan_allocatable(self.machine)
        parts = machine.gpus * machine.gpu_fraction * PARTS
        return int(parts), left.cpu * 1000, left.memory_gib * 1024


@dataclass(frozen=True, slots=True)
class ExcludedMachine:
    """A machine that has what some pods need and may not be chosen."""

    machine: Machine
    why: str


def size(need: Demand) -> tuple[int, int, int]:
    """What one pod takes of a node's room, its slice aside."""
    return need.parts, need.cpu_milli, need.memory_mib


def fits_demand(machine: Machine, need: Demand) -> bool:
    """One pod fits on an empty node."""
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
    """The machines of a cloud that may be chosen, by price; and those that hold some pods and may not."""
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
    """Without machines that another replaces: no dearer, as roomy, and good for the same pods."""
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
