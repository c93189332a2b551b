"""The chart of NVIDIA's DRA driver by itself, for claims on GKE, where no GPU Operator brings it.

It stands in the operator's namespace: that one admits privileged pods, and has the quota without which GKE
lets no pod of a critical priority in. Google's page "Prepare GKE infrastructure for DRA workloads" leaves the
priority out for want of one.
"""

from typing import Any

from gpuyard.catalogue.kubernetes.claims import API_VERSION
from gpuyard.catalogue.software.charts import DRA_DRIVER_CHART, DRA_DRIVER_PIN
from gpuyard.names import (
    GPU_OPERATOR_NAMESPACE,
    OPERANDS_LABEL,
    POOL_LABEL,
    SYSTEM_POOL,
)
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.sharing.claims import CLAIM_IMAGE, installs_claim_driver
from gpuyard.render.charts import Release
from gpuyard.render.gpu_operator.objects import PRIORITY_CLASS, agent_tolerations
from gpuyard.render.mirror import chart_location, image_repository, image_tag
from gpuyard.render.objects import system_tolerations

_ROOT = CLAIM_IMAGE.settings["toolkit.installDir"]


def dra_driver_release(plan: PlatformPlan) -> Release | None:
    """What Helm installs; None where the operator answers claims, somebody else does, or nobody claims."""
    if plan.queueing.dispatch or not installs_claim_driver(plan.spec):
        return None
    return Release(
        name=DRA_DRIVER_CHART.name,
        namespace=GPU_OPERATOR_NAMESPACE,
        chart=chart_location(plan.spec, DRA_DRIVER_CHART),
        version=plan.software[DRA_DRIVER_PIN],
        values=dra_driver_values(plan),
    )


def dra_driver_values(plan: PlatformPlan) -> dict[str, Any]:
    """The chart's values: Google's driver, GPUs that nobody else hands out, and our nodes."""
    racks = any(pool.dra and pool.dra.compute_domains for pool in plan.pools)
    return {
        "nvidiaDriverRoot": _ROOT,
        "gpuResourcesEnabledOverride": True,  # no device plugin is on these nodes
        "resourceApiVersion": API_VERSION,
        "image": {
            "repository": image_repository(plan.spec, DRA_DRIVER_CHART),
            "tag": image_tag(DRA_DRIVER_CHART, plan.software[DRA_DRIVER_PIN]),
        },
        "resources": {"gpus": {"enabled": True}, "computeDomains": {"enabled": racks}},
        "controller": {
            "priorityClassName": "system-cluster-critical",
            "nodeSelector": {POOL_LABEL: SYSTEM_POOL},
            "tolerations": system_tolerations(),
            "affinity": {},  # the chart's looks for control planes, which GKE hides
        },
        "kubeletPlugin": {
            "priorityClassName": PRIORITY_CLASS,
            "nodeSelector": {OPERANDS_LABEL: "false"},
            "tolerations": agent_tolerations(plan),
        },
    }
