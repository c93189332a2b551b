"""Zones, machines and subnets of a stack file, compared with those of the cloud.

A program also checks them before it registers resources: it loads this module and nothing of another cloud.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpuyard.plan.cluster.ranges import cluster_spec, cluster_zones, configured_zones
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.preflight.probes import ProbeResult, probe_result
from gpuyard_core.catalogue.cluster.eks import ZONES_WITHOUT
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list


def pool_path(plan: PlatformPlan, pool: PoolPlan) -> Path:
    """Path of the pool in the stack file."""
    names = [each.name for each in plan.spec.pools]
    return ("pools", names.index(pool.name))


def zones_without_pools(plan: PlatformPlan) -> dict[str, Path]:
    """Zones of the cluster without a pool; those of pools are checked by offers."""
    pools = {zone for pool in plan.pools for zone in pool.zones}
    numbered_zones = enumerate(cluster_spec(plan.spec).zones)
    return {zone: ("cluster", "zones", n) for n, zone in numbered_zones if zone not in pools}


def named_subnets(plan: PlatformPlan) -> Iterator[tuple[Path, str]]:
    """Subnets of the stack file, with their paths."""
    subnets = cluster_spec(plan.spec).network.subnets
    for side in ("private", "public") if subnets else ():
        for number, each in enumerate(getattr(subnets, side)):
            yield ("cluster", "network", "subnets", side, number), each


def check_zones(named: Mapping[str, Path], existing: set[str], region: str) -> ProbeResult:
    """Compare the zones of the stack file with those of the region."""
    fix = Fix(message="write zones from the list, or remove `zones`")
    allowed = format_list(sorted(existing)) or "none"
    results = [
        error("live.zone", at, f"{region} has no zone {zone}", given=zone, allowed=allowed, fix=fix)
        for zone, at in named.items()
        if zone not in existing
    ]
    return probe_result(*results, said=f"{format_list(named)} are zones of {region}")


def control_plane_zone_findings(
    plan: PlatformPlan, ids: Mapping[str, str]
) -> tuple[Diagnostic, ...]:
    """Zones, by zone id, in which EKS offers no control plane: the cluster has a subnet in each zone."""
    cluster = cluster_spec(plan.spec)
    if cluster.existing or cluster.network.subnets:
        return ()
    paths = configured_zones(plan.spec)
    fix = Fix(message="write other zones: a zone name maps to a different zone id in each account")
    return tuple(
        error(
            "live.zone",
            paths[zone],
            f"EKS offers no control plane in {zone}, which is {ids[zone]} in this account",
            given=zone,
            allowed=f"zones other than {format_list(ZONES_WITHOUT)}",
            fix=fix,
        )
        for zone in cluster_zones(plan.spec)
        if ids.get(zone) in ZONES_WITHOUT
    )


def check_offers(plan: PlatformPlan, offers: Iterable[tuple[Any, Any]]) -> ProbeResult:
    """Compare machine types with the zones that offer them: pairs of machine type and zone."""
    zones: dict[str, set[str]] = {}
    for machine, zone in offers:
        zones.setdefault(str(machine), set()).add(str(zone))
    result, own = ProbeResult(), cluster_spec(plan.spec).zones
    for pool in plan.pools:
        machine = pool.machine.type_name
        sold = sorted(zones.get(machine, ()))
        zone_names, at = pool.zones, (*pool_path(plan, pool), "zones")
        lacking = [zone for zone in zone_names if zone not in sold]
        if not zone_names and sold and not set(own).intersection(sold):
            lacking, at = list(own), ("cluster", "zones")  # its nodes start in one of these
        if sold and not lacking:
            result += probe_result(said=f"{machine} is offered in {format_list(sold)}")
            continue
        where = format_list(lacking) if sold else (plan.region or "the region")
        at = at if sold else (*pool_path(plan, pool), "machine")
        words = "set zones that offer it" if sold else "use another machine type or region"
        result += probe_result(
            error(
                "live.offering",
                at,
                f"{machine} is not offered in {where}",
                given=machine,
                allowed=format_list(sold) or "no zone offers it",
                fix=Fix(message=words),
            )
        )
    return result
