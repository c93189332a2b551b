"""Which of its pools a queue takes first: the next where its guarantee is free, or the next with enough."""

from gpuyard.plan.records import PlatformPlan, TeamPlan
from gpuyard.spec.queueing import PoolChoice


def pool_choice(plan: PlatformPlan, team: TeamPlan) -> PoolChoice:
    """As the stack file says; else by order where queues place pods, and by guarantee elsewhere.

    Kueue v0.19 (flavorassigner.go) remembers where its search stopped, and goes on there when no place is
    found. A search for a guarantee that finds none has looked at all pools, so the next one begins anew and
    takes the same pool again, without a place: a pool behind it, with one, is never tried.
    """
    if plan.queueing.pool_choice is not None:
        return plan.queueing.pool_choice
    mine = {flavor for group in team.resource_groups for flavor in group.flavors}
    placed = any(pool.topology is not None for pool in plan.pools if pool.flavor in mine)
    return PoolChoice.ORDER if placed else PoolChoice.GUARANTEE
