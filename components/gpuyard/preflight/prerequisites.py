"""Checks by the provider before resources are registered, equal to those of `gpuyard check --live`."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from gpuyard.plan.cluster.ranges import cluster_spec, configured_zones
from gpuyard.plan.records import PlatformPlan
from gpuyard.preflight.reservations import reservation_uses
from gpuyard.preflight.zones import check_zones, control_plane_zone_findings, named_subnets
from gpuyard.render.cloud.prerequisites import ASKED_SUBNETS, ASKED_ZONES, EC2_RESERVATION
from gpuyard_core.findings import Diagnostic, Fix, error, has_errors

PrerequisiteAnswers = Mapping[str, Mapping[str, Any]]
"""Results by query name; a query without a result is missing."""
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
) -> tuple[Diagnostic, ...]:
    """Findings about a deployment. For a zone that does not exist there is only one finding.

    `before` has the reservations of the last deployment: nodes keep running after their reservation ended.
    """
    results = (
        *_zones(plan, answers),
        *_subnets(plan, answers),
        *_reservations(plan, answers, before),
    )
    return (
        results if has_errors(results) else (*results, *plan.provider.offer_findings(plan, answers))
    )


def _zones(plan: PlatformPlan, answers: PrerequisiteAnswers) -> tuple[Diagnostic, ...]:
    if ASKED_ZONES not in answers:
        return ()
    names = [str(name) for name in answers[ASKED_ZONES].get("names", ())]
    ids = dict(zip(names, map(str, answers[ASKED_ZONES].get("zoneIds", ())), strict=False))
    result = check_zones(
        configured_zones(plan.spec), set(names), plan.region or "the region"
    ).findings
    return (*result, *control_plane_zone_findings(plan, ids))


def _subnets(plan: PlatformPlan, answers: PrerequisiteAnswers) -> tuple[Diagnostic, ...]:
    if ASKED_SUBNETS not in answers:
        return ()
    network = str(cluster_spec(plan.spec).network.id)
    subnet_ids = answers[ASKED_SUBNETS].get("ids", ())
    fix = Fix(message=f"use subnets of {network} in this account and region")
    return tuple(
        error(
            "live.subnet", at, f"subnet {subnet} does not exist in {network}", given=subnet, fix=fix
        )
        for at, subnet in named_subnets(plan)
        if subnet not in subnet_ids
    )


def _reservations(
    plan: PlatformPlan, answers: PrerequisiteAnswers, before: Collection[str]
) -> Iterator[Diagnostic]:
    """A reservation has one zone and one machine type: nodes with another cannot use it."""
    for draw in reservation_uses(plan, before):
        yield from plan.provider.reservation_findings(plan, draw, answers)
