"""Capacity blocks that are to be bought: whether AWS still offers them, at the price that was agreed to."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from gpuyard.findings import Finding, Fix, Path, listed, refuse, warn
from gpuyard.names import OFFERING_TAG
from gpuyard.plan.records import LadderRung, PlatformPlan, PoolPlan
from gpuyard.plan.records.nodes import BoughtBlock
from gpuyard.preflight.asking import AnswersByName, Heard, Unasked, items
from gpuyard.preflight.places import heard_of, of_pool

OFFER, BOUGHT = "offer", "bought"
"""What questions begin with: whether it is sold, and whether somebody has bought it."""


def purchases(plan: PlatformPlan) -> Iterator[tuple[str, PoolPlan, LadderRung, BoughtBlock]]:
    """Every rung that buys a block, by its offer."""
    for pool in plan.pools:
        for rung in pool.ladder:
            if rung.reservation and rung.buys:
                yield rung.reservation, pool, rung, rung.buys


def block_questions(plan: PlatformPlan) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Name, what it is about, and words, two for each purchase."""
    for offer, pool, rung, buys in purchases(plan):
        ends = buys.starts + timedelta(hours=buys.hours + 48)
        yield (
            f"{OFFER} {offer}",
            f"the offer {offer}",
            (
                *("ec2", "describe-capacity-block-offerings"),
                *("--instance-type", pool.machine.type_name, "--instance-count", str(rung.most)),
                *("--capacity-duration-hours", str(buys.hours)),
                *("--start-date-range", f"{buys.starts}T00:00:00Z"),
                *("--end-date-range", f"{ends}T00:00:00Z"),
            ),
        )
        yield (
            f"{BOUGHT} {offer}",
            f"whether {offer} is bought",
            (
                *("ec2", "describe-capacity-reservations"),
                *("--filters", f"Name=tag:{OFFERING_TAG},Values={offer}"),
            ),
        )


def judge_block(plan: PlatformPlan, offer: str, answers: AnswersByName) -> Heard:
    """What both answers mean together: one that is bought is offered no more."""
    pool, rung, buys = next((p, r, b) for each, p, r, b in purchases(plan) if each == offer)
    at: Path = (*of_pool(plan, pool), "capacity")
    bought = items(answers[f"{BOUGHT} {offer}"].value, "CapacityReservations")
    if bought:
        held, state = (str(bought[0].get(k)) for k in ("CapacityReservationId", "State"))
        return heard_of(said=f"{offer} is bought already, as {held}, which is {state}")
    asked = answers[f"{OFFER} {offer}"]
    offers = items(asked.value, "CapacityBlockOfferings")
    if offers is None or bought is None:
        why = asked.why or asked.error or answers[f"{BOUGHT} {offer}"].why or "no answer"
        return Heard(unasked=(Unasked(f"the offer {offer}", why),))
    mine = [each for each in offers if each.get("CapacityBlockOfferingId") == offer]
    if not mine:
        others = [f"{each.get('CapacityBlockOfferingId')} ({_fee(each)})" for each in offers]
        return heard_of(
            refuse(
                "live.block",
                at,
                f"AWS offers no block {offer} for {rung.most} of {pool.machine.type_name} now",
                given=offer,
                allowed=listed(others) or "none of that size and day",
                fix=Fix(
                    says="take an offer that there is, with its price, and deploy at once: offers pass"
                ),
            )
        )
    return heard_of(
        *_wrong(at, mine[0], pool, rung, buys),
        said=f"{offer} is offered for {_fee(mine[0])}, as agreed to",
    )


def _fee(offered: Mapping[str, Any]) -> str:
    return f"{offered.get('UpfrontFee')} {offered.get('CurrencyCode', 'USD')}"


def _wrong(
    at: Path, offered: Mapping[str, Any], pool: PoolPlan, rung: LadderRung, buys: BoughtBlock
) -> Iterator[Finding]:
    zone, agreed = offered.get("AvailabilityZone"), buys.usd
    try:
        fee = float(offered.get("UpfrontFee", ""))
    except (TypeError, ValueError):
        fee = agreed
    if fee != agreed:
        make = refuse if fee > agreed else warn
        yield make(
            "live.block",
            at,
            f"AWS asks {_fee(offered)} for {rung.reservation}, and ${agreed:,.2f} is agreed to",
            given=f"usd: {agreed:g}",
            allowed=f"usd: {fee:g}",
            fix=Fix(says=f"write usd: {fee:g}, where you agree to it"),
        )
    if pool.zones and zone not in pool.zones:
        yield refuse(
            "live.block",
            at,
            f"the block of {rung.reservation} is in {zone}",
            given=listed(pool.zones),
            fix=Fix(says=f"write zones: [{zone}]"),
        )
