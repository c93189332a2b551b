"""Costs in a plan: prices of nodes, and the bill."""

from dataclasses import dataclass
from datetime import date

from gpuyard_core.displayed import displayed
from gpuyard_core.models.values import Range

COST_CASES = ("minimum", "expected", "maximum")
"""The costs of a bill, by the names of their fields."""


@dataclass(frozen=True, slots=True)
class Total:
    """A sum in USD an hour: the known part, and the pools and commitments without a known price."""

    known_usd: float = 0.0
    unknown: tuple[str, ...] = ()
    """Pools and commitments of which a part has no known price and is in no sum."""
    unknown_nodes: float = 0.0
    """Nodes whose price is unknown."""

    @property
    @displayed
    def usd(self) -> float | None:
        """The whole sum; None if a part is unknown, so that a partial sum is not read as the whole."""
        return None if self.unknown else self.known_usd

    def __add__(self, other: "Total") -> "Total":
        return Total(
            self.known_usd + other.known_usd,
            tuple(dict.fromkeys([*self.unknown, *other.unknown])),
            self.unknown_nodes + other.unknown_nodes,
        )

    def times(self, part: float) -> "Total":
        """The total multiplied by a factor."""
        return Total(self.known_usd * part, self.unknown, self.unknown_nodes * part)


