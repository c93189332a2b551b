"""Cheapest machines for a demand of pods: which, how many, and the bound that proves it.

A pattern is the set of pods on one node of a machine type. The cheapest mix of patterns is an integer program
with too many columns to enumerate. Column generation adds the patterns that lower the cost of the relaxed
program, whose optimum is a lower bound. Then every other pattern that a cheaper choice could contain is
added, and the integer program is solved. If they are too many, the result has a gap to the bound.
`docs/concepts/packing.md` explains it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from gpuyard.plan.records import PlatformPlan, PoolPlan, ShapePlan
from gpuyard.spec.platform import PerPod
from gpuyard_advisor.advice.offers.offers import OfferPurpose, parts_of
from gpuyard_advisor.advice.packing.needs import (
    Demand,
    ExcludedMachine,
    PricedMachine,
    candidate_machines,
    fits_demand,
    size,
    undominated,
)
from gpuyard_advisor.advice.packing.patterns import (
    EmptyNode,
    Pattern,
    empty_node,
    fill_node,
    improving_patterns,
    most_valuable_pattern,
)
from gpuyard_advisor.advice.packing.solver import UNBOUNDED, IntegerProgram, Solution, solve
from gpuyard_core.catalogue.machines import MACHINES, Capacity, Machine

_CENT = 0.01
_LESS_THAN_ANY_PRICE = _CENT / 200
"""Tolerance of half a hundredth of a cent: prices differ by more."""
_MAX_BRANCHES = 30_000
_MAX_PATTERNS = 20_000
_MAX_NODES = 5_000
"""Limits of the searches, for seconds of run time. Beyond them the result is a choice with a bound."""


@dataclass(frozen=True, slots=True)
class PurchasedNodes:
    """A number of nodes of a machine type, each with these pods."""

    priced: PricedMachine
    pods_per_node: Mapping[str, int]
    """Pods by name of the demand; a last node may have fewer."""
    nodes: int

    @property
    def usd(self) -> float:
        """Hourly cost of these nodes."""
        return self.priced.usd * self.nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinePacking:
    """The machines chosen for a demand."""

    needs: tuple[Demand, ...]
    purchased: tuple[PurchasedNodes, ...]
    usd: float
    """Hourly cost."""
    bound: float
    """Lower bound of the hourly cost in US dollars."""
    excluded: tuple[ExcludedMachine, ...]
    """Machines that fit some of the pods but were excluded."""

    @property
    def is_optimal(self) -> bool:
        """Whether no choice is cheaper."""
        return self.usd - self.bound <= _LESS_THAN_ANY_PRICE

    @property
    def gap(self) -> float:
        """Maximum possible saving, as a share of the cost."""
        return 0.0 if self.is_optimal else (self.usd - self.bound) / self.usd

    @property
    def machines(self) -> Mapping[str, int]:
        """Nodes by machine type, most expensive first."""
        results: dict[str, int] = {}
        for one in sorted(self.purchased, key=lambda b: (-b.priced.usd, b.priced.machine.name)):
            results[one.priced.machine.name] = results.get(one.priced.machine.name, 0) + one.nodes
        return results


@dataclass(frozen=True, slots=True)
class NoMachineFits:
    """Demands that no offered machine fits, and excluded machines that would fit."""

    needs: tuple[Demand, ...]
    excluded: tuple[ExcludedMachine, ...]


def pack_machines(
    needs: Sequence[Demand],
    cloud: str,
    capacity: Capacity = Capacity.ON_DEMAND,
    machines: Mapping[str, Machine] = MACHINES,
) -> MachinePacking | NoMachineFits:
    """The cheapest machines of a cloud for all demands, at list or spot price."""
    demands, priced, left_out = _offered(needs, cloud, capacity, machines)
    if homeless := _homeless(demands, priced):
        return NoMachineFits(homeless, left_out)
    nodes = [empty_node(p, demands) for p in undominated(demands, priced)]
    quick = _quick(demands, nodes, _best_worth(demands, nodes))
    bought, bound = _Search(demands, nodes).cheapest(quick)
    return _packing(demands, bought, bound, left_out)


def quick_machines(
    needs: Sequence[Demand],
    cloud: str,
    capacity: Capacity = Capacity.ON_DEMAND,
    *,
    by_score: bool = False,
    machines: Mapping[str, Machine] = MACHINES,
) -> MachinePacking | NoMachineFits:
    """A greedy choice without a solver: node by node, for the largest remaining pod.

    By worth: the node with the best ratio of its pods' cost elsewhere to its price. By score: the machine that
    ranks first in `gpuyard offers`. The bound is zero: nothing is proved.
    """
    demands, priced, left_out = _offered(needs, cloud, capacity, machines)
    if homeless := _homeless(demands, priced):
        return NoMachineFits(homeless, left_out)
    nodes = [empty_node(p, demands) for p in priced]
    rank = _by_score if by_score else _best_worth(demands, nodes)
    return _packing(demands, _quick(demands, nodes, rank), 0.0, left_out)


def _offered(
    needs: Sequence[Demand],
    cloud: str,
    capacity: Capacity,
    machines: Mapping[str, Machine],
) -> tuple[tuple[Demand, ...], tuple[PricedMachine, ...], tuple[ExcludedMachine, ...]]:
    """Demands, largest first so that their input order does not matter, and the offered machines."""
    demands = tuple(
        sorted((n for n in needs if n.pods), key=lambda n: (*(-s for s in size(n)), n.name))
    )
    return demands, *candidate_machines(demands, cloud, capacity, machines)


def _homeless(needs: tuple[Demand, ...], priced: Sequence[PricedMachine]) -> tuple[Demand, ...]:
    return tuple(n for n in needs if not any(fits_demand(p.machine, n) for p in priced))


_Column = tuple[EmptyNode, Pattern]
_Chosen = list[tuple[EmptyNode, Pattern, int]]


def _packing(
    needs: tuple[Demand, ...], chosen: _Chosen, bound: float, left_out: tuple[ExcludedMachine, ...]
) -> MachinePacking:
    for index, need in enumerate(needs):
        if need.colocated:
            chosen = _on_one_machine_type(index, chosen)
    bought = tuple(
        PurchasedNodes(
            node.priced, {n.name: c for n, c in zip(needs, pattern, strict=True) if c}, count
        )
        for node, pattern, count in sorted(
            chosen, key=lambda c: (-c[0].priced.usd, c[0].priced.machine.name, c[1])
        )
    )
    usd = sum(b.usd for b in bought)
    return MachinePacking(
        needs=needs, purchased=bought, usd=usd, bound=min(bound, usd), excluded=left_out
    )


def _on_one_machine_type(index: int, chosen: _Chosen) -> _Chosen:
    """The choice without capacity for this demand on machine types that its pods do not use."""
    capacity: dict[str, int] = {}
    for node, pattern, count in chosen:
        name = node.priced.machine.name
        capacity[name] = capacity.get(name, 0) + pattern[index] * count
    only = max(sorted(capacity), key=lambda name: capacity[name])
    return [
        (node, pattern, count)
        if node.priced.machine.name == only
        else (node, (*pattern[:index], 0, *pattern[index + 1 :]), count)
        for node, pattern, count in chosen
    ]


# ── quick choices ─────────────────────────────────────────────────────────────────────────────────
_Rank = Callable[[EmptyNode, Pattern], float]


def _by_score(node: EmptyNode, _pattern: Pattern) -> float:
    machine = node.priced.machine
    assert machine.gpu  # noqa: S101  it holds a need
    parts = parts_of(machine, machine.gpu, node.priced.usd, OfferPurpose.GENERAL)
    return sum(p.points for p in parts)


def _best_worth(needs: tuple[Demand, ...], nodes: Sequence[EmptyNode]) -> _Rank:
    """Rank by the worth of a node's pods per price. A pod is worth its lowest cost on a node of equal pods."""
    worth = [
        min(node.priced.usd / node.most[i] for node in nodes if node.most[i])
        for i in range(len(needs))
    ]

    def rank(node: EmptyNode, pattern: Pattern) -> float:
        return sum(w * c for w, c in zip(worth, pattern, strict=True)) / node.priced.usd

    return rank


