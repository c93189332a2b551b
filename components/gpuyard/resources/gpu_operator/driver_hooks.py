"""Hooks of a driver rollout: they run before and after the engine changes an object."""

import pulumi

from gpuyard.changes.platforms import driver_of
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.resources.diagnosis.kubectl import Kubectl
from gpuyard.resources.gpu_operator.driver_rollout import (
    DriverRollout,
    finish_rollout,
    pause_rollout,
    release_and_retry_nodes,
    wait_for_driver,
)


def rollout_hooks(
    name: str, kubectl: Kubectl, plan: PlatformPlan, exchange: DriverRollout
) -> pulumi.ResourceHookBinding:
    """Hooks around the change of the operator's driver version."""

    async def before(_: pulumi.ResourceHookArgs) -> None:
        await pause_rollout(kubectl, plan, exchange)

    async def after(_: pulumi.ResourceHookArgs) -> None:
        await release_and_retry_nodes(kubectl, plan, exchange)

    return pulumi.ResourceHookBinding(
        before_update=[pulumi.ResourceHook(f"gpuyard:{name}:drivers:hold", before)],
        after_update=[pulumi.ResourceHook(f"gpuyard:{name}:drivers:back", after)],
    )


def rollout_record_hooks(
    name: str, kubectl: Kubectl, plan: PlatformPlan, pool: PoolPlan, exchange: DriverRollout
) -> pulumi.ResourceHookBinding | None:
    """Hooks before the record of a pool's driver is written; None if its driver does not change."""
    waits, tries = exchange.is_pending(pool), exchange.is_awaited(pool)
    if not waits and not tries:
        return None

    async def before(_: pulumi.ResourceHookArgs) -> None:
        comes = driver_of(plan, pool)
        if waits:
            await finish_rollout(kubectl, plan, pool, comes=comes)
        else:
            had = exchange.previous_drivers[pool.stable_name]
            await wait_for_driver(kubectl, plan, pool, had=had, comes=comes)

    hook = pulumi.ResourceHook(f"gpuyard:{name}:drivers:{pool.stable_name}", before)
    # earlier gpuyard releases wrote no record
    return pulumi.ResourceHookBinding(before_create=[hook], before_update=[hook])
