"""The report of a platform, and where it is stored.

The next deployment is compared with it. It is in the outputs of the component, which Pulumi drops when a
deployment fails: a second `up` after a failed pool would find no change, and would not roll out pool by
pool. So it is also in a ConfigMap, which is updated last.
"""

import json
from collections.abc import Mapping
from typing import Any

from gpuyard.changes.deployed_state import DeployedState
from gpuyard.changes.platforms import driver_of
from gpuyard.plan.records import PlatformPlan, PoolPlan, TeamPlan
from gpuyard.render.objects import Object, managed_object
from gpuyard.spec.sections import Apply
from gpuyard_core.names import REPORT_CONFIGMAP, system_namespace

_CONFIG_MAP = "kubernetes:core/v1:ConfigMap"


def pool_report(plan: PlatformPlan, pool: PoolPlan) -> dict[str, Any]:
    """The report of a pool."""
    return {
        "machine": pool.machine.name,
        "nodes": str(pool.nodes),
        "sharing": pool.sharing.value,
        "resources": {each.resource: each.per_node for each in pool.advertised},
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
