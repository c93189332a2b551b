"""Resources that a destroy does not delete: protected ones, and those retained on deletion."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from gpuyard.changes.deployed_state import DeployedResource, DeployedState
from gpuyard.changes.retained_content import CONTENT_BY_KIND, ResourceContent
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.spec.pools import Scaling

_NAMES: Mapping[ResourceContent, str] = {
    ResourceContent.CLUSTER: "cluster",
    ResourceContent.NODES: "nodes",
    ResourceContent.NETWORK: "network",
    ResourceContent.KEY: "key",
    ResourceContent.DATA: "store",
    ResourceContent.PAID: "block",
}


class BlockReason(StrEnum):
    """Why a resource is kept."""

    PROTECTED = "protected"
    """Pulumi rejects the whole destroy."""
    LEFT = "left"
    """It leaves the state and stays in the cloud or the cluster."""


@dataclass(frozen=True, slots=True)
class DestroyBlocker:
    """One resource that a destroy does not delete."""

    block_reason: BlockReason
    kind: str
    name: str
    id: str
    description: str
    """Its kind in one word: cluster, nodes, store."""
    retained_content: str
    """What is lost with it; empty when unknown."""


def destroy_blockers(state: DeployedState) -> tuple[DestroyBlocker, ...]:
    """Resources that block a destroy, then those that outlive it, in the order of the state."""
    protected = [
        _destroy_blocker(each, BlockReason.PROTECTED) for each in state.resources if each.protect
    ]
    retained = [
        _destroy_blocker(each, BlockReason.LEFT)
        for each in state.resources
        if each.retain and not each.protect
    ]
    return (*protected, *retained)


def _destroy_blocker(each: DeployedResource, keeping: BlockReason) -> DestroyBlocker:
    holds = CONTENT_BY_KIND.get(each.kind)
    what = _NAMES[holds] if holds else each.kind.rpartition(":")[2]
    return DestroyBlocker(
        keeping, each.kind, each.name, each.id, what, holds.value if holds else ""
    )


# A defect of an image or a layout affects every pool that gets it, so the least important pool is first. A
# failure there stops the deployment, and the other pools are unchanged.

RolloutWaves = tuple[tuple[str, ...], ...]
"""Stable names of pools, wave by wave; empty when fewer than two change."""


def plan_rollout_waves(
    plan: PlatformPlan, drained: Iterable[str], shared: Iterable[str]
) -> RolloutWaves:
    """`drained` pools lose running work; `shared` pools only change the shares of their GPUs."""
    hard, every = set(drained), {*drained, *shared}
    changing = [pool for pool in plan.pools if pool.stable_name in every]
    if not changing[1:] or not any(map(_tells, changing)):
        return ()
    first = min(changing, key=lambda pool: _missed(plan, pool, hard))
    rest = tuple(pool.stable_name for pool in changing if pool is not first)
    return ((first.stable_name,), rest)


def _missed(plan: PlatformPlan, pool: PoolPlan, hard: set[str]) -> tuple[bool, bool, float, int]:
    """Sort key: pools that test nothing last, then by the share that teams are guaranteed."""
    return (
        not _tells(pool),
        pool.stable_name not in hard,
        _promised(plan, pool),
        pool.start_nodes * pool.machine.gpus,
    )


def _tells(pool: PoolPlan) -> bool:
    """Whether running nodes change: Karpenter keeps existing nodes."""
    return bool(pool.start_nodes) and pool.scaling is not Scaling.KARPENTER


def _promised(plan: PlatformPlan, pool: PoolPlan) -> float:
    """The guaranteed part of its running GPUs; slices count as their share of a node."""
    per_node = {each.resource: each.per_node for each in pool.advertised}
    return sum(
        quota.nominal / per_node[quota.resource]
        for team in plan.teams
        for quota in team.quotas
        if quota.pool == pool.name and per_node.get(quota.resource)
    )
