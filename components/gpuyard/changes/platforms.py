"""A platform as its last deployment reported it, beside the plan of what comes: pools and teams by name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.catalogue.machines import find_machine
from gpuyard.catalogue.sharing import SharingMethod
from gpuyard.catalogue.software.images import ComponentOwner
from gpuyard.changes.deployed_state import DeployedResource
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.plan.sharing.claims import installs_claims
from gpuyard.plan.sharing.gke_sharing import is_gke_managed
from gpuyard.spec.sections import Apply


@dataclass(frozen=True, slots=True)
class DrainedPool:
    """A pool whose nodes go, or lose what runs on them."""

    pool: str
    nodes: int | None
    """At most; None where the last deployment did not say."""
    gpus: int | None
    """At most; None where nobody knows how many a node of its machine has."""


@dataclass(frozen=True, slots=True)
class RemovedGuarantee:
    """What a team can count on no more, as the last deployment reported it."""

    team: str
    pool: str
    resource: str
    count: int


@dataclass(frozen=True, slots=True)
class ReportedPlatform:
    """What a platform's component said of itself."""

    pools: Mapping[str, Mapping[str, Any]]
    teams: Mapping[str, Mapping[str, Any]]

    def drained(self, pool: str) -> DrainedPool:
        """All nodes of a pool."""
        facts = self.pools.get(pool, {})
        nodes = str(facts.get("nodes", "")).rpartition("..")[2]
        machine = find_machine(str(facts.get("machine", "")))
        most = int(nodes) if nodes.isdigit() else None
        return DrainedPool(
            pool, most, None if most is None or machine is None else most * machine.gpus
        )

    def guarantees(self, pool: str) -> Iterator[RemovedGuarantee]:
        """What teams were promised of a pool."""
        for team, facts in sorted(self.teams.items()):
            for key, count in sorted((facts.get("guarantee") or {}).items()):
                name, _, resource = key.partition(" ")
                if name == pool:
                    yield RemovedGuarantee(team, pool, resource, int(count))


def reported_platform(
    platform: DeployedResource | None, written: Mapping[str, Any] | None = None
) -> ReportedPlatform:
    """Of its outputs; where its last deployment ended early, and left none, what was written down before it.

    An empty one where there is no platform yet.
    """
    outputs = platform.outputs if platform else {}
    if platform and outputs.keys().isdisjoint({"pools", "teams"}):
        outputs = written or {}
    return ReportedPlatform(outputs.get("pools") or {}, outputs.get("teams") or {})


def former_pool(report: ReportedPlatform, plan: PlatformPlan, stable_name: str) -> str:
    """The name by which the report knows a pool."""
    names = next(
        (_names(p.name, p.previous_names) for p in plan.spec.pools if p.stable_name == stable_name),
        (),
    )
    return next((name for name in names if name in report.pools), stable_name)


def removed_pools(report: ReportedPlatform, plan: PlatformPlan) -> list[str]:
    """Pools that the stack file has no more, by any of their names."""
    known = {name for pool in plan.spec.pools for name in _names(pool.name, pool.previous_names)}
    return sorted(set(report.pools) - known)


def removed_teams(report: ReportedPlatform, plan: PlatformPlan) -> list[str]:
    """Teams that the stack file has no more, by any of their names."""
    known = {name for team in plan.spec.teams for name in _names(team.name, team.previous_names)}
    return sorted(set(report.teams) - known)


def repartitioned_pools(
    report: ReportedPlatform, plan: PlatformPlan
) -> Iterator[tuple[PoolPlan, str]]:
    """Pools whose GPUs are cut in another way, and their name until now."""
    for pool in plan.pools:
        name = former_pool(report, plan, pool.stable_name)
        facts = report.pools.get(name)
        if facts and facts.get("resources") and _is_repartitioned(facts, pool):
            yield pool, name


def pools_with_changed_sharing(report: ReportedPlatform, plan: PlatformPlan) -> list[str]:
    """Pools whose nodes advertise something else than they did, on the machine that they are."""
    results: list[str] = []
    for pool in plan.pools:
        facts = report.pools.get(former_pool(report, plan, pool.stable_name), {})
        if facts.get("machine") == pool.machine.name and _counted(facts) != _advertised(pool):
            results.append(pool.stable_name)
    return results


