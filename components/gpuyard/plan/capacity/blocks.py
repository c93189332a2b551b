"""Capacity blocks that a stack file buys: what is agreed to, what it costs, and when it is over.

AWS takes all of the price at once and gives none of it back, so a block is bought by its own consent alone:
`purchase` beside an offer, with the sum that AWS asks. What is agreed to once is bought once: the resource is
named for the offer, and the cloud is asked before whether anybody has bought it already.
"""

from collections.abc import Iterator
from datetime import timedelta

from gpuyard.catalogue.commitments import CommitmentPrice, capacity_block
from gpuyard.catalogue.machines import Capacity
from gpuyard.catalogue.purchasing import BLOCK_SIZES, EC2_OFFERING, EC2_RESERVATION, ULTRASERVERS
from gpuyard.findings import Finding, Fix, Path, error, format_list, info, warning
from gpuyard.plan.capacity.capacity_options import contract_usd_per_hour
from gpuyard.plan.draft import Draft
from gpuyard.spec.platform import Cloud
from gpuyard.spec.pools import BlockPurchase, CapacityOptionSpec, Pool

_HOURS = tuple(days * 24 for days in BLOCK_SIZES.days)
_FAR = 2
"""So many times the list price, or so little of it, is rather a slip than a price of today."""


def check_blocks(draft: Draft) -> list[Finding]:
    """Every block: bought by consent alone, while it lasts, at a price that can be meant."""
    findings: list[Finding] = []
    for pool, option, path in _blocks(draft):
        if draft.spec.cloud is not Cloud.AWS:
            findings += [_wrong_cloud(option, path)] if option.purchase else []
            continue
        wrong = list(_unagreed(pool, option, path)) or list(_over(draft, option, path))
        findings += wrong or _purchase_findings(draft, pool, option, path)
    return findings


def _blocks(draft: Draft) -> Iterator[tuple[Pool, CapacityOptionSpec, Path]]:
    for number, pool in enumerate(draft.spec.pools):
        for index, option in enumerate(pool.capacity):
            if option.mode is Capacity.BLOCK or option.purchase is not None:
                yield pool, option, ("pools", number, "capacity", index)


def _refused(path: Path, problem: str, value: str, allowed: str, fix: Fix) -> Finding:
    return error("capacity.block_agreed", path, problem, value=value, allowed=allowed, fix=fix)


def _wrong_cloud(option: CapacityOptionSpec, path: Path) -> Finding:
    return _refused(
        path,
        "only AWS sells blocks by an offer that a stack file can buy",
        f"{option.mode.value} {option.reservation}",
        "a reservation that is there, without `purchase`",
        Fix(message="remove buys, and name what you have reserved", at=(*path, "purchase")),
    )


def _unagreed(pool: Pool, option: CapacityOptionSpec, path: Path) -> Iterator[Finding]:
    """An offer that nobody agreed to, or an agreement to what is no offer, or is not sold."""
    reservation = option.reservation or ""
    offered = bool(EC2_OFFERING.pattern.fullmatch(reservation)) and option.mode is Capacity.BLOCK
    if option.purchase is None and offered:
        yield _refused(
            path,
            f"{reservation} is an offer: a deployment would buy {option.nodes} nodes,"
            f" {_about(pool, option)}paid at once and never given back",
            reservation,
            "purchase: {hours: HOURS, starts: DAY, usd: PRICE} beside it, as AWS offers it; or a block you have,"
            f" such as {EC2_RESERVATION.example}",
            Fix(message="agree to it with `purchase`, or name a block that is bought already"),
        )
    elif option.purchase is not None and not offered:
        yield _refused(
            path,
            f"{reservation or option.mode.value} is no offer, so there is nothing to buy",
            f"{option.mode.value} {reservation}".strip(),
            f"an offer of a capacity block, such as {EC2_OFFERING.example}",
            Fix(message="remove buys", at=(*path, "purchase")),
        )
    elif option.purchase is not None and not ULTRASERVERS.keys().isdisjoint(pool.machines):
        yield _refused(
            path,
            f"{format_list(pool.machines)} is sold as whole UltraServers, whose offers are not of machines",
            reservation,
            "the reservation of an UltraServer that was bought by hand, without `purchase`",
            Fix(message="remove buys, and name what you have bought"),
        )
    elif option.purchase is not None and option.purchase.hours not in _HOURS:
        longer = next((hours for hours in _HOURS if hours > option.purchase.hours), _HOURS[-1])
        yield _refused(
            path,
            f"EC2 sells no block of {option.purchase.hours} hours: 1 to 14 days, then weeks, 26 of them at most",
            f"hours: {option.purchase.hours}",
            f"whole days, such as {longer} hours",
            Fix(
                message=f"write {longer}, if the offer says so",
                at=(*path, "purchase", "hours"),
                value=longer,
            ),
        )


