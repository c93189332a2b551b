"""Karpenter's charts: its CustomResourceDefinitions, and the controller with the plan's values."""

from typing import Any

from gpuyard.catalogue.machines import MACHINES
from gpuyard.catalogue.software.charts import (
    KARPENTER_CHART,
    KARPENTER_CRD_CHART,
    KARPENTER_PIN,
    Chart,
)
from gpuyard.catalogue.software.digests import digest_of
from gpuyard.names import KARPENTER, KUBE_SYSTEM, POOL_LABEL, SYSTEM_POOL
from gpuyard.plan.capacity.karpenter import selects_reservations
from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.pools.allocatable import karpenter_overhead
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.aws.karpenter.nodes import QUEUE, karpenter_pools
from gpuyard.render.charts import Release
from gpuyard.render.mirror import chart_location, image_repository, upstream_image_repository
from gpuyard.render.objects import system_tolerations
from gpuyard.spec.sections import Nat


def karpenter_charts(plan: PlatformPlan) -> list[Release]:
    """The definitions first: Helm updates them only with their own chart."""
    return [
        _release(plan, KARPENTER_CRD_CHART, {}),
        _release(plan, KARPENTER_CHART, karpenter_values(plan)),
    ]


def _release(plan: PlatformPlan, chart: Chart, values: dict[str, Any]) -> Release:
    return Release(
        name=chart.name,
        namespace=KUBE_SYSTEM,
        chart=chart_location(plan.spec, chart),
        version=plan.software[KARPENTER_PIN],
        values=values,
    )


def karpenter_values(plan: PlatformPlan) -> dict[str, Any]:
    """The controller's: it runs on the system nodes, which Karpenter does not manage."""
    system = plan.spec.system
    private = cluster_spec(plan.spec).network.nat is Nat.NONE
    pools = karpenter_pools(plan)
    machines = (MACHINES[name] for pool in pools for name in pool.machines)
    tag = KARPENTER_CHART.tag.format(plan.software[KARPENTER_PIN])
    return {
        "serviceAccount": {"name": KARPENTER},
        # At most one replica on each node.
        "replicas": 1 if system is not None and system.nodes.low < 2 else 2,  # noqa: PLR2004
        "nodeSelector": {POOL_LABEL: SYSTEM_POOL},
        "tolerations": system_tolerations(),
        "controller": {
            "image": {
                "repository": image_repository(plan.spec, KARPENTER_CHART),
                "tag": tag,
                # Always set: the chart's own digest would override another tag, also in a mirror.
                "digest": digest_of(upstream_image_repository(KARPENTER_CHART), tag),
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
