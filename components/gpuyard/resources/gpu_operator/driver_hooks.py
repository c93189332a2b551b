"""Where in a deployment drivers are exchanged: what runs before and after the engine changes an object."""

import pulumi

from gpuyard.changes.platforms import driver_of
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.resources.diagnosis.kubectl import Kubectl
from gpuyard.resources.gpu_operator.exchanging import Exchange, back, hold, let_go, tried


def telling_hooks(
    name: str, kubectl: Kubectl, plan: PlatformPlan, exchange: Exchange
) -> pulumi.ResourceHookBinding:
    """Around the change by which the operator is told another driver."""

    async def before(_: pulumi.ResourceHookArgs) -> None:
        await hold(kubectl, plan, exchange)

    async def after(_: pulumi.ResourceHookArgs) -> None:
        await back(kubectl, plan, exchange)

    return pulumi.ResourceHookBinding(
        before_update=[pulumi.ResourceHook(f"gpuyard:{name}:drivers:hold", before)],
        after_update=[pulumi.ResourceHook(f"gpuyard:{name}:drivers:back", after)],
    )


def record_hooks(
    name: str, kubectl: Kubectl, plan: PlatformPlan, pool: PoolPlan, exchange: Exchange
) -> pulumi.ResourceHookBinding | None:
    """Before it is written down which driver a pool has; None where it keeps its own."""
    waits, tries = exchange.waits(pool), exchange.tries(pool)
    if not waits and not tries:
        return None

    async def before(_: pulumi.ResourceHookArgs) -> None:
        comes = driver_of(plan, pool)
        if waits:
            await let_go(kubectl, plan, pool, comes=comes)
        else:
            had = exchange.had[pool.stable_name]
            await tried(kubectl, plan, pool, had=had, comes=comes)

    hook = pulumi.ResourceHook(f"gpuyard:{name}:drivers:{pool.stable_name}", before)
    # a deployment by an earlier release of ours has written none down
    return pulumi.ResourceHookBinding(before_create=[hook], before_update=[hook])
