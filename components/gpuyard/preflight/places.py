"""Zones, machines and subnets that a stack file names, against those that a cloud says there are.

A program judges them too, before it registers anything: it loads this module, and nothing of another cloud.
"""

from collections.abc import Iterator, Mapping

from gpuyard.catalogue.cluster.eks import ZONES_WITHOUT
from gpuyard.findings import Finding, Fix, Path, listed, refuse
from gpuyard.plan.cluster.ranges import cluster_of, zones_named, zones_of
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.preflight.asking import Heard


def of_pool(plan: PlatformPlan, pool: PoolPlan) -> Path:
    """Where the stack file has the pool."""
    names = [each.name for each in plan.spec.pools]
    return ("pools", names.index(pool.name))


def subnets_said(plan: PlatformPlan) -> Iterator[tuple[Path, str]]:
    """Those that the stack file names, with their places."""
    subnets = cluster_of(plan.spec).network.subnets
    for side in ("private", "public") if subnets else ():
        for number, each in enumerate(getattr(subnets, side)):
            yield ("cluster", "network", "subnets", side, number), each


def heard_of(*findings: Finding, said: str = "") -> Heard:
    """Findings, or what is said where there are none."""
    return Heard(findings, (), (said,) if said and not findings else ())


def judge_zones(named: Mapping[str, Path], there: set[str], region: str) -> Heard:
    """Zones that the stack file names against those that there are."""
    fix = Fix(says="write zones that there are, or leave `zones` out")
    allowed = listed(sorted(there)) or "none"
    found = [
        refuse(
            "live.zone", at, f"{region} has no zone {zone}", given=zone, allowed=allowed, fix=fix
        )
        for zone, at in named.items()
        if zone not in there
    ]
    return heard_of(*found, said=f"{listed(named)} are zones of {region}")


def without_control_plane(plan: PlatformPlan, ids: Mapping[str, str]) -> tuple[Finding, ...]:
    """Zones in which EKS makes no control plane, by the ids of zones: it is given a subnet of each zone."""
    cluster = cluster_of(plan.spec)
    if cluster.existing or cluster.network.subnets:
        return ()
    paths = zones_named(plan.spec)
    fix = Fix(says="write other zones: by its id it is another zone in each account")
    return tuple(
        refuse(
            "live.zone",
            paths[zone],
            f"EKS makes no control plane in {zone}, which is {ids[zone]} in this account",
            given=zone,
            allowed=f"zones other than {listed(ZONES_WITHOUT)}",
            fix=fix,
        )
        for zone in zones_of(plan.spec)
        if ids.get(zone) in ZONES_WITHOUT
    )


def judge_offers(plan: PlatformPlan, zones: Mapping[str, set[str]]) -> Heard:
    """Machines against the zones that sell them."""
    heard, own = Heard(), cluster_of(plan.spec).zones
    for pool in plan.pools:
        machine = pool.machine.type_name
        sold = sorted(zones.get(machine, ()))
        said, at = pool.zones, (*of_pool(plan, pool), "zones")
        lacking = [zone for zone in said if zone not in sold]
        if not said and sold and not set(own).intersection(sold):
            lacking, at = list(own), ("cluster", "zones")  # its nodes start in one of these
        if sold and not lacking:
            heard += heard_of(said=f"{machine} is sold in {listed(sold)}")
            continue
        where = listed(lacking) if sold else (plan.region or "the region")
        at = at if sold else (*of_pool(plan, pool), "machine")
        words = "name zones that sell it" if sold else "take another machine or region"
        heard += heard_of(
            refuse(
                "live.offering",
                at,
                f"{machine} is not sold in {where}",
                given=machine,
                allowed=listed(sold) or "in no zone of it",
                fix=Fix(says=words),
            )
        )
    return heard
