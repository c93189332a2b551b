"""All objects that a program registers: those that are rendered, and what is written down as it goes."""

from typing import Any

from gpuyard.changes.platforms import driver_of, driver_rollout_pools
from gpuyard.changes.reporting import report_objects
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.gpu_operator.drivers import driver_object
from gpuyard.render.platform import platform_objects


def objects_of(plan: PlatformPlan) -> list[dict[str, Any]]:
    """Without verdicts of a check, which some tests wait for and others do not have."""
    drivers = [
        driver_object(plan, each, driver_of(plan, each)) for each in driver_rollout_pools(plan)
    ]
    return [*platform_objects(plan), *drivers, *report_objects(plan)]
