"""Money in a plan: prices of nodes, and the bill that they add up to."""

from dataclasses import dataclass
from datetime import date

from gpuyard.plan.records.formatting import displayed
from gpuyard.spec.values import Range


@dataclass(frozen=True, slots=True)
class Total:
    """A sum of dollars an hour: what of it is known, and whose part is not."""

    known_usd: float = 0.0
    unknown: tuple[str, ...] = ()
    """Pools and commitments of which a part is in no sum."""
    unknown_nodes: float = 0.0
    """Nodes whose price is unknown."""

    @property
    @displayed
    def usd(self) -> float | None:
        """The whole sum; None when a part of it is unknown, so that nobody takes the rest for it."""
        return None if self.unknown else self.known_usd

    def __add__(self, other: "Total") -> "Total":
        return Total(
            self.known_usd + other.known_usd,
            tuple(dict.fromkeys([*self.unknown, *other.unknown])),
            self.unknown_nodes + other.unknown_nodes,
        )

    def times(self, part: float) -> "Total":
        """So much of it, or so often."""
        return Total(self.known_usd * part, self.unknown, self.unknown_nodes * part)


def total_of_nodes(whose: str, nodes: float, price: float | None) -> Total:
    """Dollars an hour; no nodes cost nothing, whatever the price."""
    if nodes == 0 or price is not None:
        return Total(nodes * (price or 0.0))
    return Total(0.0, (whose,), nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePrice:
    """What a node costs an hour, bought in one way. None is unknown as of `checked_on`, never nothing."""

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
    regions: tuple[str, ...] = ()
    """Where it is asked, of a price of the catalogue; several where machines of several are one rung."""


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
    floor: Total
    expected: Total
    worst: Total
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

    @property
    @displayed
    def floor_usd(self) -> float | None:
        """With the pool at its minimum; None when a part is unknown."""
        return self.floor.usd

    @property
    @displayed
    def expected_usd(self) -> float | None:
        """The same as expected."""
        return self.expected.usd

    @property
    @displayed
    def worst_usd(self) -> float | None:
        """The same with the pool at its maximum."""
        return self.worst.usd


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
    as_of: date | None
    """The day that the price is of, where it is one of the catalogue that says it."""
    on_demand_usd: float | None
    """What one costs on demand, at your price."""
    covers: tuple[Covered, ...]
    region: str | None
    """Where the price is asked, of one of the catalogue."""
    idle_floor: float
    """Committed nodes that no pool uses when every pool is at its minimum."""
    idle_expected: float
    idle_worst: float

    @property
    @displayed
    def break_even_percent(self) -> float | None:
        """Share of the time a node must run for the commitment to be cheaper than on demand."""
        if self.usd_per_node is None or not self.on_demand_usd:
            return None
        return 100 * self.usd_per_node / self.on_demand_usd

    def idle(self, case: str) -> Total:
        """What the idle nodes cost an hour in a case: floor, expected or worst."""
        nodes: float = getattr(self, f"idle_{case}")
        return total_of_nodes(self.named, nodes, self.usd_per_node)

    @property
    def named(self) -> str:
        """What it is called beside pools."""
        return f"commitment to {self.machine}"

    @property
    @displayed
    def idle_floor_usd(self) -> float | None:
        """What the idle nodes cost an hour at the floor."""
        return self.idle("floor").usd

    @property
    @displayed
    def idle_expected_usd(self) -> float | None:
        """The same as expected."""
        return self.idle("expected").usd

    @property
    @displayed
    def idle_worst_usd(self) -> float | None:
        """The same at worst."""
        return self.idle("worst").usd


@dataclass(frozen=True, slots=True, kw_only=True)
class Fee:
    """What the cluster itself costs an hour, whatever runs in it."""

    service: str
    """EKS or GKE."""
    floor_usd: float
    expected_usd: float
    worst_usd: float
    basis: str
    """Where it comes from and of what day."""
    checked_on: date | None = None
    """None for your price."""
    as_of: date | None = None
    source: str = ""
    note: str = ""

    def total(self, case: str) -> Total:
        """In a case: floor, expected or worst."""
        usd: float = getattr(self, f"{case}_usd")
        return Total(usd)


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A team's part of the bill, by what it is guaranteed; all shares together are the bill."""

    team: str | None
    """None: nobody's, with system nodes, commitments that nothing uses, and the fee of the cluster."""
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
    region: str | None = None
    """Where the platform is; None where neither the stack file nor a zone says it."""
    fees: tuple[Fee, ...] = ()
    """What the cluster itself costs; empty where nobody asks anything for it, or somebody else pays."""
    left_out: tuple[str, ...] = ()
    """What the cloud bills as well, and no sum has."""

    @property
    @displayed
    def priced_in(self) -> tuple[str, ...]:
        """Regions whose prices of the catalogue are in the sums."""
        regions = [r for line in self.lines for p in line.prices for r in p.regions]
        regions += [c.region for c in self.commitments if c.region]
        return tuple(sorted(set(regions)))

    @property
    @displayed
    def elsewhere(self) -> tuple[str, ...]:
        """Those of them that the platform is not in; a local zone is in the region it is named for."""
        if self.region is None:
            return ()
        here = self.region
        return tuple(r for r in self.priced_in if r != here and not r.startswith(f"{here}-"))

    @property
    @displayed
    def floor_usd(self) -> float | None:
        """The floor; None when a part of it is unknown."""
        return self.floor.usd

    @property
    @displayed
    def expected_usd(self) -> float | None:
        """The expected hour, in the same way."""
        return self.expected.usd

    @property
    @displayed
    def worst_usd(self) -> float | None:
        """The worst hour, in the same way."""
        return self.worst.usd

    @property
    @displayed
    def unknown(self) -> tuple[str, ...]:
        """Pools and commitments with a price that is unknown: that part of them is in no sum."""
        named = (*self.floor.unknown, *self.expected.unknown, *self.worst.unknown)
        return tuple(dict.fromkeys(named))
