"""Resources that a destroy does not delete: protected ones, and those retained on deletion."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from gpuyard.changes.deployed_state import DeployedResource, DeployedState
from gpuyard.changes.retained_content import CONTENT_BY_KIND, ResourceContent
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.spec.pools import Scaling

_NAMES = {ResourceContent.DATA: "store", ResourceContent.PAID: "block"}


class BlockReason(StrEnum):
    """Why a resource is kept."""

    PROTECTED = "protected"
    """Pulumi rejects the whole destroy."""
    LEFT = "left"
    """It leaves the state and stays in the cloud or the cluster."""


@dataclass(frozen=True, slots=True)
class DestroyBlocker:
    """One resource that a destroy does not delete."""

    reason: BlockReason
    kind: str
    name: str
    id: str
    description: str
    """Its kind in one word: cluster, nodes, store."""
    content: str
    """What is lost with it; empty when unknown."""


def destroy_blockers(state: DeployedState) -> tuple[DestroyBlocker, ...]:
    """Resources that block a destroy, then those that outlive it, in the order of the state."""
    return (
        *(_blocker(each, BlockReason.PROTECTED) for each in state.resources if each.protect),
        *(
            _blocker(each, BlockReason.LEFT)
            for each in state.resources
            if each.retain and not each.protect
        ),
    )


def _blocker(each: DeployedResource, reason: BlockReason) -> DestroyBlocker:
    content = CONTENT_BY_KIND.get(each.kind)
    word = each.kind.rpartition(":")[2]
    if content:
        word = _NAMES.get(content, content.name.lower())
    return DestroyBlocker(reason, each.kind, each.name, each.id, word, content or "")


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
    """Sort key: pools that test nothing last, then by the guaranteed part of their running GPUs.

    Slices count as their share of a node.
    """
    per_node = {each.resource: each.per_node for each in pool.advertised}
    guaranteed = sum(
        quota.nominal / per_node[quota.resource]
        for team in plan.teams
        for quota in team.quotas
        if quota.pool == pool.name and per_node.get(quota.resource)
    )
    gpus = pool.start_nodes * pool.machine.gpus
    return not _tells(pool), pool.stable_name not in hard, guaranteed, gpus


def _tells(pool: PoolPlan) -> bool:
    """Whether running nodes change: Karpenter keeps existing nodes."""
    return bool(pool.start_nodes) and pool.scaling is not Scaling.KARPENTER
