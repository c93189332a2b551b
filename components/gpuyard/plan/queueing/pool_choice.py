"""Which pool a queue tries first: the next with free guarantee, or the next with enough capacity."""

from gpuyard.plan.records import PlatformPlan, TeamPlan
from gpuyard.spec.queueing import PoolChoice


def pool_choice(plan: PlatformPlan, team: TeamPlan) -> PoolChoice:
    """The value of the stack file; else by order for queues with a topology, by guarantee for others.

    Kueue v0.19 (flavorassigner.go) remembers where its search stopped, and continues there if it finds no
    placement. A search for free guarantee that finds none has tried all pools, so the next search starts
    again and takes the same pool without a placement: a later pool with a placement is never tried.
    """
    if plan.queueing.pool_choice is not None:
        return plan.queueing.pool_choice
    mine = {flavor for group in team.resource_groups for flavor in group.flavors}
    placed = any(pool.topology is not None for pool in plan.pools if pool.flavor in mine)
    return PoolChoice.ORDER if placed else PoolChoice.GUARANTEE
