"""Commitment prices of machines: reserved instances, capacity blocks, committed use.

A price is the total cost of the term divided by all its hours, whether the machine runs or not. Commitments
without a published price are in `unpriced_of`, with the date of the search; a price is never computed from a
discount. The bill and its break-even are in `gpuyard.plan`.

Sources: `commitments.ec2-reserved-list`, `commitments.ec2-reserved-3y-list`, `commitments.ec2-block-list`,
`commitments.ultraserver`, `commitments.gce-committed-list`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from gpuyard_core.catalogue.machines import MACHINES, Capacity, Machine, Price
from gpuyard_core.catalogue.sources import find_source

LOOKED_FOR = find_source("commitments.looked-for")

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


def commitments_of(machine_name: str) -> tuple[CommitmentPrice, ...]:
    """Commitments with a known price, shortest term first; empty for a machine that is not sold."""
    machine = MACHINES.get(machine_name)
    if machine is None:
        return ()
    kind, region = (
        COMMITTED_USE if machine.cloud == "gcp" else RESERVED_INSTANCE,
        machine.region or "",
    )
    terms = ((kind, 1, machine.one_year, region), (kind, 3, machine.three_years, region))
    return tuple(
        CommitmentPrice(kind, years, price, where, upfront=kind == CAPACITY_BLOCK)
        for kind, years, price, where in (
            *terms,
            (CAPACITY_BLOCK, None, machine.block, machine.block_region),
        )
        if price is not None
    )


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
