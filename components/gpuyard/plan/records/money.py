"""Money in a plan: prices of nodes, and the bill that they add up to."""

from dataclasses import dataclass
from datetime import date

from gpuyard.plan.records.shown import shown
from gpuyard.spec.values import Range


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePrice:
    """What a node costs an hour, bought in one way. None is unknown since `checked_on`, never nothing."""

    mode: str
    low: float | None
    mean: float | None
    """What to expect: your average, else the middle of the range."""
    high: float | None
    basis: str
    """Where the price comes from and of what day."""
    checked_on: date
    as_of: date | None = None
    """The day that the price is of; None for your price, an unknown one, and a source that names no day."""
    source: str = ""
    machine: str = ""
    """Whose price it is."""
    each: tuple["NodePrice", ...] = ()
    """Of like machines: each under its own name. The first is expected, the dearest the worst."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BillLine:
    """What one pool costs an hour. None is unknown, never nothing."""

    pool: str
    machine: str
    nodes: Range
    running_nodes: float
    """Nodes that run on average in the expected case."""
    used_nodes: float
    """Nodes whose GPUs are all in use on average in the expected case; 0 for system nodes."""
    usd_per_node: float | None
    """The dearest way to buy a node."""
    floor_usd: float | None
    expected_usd: float | None
    worst_usd: float | None
    basis: str
    """Where the price of the first rung comes from and of what day."""
    checked_on: date
    prices: tuple[NodePrice, ...]
    """Of each rung."""
    open_floor: float
    """Nodes at the price on demand that no commitment pays for, at least."""
    open_expected: float
    """The same, as expected."""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """Nodes of one pool that a commitment pays for."""

    pool: str
    floor: float
    expected: float
    baseline: int
    """With every node running."""
    burst: int
    """Nodes of the pool beyond."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitmentLine:
    """Nodes that are paid for in any case. The part that runs is on the lines of its pools."""

    machine: str
    nodes: int
    years: int
    usd_per_node: float | None
    basis: str
    on_demand_usd: float | None
    """What one costs on demand, at your price."""
    covers: tuple[Covered, ...]
    idle_floor: float
    """Committed nodes that no pool uses when every pool is at its minimum."""
    idle_expected: float
    idle_worst: float

    @property
    @shown
    def break_even_percent(self) -> float | None:
        """Share of the time a node must run for the commitment to be cheaper than on demand."""
        if self.usd_per_node is None or not self.on_demand_usd:
            return None
        return 100 * self.usd_per_node / self.on_demand_usd

    @property
    @shown
    def idle_floor_usd(self) -> float | None:
        """What the idle nodes cost an hour at the floor."""
        return cost_of_nodes(self.idle_floor, self.usd_per_node)

    @property
    @shown
    def idle_expected_usd(self) -> float | None:
        """The same as expected."""
        return cost_of_nodes(self.idle_expected, self.usd_per_node)

    @property
    @shown
    def idle_worst_usd(self) -> float | None:
        """The same at worst."""
        return cost_of_nodes(self.idle_worst, self.usd_per_node)


def cost_of_nodes(nodes: float, price: float | None) -> float | None:
    """Dollars an hour; no nodes cost nothing, whatever the price."""
    if nodes == 0:
        return 0.0
    return None if price is None else price * nodes


@dataclass(frozen=True, slots=True)
class Total:
    """A sum of dollars an hour, and whose part of it is unknown."""

    usd: float
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A team's part of the bill, by what it is guaranteed; all shares together are the bill."""

    team: str | None
    """None: nobody's, with system nodes and commitments that nothing uses."""
    floor: Total
    expected: Total
    worst: Total


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """The hourly cost of the platform: sums of what is known, and what is not."""

    lines: tuple[BillLine, ...]
    commitments: tuple[CommitmentLine, ...]
    shares: tuple[Share, ...]
    """Teams in the order of the stack file, nobody's last."""
    floor: Total
    expected: Total
    worst: Total
    utilisation_percent: float
    """Of the maximum of every pool, what the expected case has in use."""
    simulated: bool
    """True when nothing is billed: the figures are what the same machines cost on their cloud."""

    @property
    @shown
    def floor_usd(self) -> float:
        """What is known of the floor."""
        return self.floor.usd

    @property
    @shown
    def expected_usd(self) -> float:
        """What is known of the expected hour."""
        return self.expected.usd

    @property
    @shown
    def worst_usd(self) -> float:
        """What is known of the worst hour."""
        return self.worst.usd

    @property
    @shown
    def unknown(self) -> tuple[str, ...]:
        """Pools and commitments with an unknown price: their part is in no sum."""
        named = (*self.floor.unknown, *self.expected.unknown, *self.worst.unknown)
        return tuple(dict.fromkeys(named))
