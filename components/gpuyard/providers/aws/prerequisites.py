"""Answers of EC2 about reservations and instance types, before resources are registered."""

from gpuyard.plan.records import PlatformPlan
from gpuyard.preflight.prerequisites import PrerequisiteAnswers
from gpuyard.preflight.reservations import (
    ReservationUse,
    Reserved,
    check_reservation,
    not_reserved,
    parse_count,
)
from gpuyard.preflight.zones import check_offers
from gpuyard.render.cloud.prerequisites import ASKED_OFFERS, ASKED_RESERVED
from gpuyard_core.findings import Diagnostic


def reservation_findings(
    plan: PlatformPlan, draw: ReservationUse, answers: PrerequisiteAnswers
) -> list[Diagnostic]:
    """Compare a reservation or a capacity block with its state in EC2."""
    reservation = answers.get(f"{ASKED_RESERVED}-{draw.id}")
    if reservation is None:
        return []
    if not reservation:
        return [not_reserved(plan, draw)]
    reserved = Reserved(
        state=reservation.get("state") or "active",
        machine=reservation["instanceType"],
        zone=reservation["availabilityZone"],
        count=parse_count(reservation.get("instanceCount")),
    )
    return check_reservation(plan, draw, reserved)


def offer_findings(plan: PlatformPlan, answers: PrerequisiteAnswers) -> tuple[Diagnostic, ...]:
    """Compare instance types with the zones that offer them."""
    if ASKED_OFFERS not in answers:
        return ()
    offers = answers[ASKED_OFFERS]
    pairs = zip(offers["instanceTypes"], offers["locations"], strict=True)
    return check_offers(plan, pairs).findings
