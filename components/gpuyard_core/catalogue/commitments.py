"""Commitment prices of machines: reserved instances, capacity blocks, committed use.

A price is the total cost of the term divided by all its hours, whether the machine runs or not. Commitments
without a published price are in `unpriced_of`, with the date of the search; a price is never computed from a
discount. The bill and its break-even are in `gpuyard.plan`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache

from gpuyard_core.catalogue.machines import MACHINES, Capacity, Machine, Price, table_rows
from gpuyard_core.catalogue.sources import Source
from gpuyard_core.catalogue.tables import commitments as tables

_CHECKED = date(2026, 11, 21)
EC2_RESERVED_LIST = Source(
    "tsaol/aws-gpu at 77fcd9f, read from instances.vantage.sh (us-east-1, 2026-01-21); on-demand prices of the"
    " same list agree with those of this catalogue",
    _CHECKED,
    verified=False,
    as_of=date(2026, 1, 21),
)
EC2_RESERVED_3Y_LIST = Source(
    "tsaol/aws-gpu at 2d0108c, data/gpu_instances_raw.json, read from instances.vantage.sh (us-east-1, 2025-11-30);"
    " on-demand and one-year prices in the same file agree with those of this catalogue",
    date(2026, 11, 22),
    verified=False,
    as_of=date(2025, 11, 30),
)
EC2_BLOCK_LIST = Source(
    "koyakimu/ec2-capacity-blocks-for-ml-pricing-json at 15ff21e, read from AWS's page of capacity block prices"
    " on 2026-07-22; AWS changes them with demand",
    _CHECKED,
    verified=False,
    as_of=date(2026, 7, 22),
)
ULTRASERVER = Source(
    "a ninth of u-p6e-gb200x36 in the same list: an UltraServer is sold whole, with 36 GPUs in nine machines",
    _CHECKED,
    verified=False,
    as_of=date(2026, 7, 22),
)
GCE_COMMITTED_LIST = Source(
    "Cyclenerd/google-cloud-pricing-cost-calculator pricing.yml at fd66b26 (us-central1, generated 2026-07-30);"
    " its on-demand and spot prices agree with those of this catalogue, these have no second source",
    _CHECKED,
    as_of=date(2026, 7, 30),
)
LOOKED_FOR = Source(
    "looked for in the repositories of ec2instances.info and its copies, Cyclenerd's price lists, skypilot-catalog"
    " v9 and karpenter-provider-gcp",
    _CHECKED,
    as_of=_CHECKED,
)

RESERVED_INSTANCE, SAVINGS_PLAN, CAPACITY_BLOCK, COMMITTED_USE, FLEX_START = (
    "reserved-instance",
    "savings-plan",
    "block",
    "cud",
    "flex-start",
)


@dataclass(frozen=True, slots=True)
class CommitmentPrice:
    """One commitment to one machine, with its price."""

    kind: str
    """reserved-instance, savings-plan, block, cud or flex-start."""
    years: int | None
    """None: no term in years; a capacity block is purchased by the day, flex-start runs for at most seven days."""
    usd_per_hour: Price
    region: str
    upfront: bool = False
    """True if the whole price is paid before the first hour."""

    @property
    def named(self) -> str:
        """`cud 3 years`, `block`."""
        return format_kind(self.kind, self.years)


@dataclass(frozen=True, slots=True)
class UnpricedCommitment:
    """A commitment on sale without a published price."""

    kind: str
    years: int | None
    since: date
    """The date on which no price was found."""

    @property
    def named(self) -> str:
        """`savings-plan 1 year`."""
        return format_kind(self.kind, self.years)


def format_kind(kind: str, years: int | None) -> str:
    """`cud 3 years`, `cud 1 year`, `block`."""
    return kind if years is None else f"{kind} {years} year{'s' if years != 1 else ''}"


@cache
def _priced() -> Mapping[str, tuple[CommitmentPrice, ...]]:
    """Parsed on first use, because most commands do not need it."""
    results: dict[str, list[CommitmentPrice]] = {}

    def add(
        machine: str, kind: str, years: int | None, usd: str, where: str, source: Source
    ) -> None:
        if usd == "-":
            return
        price = Price(float(usd), float(usd), source)
        upfront = kind == CAPACITY_BLOCK
        results.setdefault(machine, []).append(CommitmentPrice(kind, years, price, where, upfront))

    for machine, one, three in table_rows(tables.EC2_RESERVED):
        add(machine, RESERVED_INSTANCE, 1, one, "us-east-1", EC2_RESERVED_LIST)
        add(machine, RESERVED_INSTANCE, 3, three, "us-east-1", EC2_RESERVED_3Y_LIST)
    for machine, usd, region in table_rows(tables.EC2_BLOCKS):
        source = ULTRASERVER if MACHINES[machine].is_rack else EC2_BLOCK_LIST
        add(machine, CAPACITY_BLOCK, None, usd, region, source)
    for machine, one, three in table_rows(tables.GCE_CUDS):
        add(machine, COMMITTED_USE, 1, one, "us-central1", GCE_COMMITTED_LIST)
        add(machine, COMMITTED_USE, 3, three, "us-central1", GCE_COMMITTED_LIST)
    return {machine: tuple(each) for machine, each in results.items()}


def commitments_of(machine_name: str) -> tuple[CommitmentPrice, ...]:
    """Commitments with a known price, shortest term first; empty for a machine that is not sold."""
    return _priced().get(machine_name, ())


def capacity_block(machine_name: str) -> CommitmentPrice | None:
    """Hourly price of a capacity block; None if unknown. Used for cost and offers."""
    return next((c for c in commitments_of(machine_name) if c.kind == CAPACITY_BLOCK), None)


def unpriced_of(machine_name: str) -> tuple[UnpricedCommitment, ...]:
    """Commitments on sale for a machine whose price is unknown."""
    machine = MACHINES.get(machine_name)
    if machine is None:
        return ()
    known = {(c.kind, c.years) for c in commitments_of(machine_name)}
    return tuple(
        UnpricedCommitment(kind, years, LOOKED_FOR.checked_on)
        for kind, years in _sold(machine)
        if (kind, years) not in known
    )


def _sold(machine: Machine) -> Iterator[tuple[str, int | None]]:
    """Commitments a cloud sells for a machine, priced or not.

    Reserved instances are those with a price: newer GPU types have savings plans instead.
    """
    if Capacity.RESERVED in machine.sold:
        if machine.cloud == "gcp":
            yield from ((COMMITTED_USE, 1), (COMMITTED_USE, 3))
        else:
            yield from ((SAVINGS_PLAN, 1), (SAVINGS_PLAN, 3))
    if Capacity.BLOCK in machine.sold:
        yield (CAPACITY_BLOCK, None)
    if Capacity.FLEX_START in machine.sold:
        yield (FLEX_START, None)
