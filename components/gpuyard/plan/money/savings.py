"""Savings by the catalogue's commitments of one and three years: advice that no total includes.

A commitment pays for itself on nodes that always run. The nodes of the minimum cost do. The
expected nodes are an average: their saving assumes that this many run all the time, so only whole
nodes count. Nodes that your commitments already cover are excluded.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date

from gpuyard.plan.money.prices import node_price
from gpuyard.plan.records import AdvertisedResource, Bill, BillLine, PlatformPlan, PoolPlan, Total
from gpuyard.spec.platform import HOURS_PER_MONTH
from gpuyard.spec.sections import Prices
from gpuyard_core.catalogue.commitments import CommitmentPrice, commitments_of, unpriced_of
from gpuyard_core.catalogue.machines import Capacity, find_machine
from gpuyard_core.catalogue.regions import prices_in_region


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """One commitment that is sold for the nodes of one pool."""

    pool: str
    machine: str
    commitment: str
    usd_per_node: float
    break_even_percent: float
    """Share of the time a node must run to be cheaper than on-demand; above 100 it never is."""
    min_nodes: int
    expected_nodes: int
    minimum_usd_per_month: float
    """Saved if the minimum's nodes are committed; negative where the commitment costs more."""
    expected_usd_per_month: float
    source: str
    checked_on: date
    verified: bool


@dataclass(frozen=True, slots=True)
class UnpricedMachine:
    """Commitments that are sold for a machine, at a price that is unknown."""

    machine: str
    commitments: tuple[str, ...]
    since: date


def savings(
    prices: Prices | None, bill: Bill
) -> tuple[tuple[Saving, ...], tuple[UnpricedMachine, ...]]:
    """For pools with on-demand nodes: commitments that are sold, and those of unknown price."""
    results: list[Saving] = []
    unknown: dict[str, UnpricedMachine] = {}
    for line in bill.lines:
        if int(line.open_expected) < 1:
            continue
        results += _of(prices, line, bill.region)
        if missing := [u for u in unpriced_of(line.machine) if u.years]:
            names = tuple(u.named for u in missing)
            unknown[line.machine] = UnpricedMachine(line.machine, names, missing[0].since)
    return tuple(results), tuple(unknown.values())


def _of(prices: Prices | None, line: BillLine, region: str | None) -> Iterable[Saving]:
    machine = find_machine(line.machine)
    if machine is None:
        return
    machine = prices_in_region(machine, region)
    if now := node_price(prices, machine, Capacity.ON_DEMAND).high:
        for commitment in commitments_of(line.machine):
            # between a commitment and an on-demand price of different regions the saving is unknown
            if commitment.years and commitment.region == machine.region:
                yield _saving(line, commitment, now)


def _saving(line: BillLine, commitment: CommitmentPrice, now: float) -> Saving:
    price = commitment.usd_per_hour
    month = (now - price.high) * HOURS_PER_MONTH
    low, middle = int(line.open_minimum), int(line.open_expected)
    return Saving(
        pool=line.pool,
        machine=line.machine,
        commitment=commitment.named,
        usd_per_node=price.high,
        break_even_percent=100 * price.high / now,
        min_nodes=low,
        expected_nodes=middle,
        minimum_usd_per_month=low * month,
        expected_usd_per_month=middle * month,
        source=price.source.title,
        checked_on=price.source.checked_on,
        verified=price.source.verified,
    )


@dataclass(frozen=True, slots=True)
class UnitCost:
    """The hourly cost of one unit that a pod can request."""

    pool: str
    unit: str
    """As a stack file counts it; "" for whole GPUs."""
    per_node: int
    gpu_share: str
    usd_per_hour: float | None
    """Its part of a node's price, on the most expensive capacity option."""
    usd_per_hour_in_use: float | None
    """Its part of the expected cost for each hour in use: it includes idle nodes."""


def unit_costs(plan: PlatformPlan) -> tuple[UnitCost, ...]:
    """Every unit of every pool; all units of a node together cost as much as the node."""
    lines = {line.pool: line for line in plan.bill.lines}
    costs = []
    for pool in plan.pools:
        line = lines[pool.name]
        expected, used = line.expected_usd_per_hour, line.used_nodes
        usd_per_used_node = None if expected is None or used == 0 else expected / used
        costs += [
            UnitCost(
                pool=pool.name,
                unit=a.unit,
                per_node=a.per_node,
                gpu_share=str(a.gpu_share),
                usd_per_hour=_part(pool, a, line.usd_per_node),
                usd_per_hour_in_use=_part(pool, a, usd_per_used_node),
            )
            for a in pool.advertised
        ]
    return tuple(costs)


def _part(pool: PoolPlan, offer: AdvertisedResource, node: float | None) -> float | None:
    total = sum(a.per_node * a.gpu_share for a in pool.advertised)
    return None if node is None else node * float(offer.gpu_share / total)


def to_monthly_total(total: Total) -> Total:
    """The same by month; the number of nodes with unknown price stays."""
    return replace(total, known_usd=total.known_usd * HOURS_PER_MONTH)
