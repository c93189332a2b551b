"""Hourly node prices by capacity option: your price, else the catalogue's, else unknown.

A price is a range, because zones and days differ: the minimum cost uses its low end, the maximum
cost its high end, and only the expected cost the mean. A cloud bills a reservation without
commitment at the on-demand price. Neither spot nor flex-start costs more than the on-demand list
price, which therefore bounds unpublished prices: EC2's default maximum price for spot is the
on-demand price, and GKE sells flex-start at a discount from it (their documentation, read on
2026-11-21).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from gpuyard.plan.capacity.capacity_options import contract_usd_per_hour
from gpuyard.plan.draft import Draft
from gpuyard.plan.records import Bill, NodePrice
from gpuyard.spec.pools import CapacityOptionSpec
from gpuyard.spec.sections import MachinePrice, Prices
from gpuyard_core.catalogue.commitments import LOOKED_FOR, capacity_block, commitments_of
from gpuyard_core.catalogue.machines import MACHINES, Capacity, Machine, Price
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, warning
from gpuyard_core.suggestions import nearest_name

_YOURS = "your price"


def capacity_option_price(
    prices: Prices | None, machine: Machine, option: CapacityOptionSpec
) -> NodePrice:
    """The price of a node of a capacity option: for a purchased block, the approved price."""
    agreed = contract_usd_per_hour(option)
    if agreed is not None:
        return _fixed(machine, option.mode, agreed, f"approved price of {option.reservation}")
    return node_price(prices, machine, option.mode)


def node_price(prices: Prices | None, machine: Machine, mode: Capacity) -> NodePrice:
    """The price of a node in this mode."""
    mine = (prices.machines.get(machine.name) if prices else None) or MachinePrice()
    if mode is Capacity.SPOT:
        return _spot(mine, machine)
    if mode is Capacity.FLEX_START:
        return _unknown(machine, mode, bound=_bound(mine, machine))
    if mode in {Capacity.RESERVED, Capacity.BLOCK} and mine.reserved is not None:
        return _fixed(machine, mode, mine.reserved, f"{_YOURS} for reserved nodes")
    if mode is Capacity.BLOCK:
        block = capacity_block(machine.name)
        return (
            _ranged(mode, block.usd_per_hour, 1, ("capacity block price", block.region))
            if block
            else _unknown(machine, mode, bound=None)
        )
    if mine.on_demand is not None:
        return _fixed(machine, mode, mine.on_demand, _YOURS)
    return _listed(machine, mode, prices.discount_percent if prices else 0)


def _fixed(machine: Machine, mode: Capacity, usd: float, basis: str) -> NodePrice:
    return NodePrice(
        mode=mode.value,
        low=usd,
        mean=usd,
        high=usd,
        basis=basis,
        checked_on=machine.source.checked_on,
    )


def _unknown(machine: Machine, mode: Capacity, *, bound: float | None) -> NodePrice:
    since = f"price unknown as of {machine.source.checked_on}"
    if machine.name not in MACHINES:  # only its owner can know
        since = f"price unknown: none under prices.machines.{machine.name}"
    if mode in {Capacity.ON_DEMAND, Capacity.RESERVED}:
        basis = since
    else:
        known = "" if bound is None else " (at most the on-demand price)"
        basis = f"{mode.value} {since}{known}"
    return NodePrice(
        mode=mode.value,
        low=None,
        mean=None,
        high=bound,
        basis=basis,
        checked_on=machine.source.checked_on,
        as_of=None if bound is None else _day(machine.on_demand),
        regions=_where(machine) if machine.on_demand and bound is not None else (),
    )


def _day(price: Price | None) -> date | None:
    return price.source.as_of if price else None


def _where(machine: Machine) -> tuple[str, ...]:
    return (machine.region,) if machine.region else ()


def _bound(mine: MachinePrice, machine: Machine) -> float | None:
    """The maximum price of a spot or flex-start node: your discount does not lower it."""
    return machine.on_demand.high if machine.on_demand else mine.on_demand


def _listed(machine: Machine, mode: Capacity, discount: float) -> NodePrice:
    price = machine.on_demand
    if price is None:
        return _unknown(machine, mode, bound=None)
    keep = (100 - discount) / 100
    off = f", {discount:g} % off" if discount else ""
    return _ranged(mode, price, keep, ("list price", machine.region), off)


def _ranged(
    mode: Capacity, price: Price, keep: float, what: tuple[str, str | None], off: str = ""
) -> NodePrice:
    named, region = what
    return NodePrice(
        mode=mode.value,
        low=price.low * keep,
        mean=(price.low + price.high) / 2 * keep,
        high=price.high * keep,
        basis=f"{named} in {region} {price.source.formatted_date}{off}{price.source.unverified_suffix}",
        checked_on=price.source.checked_on,
        as_of=price.source.as_of,
        source=price.source.title,
        regions=(region,) if region else (),
    )


def _spot(mine: MachinePrice, machine: Machine) -> NodePrice:
    """Your average is the expected price; it neither lowers the maximum nor raises the minimum."""
    listed = machine.spot
    if mine.spot is None:
        if listed is None:
            return _unknown(machine, Capacity.SPOT, bound=_bound(mine, machine))
        return _ranged(Capacity.SPOT, listed, 1, ("spot price", machine.region))
    known = [mine.spot, *((listed.low, listed.high) if listed else ())]
    bound = _bound(mine, machine)
    return NodePrice(
        mode=Capacity.SPOT.value,
        low=min(known),
        mean=mine.spot,
        high=max(known if listed or bound is None else [*known, bound]),
        basis="your average spot price"
        + (f", within the listed range {listed.source.formatted_date}" if listed else ""),
        checked_on=machine.source.checked_on,
        as_of=_day(listed or machine.on_demand),
        source=listed.source.title if listed else "",
        regions=_where(machine) if listed or machine.on_demand else (),
    )


@dataclass(frozen=True, slots=True)
class CommittedPrice:
    """The hourly price of a committed node; region and date if the catalogue has them."""

    usd: float | None
    basis: str
    region: str | None = None
    as_of: date | None = None


def commitment_price(
    prices: Prices, machine: str, years: int, value: float | None
) -> CommittedPrice:
    """The price of a commitment: your own, else the catalogue's for that term, else unknown."""
    if value is not None:
        return CommittedPrice(value, _YOURS)
    mine = prices.machines.get(machine)
    if mine and mine.reserved is not None:
        return CommittedPrice(mine.reserved, f"{_YOURS} for reserved nodes")
    for known in commitments_of(machine):
        if known.years == years:
            source = known.usd_per_hour.source
            return CommittedPrice(
                known.usd_per_hour.high,
                f"{known.named} in {known.region} {source.formatted_date}{source.unverified_suffix}",
                known.region,
                source.as_of,
            )
    return CommittedPrice(None, f"price unknown as of {LOOKED_FOR.checked_on}")


