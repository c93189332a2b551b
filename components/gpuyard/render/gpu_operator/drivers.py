"""The record of a pool's driver: what stands in the cluster when the operator was let exchange it there."""

from gpuyard.names import system_namespace
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.render.objects import Object, managed_object


def driver_object(plan: PlatformPlan, pool: PoolPlan, driver: str) -> Object:
    """Of one pool; it changes with the driver, once in each deployment that exchanges it."""
    return managed_object(
        plan.name,
        "v1",
        "ConfigMap",
        f"gpuyard-driver-{pool.stable_name}",
        namespace=system_namespace(plan.name),
        data={"driver": driver},
    )