def _list_price(pool: Pool) -> CommitmentPrice | None:
    return capacity_block(pool.machines[0]) if pool.machines else None


def _about(pool: Pool, option: CapacityOptionSpec) -> str:
    """What a day of it costs by the list."""
    price = _list_price(pool)
    if price is None:
        return ""
    day = price.usd_per_hour.high * (option.nodes or 0) * 24
    return f"about ${day:,.0f} a day by the list, "


def _over(draft: Draft, option: CapacityOptionSpec, path: Path) -> Iterator[Finding]:
    """Nothing runs on a block that is over. AWS forgets it, and a stack that does too would buy anew."""
    buys = option.purchase
    if buys is None or draft.today is None:
        return
    ends = buys.starts + timedelta(hours=buys.hours)
    if draft.today > ends:
        yield error(
            "capacity.block_over",
            path,
            f"the block of {option.reservation} ended on {ends}: no node comes of it,"
            " and AWS has nothing left to sell under this offer",
            value=f"{buys.hours} hours from {buys.starts}",
            allowed=f"a block that lasts beyond {draft.today}",
            fix=Fix(message="remove the rung, and give the pool other nodes"),
        )


def _purchase_findings(
    draft: Draft, pool: Pool, option: CapacityOptionSpec, path: Path
) -> list[Finding]:
    """What a purchase costs, and what the platform costs without it, before it begins and after it ends."""
    buys = option.purchase
    if buys is None:
        return []
    results = list(_unlikely(pool, option, buys, path))
    hourly = buys.usd / buys.hours
    floor = draft.bill.floor
    remainder = (
        ""
        if floor.usd is None
        else f"; all else costs ${max(floor.usd - hourly, 0):,.2f} an hour at least"
    )
    results.append(
        info(
            "capacity.block_buys",
            path,
            f"the first deployment buys {option.nodes} of {format_list(pool.machines)} for {buys.hours} hours from"
            f" {buys.starts}: ${buys.usd:,.2f} at once, ${hourly:,.2f} an hour while it lasts and nothing"
            f" before and after{remainder}, with and without it",
            value=f"{option.reservation}, ${buys.usd:,.2f}",
            fix=Fix(
                message="nothing, where it is meant: it is bought once; a destroy, or the rung taken out, gives"
                " no money back"
            ),
        )
    )
    return results


def _unlikely(
    pool: Pool, option: CapacityOptionSpec, buys: BlockPurchase, path: Path
) -> Iterator[Finding]:
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
            f"${agreed:,.2f} for an hour of {pool.machines[0]} is far from the price of the list, ${usd:,.2f}"
            f" in {price.region} {price.usd_per_hour.source.when}",
            value=f"{buys.usd:g}",
            allowed=f"about ${total_usd:,.0f} for all of it, {option.nodes} nodes for {buys.hours} hours",
            fix=Fix(
                message="compare it with the UpfrontFee of the offer: it is for all nodes and all hours"
            ),
        )
