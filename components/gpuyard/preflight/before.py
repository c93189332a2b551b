"""What a cloud answers before anything is registered, judged as `gpuyard check --live` judges its answers."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from gpuyard.findings import Finding, Fix, refuse, refused
from gpuyard.plan.cluster.ranges import cluster_of, zones_named
from gpuyard.plan.records import PlatformPlan
from gpuyard.preflight.places import (
    judge_offers,
    judge_zones,
    of_pool,
    subnets_said,
    without_control_plane,
)
from gpuyard.preflight.reservations import (
    Draw,
    Reserved,
    draws,
    judge_reserved,
    not_reserved,
    whole,
)
from gpuyard.render.cloud.before import (
    ASKED_OFFERS,
    ASKED_RESERVED,
    ASKED_SUBNETS,
    ASKED_ZONES,
    EC2_RESERVATION,
)
from gpuyard.spec.platform import Cloud

Told = Mapping[str, Mapping[str, Any]]
"""By the name of a question, its answer; one without an answer is not there."""
_NONE: Mapping[str, Any] = {}
_NOT_THERE = ("couldn't find resource", "empty result", "InvalidCapacityReservationId")
"""How the provider of AWS says that EC2 has no reservation of an id, or takes it for none.

internal/service/ec2/find.go, findCapacityReservations, and internal/retry of terraform-provider-aws v6.
"""


def none_there(kind: str, problem: str) -> bool:
    """Whether a question that failed was answered by it: there is none.

    Google's provider says so by an answer without a status: it takes a 404 for a reservation that is gone.
    """
    return kind == EC2_RESERVATION and any(words in problem for words in _NOT_THERE)


def heard_before(
    plan: PlatformPlan, told: Told, before: Collection[str] = ()
) -> tuple[Finding, ...]:
    """What stands against a deployment, or is good to know. Of a zone that is not there no more is said.

    `before` has the reservations that the last deployment drew on: of one that ended since nodes run on.
    """
    found = (*_zones(plan, told), *_subnets(plan, told), *_reservations(plan, told, before))
    return found if refused(found) else (*found, *_offers(plan, told))


def _zones(plan: PlatformPlan, told: Told) -> tuple[Finding, ...]:
    if ASKED_ZONES not in told:
        return ()
    names = [str(name) for name in told[ASKED_ZONES].get("names", ())]
    ids = dict(zip(names, map(str, told[ASKED_ZONES].get("zoneIds", ())), strict=False))
    found = judge_zones(zones_named(plan.spec), set(names), plan.region or "the region").findings
    return (*found, *without_control_plane(plan, ids))


def _subnets(plan: PlatformPlan, told: Told) -> tuple[Finding, ...]:
    if ASKED_SUBNETS not in told:
        return ()
    network, there = str(cluster_of(plan.spec).network.id), told[ASKED_SUBNETS].get("ids", ())
    fix = Fix(says=f"name subnets of {network}, in this account and region")
    return tuple(
        refuse("live.subnet", at, f"no subnet {subnet} is in {network}", given=subnet, fix=fix)
        for at, subnet in subnets_said(plan)
        if subnet not in there
    )


def _reservations(plan: PlatformPlan, told: Told, before: Collection[str]) -> Iterator[Finding]:
    """One lies in one zone and is of one machine: nodes of another start nowhere."""
    judge = _at_google if plan.cloud is Cloud.GCP else _at_aws
    for draw in draws(plan, before):
        yield from judge(plan, draw, told)


def _at_aws(plan: PlatformPlan, draw: Draw, told: Told) -> list[Finding]:
    there = told.get(f"{ASKED_RESERVED}-{draw.id}")
    if there is None:
        return []
    if not there:
        return [not_reserved(plan, draw)]
    reserved = Reserved(
        state=there.get("state") or "active",
        machine=there["instanceType"],
        zone=there["availabilityZone"],
        count=whole(there.get("instanceCount")),
    )
    return judge_reserved(plan, draw, reserved)


def _at_google(plan: PlatformPlan, draw: Draw, told: Told) -> list[Finding]:
    """A field that is not there says nothing, but for the status, which each that is there has."""
    (zone,) = draw.pool.zones
    there = told.get(f"{ASKED_RESERVED}-{draw.id}-{zone}")
    if there is None:
        return []
    if not there.get("status"):
        return [not_reserved(plan, draw, zone)]
    held = _first(there.get("specificReservations"))
    reserved = Reserved(
        state=there["status"],
        machine=_first(held.get("instanceProperties")).get("machineType")
        or draw.pool.machine.type_name,
        zone=zone,
        count=whole(held.get("count")),
    )
    return judge_reserved(plan, draw, reserved)


def _first(block: Any) -> Mapping[str, Any]:
    """What a block has, which the provider answers as a list of one; empty where there is none."""
    found = next(iter(block), _NONE) if isinstance(block, list | tuple) else block
    return found if isinstance(found, Mapping) else _NONE


def _offers(plan: PlatformPlan, told: Told) -> tuple[Finding, ...]:
    if plan.cloud is Cloud.GCP:
        return tuple(_unsold_at_google(plan, told))
    if ASKED_OFFERS not in told:
        return ()
    zones: dict[str, set[str]] = {}
    said = told[ASKED_OFFERS]
    for machine, zone in zip(said["instanceTypes"], said["locations"], strict=True):
        zones.setdefault(str(machine), set()).add(str(zone))
    return judge_offers(plan, zones).findings


def _unsold_at_google(plan: PlatformPlan, told: Told) -> Iterator[Finding]:
    """Each zone answers for itself: of one without an answer, or without a name, nothing is known."""
    for pool in plan.pools:
        machine = pool.machine.type_name
        for number, zone in enumerate(pool.zones):
            answer = told.get(f"{ASKED_OFFERS}-{zone}")
            if answer is None:
                continue
            if machine.partition("+")[0] not in {each["name"] for each in answer["machineTypes"]}:
                at = (*of_pool(plan, pool), "zones", number)
                fix = Fix(says="name a zone that sells it, or take another machine")
                problem = f"{machine} is not sold in {zone}"
                yield refuse("live.offering", at, problem, given=machine, fix=fix)
