"""Fewest GPUs for a demand of MIG slices, and their layouts: a proven minimum.

Every valid layout is part of a full one, so only layouts to which no slice can be added matter: 28 on an
A100. The number of GPUs of each layout is a small integer program, whatever the demand.
`docs/concepts/packing.md` explains it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil

from gpuyard_advisor.advice.packing.solver import UNBOUNDED, IntegerProgram, solve
from gpuyard_core.catalogue.mig import MigProduct, MigProfile
from gpuyard_core.catalogue.mig_layouts import multisets

_NONE = Fraction(0)
_NOISE = 1e-6
"""Rounding tolerance of an integer bound."""


@dataclass(frozen=True, slots=True)
class PartitionedGpus:
    """GPUs with equal layout."""

    layout: Mapping[str, int]
    gpus: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SlicePacking:
    """GPUs for a demand of slices."""

    product: MigProduct
    demand: Mapping[str, int]
    """The demand by profile, in the product's order."""
    minimum_gpus: int
    """GPUs for the whole demand."""
    bound: int
    """Lower bound of the number of GPUs."""
    partitions: tuple[PartitionedGpus, ...]
    unplaced: Mapping[str, int]
    """Unplaced slices when too few GPUs are available."""

    @property
    def gpus(self) -> int:
        """Number of partitioned GPUs."""
        return sum(cut.gpus for cut in self.partitions)

    @property
    def gap(self) -> int:
        """Difference between the GPUs found and the bound: 0 is optimal."""
        return self.minimum_gpus - self.bound

    @property
    def spare(self) -> Mapping[str, int]:
        """Slices that the layouts have beyond the demand."""
        available = _slice_counts(self.partitions)
        expected = {n: c - self.unplaced.get(n, 0) for n, c in self.demand.items()}
        beyond = {
            p.name: available.get(p.name, 0) - expected.get(p.name, 0) for p in _base(self.product)
        }
        return {name: count for name, count in beyond.items() if count}


def pack_slices(
    product: MigProduct, demand: Mapping[str, int], available: int | None = None
) -> SlicePacking:
    """Partition the fewest GPUs for a demand; if fewer are `available`, place as much compute as fits.

    ValueError for a profile that the product lacks, or a media variant, of which a GPU supports one.
    """
    ordered_demand = _in_order(product, demand)
    layouts = full_layouts(product)
    result = solve(
        IntegerProgram(
            costs=[1.0] * len(layouts),
            columns=[_column(layout, ordered_demand) for layout in layouts],
            at_least=[float(count) for count in ordered_demand.values()],
            at_most=[UNBOUNDED] * len(ordered_demand),
            most=[UNBOUNDED] * len(layouts),
        )
    )
    assert result is not None  # noqa: S101  every profile is in some layout, so enough GPUs hold all
    counts, left_out = result.counts, dict[str, int]()
    if available is not None and available < sum(counts):
        counts, left_out = _most_of(product, ordered_demand, available)
    return SlicePacking(
        product=product,
        demand=ordered_demand,
        minimum_gpus=sum(result.counts),
        bound=ceil(result.bound - _NOISE),
        partitions=tuple(PartitionedGpus(x, n) for x, n in zip(layouts, counts, strict=True) if n),
        unplaced=left_out,
    )


def _most_of(
    product: MigProduct, demand: Mapping[str, int], available: int
) -> tuple[tuple[int, ...], dict[str, int]]:
    """Layouts for the available GPUs, and the unplaced slices with the least compute."""
    layouts = full_layouts(product)
    size = {p.name: p.slices for p in product.profiles}
    rows = len(demand)
    gpus = [{**_column(layout, demand), rows: 1} for layout in layouts]
    outside = [{row: 1} for row in range(rows)]
    result = solve(
        IntegerProgram(
            costs=[0.0] * len(layouts) + [float(size[name]) for name in demand],
            columns=[*gpus, *outside],
            at_least=[*(float(count) for count in demand.values()), 0.0],
            at_most=[*[UNBOUNDED] * rows, float(available)],
            most=[UNBOUNDED] * len(layouts) + [float(count) for count in demand.values()],
        )
    )
    assert result is not None  # noqa: S101  leaving everything out is a solution
    counts = result.counts
    out = dict(zip(demand, counts[len(layouts) :], strict=True))
    return counts[: len(layouts)], {name: count for name, count in out.items() if count}


@lru_cache(maxsize=32)
def full_layouts(product: MigProduct) -> tuple[Mapping[str, int], ...]:
    """Layouts to which no slice can be added, those with the largest slices first."""
    legal = multisets(product)
    keys = {tuple(sorted(each.items())) for each in legal}
    base = _base(product)

    def is_full(layout: Mapping[str, int]) -> bool:
        more = ({**layout, p.name: layout.get(p.name, 0) + 1} for p in base)
        return not any(tuple(sorted(m.items())) in keys for m in more)

    full = (
        {p.name: layout[p.name] for p in base if p.name in layout}
        for layout in legal
        if is_full(layout)
    )
    return tuple(
        sorted(full, key=lambda layout: [layout.get(p.name, 0) for p in base[::-1]], reverse=True)
    )


def _base(product: MigProduct) -> tuple[MigProfile, ...]:
    return tuple(p for p in product.profiles if not p.variant)


def _column(layout: Mapping[str, int], profiles: Iterable[str]) -> dict[int, int]:
    return {row: layout[name] for row, name in enumerate(profiles) if name in layout}


def _in_order(product: MigProduct, demand: Mapping[str, int]) -> dict[str, int]:
    """The demand in the product's order, so that the input order does not matter."""
    names = [p.name for p in _base(product)]
    if unknown := [name for name in demand if name not in names]:
        raise ValueError(
            f"{product.gpu} has no profile {', '.join(unknown)}; allowed: {', '.join(names)}"
        )
    if wrong := [name for name, count in demand.items() if count < 0]:
        raise ValueError(f"negative number of slices: {', '.join(wrong)}")
    return {name: demand[name] for name in names if demand.get(name)}


def _slice_counts(cuts: Iterable[PartitionedGpus]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for cut in cuts:
        for name, count in cut.layout.items():
            counts[name] = counts.get(name, 0) + count * cut.gpus
    return counts


def slice_for(
    product: MigProduct, *, memory_gib: Fraction = _NONE, compute: Fraction = _NONE
) -> MigProfile | None:
    """The smallest slice with at least this memory and share of the GPU's compute.

    Smallest in compute, then in memory. A slice has its share of the GPU's memory by memory units, of which
    the driver reserves a little.
    """
    gpu_memory_gib = whole_memory_gib(product)
    fitting = (
        p
        for p in _base(product)
        if Fraction(p.units * gpu_memory_gib, product.units) >= memory_gib
        and Fraction(p.slices, product.slices) >= compute
    )
    return min(fitting, key=lambda p: (p.slices, p.units), default=None)


def whole_memory_gib(product: MigProduct) -> int:
    """Memory of the whole GPU, from the name of its largest profile."""
    return int(_base(product)[-1].name.partition(".")[2].removesuffix("gb"))


def single_profile_gpus(product: MigProduct, demand: Mapping[str, int]) -> int:
    """GPUs when each has slices of one profile only, as with `mig.strategy=single`."""
    most = {p.name: p.max_count for p in product.profiles}
    return sum(-(-count // most[name]) for name, count in demand.items())
