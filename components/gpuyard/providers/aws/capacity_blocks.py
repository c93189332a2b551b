"""Purchases of capacity blocks: approval, cost and end.

AWS charges the full price upfront and refunds nothing, so each block needs its own approval:
`purchase` with an offering and its price. One approval purchases once: the resource is named after
the offering, and gpuyard first checks in the cloud whether the offering has been purchased already.
"""

from collections.abc import Iterator
from datetime import timedelta

from gpuyard.plan.capacity.capacity_options import contract_usd_per_hour
from gpuyard.plan.draft import Draft
from gpuyard.spec.pools import BlockPurchase, CapacityOptionSpec, Pool
from gpuyard_core.catalogue.commitments import CommitmentPrice, capacity_block
from gpuyard_core.catalogue.machines import Capacity
from gpuyard_core.catalogue.purchasing import (
    BLOCK_SIZES,
    EC2_OFFERING,
    EC2_RESERVATION,
    ULTRASERVERS,
)
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, info, warning

_HOURS = tuple(days * 24 for days in BLOCK_SIZES.days)
_FAR = 2
"""A price that differs from the list price by more than this factor is likely a mistake."""


def check_block(
    draft: Draft, pool: Pool, option: CapacityOptionSpec, path: Path
) -> list[Diagnostic]:
    """Check one block: approved, not over, and at a plausible price."""
    wrong = list(_unagreed(pool, option, path)) or list(_over(draft, option, path))
    return wrong or _purchase_findings(draft, pool, option, path)


def _refused(path: Path, problem: str, value: str, allowed: str, fix: Fix) -> Diagnostic:
    return error("capacity.block_agreed", path, problem, given=value, allowed=allowed, fix=fix)


def _unagreed(pool: Pool, option: CapacityOptionSpec, path: Path) -> Iterator[Diagnostic]:
    """An offering without approval, or an approval without an offering that is sold."""
    reservation = option.reservation or ""
    offered = bool(EC2_OFFERING.pattern.fullmatch(reservation)) and option.mode is Capacity.BLOCK
    if option.purchase is None and offered:
        yield _refused(
            path,
            f"{reservation} is an offering: a deployment would purchase {option.nodes} nodes,"
            f" {_about(pool, option)}paid upfront and not refundable",
            reservation,
            "purchase: {hours: HOURS, starts: DAY, usd: PRICE} with the values of the offering; or an"
            f" existing block, such as {EC2_RESERVATION.example}",
            Fix(message="add `purchase`, or name a block that you have purchased"),
        )
    elif option.purchase is not None and not offered:
        yield _refused(
            path,
            f"{reservation or option.mode.value} is not an offering, so there is nothing to purchase",
            f"{option.mode.value} {reservation}".strip(),
            f"a capacity block offering, such as {EC2_OFFERING.example}",
            Fix(message="remove `purchase`", at=(*path, "purchase")),
        )
    elif option.purchase is not None and not ULTRASERVERS.keys().isdisjoint(pool.machines):
        yield _refused(
            path,
            f"{format_list(pool.machines)} is sold as whole UltraServers, which have no offerings for machines",
            reservation,
            "the reservation of an UltraServer that you purchased yourself, without `purchase`",
            Fix(message="remove `purchase`, and name your reservation"),
        )
    elif option.purchase is not None and option.purchase.hours not in _HOURS:
        longer = next((hours for hours in _HOURS if hours > option.purchase.hours), _HOURS[-1])
        yield _refused(
            path,
            f"EC2 sells blocks of 1 to 14 days, or of up to 26 whole weeks, not of {option.purchase.hours} hours",
            f"hours: {option.purchase.hours}",
            f"whole days, such as {longer} hours",
            Fix(
                message=f"write {longer}, if the offering has it",
                at=(*path, "purchase", "hours"),
                value=longer,
            ),
        )


def _list_price(pool: Pool) -> CommitmentPrice | None:
    return capacity_block(pool.machines[0]) if pool.machines else None


def _about(pool: Pool, option: CapacityOptionSpec) -> str:
    """The list price of a day."""
    price = _list_price(pool)
    if price is None:
        return ""
    day = price.usd_per_hour.high * (option.nodes or 0) * 24
    return f"about ${day:,.0f} a day at list price, "


def _over(draft: Draft, option: CapacityOptionSpec, path: Path) -> Iterator[Diagnostic]:
    """An ended block has no nodes. AWS forgets it: a stack without its state would buy again."""
    buys = option.purchase
    if buys is None or draft.today is None:
        return
    ends = buys.starts + timedelta(hours=buys.hours)
    if draft.today > ends:
        yield error(
            "capacity.block_over",
            path,
            f"the block of {option.reservation} ended on {ends}: it provides no nodes,"
            " and AWS no longer sells this offering",
            given=f"{buys.hours} hours from {buys.starts}",
            allowed=f"a block that ends after {draft.today}",
            fix=Fix(message="remove the capacity option, and give the pool another one"),
        )


def _purchase_findings(
    draft: Draft, pool: Pool, option: CapacityOptionSpec, path: Path
) -> list[Diagnostic]:
    """What a purchase costs, and what the platform costs before it begins and after it ends."""
    buys = option.purchase
    if buys is None:
        return []
    results = list(_unlikely(pool, option, buys, path))
    hourly = buys.usd / buys.hours
    minimum = draft.bill.minimum
    remainder = (
        ""
        if minimum.usd is None
        else f"; everything else costs at least ${max(minimum.usd - hourly, 0):,.2f} an hour"
    )
    results.append(
        info(
            "capacity.block_buys",
            path,
            f"the first deployment purchases {option.nodes} × {format_list(pool.machines)} for {buys.hours} hours"
            f" from {buys.starts}: ${buys.usd:,.2f} upfront, which is ${hourly:,.2f} an hour during the block"
            f" and nothing before and after{remainder}, with or without it",
            given=f"{option.reservation}, ${buys.usd:,.2f}",
            fix=Fix(
                message="none, if you intend the purchase: it happens once; `pulumi destroy` or removing the"
                " capacity option refunds nothing"
            ),
        )
    )
    return results


def _unlikely(
    pool: Pool, option: CapacityOptionSpec, buys: BlockPurchase, path: Path
) -> Iterator[Diagnostic]:
    price = _list_price(pool)
    if price is None:
        return
    usd = price.usd_per_hour.high
    agreed = contract_usd_per_hour(option)
    if agreed is not None and not usd / _FAR <= agreed <= usd * _FAR:
        total_usd = usd * (option.nodes or 0) * buys.hours
        yield warning(
            "capacity.block_price",
            (*path, "purchase", "usd"),
            f"${agreed:,.2f} for an hour of {pool.machines[0]} is far from the list price, ${usd:,.2f}"
            f" in {price.region} {price.usd_per_hour.source.formatted_date}",
            given=f"{buys.usd:g}",
            allowed=f"about ${total_usd:,.0f} in total, {option.nodes} nodes for {buys.hours} hours",
            fix=Fix(
                message="compare it with the UpfrontFee of the offering: it covers all nodes and all hours"
            ),
        )
