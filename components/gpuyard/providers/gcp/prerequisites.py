"""Answers of Compute Engine about reservations and machine types, before resources are registered."""

from collections.abc import Mapping
from typing import Any

from gpuyard.plan.records import PlatformPlan
from gpuyard.preflight.prerequisites import PrerequisiteAnswers
from gpuyard.preflight.reservations import (
    ReservationUse,
    Reserved,
    check_reservation,
    not_reserved,
    parse_count,
)
from gpuyard.preflight.zones import pool_path
from gpuyard.render.cloud.prerequisites import ASKED_OFFERS, ASKED_RESERVED
from gpuyard_core.findings import Diagnostic, Fix, error


def reservation_findings(
    plan: PlatformPlan, draw: ReservationUse, answers: PrerequisiteAnswers
) -> list[Diagnostic]:
    """A missing field means unknown, except the status, which every reservation has."""
    (zone,) = draw.pool.zones
    reservation = answers.get(f"{ASKED_RESERVED}-{draw.id}-{zone}")
    if reservation is None:
        return []
    if not reservation.get("status"):
        return [not_reserved(plan, draw, zone)]
    specific = _first(reservation.get("specificReservations"))
    reserved = Reserved(
        state=reservation["status"],
        machine=_first(specific.get("instanceProperties")).get("machineType")
        or draw.pool.machine.type_name,
        zone=zone,
        count=parse_count(specific.get("count")),
    )
    return check_reservation(plan, draw, reserved)


def _first(block: Any) -> Mapping[str, Any]:
    """A nested block, which the provider returns as a list of one; empty if absent."""
    result = next(iter(block), None) if isinstance(block, list | tuple) else block
    return result if isinstance(result, Mapping) else {}


def offer_findings(plan: PlatformPlan, answers: PrerequisiteAnswers) -> tuple[Diagnostic, ...]:
    """Each zone is queried separately; a zone without a result is unknown."""
    results: list[Diagnostic] = []
    for pool in plan.pools:
        machine = pool.machine.type_name
        for number, zone in enumerate(pool.zones):
            answer = answers.get(f"{ASKED_OFFERS}-{zone}")
            if answer is None:
                continue
            if machine.partition("+")[0] not in {each["name"] for each in answer["machineTypes"]}:
                at = (*pool_path(plan, pool), "zones", number)
                fix = Fix(message="set a zone that offers it, or use another machine type")
                problem = f"{machine} is not offered in {zone}"
                results.append(error("live.offering", at, problem, given=machine, fix=fix))
    return tuple(results)
