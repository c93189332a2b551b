"""Capacity blocks to purchase: whether AWS still offers them at the approved price."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from gpuyard.plan.records import CapacityOption, PlatformPlan, PoolPlan
from gpuyard.plan.records.nodes import CapacityBlock
from gpuyard.preflight.probes import AnswersByName, ProbeResult, SkippedProbe, items
from gpuyard.preflight.zones import pool_path, probe_result
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, warning
from gpuyard_core.names import OFFERING_TAG

OFFER, BOUGHT = "offer", "bought"
"""Prefixes of query names: the offer, and its purchase."""


def purchases(plan: PlatformPlan) -> Iterator[tuple[str, PoolPlan, CapacityOption, CapacityBlock]]:
    """Every capacity option that purchases a block, by its offer."""
    for pool in plan.pools:
        for option in pool.capacity_options:
            if option.reservation and option.purchase:
                yield option.reservation, pool, option, option.purchase


def block_probes(plan: PlatformPlan) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Name, subject and arguments of two queries for each purchase."""
    for offer, pool, option, buys in purchases(plan):
        ends = buys.starts + timedelta(hours=buys.hours + 48)
        yield (
            f"{OFFER} {offer}",
            f"the offer {offer}",
            (
                *("ec2", "describe-capacity-block-offerings"),
                *(
                    "--instance-type",
                    pool.machine.type_name,
                    "--instance-count",
                    str(option.max_nodes),
                ),
                *("--capacity-duration-hours", str(buys.hours)),
                *("--start-date-range", f"{buys.starts}T00:00:00Z"),
                *("--end-date-range", f"{ends}T00:00:00Z"),
            ),
        )
        yield (
            f"{BOUGHT} {offer}",
            f"whether {offer} was purchased",
            (
                *("ec2", "describe-capacity-reservations"),
                *("--filters", f"Name=tag:{OFFERING_TAG},Values={offer}"),
            ),
        )


def check_block(plan: PlatformPlan, offer: str, answers: AnswersByName) -> ProbeResult:
    """Findings from both results: a purchased block is no longer offered."""
    pool, option, buys = next((p, r, b) for each, p, r, b in purchases(plan) if each == offer)
    at: Path = (*pool_path(plan, pool), "capacity")
    bought = items(answers[f"{BOUGHT} {offer}"].value, "CapacityReservations")
    if bought:
        reservation, state = (str(bought[0].get(k)) for k in ("CapacityReservationId", "State"))
        return probe_result(said=f"{offer} was purchased as {reservation}, which is {state}")
    offering = answers[f"{OFFER} {offer}"]
    offers = items(offering.value, "CapacityBlockOfferings")
    if offers is None or bought is None:
        why = (
            offering.failure_reason
            or offering.error
            or answers[f"{BOUGHT} {offer}"].failure_reason
            or "no response"
        )
        return ProbeResult(skipped=(SkippedProbe(f"the offer {offer}", why),))
    mine = [each for each in offers if each.get("CapacityBlockOfferingId") == offer]
    if not mine:
        offer_texts = [f"{each.get('CapacityBlockOfferingId')} ({_fee(each)})" for each in offers]
        return probe_result(
            error(
                "live.block",
                at,
                f"AWS no longer offers block {offer} for {option.max_nodes} × {pool.machine.type_name}",
                given=offer,
                allowed=format_list(offer_texts) or "no block of this size on this date",
                fix=Fix(
                    message="set a listed offer with its price, and deploy immediately: offers expire"
                ),
            )
        )
    return probe_result(
        *_wrong(at, mine[0], pool, option, buys),
        said=f"{offer} is offered for {_fee(mine[0])}, as approved",
    )


def _fee(offered: Mapping[str, Any]) -> str:
    return f"{offered.get('UpfrontFee')} {offered.get('CurrencyCode', 'USD')}"


def _wrong(
    at: Path,
    offered: Mapping[str, Any],
    pool: PoolPlan,
    option: CapacityOption,
    buys: CapacityBlock,
) -> Iterator[Diagnostic]:
    zone, agreed = offered.get("AvailabilityZone"), buys.usd
    try:
        fee = float(offered.get("UpfrontFee", ""))
    except (TypeError, ValueError):
        fee = agreed
    if fee != agreed:
        make = error if fee > agreed else warning
        yield make(
            "live.block",
            at,
            f"AWS charges {_fee(offered)} for {option.reservation}, and ${agreed:,.2f} is approved",
            given=f"usd: {agreed:g}",
            allowed=f"usd: {fee:g}",
            fix=Fix(message=f"to approve the price, write usd: {fee:g}"),
        )
    if pool.zones and zone not in pool.zones:
        yield error(
            "live.block",
            at,
            f"the block of {option.reservation} is in {zone}",
            given=format_list(pool.zones),
            fix=Fix(message=f"write zones: [{zone}]"),
        )
