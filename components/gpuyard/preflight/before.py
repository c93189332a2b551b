"""What a cloud answers before anything is registered, judged as `gpuyard check --live` judges its answers."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.findings import Finding, Fix, refuse
from gpuyard.plan.cluster.ranges import cluster_of
from gpuyard.plan.records import PlatformPlan
from gpuyard.preflight.places import (
    elsewhere,
    judge_offers,
    judge_zones,
    of_pool,
    subnets_said,
    without_control_plane,
    zones_named,
)
from gpuyard.render.cloud.before import ASKED_BLOCKS, ASKED_OFFERS, ASKED_SUBNETS, ASKED_ZONES
from gpuyard.spec.platform import Cloud

Told = Mapping[str, Mapping[str, Any]]
"""By the name of a question, its answer; one without an answer is not there."""


def heard_before(plan: PlatformPlan, told: Told) -> tuple[Finding, ...]:
    """What stands against a deployment. Of a zone that is not there nothing more is said."""
    found = (*_zones(plan, told), *_subnets(plan, told), *_blocks(plan, told))
    return found or _offers(plan, told)


def _zones(plan: PlatformPlan, told: Told) -> tuple[Finding, ...]:
    if ASKED_ZONES not in told:
        return ()
    names = [str(name) for name in told[ASKED_ZONES].get("names", ())]
    ids = dict(zip(names, map(str, told[ASKED_ZONES].get("zoneIds", ())), strict=False))
    found = judge_zones(zones_named(plan), set(names), plan.region or "the region").findings
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


def _blocks(plan: PlatformPlan, told: Told) -> Iterator[Finding]:
    """A block lies in one zone and is of one machine: nodes of another start nowhere."""
    for pool in plan.pools:
        for rung in pool.ladder:
            there = told.get(f"{ASKED_BLOCKS}-{rung.reservation}")
            if there is None:
                continue
            at, held = (*of_pool(plan, pool), "capacity"), f"reservation {rung.reservation}"
            for problem, given, says in elsewhere(
                pool,
                there.get("instanceType") or pool.machine.type_name,
                there.get("availabilityZone") or next(iter(pool.zones), None),
            ):
                fix = Fix(says=says)
                yield refuse("live.reservation", at, f"{held} {problem}", given=given, fix=fix)


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
