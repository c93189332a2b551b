"""Karpenter's charts: its CustomResourceDefinitions, and the controller with the plan's values."""

from typing import Any

from gpuyard.plan.capacity.scaling import installs_karpenter, selects_reservations
from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.pools.machines import karpenter_overhead
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.aws.karpenter.nodes import QUEUE, karpenter_pools
from gpuyard.render.charts import Release, chart_release
from gpuyard.render.objects import system_tolerations
from gpuyard.render.pulled_image import chart_image
from gpuyard.spec.sections import Nat
from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_core.catalogue.software.charts import (
    KARPENTER_CHART,
    KARPENTER_CRD_CHART,
)
from gpuyard_core.names import KARPENTER, KUBE_SYSTEM, POOL_LABEL, SYSTEM_POOL


def karpenter_charts(plan: PlatformPlan) -> list[Release]:
    """The definitions first: Helm updates them only with their own chart."""
    if not installs_karpenter(plan.spec):
        return []
    return [
        chart_release(plan, KARPENTER_CRD_CHART, KUBE_SYSTEM, {}),
        chart_release(plan, KARPENTER_CHART, KUBE_SYSTEM, karpenter_values(plan)),
    ]


def karpenter_values(plan: PlatformPlan) -> dict[str, Any]:
    """The controller's: it runs on the system nodes, which Karpenter does not manage."""
    system = plan.spec.system
    private = cluster_spec(plan.spec).network.nat is Nat.NONE
    pools = karpenter_pools(plan)
    machines = (MACHINES[name] for pool in pools for name in pool.machines)
    image = chart_image(plan, KARPENTER_CHART)
    return {
        "serviceAccount": {"name": KARPENTER},
        # At most one replica on each node.
        "replicas": 1 if system is not None and system.nodes.low < 2 else 2,  # noqa: PLR2004
        "nodeSelector": {POOL_LABEL: SYSTEM_POOL},
        "tolerations": system_tolerations(),
        "controller": {
            "image": {
                "repository": image.repository,
                "tag": image.tag,
                # Always set: the chart's own digest would override another tag, also in a mirror.
                "digest": image.digest,
            },
            "resources": {
                "requests": {"cpu": "500m", "memory": "1Gi"},
                "limits": {"memory": "1Gi"},
            },
        },
        "settings": {
            "clusterName": plan.name,
            "interruptionQueue": UnresolvedOutput(f"{QUEUE}.name"),
            "enableZonalShift": True,
            "vmMemoryOverheadPercent": karpenter_overhead(machines),
            **({"isolatedVPC": True} if private else {}),
            "featureGates": {
                "nodeOverlay": any(pool.autoscaler_hints.overlay for pool in pools),
                "reservedCapacity": selects_reservations(pools),
            },
        },
    }
