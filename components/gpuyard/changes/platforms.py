"""A platform as reported by its last deployment, compared with the plan: pools and teams by name."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.changes.deployed_state import DeployedResource, DeployedState
from gpuyard.plan.records import PlatformPlan, PoolPlan, TeamPlan
from gpuyard.plan.sharing.dra import operator_serves_dra_claims
from gpuyard.plan.sharing.gke_sharing import is_gke_managed
from gpuyard.render.objects import Object, managed_object
from gpuyard.spec.sections import Apply
from gpuyard_core.catalogue.machines import find_machine
from gpuyard_core.catalogue.sharing import SharingMethod
from gpuyard_core.catalogue.software.images import ComponentOwner
from gpuyard_core.names import REPORT_CONFIGMAP, system_namespace


@dataclass(frozen=True, slots=True)
class DrainedPool:
    """A pool whose nodes are removed or drained."""

    pool: str
    nodes: int | None
    """Maximum; None when the last deployment did not report it."""
    gpus: int | None
    """Maximum; None when the GPUs per node are unknown."""


@dataclass(frozen=True, slots=True)
class RemovedGuarantee:
    """A guarantee that a team loses, as reported by the last deployment."""

    team: str
    pool: str
    resource: str
    count: int


@dataclass(frozen=True, slots=True)
class ReportedPlatform:
    """The report of a Platform component."""

    pools: Mapping[str, Mapping[str, Any]]
    teams: Mapping[str, Mapping[str, Any]]

    def drained(self, pool: str) -> DrainedPool:
        """All nodes of a pool as drained."""
        facts = self.pools.get(pool, {})
        nodes = str(facts.get("nodes", "")).rpartition("..")[2]
        machine = find_machine(str(facts.get("machine", "")))
        most = int(nodes) if nodes.isdigit() else None
        return DrainedPool(
            pool, most, None if most is None or machine is None else most * machine.gpus
        )

    def guarantees(self, pool: str) -> Iterator[RemovedGuarantee]:
        """The guarantees of teams in a pool."""
        for team, facts in sorted(self.teams.items()):
            for key, count in sorted((facts.get("guarantee") or {}).items()):
                name, _, resource = key.partition(" ")
                if name == pool:
                    yield RemovedGuarantee(team, pool, resource, int(count))


def reported_platform(
    platform: DeployedResource | None, written: Mapping[str, Any] | None = None
) -> ReportedPlatform:
    """From its outputs, or from the stored report when the last deployment failed and left no outputs.

    Empty when there is no platform yet.
    """
    outputs = platform.outputs if platform else {}
    if platform and outputs.keys().isdisjoint({"pools", "teams"}):
        outputs = written or {}
    return ReportedPlatform(outputs.get("pools") or {}, outputs.get("teams") or {})


def former_pool(report: ReportedPlatform, plan: PlatformPlan, stable_name: str) -> str:
    """The name of a pool in the report."""
    names = (
        name
        for pool in plan.spec.pools
        if pool.stable_name == stable_name
        for name in (pool.name, *pool.previous_names)
    )
    return next((name for name in names if name in report.pools), stable_name)


def removed_pools(report: ReportedPlatform, plan: PlatformPlan) -> list[str]:
    """Pools that the stack file no longer has, under any of their names."""
    known = {name for pool in plan.spec.pools for name in (pool.name, *pool.previous_names)}
    return sorted(set(report.pools) - known)


def removed_teams(report: ReportedPlatform, plan: PlatformPlan) -> list[str]:
    """Teams that the stack file no longer has, under any of their names."""
    known = {name for team in plan.spec.teams for name in (team.name, *team.previous_names)}
    return sorted(set(report.teams) - known)


def repartitioned_pools(
    report: ReportedPlatform, plan: PlatformPlan
) -> Iterator[tuple[PoolPlan, str]]:
    """Pools whose MIG layout changes, and their reported name."""
    for pool in plan.pools:
        name = former_pool(report, plan, pool.stable_name)
        facts = report.pools.get(name, {})
        # Slices change only by draining; replicas do not. GKE creates another node pool instead.
        if (
            facts.get("resources")
            and facts.get("machine") == pool.machine.name
            and not is_gke_managed(pool)
            and not _SLICED.isdisjoint({str(facts.get("sharing")), pool.sharing.value})
            and _counted(facts) != _advertised(pool)
        ):
            yield pool, name


def pools_with_changed_sharing(report: ReportedPlatform, plan: PlatformPlan) -> list[str]:
    """Pools whose nodes advertise different resources on the same machine type."""
    return [
        pool.stable_name
        for pool in plan.pools
        for facts in [report.pools.get(former_pool(report, plan, pool.stable_name), {})]
        if facts.get("machine") == pool.machine.name and _counted(facts) != _advertised(pool)
    ]


def pools_with_changed_machines(
    report: ReportedPlatform, plan: PlatformPlan
) -> Iterator[tuple[PoolPlan, str, str]]:
    """Pools of simulated nodes with a new machine type: with their reported name and machine."""
    for pool in plan.pools if plan.simulated else ():
        name = former_pool(report, plan, pool.stable_name)
        machine = report.pools.get(name, {}).get("machine")
        if machine and machine != pool.machine.name:
            yield pool, name, machine


def pools_with_changed_drivers(
    report: ReportedPlatform, plan: PlatformPlan
) -> Iterator[tuple[PoolPlan, str, str, str]]:
    """Pools whose driver the GPU Operator replaces: reported name and driver, and the new driver."""
    for pool in plan.pools:
        name = former_pool(report, plan, pool.stable_name)
        was, comes = report.pools.get(name, {}).get("driver"), driver_of(plan, pool)
        if was and comes and was != comes:
            yield pool, name, was, comes


def pools_with_driver_rollout(report: ReportedPlatform, plan: PlatformPlan) -> dict[str, str]:
    """Current drivers of these pools by stable name."""
    may = {pool.name for pool in driver_rollout_pools(plan)}
    return {
        p.stable_name: was
        for p, _, was, _ in pools_with_changed_drivers(report, plan)
        if p.name in may
    }


def driver_rollout_pools(plan: PlatformPlan) -> list[PoolPlan]:
    """Pools on whose nodes the operator replaces drivers during a deployment.

    Its upgrade controller reads a ClusterPolicy, which does not exist with DRA. For rendered files, another
    tool configures it.
    """
    if operator_serves_dra_claims(plan.spec) or plan.spec.apply is Apply.RENDER:
        return []
    return [pool for pool in plan.pools if driver_of(plan, pool)]


def driver_of(plan: PlatformPlan, pool: PoolPlan) -> str:
    """The driver that the stack's GPU Operator installs on the nodes; empty when something else provides it."""
    if plan.simulated:
        policy = not plan.queueing.dispatch and not operator_serves_dra_claims(plan.spec)
        return plan.software["driver"] if policy else ""
    ours = plan.operator is not None and plan.operator.install
    result = pool.node_software
    if not ours or result is None or result.owners["driver"] != ComponentOwner.OPERATOR:
        return ""
    return result.driver or ""


