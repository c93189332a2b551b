"""The record of a pool's driver in the cluster, written when the operator may roll it out there."""

from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.render.objects import Object, managed_object
from gpuyard_core.names import system_namespace


def driver_record(plan: PlatformPlan, pool: PoolPlan, driver: str) -> Object:
    """The record of one pool; it changes with the driver, in each deployment that rolls one out."""
    return managed_object(
        plan.name,
        "v1",
        "ConfigMap",
        f"gpuyard-driver-{pool.stable_name}",
        namespace=system_namespace(plan.name),
        data={"driver": driver},
    )
