"""ComputeClasses of GKE's autoscaler: node pools in the order of a ladder, none beside them."""

from gpuyard.catalogue.gke.classes import CLASS_API, CLASS_KIND, EMPTY_PERCENT, NO_FURTHER
from gpuyard.plan.capacity.failback import has_failback
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.render.gcp.capacity_options import groups
from gpuyard.render.objects import Object, managed_object


def class_objects(plan: PlatformPlan) -> list[Object]:
    """One for each pool that GKE scales."""
    return [
        managed_object(plan.name, CLASS_API, CLASS_KIND, pool.compute_class, spec=_spec(pool))
        for pool in plan.pools
        if pool.compute_class
    ]


def _spec(pool: PoolPlan) -> Object:
    """A rule for each node pool: those of one rule have no order. No node goes that is used."""
    return {
        "description": f"the ladder of pool {pool.name}: {', '.join(pool.capacity)}",
        "priorities": [{"nodepools": [each.name]} for each in groups(pool)],
        "nodePoolAutoCreation": {"enabled": False},
        "activeMigration": {"optimizeRulePriority": has_failback(pool)},
        "autoscalingPolicy": {"gpuConsolidationThreshold": EMPTY_PERCENT},
        "whenUnsatisfiable": NO_FURTHER,
    }
