"""A platform as its last deployment reported it, beside the plan of what comes: pools and teams by name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.catalogue.machines import find_machine
from gpuyard.catalogue.sharing import SharingMethod
from gpuyard.catalogue.software.images import Owner
from gpuyard.changes.deployed import Deployed
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.plan.sharing.by_gke import is_by_gke
from gpuyard.plan.sharing.claims import installs_claims
from gpuyard.spec.sections import Apply


@dataclass(frozen=True, slots=True)
class Drained:
    """A pool whose nodes go, or lose what runs on them."""

    pool: str
    nodes: int | None
    """At most; None where the last deployment did not say."""
    gpus: int | None
    """At most; None where nobody knows how many a node of its machine has."""


@dataclass(frozen=True, slots=True)
class LostGuarantee:
    """What a team can count on no more, as the last deployment reported it."""

    team: str
    pool: str
    resource: str
    count: int


@dataclass(frozen=True, slots=True)
class Reported:
    """What a platform's component said of itself."""

    pools: Mapping[str, Mapping[str, Any]]
    teams: Mapping[str, Mapping[str, Any]]

    def drained(self, pool: str) -> Drained:
        """All nodes of a pool."""
        said = self.pools.get(pool, {})
        nodes = str(said.get("nodes", "")).rpartition("..")[2]
        machine = find_machine(str(said.get("machine", "")))
        most = int(nodes) if nodes.isdigit() else None
        return Drained(pool, most, None if most is None or machine is None else most * machine.gpus)

    def guarantees(self, pool: str) -> Iterator[LostGuarantee]:
        """What teams were promised of a pool."""
        for team, said in sorted(self.teams.items()):
            for key, count in sorted((said.get("guarantee") or {}).items()):
                name, _, resource = key.partition(" ")
                if name == pool:
                    yield LostGuarantee(team, pool, resource, int(count))


def report_of(platform: Deployed | None, written: Mapping[str, Any] | None = None) -> Reported:
    """Of its outputs; where its last deployment ended early, and left none, what was written down before it.

    An empty one where there is no platform yet.
    """
    outputs = platform.outputs if platform else {}
    if platform and outputs.keys().isdisjoint({"pools", "teams"}):
        outputs = written or {}
    return Reported(outputs.get("pools") or {}, outputs.get("teams") or {})


def former_pool(report: Reported, plan: PlatformPlan, stable_name: str) -> str:
    """The name by which the report knows a pool."""
    names = next(
        (_names(p.name, p.formerly) for p in plan.spec.pools if p.stable_name == stable_name), ()
    )
    return next((name for name in names if name in report.pools), stable_name)


def pools_gone(report: Reported, plan: PlatformPlan) -> list[str]:
    """Pools that the stack file has no more, by any of their names."""
    known = {name for pool in plan.spec.pools for name in _names(pool.name, pool.formerly)}
    return sorted(set(report.pools) - known)


def teams_gone(report: Reported, plan: PlatformPlan) -> list[str]:
    """Teams that the stack file has no more, by any of their names."""
    known = {name for team in plan.spec.teams for name in _names(team.name, team.formerly)}
    return sorted(set(report.teams) - known)


def recut(report: Reported, plan: PlatformPlan) -> Iterator[tuple[PoolPlan, str]]:
    """Pools whose GPUs are cut in another way, and their name until now."""
    for pool in plan.pools:
        name = former_pool(report, plan, pool.stable_name)
        said = report.pools.get(name)
        if said and said.get("resources") and _cut(said, pool):
            yield pool, name


def reshared(report: Reported, plan: PlatformPlan) -> list[str]:
    """Pools whose nodes advertise something else than they did, on the machine that they are."""
    found: list[str] = []
    for pool in plan.pools:
        said = report.pools.get(former_pool(report, plan, pool.stable_name), {})
        if said.get("machine") == pool.machine.name and _counted(said) != _advertised(pool):
            found.append(pool.stable_name)
    return found


def other_machine(report: Reported, plan: PlatformPlan) -> Iterator[tuple[PoolPlan, str, str]]:
    """Pools of fake nodes that become nodes of another machine: with their name, and machine, until now."""
    for pool in plan.pools if plan.simulated else ():
        name = former_pool(report, plan, pool.stable_name)
        machine = report.pools.get(name, {}).get("machine")
        if machine and machine != pool.machine.name:
            yield pool, name, machine


def other_driver(report: Reported, plan: PlatformPlan) -> Iterator[tuple[PoolPlan, str, str, str]]:
    """Pools whose driver the GPU Operator exchanges: name and driver until now, and what comes."""
    for pool in plan.pools:
        name = former_pool(report, plan, pool.stable_name)
        was, comes = report.pools.get(name, {}).get("driver"), driver_of(plan, pool)
        if was and comes and was != comes:
            yield pool, name, was, comes


def redriven(report: Reported, plan: PlatformPlan) -> dict[str, str]:
    """Of these by their first names those that get another driver, and the one that they have."""
    may = {pool.name for pool in exchanged_pools(plan)}
    return {p.stable_name: was for p, _, was, _ in other_driver(report, plan) if p.name in may}


def exchanged_pools(plan: PlatformPlan) -> list[PoolPlan]:
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
    found = pool.node_software
    if not ours or found is None or found.owners["driver"] != Owner.OPERATOR:
        return ""
    return found.driver or ""


def lowered(report: Reported, plan: PlatformPlan) -> Iterator[tuple[LostGuarantee, int]]:
    """Guarantees of teams that stay, in pools that stay, that become smaller, and what they become."""
    names = {former_pool(report, plan, pool.stable_name): pool.name for pool in plan.pools}
    now = {
        (name, quota.pool, quota.resource): quota.nominal
        for team, spec in zip(plan.teams, plan.spec.teams, strict=True)
        for name in _names(spec.name, spec.formerly)
        for quota in team.quotas
    }
    gone = set(teams_gone(report, plan))
    for pool in sorted(set(report.pools) & set(names)):
        for lost in report.guarantees(pool):
            left = now.get((lost.team, names[pool], lost.resource), 0)
            if lost.team not in gone and left < lost.count:
                yield lost, left


def _names(name: str, formerly: tuple[str, ...]) -> tuple[str, ...]:
    return (name, *formerly)


def _cut(said: Mapping[str, Any], pool: PoolPlan) -> bool:
    """Slices change only by draining; replicas do not. GKE cuts no GPU anew: it makes another node pool."""
    sliced = {str(said.get("sharing")), pool.sharing.value} & _SLICED
    anew = _counted(said) != _advertised(pool)
    stays = said.get("machine") == pool.machine.name and not is_by_gke(pool)
    return anew and bool(sliced) and stays


def _counted(said: Mapping[str, Any]) -> dict[str, int]:
    return {name: int(count) for name, count in (said.get("resources") or {}).items()}


def _advertised(pool: PoolPlan) -> dict[str, int]:
    return {each.resource: each.per_node for each in pool.advertised}


_SLICED = {each.value for each in SharingMethod if "mig" in each.value}
