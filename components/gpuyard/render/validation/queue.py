"""The queue of checks that hold GPUs: it owns nothing, takes from nobody, and gives back to everybody."""

from collections.abc import Mapping
from typing import Any, Final

from gpuyard.names import KUEUE_API, system_namespace, work_name
from gpuyard.plan.queueing.queueing import resource_groups
from gpuyard.plan.records import PlatformPlan, PoolCheck
from gpuyard.render.kueue.queueing import resource_group_objects
from gpuyard.render.objects import Object, managed_object
from gpuyard.render.programs import CONFINED, UNPRIVILEGED_USER

LEAST = -1_000_000_000
"""The least that a stack file can give a priority; Kueue's own are larger."""
SHARE = 0.75
"""Of the deadline: nodes pull the image for the rest."""
STRICT: Final[Mapping[str, Any]] = {
    **CONFINED,
    "runAsNonRoot": True,
    "runAsUser": UNPRIVILEGED_USER["runAsUser"],
    "seccompProfile": UNPRIVILEGED_USER["seccompProfile"],
}
"""As strict as pods of teams may be: these hold devices as theirs do."""


def gpu_checks(plan: PlatformPlan) -> list[PoolCheck]:
    """Those whose GPUs or shares a check holds."""
    validation = plan.validation
    result = [] if validation is None or not validation.image else validation.pools
    return [each for each in result if each.works or each.tried]


def queue_objects(plan: PlatformPlan) -> list[Object]:
    """The queue with its priority."""
    holding = gpu_checks(plan)
    pools = [plan.pool(each.pool) for each in holding]
    most = {
        (pool.flavor, each.resource): pool.start_nodes * each.per_node
        for pool in pools
        for each in pool.counted_resources
    }
    # One pod too many is admitted, to wait at the scheduler: nobody else can borrow what is not there.
    beyond = {
        (pool.flavor, each.resource): check.spare
        for pool, check in zip(pools, holding, strict=True)
        if check.tried
        for each in pool.counted_resources
    }

    def entry(flavor: str, resource: str) -> Object:
        own, borrow = (result.get((flavor, resource), 0) for result in (beyond, most))
        limits = {"nominalQuota": str(own), "borrowingLimit": str(borrow)}
        return {"name": resource, **limits, **({"lendingLimit": "0"} if own else {})}

    name, space = work_name(plan.name), system_namespace(plan.name)
    spec: dict[str, Any] = {
        "cohortName": plan.name,
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": space}},
        "queueingStrategy": "BestEffortFIFO",
        "preemption": {"reclaimWithinCohort": "Never", "withinClusterQueue": "Never"},
        "resourceGroups": resource_group_objects(resource_groups(pools), entry),
    }
    if plan.queueing.fair_sharing:
        spec["fairSharing"] = {"weight": "0"}  # whoever shares with it goes first
    description = "the check that puts GPUs to work"
    return [
        managed_object(
            plan.name,
            KUEUE_API,
            "WorkloadPriorityClass",
            name,
            value=LEAST,
            description=description,
        ),
        managed_object(plan.name, KUEUE_API, "ClusterQueue", name, spec=spec),
        managed_object(
            plan.name, KUEUE_API, "LocalQueue", name, namespace=space, spec={"clusterQueue": name}
        ),
    ]
