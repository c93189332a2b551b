"""In which order pools change when several do: one goes first, and the others after it has passed its check.

What is wrong with an image or a layout is wrong on every pool that gets it, so the one that is missed least
is asked first. A failure there stops the deployment, and the others are as they were.
"""

from collections.abc import Iterable

from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.spec.pools import Scaling

RolloutWaves = tuple[tuple[str, ...], ...]
"""Pools by their first names, turn by turn; none where fewer than two change."""


def plan_rollout_waves(
    plan: PlatformPlan, drained: Iterable[str], shared: Iterable[str]
) -> RolloutWaves:
    """`drained` lose what runs on them, `shared` have as many GPUs in other shares and lose nothing."""
    hard, every = set(drained), {*drained, *shared}
    changing = [pool for pool in plan.pools if pool.stable_name in every]
    if not changing[1:] or not any(map(_tells, changing)):
        return ()
    first = min(changing, key=lambda pool: _missed(plan, pool, hard))
    rest = tuple(pool.stable_name for pool in changing if pool is not first)
    return ((first.stable_name,), rest)


def _missed(plan: PlatformPlan, pool: PoolPlan, hard: set[str]) -> tuple[bool, bool, float, int]:
    """What runs nowhere tells nothing, nor does what drains nobody; then by what teams are promised of it."""
    return (
        not _tells(pool),
        pool.stable_name not in hard,
        _promised(plan, pool),
        pool.start_nodes * pool.machine.gpus,
    )


def _tells(pool: PoolPlan) -> bool:
    """Whether nodes run that become other ones by it: Karpenter leaves those that it has as they are."""
    return bool(pool.start_nodes) and pool.scaling is not Scaling.KARPENTER


def _promised(plan: PlatformPlan, pool: PoolPlan) -> float:
    """The part of its running GPUs that somebody can always have; slices count as their share of a node."""
    per_node = {each.resource: each.per_node for each in pool.advertised}
    return sum(
        quota.nominal / per_node[quota.resource]
        for team in plan.teams
        for quota in team.quotas
        if quota.pool == pool.name and per_node.get(quota.resource)
    )