def total_of_nodes(whose: str, nodes: float, price: float | None) -> Total:
    """The total of these nodes in USD an hour; zero nodes cost nothing, also without a known price."""
    if nodes == 0 or price is not None:
        return Total(nodes * (price or 0.0))
    return Total(0.0, (whose,), nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePrice:
    """The hourly price of a node in one capacity option. None is unknown as of `checked_on`, never zero."""

    mode: str
    low: float | None
    mean: float | None
    """The expected price: your average, else the middle of the range."""
    high: float | None
    basis: str
    """The source of the price and its date."""
    checked_on: date
    as_of: date | None = None
    """The date of the price; None for your price, an unknown price, and a source without a date."""
    source: str = ""
    machine: str = ""
    """The machine type of the price."""
    each: tuple["NodePrice", ...] = ()
    """The prices of interchangeable machines, by name: the first is expected, the highest is the maximum."""
    regions: tuple[str, ...] = ()
    """Regions of a catalogue price; several if one capacity option has machines of several regions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BillLine:
    """The hourly cost of one pool. None is unknown, never zero."""

    pool: str
    machine: str
    nodes: Range
    running_nodes: float
    """Average number of running nodes in the expected case."""
    used_nodes: float
    """Average number of nodes with all GPUs in use in the expected case; 0 for system nodes."""
    usd_per_node: float | None
    """The price of a node in the most expensive capacity option."""
    minimum: Total
    expected: Total
    maximum: Total
    basis: str
    """The source and date of the price of the first capacity option."""
    checked_on: date
    prices: tuple[NodePrice, ...]
    """The price of each capacity option."""
    open_minimum: float
    """On-demand nodes that no commitment covers, in the minimum case."""
    open_expected: float
    """On-demand nodes that no commitment covers, in the expected case."""
    note: str = ""

    @property
    @displayed
    def minimum_usd_per_hour(self) -> float | None:
        """Cost with the pool at its minimum; None if a part is unknown."""
        return self.minimum.usd

    @property
    @displayed
    def expected_usd_per_hour(self) -> float | None:
        """Expected cost; None if a part is unknown."""
        return self.expected.usd

    @property
    @displayed
    def maximum_usd_per_hour(self) -> float | None:
        """Cost with the pool at its maximum; None if a part is unknown."""
        return self.maximum.usd


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveredNodes:
    """Nodes of one pool that a commitment pays for."""

    pool: str
    minimum: float
    expected: float
    baseline: int
    """Covered nodes with every node of the pool running."""
    burst: int
    """Nodes of the pool beyond the baseline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitmentLine:
    """Nodes that are paid for whether used or not. The used part is on the lines of its pools."""

    machine: str
    nodes: int
    years: int
    usd_per_node: float | None
    basis: str
    as_of: date | None
    """The date of the price, for a catalogue price with a date."""
    on_demand_usd: float | None
    """The on-demand price of one node, from your `prices`."""
    covers: tuple[CoveredNodes, ...]
    region: str | None
    """The region of a catalogue price."""
    idle_minimum: float
    """Committed nodes that no pool uses when every pool is at its minimum."""
    idle_expected: float
    idle_maximum: float

    @property
    @displayed
    def break_even_percent(self) -> float | None:
        """Share of the time a node must run for the commitment to be cheaper than on demand."""
        if self.usd_per_node is None or not self.on_demand_usd:
            return None
        return 100 * self.usd_per_node / self.on_demand_usd

    def idle_cost(self, case: str) -> Total:
        """The hourly cost of the idle nodes in a case: minimum, expected or maximum."""
        nodes: float = getattr(self, f"idle_{case}")
        return total_of_nodes(self.display_name, nodes, self.usd_per_node)

    @property
    def display_name(self) -> str:
        """Its name in lists with pools."""
        return f"commitment to {self.machine}"

    @property
    @displayed
    def idle_min_usd(self) -> float | None:
        """Hourly cost of the idle nodes in the minimum case."""
        return self.idle_cost("minimum").usd

    @property
    @displayed
    def idle_expected_usd(self) -> float | None:
        """Hourly cost of the idle nodes in the expected case."""
        return self.idle_cost("expected").usd

    @property
    @displayed
    def idle_max_usd(self) -> float | None:
        """Hourly cost of the idle nodes in the maximum case."""
        return self.idle_cost("maximum").usd


@dataclass(frozen=True, slots=True, kw_only=True)
class Fee:
    """The cluster fee: the hourly price of the control plane."""

    service: str
    """EKS or GKE."""
    minimum_usd_per_hour: float
    expected_usd_per_hour: float
    maximum_usd_per_hour: float
    basis: str
    """The source of the price and its date."""
    checked_on: date | None = None
    """None for your price."""
    as_of: date | None = None
    source: str = ""
    note: str = ""

    def total(self, case: str) -> Total:
        """The total in a case: minimum, expected or maximum."""
        usd: float = getattr(self, f"{case}_usd_per_hour")
        return Total(usd)


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamCostShare:
    """A team's part of the bill, by its guarantees; the sum of all shares is the bill."""

    team: str | None
    """None: shared costs, which include system nodes, unused commitments and the cluster fee."""
    minimum: Total
    expected: Total
    maximum: Total


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """The hourly cost of the platform: sums of the known prices, and what has no known price."""

    lines: tuple[BillLine, ...]
    commitments: tuple[CommitmentLine, ...]
    shares: tuple[TeamCostShare, ...]
    """Teams in the order of the stack file, shared costs last."""
    minimum: Total
    expected: Total
    maximum: Total
    utilisation_percent: float
    """The part of every pool's maximum that is in use in the expected case, in percent."""
    simulated: bool
    """True if nothing is billed: the figures are the cost of the same machines on their cloud."""
    region: str | None = None
    """The region of the platform; None if neither the stack file nor a zone names it."""
    fees: tuple[Fee, ...] = ()
    """The cluster fee; empty if the control plane has no price, or is not billed to this platform."""
    left_out: tuple[str, ...] = ()
    """Items that the cloud also bills and that are in no sum."""

    @property
    @displayed
    def priced_in(self) -> tuple[str, ...]:
        """Regions whose catalogue prices are in the sums."""
        regions = [r for line in self.lines for p in line.prices for r in p.regions]
        regions += [c.region for c in self.commitments if c.region]
        return tuple(sorted(set(regions)))

    @property
    @displayed
    def elsewhere(self) -> tuple[str, ...]:
        """Regions of `priced_in` other than the platform's; a local zone is in the region of its name."""
        if self.region is None:
            return ()
        here = self.region
        return tuple(r for r in self.priced_in if r != here and not r.startswith(f"{here}-"))

    @property
    @displayed
    def minimum_usd_per_hour(self) -> float | None:
        """The minimum cost an hour; None if a part is unknown."""
        return self.minimum.usd

    @property
    @displayed
    def expected_usd_per_hour(self) -> float | None:
        """The expected cost an hour; None if a part is unknown."""
        return self.expected.usd

    @property
    @displayed
    def maximum_usd_per_hour(self) -> float | None:
        """The maximum cost an hour; None if a part is unknown."""
        return self.maximum.usd

    @property
    @displayed
    def unknown(self) -> tuple[str, ...]:
        """Pools and commitments with an unknown price: that part of them is in no sum."""
        named = (*self.minimum.unknown, *self.expected.unknown, *self.maximum.unknown)
        return tuple(dict.fromkeys(named))
