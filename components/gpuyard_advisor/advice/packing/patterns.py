"""Packing patterns of one node: by count for GPUs and fractions, by layout for slices."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from gpuyard_advisor.advice.packing.needs import PARTS, Demand, PricedMachine, fits_demand, size
from gpuyard_advisor.advice.packing.slices import full_layouts
from gpuyard_advisor.advice.packing.solver import UNBOUNDED, IntegerProgram, solve
from gpuyard_core.catalogue.mig import MigProduct

Pattern = tuple[int, ...]
"""Number of pods of each demand on one node."""
_NOISE = 1e-7


@dataclass(frozen=True, slots=True)
class EmptyNode:
    """An empty node, and the maximum number of pods of each demand on it."""

    priced: PricedMachine
    needs: tuple[Demand, ...]
    most: Pattern

    @property
    def product(self) -> MigProduct | None:
        """The MIG product of its GPUs."""
        return self.priced.machine.gpu.mig if self.priced.machine.gpu else None

    def fits(self, pods: Sequence[int]) -> bool:
        """Whether all these pods fit."""
        remaining = self.remaining(pods)
        if min(remaining) < 0:
            return False
        slices: dict[str, int] = {}
        for need, count in zip(self.needs, pods, strict=True):
            if need.slice and count:
                slices[need.slice] = slices.get(need.slice, 0) + count
        if not slices or self.product is None:
            return True
        return _gpus_for(self.product, tuple(sorted(slices.items()))) <= remaining[0] // PARTS

    def remaining(self, pods: Sequence[int]) -> tuple[int, int, int]:
        """The remaining resources with these pods; negative if they exceed the node."""
        gpu, cpu, memory = self.priced.allocatable
        for need, count in zip(self.needs, pods, strict=True):
            if count:
                a, b, c = size(need)
                gpu, cpu, memory = gpu - a * count, cpu - b * count, memory - c * count
        return gpu, cpu, memory


def empty_node(priced: PricedMachine, needs: tuple[Demand, ...]) -> EmptyNode:
    """A node of a machine type, for these demands."""
    blank = EmptyNode(priced, needs, ())
    return EmptyNode(priced, needs, tuple(_most(blank, index) for index in range(len(needs))))


def _most(node: EmptyNode, index: int) -> int:
    need = node.needs[index]
    if not fits_demand(node.priced.machine, need):
        return 0
    limit = 1 if need.colocated else need.pods
    for free, each in zip(node.priced.allocatable, size(need), strict=True):
        limit = min(limit, free // each if each else limit)
    profile = node.product.profile(need.slice) if node.product and need.slice else None
    return limit if profile is None else min(limit, node.priced.machine.gpus * profile.max_count)


@lru_cache(maxsize=65536)
def _gpus_for(product: MigProduct, slices: tuple[tuple[str, int], ...]) -> int:
    """The fewest GPUs for a few slices: the largest must be in some layout, so all are tried."""
    counts = dict(slices)
    if not counts:
        return 0
    widest = next(p.name for p in reversed(product.profiles) if p.name in counts)
    best = sum(counts.values())
    for layout in full_layouts(product):
        if widest in layout:
            rest = {n: c - layout.get(n, 0) for n, c in counts.items() if c > layout.get(n, 0)}
            best = min(best, 1 + _gpus_for(product, tuple(sorted(rest.items()))))
    return best


def fill_node(node: EmptyNode, order: Sequence[int], remaining: Sequence[int]) -> Pattern:
    """Fill the node with as many pods as fit, demand by demand in this order."""
    pods = [0] * len(node.needs)
    for index in order:
        low, high = 0, min(node.most[index], remaining[index])
        while low < high:  # fitting is monotonic, so a binary search finds the maximum
            pods[index] = (low + high + 1) // 2
            if node.fits(pods):
                low = pods[index]
            else:
                high = pods[index] - 1
        pods[index] = low
    return tuple(pods)


def most_valuable_pattern(node: EmptyNode, worth: Sequence[float]) -> Pattern:
    """The pods on one node with the highest total worth."""
    chosen = [i for i, most in enumerate(node.most) if most and worth[i] > _NOISE]
    if not chosen:
        return (0,) * len(node.needs)
    profiles = sorted({n.slice for i in chosen if (n := node.needs[i]).slice})
    layouts = full_layouts(node.product) if profiles and node.product else ()
    columns: list[dict[int, int]] = []
    for index in chosen:
        need = node.needs[index]
        column = dict(enumerate(size(need)))
        if need.slice:
            column[3 + profiles.index(need.slice)] = 1
        columns.append(column)
    for layout in layouts:
        cut = {3 + row: -layout[name] for row, name in enumerate(profiles) if name in layout}
        columns.append({0: PARTS, **cut})
    rows = 3 + len(profiles)
    result = solve(
        IntegerProgram(
            costs=[-worth[i] for i in chosen] + [0.0] * len(layouts),
            columns=columns,
            at_least=[-UNBOUNDED] * rows,
            at_most=[*(float(r) for r in node.priced.allocatable), *[0.0] * len(profiles)],
            most=[float(node.most[i]) for i in chosen] + [UNBOUNDED] * len(layouts),
        )
    )
    assert result is not None  # noqa: S101  an empty node is a solution
    counts: Mapping[int, int] = dict(zip(chosen, result.counts, strict=False))
    return tuple(counts.get(index, 0) for index in range(len(node.needs)))


def improving_patterns(
    node: EmptyNode, worth: Sequence[float], least: float, step: Callable[[], bool]
) -> Iterator[Pattern]:
    """Every maximal pattern with at least this worth.

    A branch is cut when the remaining pods cannot reach the worth. `step` is called at every branch; the search
    ends when it returns False.
    """
    order = [i for i, most in enumerate(node.most) if most]
    order.sort(key=lambda i: (-worth[i] * node.most[i], i))
    best = _densities(node, worth, order)
    sliced = any(node.needs[i].slice for i in order)
    pods = [0] * len(node.needs)

    def extend(depth: int, remaining: tuple[int, int, int], value: float) -> Iterator[Pattern]:
        if depth == len(order):
            if _is_full(node, pods):
                yield tuple(pods)
            return
        index = order[depth]
        gpu, cpu, memory = remaining
        a, b, c = size(node.needs[index])
        for count in range(_times(remaining, (a, b, c), node.most[index]), -1, -1):
            if not step():
                return
            pods[index] = count
            reached = value + worth[index] * count
            now = (gpu - a * count, cpu - b * count, memory - c * count)
            enough = reached + _rest(now, best[depth + 1]) >= least
            if enough and (not sliced or node.fits(pods)):
                yield from extend(depth + 1, now, reached)
        pods[index] = 0

    return extend(0, node.priced.allocatable, 0.0)


def _times(remaining: Sequence[int], each: Sequence[int], most: int) -> int:
    return min([most, *(free // used for free, used in zip(remaining, each, strict=True) if used)])


def _densities(
    node: EmptyNode, worth: Sequence[float], order: Sequence[int]
) -> tuple[tuple[float, ...], ...]:
    """For each depth, the highest worth of a unit of each resource."""
    best = [(0.0, 0.0, 0.0)]
    for index in reversed(order):
        each = size(node.needs[index])
        best.append(
            tuple(  # type: ignore[arg-type]
                max(before, _density(worth[index], used))
                for before, used in zip(best[-1], each, strict=True)
            )
        )
    return tuple(reversed(best))


def _density(worth: float, amount: int) -> float:
    if amount:
        return worth / amount
    return UNBOUNDED if worth else 0.0


def _rest(remaining: Sequence[int], best: Sequence[float]) -> float:
    """Upper bound of the worth of a node's remaining resources."""
    return min(UNBOUNDED if b == UNBOUNDED else a * b for a, b in zip(remaining, best, strict=True))


def _is_full(node: EmptyNode, pods: list[int]) -> bool:
    for index, most in enumerate(node.most):
        if pods[index] < most:
            pods[index] += 1
            more = node.fits(pods)
            pods[index] -= 1
            if more:
                return False
    return True