def pools_with_changed_machines(
    report: ReportedPlatform, plan: PlatformPlan
) -> Iterator[tuple[PoolPlan, str, str]]:
    """Pools of fake nodes that become nodes of another machine: with their name, and machine, until now."""
    for pool in plan.pools if plan.simulated else ():
        name = former_pool(report, plan, pool.stable_name)
        machine = report.pools.get(name, {}).get("machine")
        if machine and machine != pool.machine.name:
            yield pool, name, machine


def pools_with_changed_drivers(
    report: ReportedPlatform, plan: PlatformPlan
) -> Iterator[tuple[PoolPlan, str, str, str]]:
    """Pools whose driver the GPU Operator exchanges: name and driver until now, and what comes."""
    for pool in plan.pools:
        name = former_pool(report, plan, pool.stable_name)
        was, comes = report.pools.get(name, {}).get("driver"), driver_of(plan, pool)
        if was and comes and was != comes:
            yield pool, name, was, comes


def pools_with_driver_rollout(report: ReportedPlatform, plan: PlatformPlan) -> dict[str, str]:
    """Of these by their first names those that get another driver, and the one that they have."""
    may = {pool.name for pool in driver_rollout_pools(plan)}
    return {
        p.stable_name: was
        for p, _, was, _ in pools_with_changed_drivers(report, plan)
        if p.name in may
    }


def driver_rollout_pools(plan: PlatformPlan) -> list[PoolPlan]:
    """Pools on whose nodes a deployment of ours has the operator exchange drivers.

    Its upgrade controller reads a ClusterPolicy, and where GPUs are claimed there is none. Where objects
    become files another tells it.
    """
    if installs_claims(plan.spec) or plan.spec.apply is Apply.RENDER:
        return []
    return [pool for pool in plan.pools if driver_of(plan, pool)]


def driver_of(plan: PlatformPlan, pool: PoolPlan) -> str:
    """The driver that our GPU Operator puts on its nodes; empty where anybody else brings it."""
    if plan.simulated:
        policy = not plan.queueing.dispatch and not installs_claims(plan.spec)
        return plan.software["driver"] if policy else ""
    ours = plan.operator is not None and plan.operator.install
    result = pool.node_software
    if not ours or result is None or result.owners["driver"] != ComponentOwner.OPERATOR:
        return ""
    return result.driver or ""


def lowered_quotas(
    report: ReportedPlatform, plan: PlatformPlan
) -> Iterator[tuple[RemovedGuarantee, int]]:
    """Guarantees of teams that stay, in pools that stay, that become smaller, and what they become."""
    names = {former_pool(report, plan, pool.stable_name): pool.name for pool in plan.pools}
    now = {
        (name, quota.pool, quota.resource): quota.nominal
        for team, spec in zip(plan.teams, plan.spec.teams, strict=True)
        for name in _names(spec.name, spec.previous_names)
        for quota in team.quotas
    }
    removed = set(removed_teams(report, plan))
    for pool in sorted(set(report.pools) & set(names)):
        for missing in report.guarantees(pool):
            remaining = now.get((missing.team, names[pool], missing.resource), 0)
            if missing.team not in removed and remaining < missing.count:
                yield missing, remaining


def _names(name: str, formerly: tuple[str, ...]) -> tuple[str, ...]:
    return (name, *formerly)


def _is_repartitioned(facts: Mapping[str, Any], pool: PoolPlan) -> bool:
    """Slices change only by draining; replicas do not. GKE cuts no GPU anew: it makes another node pool."""
    sliced = {str(facts.get("sharing")), pool.sharing.value} & _SLICED
    anew = _counted(facts) != _advertised(pool)
    stays = facts.get("machine") == pool.machine.name and not is_gke_managed(pool)
    return anew and bool(sliced) and stays


def _counted(facts: Mapping[str, Any]) -> dict[str, int]:
    return {name: int(count) for name, count in (facts.get("resources") or {}).items()}


def _advertised(pool: PoolPlan) -> dict[str, int]:
    return {each.resource: each.per_node for each in pool.advertised}


_SLICED = {each.value for each in SharingMethod if "mig" in each.value}