def lowered_quotas(
    report: ReportedPlatform, plan: PlatformPlan
) -> Iterator[tuple[RemovedGuarantee, int]]:
    """Reduced guarantees of remaining teams in remaining pools, with their new amounts."""
    names = {former_pool(report, plan, pool.stable_name): pool.name for pool in plan.pools}
    now = {
        (name, quota.pool, quota.resource): quota.nominal
        for team, spec in zip(plan.teams, plan.spec.teams, strict=True)
        for name in (spec.name, *spec.previous_names)
        for quota in team.quotas
    }
    removed = set(removed_teams(report, plan))
    for pool in sorted(set(report.pools) & set(names)):
        for missing in report.guarantees(pool):
            remaining = now.get((missing.team, names[pool], missing.resource), 0)
            if missing.team not in removed and remaining < missing.count:
                yield missing, remaining


def _counted(facts: Mapping[str, Any]) -> dict[str, int]:
    return {name: int(count) for name, count in (facts.get("resources") or {}).items()}


def _advertised(pool: PoolPlan) -> dict[str, int]:
    return {each.resource: each.per_node for each in pool.advertised}


_SLICED = {each.value for each in SharingMethod if "mig" in each.value}


# The next deployment is compared with it. It is in the outputs of the component, which Pulumi drops when a
# deployment fails: a second `up` after a failed pool would find no change, and would not roll out pool by
# pool. So it is also in a ConfigMap, which is updated last.

_CONFIG_MAP = "kubernetes:core/v1:ConfigMap"


def pool_report(plan: PlatformPlan, pool: PoolPlan) -> dict[str, Any]:
    """The report of a pool."""
    return {
        "machine": pool.machine.name,
        "nodes": str(pool.nodes),
        "sharing": pool.sharing.value,
        "resources": _advertised(pool),
        "driver": driver_of(plan, pool),
    }


def guarantee_report(team: TeamPlan) -> dict[str, int]:
    """The guarantees of a team, by pool and resource name."""
    return {f"{q.pool} {q.resource}": q.nominal for q in team.quotas if q.nominal}


def report_objects(plan: PlatformPlan) -> list[Object]:
    """The ConfigMap with the report; not for rendered files, which have no partial deployment."""
    if plan.spec.apply is Apply.RENDER:
        return []
    teams = {team.name: {"guarantee": guarantee_report(team)} for team in plan.teams}
    pools = {pool.name: pool_report(plan, pool) for pool in plan.pools}
    home, data = system_namespace(plan.name), {"pools": _text(pools), "teams": _text(teams)}
    return [
        managed_object(plan.name, "v1", "ConfigMap", REPORT_CONFIGMAP, namespace=home, data=data)
    ]


def reported_state(state: DeployedState, platform: str) -> Mapping[str, Any]:
    """The last complete report of a platform; empty when there is none."""
    place = (system_namespace(platform), REPORT_CONFIGMAP)
    for each in state.resources:
        meta = each.outputs.get("metadata") if each.kind == _CONFIG_MAP else None
        if isinstance(meta, Mapping) and (meta.get("namespace"), meta.get("name")) == place:
            data = each.outputs.get("data")
            return {key: _read(data, key) for key in ("pools", "teams")}
    return {}


def _text(value: Mapping[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def _read(data: Any, key: str) -> Mapping[str, Any]:
    try:
        result = json.loads(data[key])
    except (KeyError, TypeError, ValueError):
        return {}
    return result if isinstance(result, Mapping) else {}
