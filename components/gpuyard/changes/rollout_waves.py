"""Rollout order when several pools change: one pool first, the others after its validation has passed.

A defect of an image or a layout affects every pool that gets it, so the least important pool is first.
A failure there stops the deployment, and the other pools are unchanged.
"""

from collections.abc import Iterable

from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.spec.pools import Scaling

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