def _quick(needs: tuple[Demand, ...], nodes: Sequence[EmptyNode], rank: _Rank) -> _Chosen:
    """Choose nodes for the largest remaining pod, fill them by size, and repeat equal nodes."""
    remaining = [n.pods for n in needs]
    chosen: _Chosen = []
    for index, need in enumerate(needs):
        only: EmptyNode | None = None
        while remaining[index]:
            order = [
                index,
                *(i for i in range(len(needs)) if i != index and not needs[i].colocated),
            ]
            options = [
                (node, fill_node(node, order, remaining))
                for node in nodes
                if node.most[index] and only in {None, node}
            ]
            node, pattern = max(options, key=lambda o: rank(*o))
            times = min(r // c for r, c in zip(remaining, pattern, strict=True) if c)
            remaining = [r - c * times for r, c in zip(remaining, pattern, strict=True)]
            chosen.append((node, pattern, times))
            only = node if need.colocated else None
    return chosen


# ── the exact choice ──────────────────────────────────────────────────────────────────────────────
class _Search:
    """The patterns so far, and the integer program over them."""

    def __init__(self, needs: tuple[Demand, ...], nodes: Sequence[EmptyNode]) -> None:
        self.needs = needs
        self.nodes = nodes
        self.columns: dict[tuple[str, Pattern], _Column] = {}
        self.rows: dict[tuple[int, str], int] = {}
        """Rows of each demand; one for each machine type if its nodes must have one type."""
        self.jobs: list[tuple[int, int]] = []
        """For each placement of such a job: the row of its pods, and the row that requires its placement."""
        self.at_least: list[float] = []
        for index, need in enumerate(needs):
            self._rows_of(index, need)

    def _rows_of(self, index: int, need: Demand) -> None:
        if not need.colocated:
            row = self._row(need.pods)
            self.rows |= {(index, node.priced.machine.name): row for node in self.nodes}
            return
        placed = self._row(1)
        for node in self.nodes:
            if node.most[index]:
                row = self._row(0)
                self.rows[index, node.priced.machine.name] = row
                self.jobs.append((row, placed))

    def _row(self, least: int) -> int:
        self.at_least.append(float(least))
        return len(self.at_least) - 1

    def cheapest(self, start: _Chosen) -> tuple[_Chosen, float]:
        """The cheapest choice found, and the lower bound."""
        for node, pattern, _ in start:
            self._add(node, pattern)
        for node in self.nodes:
            for index in range(len(self.needs)):
                if node.most[index]:
                    only = tuple(m if i == index else 0 for i, m in enumerate(node.most))
                    self._add(node, only)
        bound, worth = self._relaxed()
        best, usd = start, sum(node.priced.usd * count for node, _, count in start)
        best, usd, _ = self._integer_solution(best, usd)
        if usd - bound > _LESS_THAN_ANY_PRICE and self._list(worth, usd - bound):
            best, usd, proved = self._integer_solution(best, usd)
            bound = max(bound, proved)
        return best, bound

    def _add(self, node: EmptyNode, pattern: Pattern) -> bool:
        key = (node.priced.machine.name, pattern)
        if key in self.columns:
            return False
        self.columns[key] = (node, pattern)
        return True

    def _relaxed(self) -> tuple[float, dict[str, list[float]]]:
        """The bound, and the worth of a pod of each demand by machine: no pattern is worth more than its cost.

        Worths are scaled down slightly, so that rounding in the solver does not raise the bound.
        """
        while True:
            result = self._solve(whole=False)
            assert result is not None  # noqa: S101  the quick choice is a solution
            worth = {node.priced.machine.name: self._worth(node, result) for node in self.nodes}
            excess, added = 1.0, False
            for node in self.nodes:
                prices = worth[node.priced.machine.name]
                pattern = most_valuable_pattern(node, prices)
                total = sum(w * c for w, c in zip(prices, pattern, strict=True))
                excess = max(excess, total / node.priced.usd)
                if total > node.priced.usd + _LESS_THAN_ANY_PRICE:
                    added |= self._add(node, pattern)
            if not added:
                return result.cost / excess, worth

    def _worth(self, node: EmptyNode, result: Solution) -> list[float]:
        name = node.priced.machine.name
        rows = (self.rows.get((index, name)) for index in range(len(self.needs)))
        return [0.0 if row is None else max(0.0, result.prices[row]) for row in rows]

    def _list(self, worth: Mapping[str, Sequence[float]], gap: float) -> bool:
        """Add every pattern that a cheaper choice could contain; False when there are too many."""
        branches = 0

        def step() -> bool:
            nonlocal branches
            branches += 1
            return branches <= _MAX_BRANCHES

        for node in self.nodes:
            prices = worth[node.priced.machine.name]
            for pattern in improving_patterns(node, prices, node.priced.usd - gap, step):
                self._add(node, pattern)
            if branches > _MAX_BRANCHES or len(self.columns) > _MAX_PATTERNS:
                return False
        return True

    def _integer_solution(self, best: _Chosen, usd: float) -> tuple[_Chosen, float, float]:
        """The cheapest integer solution of the patterns so far, or the best known choice."""
        found = self._solve(whole=True)
        if found is None or found.cost > usd:
            return best, usd, 0.0 if found is None else found.bound
        columns = zip(self.columns.values(), found.counts, strict=False)
        chosen = [(node, pattern, count) for (node, pattern), count in columns if count]
        return chosen, sum(node.priced.usd * count for node, _, count in chosen), found.bound

    def _solve(self, *, whole: bool) -> Solution | None:
        columns: list[dict[int, int]] = []
        for node, pattern in self.columns.values():
            name, column = node.priced.machine.name, dict[int, int]()
            for index, count in enumerate(pattern):
                if count:
                    column[self.rows[index, name]] = count
            columns.append(column)
        pods = {self.rows[key]: self.needs[key[0]].pods for key in self.rows}
        columns += [{row: -pods[row], placed: 1} for row, placed in self.jobs]
        dollars = [node.priced.usd for node, _ in self.columns.values()]
        return solve(
            IntegerProgram(
                costs=dollars + [0.0] * len(self.jobs),
                columns=columns,
                at_least=self.at_least,
                at_most=[UNBOUNDED] * len(self.at_least),
                most=[UNBOUNDED] * len(columns),
                whole=whole,
                max_nodes=_MAX_NODES if whole else None,
            )
        )


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
