"""Checks by the provider before resources are registered, equal to those of `gpuyard check --live`."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from gpuyard.findings import Finding, Fix, error, has_errors
from gpuyard.plan.cluster.ranges import cluster_spec, configured_zones
from gpuyard.plan.records import PlatformPlan
from gpuyard.preflight.reservations import (
    ReservationUse,
    Reserved,
    check_reservation,
    not_reserved,
    parse_count,
    reservation_uses,
)
from gpuyard.preflight.zones import (
    check_offers,
    check_zones,
    control_plane_zone_findings,
    named_subnets,
    pool_path,
)
from gpuyard.render.cloud.prerequisites import (
    ASKED_OFFERS,
    ASKED_RESERVED,
    ASKED_SUBNETS,
    ASKED_ZONES,
    EC2_RESERVATION,
)
from gpuyard.spec.platform import Cloud

PrerequisiteAnswers = Mapping[str, Mapping[str, Any]]
"""Results by query name; a query without a result is missing."""
_NONE: Mapping[str, Any] = {}
_NOT_THERE = ("couldn't find resource", "empty result", "InvalidCapacityReservationId")
"""Messages of the AWS provider when EC2 has no reservation with an id, or the id is invalid.

internal/service/ec2/find.go, findCapacityReservations, and internal/retry of terraform-provider-aws v6.
"""


def is_not_found(kind: str, problem: str) -> bool:
    """Whether a failed query means "not found".

    Google's provider reports it as a result without a status: a 404 is a deleted reservation.
    """
    return kind == EC2_RESERVATION and any(words in problem for words in _NOT_THERE)


def prerequisite_findings(
    plan: PlatformPlan, answers: PrerequisiteAnswers, before: Collection[str] = ()
) -> tuple[Finding, ...]:
    """Findings about a deployment. For a zone that does not exist there is only one finding.

    `before` has the reservations of the last deployment: nodes keep running after their reservation ended.
    """
    results = (
        *_zones(plan, answers),
        *_subnets(plan, answers),
        *_reservations(plan, answers, before),
    )
    return results if has_errors(results) else (*results, *_offers(plan, answers))


def _zones(plan: PlatformPlan, answers: PrerequisiteAnswers) -> tuple[Finding, ...]:
    if ASKED_ZONES not in answers:
        return ()
    names = [str(name) for name in answers[ASKED_ZONES].get("names", ())]
    ids = dict(zip(names, map(str, answers[ASKED_ZONES].get("zoneIds", ())), strict=False))
    result = check_zones(
        configured_zones(plan.spec), set(names), plan.region or "the region"
    ).findings
    return (*result, *control_plane_zone_findings(plan, ids))


def _subnets(plan: PlatformPlan, answers: PrerequisiteAnswers) -> tuple[Finding, ...]:
    if ASKED_SUBNETS not in answers:
        return ()
    network, subnet_ids = (
        str(cluster_spec(plan.spec).network.id),
        answers[ASKED_SUBNETS].get("ids", ()),
    )
    fix = Fix(message=f"use subnets of {network} in this account and region")
    return tuple(
        error(
            "live.subnet", at, f"subnet {subnet} does not exist in {network}", value=subnet, fix=fix
        )
        for at, subnet in named_subnets(plan)
        if subnet not in subnet_ids
    )


def _reservations(
    plan: PlatformPlan, answers: PrerequisiteAnswers, before: Collection[str]
) -> Iterator[Finding]:
    """A reservation has one zone and one machine type: nodes with another cannot use it."""
    judge = _at_google if plan.cloud is Cloud.GCP else _at_aws
    for draw in reservation_uses(plan, before):
        yield from judge(plan, draw, answers)


def _at_aws(
    plan: PlatformPlan, draw: ReservationUse, answers: PrerequisiteAnswers
) -> list[Finding]:
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


def _at_google(
    plan: PlatformPlan, draw: ReservationUse, answers: PrerequisiteAnswers
) -> list[Finding]:
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
    result = next(iter(block), _NONE) if isinstance(block, list | tuple) else block
    return result if isinstance(result, Mapping) else _NONE


def _offers(plan: PlatformPlan, answers: PrerequisiteAnswers) -> tuple[Finding, ...]:
    if plan.cloud is Cloud.GCP:
        return tuple(_unsold_at_google(plan, answers))
    if ASKED_OFFERS not in answers:
        return ()
    zones: dict[str, set[str]] = {}
    offers = answers[ASKED_OFFERS]
    for machine, zone in zip(offers["instanceTypes"], offers["locations"], strict=True):
        zones.setdefault(str(machine), set()).add(str(zone))
    return check_offers(plan, zones).findings


def _unsold_at_google(plan: PlatformPlan, answers: PrerequisiteAnswers) -> Iterator[Finding]:
    """Each zone is queried separately; a zone without a result is unknown."""
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
                yield error("live.offering", at, problem, value=machine, fix=fix)
