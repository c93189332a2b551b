"""Capacity blocks that a stack file buys: what is agreed to, what it costs, and when it is over.

AWS takes all of the price at once and gives none of it back, so a block is bought by its own consent alone:
`buys` beside an offer, with the sum that AWS asks. What is agreed to once is bought once: the resource is
named for the offer, and the cloud is asked before whether anybody has bought it already.
"""

from collections.abc import Iterator
from datetime import timedelta

from gpuyard.catalogue.buying import BLOCK_SIZES, EC2_OFFERING, EC2_RESERVATION, ULTRASERVERS
from gpuyard.catalogue.commitments import CommitmentPrice, capacity_block
from gpuyard.catalogue.machines import Capacity
from gpuyard.findings import Finding, Fix, Path, listed, note, refuse, warn
from gpuyard.plan.capacity.ladder import agreed_usd_per_hour
from gpuyard.plan.draft import Draft
from gpuyard.spec.platform import Cloud
from gpuyard.spec.pools import BlockPurchase, Pool, Rung

_HOURS = tuple(days * 24 for days in BLOCK_SIZES.days)
_FAR = 2
"""So many times the list price, or so little of it, is rather a slip than a price of today."""


def check_blocks(draft: Draft) -> list[Finding]:
    """Every block: bought by consent alone, while it lasts, at a price that can be meant."""
    findings: list[Finding] = []
    for pool, rung, path in _blocks(draft):
        if draft.spec.cloud is not Cloud.AWS:
            findings += [_elsewhere(rung, path)] if rung.buys else []
            continue
        wrong = list(_unagreed(pool, rung, path)) or list(_over(draft, rung, path))
        findings += wrong or _said(draft, pool, rung, path)
    return findings


def _blocks(draft: Draft) -> Iterator[tuple[Pool, Rung, Path]]:
    for number, pool in enumerate(draft.spec.pools):
        for index, rung in enumerate(pool.capacity):
            if rung.mode is Capacity.BLOCK or rung.buys is not None:
                yield pool, rung, ("pools", number, "capacity", index)


def _refused(path: Path, problem: str, given: str, allowed: str, fix: Fix) -> Finding:
    return refuse("capacity.block_agreed", path, problem, given=given, allowed=allowed, fix=fix)


def _elsewhere(rung: Rung, path: Path) -> Finding:
    return _refused(
        path,
        "only AWS sells blocks by an offer that a stack file can buy",
        f"{rung.mode.value} {rung.reservation}",
        "a reservation that is there, without `buys`",
        Fix(says="remove buys, and name what you have reserved", at=(*path, "buys")),
    )


def _unagreed(pool: Pool, rung: Rung, path: Path) -> Iterator[Finding]:
    """An offer that nobody agreed to, or an agreement to what is no offer, or is not sold."""
    held = rung.reservation or ""
    offered = bool(EC2_OFFERING.pattern.fullmatch(held)) and rung.mode is Capacity.BLOCK
    if rung.buys is None and offered:
        yield _refused(
            path,
            f"{held} is an offer: a deployment would buy {rung.nodes} nodes,"
            f" {_about(pool, rung)}paid at once and never given back",
            held,
            "buys: {hours: HOURS, starts: DAY, usd: PRICE} beside it, as AWS offers it; or a block you have,"
            f" such as {EC2_RESERVATION.example}",
            Fix(says="agree to it with `buys`, or name a block that is bought already"),
        )
    elif rung.buys is not None and not offered:
        yield _refused(
            path,
            f"{held or rung.mode.value} is no offer, so there is nothing to buy",
            f"{rung.mode.value} {held}".strip(),
            f"an offer of a capacity block, such as {EC2_OFFERING.example}",
            Fix(says="remove buys", at=(*path, "buys")),
        )
    elif rung.buys is not None and not ULTRASERVERS.keys().isdisjoint(pool.machines):
        yield _refused(
            path,
            f"{listed(pool.machines)} is sold as whole UltraServers, whose offers are not of machines",
            held,
            "the reservation of an UltraServer that was bought by hand, without `buys`",
            Fix(says="remove buys, and name what you have bought"),
        )
    elif rung.buys is not None and rung.buys.hours not in _HOURS:
        longer = next((hours for hours in _HOURS if hours > rung.buys.hours), _HOURS[-1])
        yield _refused(
            path,
            f"EC2 sells no block of {rung.buys.hours} hours: 1 to 14 days, then weeks, 26 of them at most",
            f"hours: {rung.buys.hours}",
            f"whole days, such as {longer} hours",
            Fix(
                says=f"write {longer}, if the offer says so",
                at=(*path, "buys", "hours"),
                value=longer,
            ),
        )


