"""All objects that a program registers: the rendered ones, and records of the run."""

from typing import Any

from gpuyard.changes.platforms import driver_of, driver_rollout_pools, report_objects
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.gpu_operator.objects import driver_record
from gpuyard.render.platform import platform_objects


def objects_of(plan: PlatformPlan) -> list[dict[str, Any]]:
    """The objects without verdicts of a check, which only some tests have."""
    drivers = [
        driver_record(plan, each, driver_of(plan, each)) for each in driver_rollout_pools(plan)
    ]
    return [*platform_objects(plan), *drivers, *report_objects(plan)]
