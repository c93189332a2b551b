"""Node pools: those of each pool's ladder, and the nodes of the controllers."""

from collections.abc import Iterator
from typing import Any

from gpuyard.catalogue.gke.maintenance import DRAIN_MINUTES
from gpuyard.names import SYSTEM_POOL
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.plan.records.late import Late
from gpuyard.plan.records.nodes import UpgradePlan
from gpuyard.render.cloud.graph import CloudResource
from gpuyard.render.cloud.spelling import fit
from gpuyard.render.gcp.fabric import links, makes_own_networks
from gpuyard.render.gcp.ground import GcpGround
from gpuyard.render.gcp.node import gpu_node, system_node
from gpuyard.render.gcp.rungs import RungPool, groups, owned_by_autoscaler, size

_NODE_POOL = "gcp:container/nodePool:NodePool"


def node_pools(plan: PlatformPlan, ground: GcpGround) -> tuple[CloudResource, ...]:
    """All node pools of the platform, that of the controllers first."""
    return (
        *_system(plan, ground),
        *(each for pool in plan.pools for each in _of_pool(plan, pool, ground)),
    )


def _of_pool(plan: PlatformPlan, pool: PoolPlan, ground: GcpGround) -> Iterator[CloudResource]:
    made = list(groups(pool))
    rack = next((g.bought.workload_policy for g in made if g.rung.placement == "nvlink"), "")
    if rack:
        yield _rack_policy(plan, pool, rack, ground)
    for group in made:
        yield _rung(plan, pool, group, ground)


def _rack_policy(
    plan: PlatformPlan, pool: PoolPlan, policy: str, ground: GcpGround
) -> CloudResource:
    """Keeps all nodes of a pool in one NVLink domain."""
    kind, _, topology = policy.partition(" ")
    return CloudResource(
        kind="gcp:compute/resourcePolicy:ResourcePolicy",
        name=_policy_name(pool),
        part=pool.stable_name,
        inputs={
            "name": fit(f"{plan.name}-{pool.stable_name}"),
            "region": ground.place.region,
            "workloadPolicy": {"type": kind, "acceleratorTopology": topology},
        },
        delete_first=True,
    )


def _policy_name(pool: PoolPlan) -> str:
    return f"{pool.stable_name}-rack"


def _rung(plan: PlatformPlan, pool: PoolPlan, group: RungPool, ground: GcpGround) -> CloudResource:
    zones = ground.place.how_many_zones(pool.zones)
    inputs = {
        **_belongs(group.name, ground),
        **({"nodeLocations": list(pool.zones)} if pool.zones else {}),
        **size(group.least, group.most, zones, scales=group.scales, policy="ANY"),
        "nodeConfig": gpu_node(plan, pool, group, ground),
        "networkConfig": _network(plan, pool, group),
        "management": {"autoRepair": group.bought.auto_repair, "autoUpgrade": True},
        **_placed(pool, group),
        **({"queuedProvisioning": {"enabled": True}} if group.bought.queued else {}),
        # GKE upgrades flex-start nodes in a way of its own, which the provider has no word for
        **({} if group.bought.flex_start else {"upgradeSettings": _upgrade(pool)}),
        "nodeDrainConfigs": [{"respectPdbDuringNodePoolDeletion": True, **_drain(pool)}],
    }
    return _made(group.name, pool.stable_name, inputs, ground)


def _upgrade(pool: PoolPlan) -> dict[str, Any]:
    """One by one unless said: a further node is hardly to be had, and a reservation has none."""
    said = _said(pool)
    if said.blue_green:
        return {"strategy": "BLUE_GREEN"}
    return {"strategy": "SURGE", "maxSurge": said.surge, "maxUnavailable": said.unavailable}


def _said(pool: PoolPlan) -> UpgradePlan:
    if pool.upgrade is None:
        raise ValueError(f"{pool.name} is not made on Google")
    return pool.upgrade


def _drain(pool: PoolPlan) -> dict[str, str]:
    """How long a disruption budget may hold a pod, and then how long the pod has; else GKE's own hour."""
    minutes = _said(pool).drain_minutes
    if minutes == DRAIN_MINUTES:
        return {}
    seconds = f"{minutes * 60}s"
    return {"pdbTimeoutDuration": seconds, "graceTerminationDuration": seconds}


def _belongs(name: str, ground: GcpGround) -> dict[str, Any]:
    return {"name": name, "cluster": ground.cluster, "location": ground.location}


def _made(name: str, part: str, inputs: dict[str, Any], ground: GcpGround) -> CloudResource:
    return CloudResource(
        kind=_NODE_POOL,
        name=name,
        part=part,
        inputs=inputs,
        outputs=("instanceGroupUrls",),
        after=ground.after,
        protect=ground.protect,
        ignores=owned_by_autoscaler(inputs),
        delete_first=True,
    )


def _network(plan: PlatformPlan, pool: PoolPlan, group: RungPool) -> dict[str, Any]:
    further = [link.config for link in links(plan, pool, group.machine)]
    return {
        "enablePrivateNodes": True,
        **({"additionalNodeNetworkConfigs": further} if further else {}),
        **({"acceleratorNetworkProfile": "auto"} if makes_own_networks(group.machine) else {}),
    }


def _placed(pool: PoolPlan, group: RungPool) -> dict[str, Any]:
    """Close together by a policy that GKE makes; a rack by one of ours."""
    match group.rung.placement:
        case "nvlink":
            name = Late(f"{_policy_name(pool)}.name")
            return {"placementPolicy": {"type": "COMPACT", "policyName": name}}
        case "compact":
            return {"placementPolicy": {"type": "COMPACT"}}
        case _:
            return {}


def _system(plan: PlatformPlan, ground: GcpGround) -> list[CloudResource]:
    """Nodes for the controllers, spread over zones; none of ours on a cluster that has its own."""
    system = plan.system
    if system is None:
        return []
    least, most = system.nodes.low, system.nodes.high
    zones = ground.place.how_many_zones(())
    inputs = {
        **_belongs(SYSTEM_POOL, ground),
        **size(least, most, zones, scales=least < most, policy="BALANCED"),
        "nodeConfig": system_node(plan, system.machine, ground),
        "networkConfig": {"enablePrivateNodes": True},
        "management": {"autoRepair": True, "autoUpgrade": True},
        "upgradeSettings": {"strategy": "SURGE", "maxSurge": 1, "maxUnavailable": 0},
    }
    return [_made(SYSTEM_POOL, SYSTEM_POOL, inputs, ground)]