def _list_price(pool: Pool) -> CommitmentPrice | None:
    return capacity_block(pool.machines[0]) if pool.machines else None


def _about(pool: Pool, rung: Rung) -> str:
    """What a day of it costs by the list."""
    price = _list_price(pool)
    if price is None:
        return ""
    day = price.usd_per_hour.high * (rung.nodes or 0) * 24
    return f"about ${day:,.0f} a day by the list, "


def _over(draft: Draft, rung: Rung, path: Path) -> Iterator[Finding]:
    """Nothing runs on a block that is over. AWS forgets it, and a stack that does too would buy anew."""
    buys = rung.buys
    if buys is None or draft.today is None:
        return
    ends = buys.starts + timedelta(hours=buys.hours)
    if draft.today > ends:
        yield refuse(
            "capacity.block_over",
            path,
            f"the block of {rung.reservation} ended on {ends}: no node comes of it,"
            " and AWS has nothing left to sell under this offer",
            given=f"{buys.hours} hours from {buys.starts}",
            allowed=f"a block that lasts beyond {draft.today}",
            fix=Fix(says="remove the rung, and give the pool other nodes"),
        )


def _said(draft: Draft, pool: Pool, rung: Rung, path: Path) -> list[Finding]:
    """What a purchase costs, and what the platform costs without it, before it begins and after it ends."""
    buys = rung.buys
    if buys is None:
        return []
    found = list(_unlikely(pool, rung, buys, path))
    hourly = buys.usd / buys.hours
    floor = draft.bill.floor
    beside = (
        ""
        if floor.usd is None
        else f"; all else costs ${max(floor.usd - hourly, 0):,.2f} an hour at least"
    )
    found.append(
        note(
            "capacity.block_buys",
            path,
            f"the first deployment buys {rung.nodes} of {listed(pool.machines)} for {buys.hours} hours from"
            f" {buys.starts}: ${buys.usd:,.2f} at once, ${hourly:,.2f} an hour while it lasts and nothing"
            f" before and after{beside}, with and without it",
            given=f"{rung.reservation}, ${buys.usd:,.2f}",
            fix=Fix(
                says="nothing, where it is meant: it is bought once; a destroy, or the rung taken out, gives"
                " no money back"
            ),
        )
    )
    return found


def _unlikely(pool: Pool, rung: Rung, buys: BlockPurchase, path: Path) -> Iterator[Finding]:
    price = _list_price(pool)
    if price is None:
        return
    usd = price.usd_per_hour.high
    agreed = agreed_usd_per_hour(rung)
    if agreed is not None and not usd / _FAR <= agreed <= usd * _FAR:
        whole = usd * (rung.nodes or 0) * buys.hours
        yield warn(
            "capacity.block_price",
            (*path, "buys", "usd"),
            f"${agreed:,.2f} for an hour of {pool.machines[0]} is far from the price of the list, ${usd:,.2f}"
            f" in {price.region} {price.usd_per_hour.source.when}",
            given=f"{buys.usd:g}",
            allowed=f"about ${whole:,.0f} for all of it, {rung.nodes} nodes for {buys.hours} hours",
            fix=Fix(
                says="compare it with the UpfrontFee of the offer: it is for all nodes and all hours"
            ),
        )