def check_prices(draft: Draft) -> Iterator[Diagnostic]:
    """Check that every machine under `prices` is in the catalogue or described by a pool."""
    prices = draft.spec.prices
    if prices is None or not draft.all_pools_valid:
        return
    named: list[tuple[Path, str]] = [
        (("prices", "machines", name), name) for name in prices.machines
    ]
    for index, entry in enumerate(prices.commitments):
        named.append((("prices", "commitments", index, "machine"), entry.machine))
    pools = {name: p.machine.name for name, p in draft.valid_pools.items()}
    own = [*pools.values(), *([draft.system.name] if draft.system else [])]
    known = list(dict.fromkeys([*MACHINES, *own]))
    for path, name in named:
        if name in known:
            continue
        # for a pool's name, the fix is its machine
        suggestion = pools.get(name) or nearest_name(name, known)
        fix = Fix.write(suggestion, path) if suggestion else Fix.remove(path[:3])
        if suggestion and path[1] == "machines":  # the name is a key
            fix = Fix(message=fix.message)
        yield error(
            "prices.unknown_machine",
            path,
            "neither the catalogue nor a pool has this machine, so the price has no effect",
            given=name,
            allowed="a machine type, or the plan's name of a described machine",
            fix=fix,
        )


def check_price_regions(draft: Draft) -> Iterator[Diagnostic]:
    """Warn of prices of another region: they differ by a fifth or more."""
    bill, region = draft.bill, draft.region
    if region is None or not bill.elsewhere:
        return
    where = " and ".join(bill.elsewhere)
    yield warning(
        "prices.region",
        ("cloud",),
        f"the platform is in {region.name} ({region.source}), but gpuyard uses prices of {where} for"
        f" {format_list(_machines(bill))}",
        given=f"prices of {where}",
        allowed=f"prices of {region.name}, which the catalogue does not have",
        fix=Fix(
            message="write what you pay under `prices.machines`; `gpuyard check --live` checks whether the"
            " region sells them"
        ),
    )


def _machines(bill: Bill) -> list[str]:
    """Machines and commitments with a price of another region, each once."""
    elsewhere = set(bill.elsewhere)
    named = [
        line.machine
        for line in bill.lines
        if any(elsewhere.intersection(price.regions) for price in line.prices)
    ]
    named += [c.display_name for c in bill.commitments if c.region in elsewhere]
    return list(dict.fromkeys(named))
