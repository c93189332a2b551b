"""Node pools: one or more for each capacity option of a pool, and the system nodes."""

from collections.abc import Iterator
from typing import Any

from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.plan.records.pools import UpgradePlan
from gpuyard.render.cloud.graph import CloudResource
from gpuyard.render.cloud.spelling import fit_name
from gpuyard.render.gcp.capacity_options import (
    OptionPool,
    autoscaled_fields,
    option_node_pools,
    size,
)
from gpuyard.render.gcp.fabric import links, makes_own_networks
from gpuyard.render.gcp.node import gpu_node, system_node
from gpuyard.render.gcp.place import GcpNodePoolInputs, gcp_resource
from gpuyard_core.catalogue.gke.maintenance import DRAIN_MINUTES
from gpuyard_core.names import SYSTEM_POOL

_NODE_POOL = "gcp:container/nodePool:NodePool"


def node_pools(plan: PlatformPlan, foundation: GcpNodePoolInputs) -> tuple[CloudResource, ...]:
    """All node pools of the platform, that of the system nodes first."""
    return (
        *_system(plan, foundation),
        *(each for pool in plan.pools for each in _of_pool(plan, pool, foundation)),
    )


def _of_pool(
    plan: PlatformPlan, pool: PoolPlan, foundation: GcpNodePoolInputs
) -> Iterator[CloudResource]:
    option_pools = list(option_node_pools(pool))
    rack = next(
        (g.purchase.workload_policy for g in option_pools if g.option.placement == "nvlink"), ""
    )
    if rack:
        yield _rack_policy(plan, pool, rack, foundation)
    for group in option_pools:
        yield _option_node_pool(plan, pool, group, foundation)


def _rack_policy(
    plan: PlatformPlan, pool: PoolPlan, policy: str, foundation: GcpNodePoolInputs
) -> CloudResource:
    """Keeps all nodes of a pool in one NVLink domain."""
    kind, _, topology = policy.partition(" ")
    own, region = fit_name(f"{plan.name}-{pool.stable_name}"), foundation.place.region
    values = {"own": own, "region": region, "type": kind, "topology": topology}
    return gcp_resource(plan, "rack-policy", pool=pool.stable_name, **values)


def _policy_name(pool: PoolPlan) -> str:
    return f"{pool.stable_name}-rack"


def _option_node_pool(
    plan: PlatformPlan, pool: PoolPlan, group: OptionPool, foundation: GcpNodePoolInputs
) -> CloudResource:
    zones = foundation.place.how_many_zones(pool.zones)
    inputs = {
        **_belongs(group.name, foundation),
        **({"nodeLocations": list(pool.zones)} if pool.zones else {}),
        **size(group.min_nodes, group.max_nodes, zones, scales=group.scales, policy="ANY"),
        "nodeConfig": gpu_node(plan, pool, group, foundation),
        "networkConfig": _network(plan, pool, group),
        "management": {"autoRepair": group.purchase.auto_repair, "autoUpgrade": True},
        **_placed(pool, group),
        **({"queuedProvisioning": {"enabled": True}} if group.purchase.queued else {}),
        # GKE upgrades flex-start nodes in its own way, for which the provider has no field
        **({} if group.purchase.flex_start else {"upgradeSettings": _upgrade(pool)}),
        "nodeDrainConfigs": [{"respectPdbDuringNodePoolDeletion": True, **_drain(pool)}],
    }
    return _node_pool(group.name, pool.stable_name, inputs, foundation)


def _upgrade(pool: PoolPlan) -> dict[str, Any]:
    """One node at a time by default: surge capacity is scarce, and a reservation has none."""
    upgrade = _upgrade_plan(pool)
    if upgrade.blue_green:
        return {"strategy": "BLUE_GREEN"}
    return {
        "strategy": "SURGE",
        "maxSurge": upgrade.max_surge,
        "maxUnavailable": upgrade.max_unavailable,
    }


def _upgrade_plan(pool: PoolPlan) -> UpgradePlan:
    if pool.upgrade is None:
        raise ValueError(f"{pool.name} has no node pool on Google Cloud")
    return pool.upgrade


def _drain(pool: PoolPlan) -> dict[str, str]:
    """How long a disruption budget may block a pod, and its grace period; default: GKE's hour."""
    minutes = _upgrade_plan(pool).drain_minutes
    if minutes == DRAIN_MINUTES:
        return {}
    seconds = f"{minutes * 60}s"
    return {"pdbTimeoutDuration": seconds, "graceTerminationDuration": seconds}


def _belongs(name: str, foundation: GcpNodePoolInputs) -> dict[str, Any]:
    return {"name": name, "cluster": foundation.cluster, "location": foundation.location}


def _node_pool(
    name: str, part: str, inputs: dict[str, Any], foundation: GcpNodePoolInputs
) -> CloudResource:
    return CloudResource(
        kind=_NODE_POOL,
        name=name,
        part=part,
        inputs=inputs,
        outputs=("instanceGroupUrls",),
        after=foundation.after,
        protect=foundation.protect,
        ignores=autoscaled_fields(inputs),
        delete_first=True,
    )


def _network(plan: PlatformPlan, pool: PoolPlan, group: OptionPool) -> dict[str, Any]:
    further = [link.config for link in links(plan, pool, group.machine)]
    return {
        "enablePrivateNodes": True,
        **({"additionalNodeNetworkConfigs": further} if further else {}),
        **({"acceleratorNetworkProfile": "auto"} if makes_own_networks(group.machine) else {}),
    }


def _placed(pool: PoolPlan, group: OptionPool) -> dict[str, Any]:
    """Compact placement by a policy that GKE creates; for a rack, by a policy of gpuyard."""
    match group.option.placement:
        case "nvlink":
            name = UnresolvedOutput(f"{_policy_name(pool)}.name")
            return {"placementPolicy": {"type": "COMPACT", "policyName": name}}
        case "compact":
            return {"placementPolicy": {"type": "COMPACT"}}
        case _:
            return {}


def _system(plan: PlatformPlan, foundation: GcpNodePoolInputs) -> list[CloudResource]:
    """System nodes, spread over zones; none on a cluster that has its own."""
    system = plan.system
    if system is None:
        return []
    least, most = system.nodes.low, system.nodes.high
    zones = foundation.place.how_many_zones(())
    inputs = {
        **_belongs(SYSTEM_POOL, foundation),
        **size(least, most, zones, scales=least < most, policy="BALANCED"),
        "nodeConfig": system_node(plan, system.machine, foundation),
        "networkConfig": {"enablePrivateNodes": True},
        "management": {"autoRepair": True, "autoUpgrade": True},
        "upgradeSettings": {"strategy": "SURGE", "maxSurge": 1, "maxUnavailable": 0},
    }
    return [_node_pool(SYSTEM_POOL, SYSTEM_POOL, inputs, foundation)]
