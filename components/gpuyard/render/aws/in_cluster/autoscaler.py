"""Cluster Autoscaler for EKS: its chart with values of the plan, and the priority of node groups.

It removes only nodes without any requests: by default it drains nodes that are less than half used,
and with them half a gang. So the utilisation threshold is lower than any request.
"""

from typing import Any

from gpuyard.plan.capacity.scaling import installs_autoscaler
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.aws.pools import group_name, group_sizes, node_group_pools
from gpuyard.render.charts import Release, chart_release
from gpuyard.render.cloud.spelling import fit_name
from gpuyard.render.objects import Object, managed_object, system_tolerations
from gpuyard.render.pulled_image import image_values
from gpuyard.render.text import yaml_text
from gpuyard_core.catalogue.kubernetes.autoscaler_metrics import PER_GROUP_FLAG
from gpuyard_core.catalogue.kubernetes.autoscalers import (
    ANY_GROUP,
    MANAGED_GROUP,
    PRIORITY_CONFIGMAP,
)
from gpuyard_core.catalogue.software.charts import AUTOSCALER_CHART
from gpuyard_core.names import AUTOSCALER_ACCOUNT, KUBE_SYSTEM, POOL_LABEL, SYSTEM_POOL

_NOTHING = "0.000001"
"""Below a thousandth of a CPU on every machine, above zero."""
_STEP = 10
"""Distance between two capacity options, so that a user can add a node group in between."""
_MEMORY = ((100, "600Mi"), (1000, "2Gi"))
"""Memory by maximum number of nodes: an estimate; the autoscaler caches every pod and node."""
_MOST_MEMORY = "4Gi"


def node_group_autoscaler(plan: PlatformPlan) -> Release | None:
    """The release that Helm installs."""
    if not installs_autoscaler(plan.spec):
        return None
    return chart_release(plan, AUTOSCALER_CHART, KUBE_SYSTEM, autoscaler_values(plan))


def priority_objects(plan: PlatformPlan) -> list[Object]:
    """The priorities of node groups: a ConfigMap that the autoscaler reads again at each change."""
    if not installs_autoscaler(plan.spec):
        return []
    data = {"priorities": yaml_text(priorities(plan))}
    name = PRIORITY_CONFIGMAP
    return [managed_object(plan.name, "v1", "ConfigMap", name, namespace=KUBE_SYSTEM, data=data)]


def priorities(plan: PlatformPlan) -> dict[int, list[str]]:
    """Auto Scaling groups by priority, highest first: each pool's capacity options in order."""
    results: dict[int, list[str]] = {}
    pools = [group_sizes(pool) for pool in node_group_pools(plan)]
    longest = max((len(sizes) for sizes in pools), default=0)
    for pool, sizes in zip(node_group_pools(plan), pools, strict=True):
        for index, size in enumerate(sizes):
            number = _STEP * (longest - index)
            pattern = "^" + MANAGED_GROUP.format(fit_name(group_name(pool, size.option)))
            results.setdefault(number, []).append(pattern)
    return {**dict(sorted(results.items(), reverse=True)), 1: [ANY_GROUP]}


def autoscaler_values(plan: PlatformPlan) -> dict[str, Any]:
    """The chart's values."""
    uses_provisioning = any(pool.provisioning for pool in plan.pools)
    memory = _memory(plan)
    return {
        "fullnameOverride": AUTOSCALER_ACCOUNT,
        "cloudProvider": "aws",
        # Without a region in the stack file, Pod Identity sets it in the pod.
        **({"awsRegion": plan.region} if plan.region else {}),
        "autoDiscovery": {"clusterName": plan.name},
        "rbac": {"serviceAccount": {"name": AUTOSCALER_ACCOUNT}},
        "image": image_values(plan, AUTOSCALER_CHART),
        "nodeSelector": {POOL_LABEL: SYSTEM_POOL},
        "tolerations": system_tolerations(),
        "resources": {
            "requests": {"cpu": "100m", "memory": memory},
            "limits": {"memory": memory},
        },
        "extraArgs": {
            "expander": "priority,least-waste",
            PER_GROUP_FLAG: "true",
            "ignore-daemonsets-utilization": "true",
            "scale-down-utilization-threshold": _NOTHING,
            "scale-down-gpu-utilization-threshold": _NOTHING,
            **({"enable-provisioning-requests": "true"} if uses_provisioning else {}),
        },
    }


def _memory(plan: PlatformPlan) -> str:
    nodes = sum(pool.nodes.high for pool in plan.pools)
    return next((memory for most, memory in _MEMORY if nodes <= most), _MOST_MEMORY)
