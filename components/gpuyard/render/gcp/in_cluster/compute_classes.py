"""ComputeClasses of GKE's autoscaler: exactly a pool's capacity options, as node pools in order."""

from gpuyard.plan.capacity.failback import has_failback
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.render.gcp.capacity_options import option_node_pools
from gpuyard.render.objects import Object, managed_object
from gpuyard_core.catalogue.gke.classes import CLASS_API, CLASS_KIND, EMPTY_PERCENT, NO_FURTHER


def compute_class_objects(plan: PlatformPlan) -> list[Object]:
    """One for each pool that GKE scales."""
    return [
        managed_object(plan.name, CLASS_API, CLASS_KIND, pool.compute_class, spec=_spec(pool))
        for pool in plan.pools
        if pool.compute_class
    ]


def _spec(pool: PoolPlan) -> Object:
    """A rule for each node pool: entries of one rule have no order. No node in use is removed."""
    return {
        "description": f"capacity options of pool {pool.name}: {', '.join(pool.capacity)}",
        "priorities": [{"nodepools": [each.name]} for each in option_node_pools(pool)],
        "nodePoolAutoCreation": {"enabled": False},
        "activeMigration": {"optimizeRulePriority": has_failback(pool)},
        "autoscalingPolicy": {"gpuConsolidationThreshold": EMPTY_PERCENT},
        "whenUnsatisfiable": NO_FURTHER,
    }
