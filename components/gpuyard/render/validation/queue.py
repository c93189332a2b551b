"""The queue of checks that hold GPUs: without a guarantee or preemption, always reclaimed from."""

from collections.abc import Mapping
from typing import Any, Final

from gpuyard.plan.queueing.queueing import resource_groups
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.kueue.queueing import resource_group_objects
from gpuyard.render.objects import Object, managed_object
from gpuyard.render.programs import CONFINED, UNPRIVILEGED_USER
from gpuyard_core.names import (
    KUEUE_API,
    PRIORITY_LABEL,
    QUEUE_LABEL,
    load_validation_name,
    system_namespace,
)

LEAST = -1_000_000_000
"""The lowest priority in a stack file; Kueue's own values are higher."""
SHARE = 0.75
"""Fraction of the deadline for the check; in the rest, nodes pull the image."""
STRICT: Final[Mapping[str, Any]] = {
    **CONFINED,
    "runAsNonRoot": True,
    "runAsUser": UNPRIVILEGED_USER["runAsUser"],
    "seccompProfile": UNPRIVILEGED_USER["seccompProfile"],
}
"""As restricted as pods of teams: these hold devices as theirs do."""


def queue_labels(plan: PlatformPlan) -> dict[str, str]:
    """The labels by which a Job waits in the queue."""
    return dict.fromkeys((QUEUE_LABEL, PRIORITY_LABEL), load_validation_name(plan.name))


def queue_objects(plan: PlatformPlan) -> list[Object]:
    """The queue and its priority."""
    checks = plan.validation.pools if plan.validation else ()
    holding = [each for each in checks if each.runs_load_checks or each.runs_share_checks]
    pools = [plan.pool(each.pool) for each in holding]
    most = {
        (pool.flavor, each.resource): pool.start_nodes * each.per_node
        for pool in pools
        for each in pool.counted_resources
    }
    # One pod too many is admitted, to stay pending at the scheduler; its quota cannot be borrowed.
    beyond = {
        (pool.flavor, each.resource): check.spare
        for pool, check in zip(pools, holding, strict=True)
        if check.runs_share_checks
        for each in pool.counted_resources
    }

    def entry(flavor: str, resource: str) -> Object:
        own, borrow = (result.get((flavor, resource), 0) for result in (beyond, most))
        limits = {"nominalQuota": str(own), "borrowingLimit": str(borrow)}
        return {"name": resource, **limits, **({"lendingLimit": "0"} if own else {})}

    name, space = load_validation_name(plan.name), system_namespace(plan.name)
    spec: dict[str, Any] = {
        "cohortName": plan.name,
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": space}},
        "queueingStrategy": "BestEffortFIFO",
        "preemption": {"reclaimWithinCohort": "Never", "withinClusterQueue": "Never"},
        "resourceGroups": resource_group_objects(resource_groups(pools), entry),
    }
    if plan.queueing.fair_sharing:
        spec["fairSharing"] = {"weight": "0"}  # all queues that share with it go first
    priority: Object = {"value": LEAST, "description": "the GPU load test"}
    return [
        managed_object(plan.name, KUEUE_API, "WorkloadPriorityClass", name, **priority),
        managed_object(plan.name, KUEUE_API, "ClusterQueue", name, spec=spec),
        managed_object(
            plan.name, KUEUE_API, "LocalQueue", name, namespace=space, spec={"clusterQueue": name}
        ),
    ]
