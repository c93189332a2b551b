"""What a cloud answers before anything is registered, judged as `gpuyard check --live` judges its answers."""

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
    named_subnets,
    pool_path,
    without_control_plane,
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
"""By the name of a question, its answer; one without an answer is not there."""
_NONE: Mapping[str, Any] = {}
_NOT_THERE = ("couldn't find resource", "empty result", "InvalidCapacityReservationId")
"""How the provider of AWS says that EC2 has no reservation of an id, or takes it for none.

internal/service/ec2/find.go, findCapacityReservations, and internal/retry of terraform-provider-aws v6.
"""


def is_not_found(kind: str, problem: str) -> bool:
    """Whether a question that failed was answered by it: there is none.

    Google's provider says so by an answer without a status: it takes a 404 for a reservation that is gone.
    """
    return kind == EC2_RESERVATION and any(words in problem for words in _NOT_THERE)


def prerequisite_findings(
    plan: PlatformPlan, answers: PrerequisiteAnswers, before: Collection[str] = ()
) -> tuple[Finding, ...]:
    """What stands against a deployment, or is good to know. Of a zone that is not there no more is said.

    `before` has the reservations that the last deployment drew on: of one that ended since nodes run on.
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
    return (*result, *without_control_plane(plan, ids))


def _subnets(plan: PlatformPlan, answers: PrerequisiteAnswers) -> tuple[Finding, ...]:
    if ASKED_SUBNETS not in answers:
        return ()
    network, subnet_ids = (
        str(cluster_spec(plan.spec).network.id),
        answers[ASKED_SUBNETS].get("ids", ()),
    )
    fix = Fix(message=f"name subnets of {network}, in this account and region")
    return tuple(
        error("live.subnet", at, f"no subnet {subnet} is in {network}", value=subnet, fix=fix)
        for at, subnet in named_subnets(plan)
        if subnet not in subnet_ids
    )


def _reservations(
    plan: PlatformPlan, answers: PrerequisiteAnswers, before: Collection[str]
) -> Iterator[Finding]:
    """One lies in one zone and is of one machine: nodes of another start nowhere."""
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
    """A field that is not there says nothing, but for the status, which each that is there has."""
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
    """What a block has, which the provider answers as a list of one; empty where there is none."""
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
    """Each zone answers for itself: of one without an answer, or without a name, nothing is known."""
    for pool in plan.pools:
        machine = pool.machine.type_name
        for number, zone in enumerate(pool.zones):
            answer = answers.get(f"{ASKED_OFFERS}-{zone}")
            if answer is None:
                continue
            if machine.partition("+")[0] not in {each["name"] for each in answer["machineTypes"]}:
                at = (*pool_path(plan, pool), "zones", number)
                fix = Fix(message="name a zone that sells it, or take another machine")
                problem = f"{machine} is not sold in {zone}"
                yield error("live.offering", at, problem, value=machine, fix=fix)
