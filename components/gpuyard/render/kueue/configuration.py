"""Kueue's configuration for a platform: which resources count as quota, and fair sharing."""

from typing import Any

from gpuyard.plan.queueing.kueue import (
    FIRST_REQUEUE_SECONDS,
    GATES,
    LONGEST_REQUEUE_SECONDS,
    WITHOUT_QUOTA,
    frameworks,
)
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.data_files import filled_data
from gpuyard.render.kueue.multikueue import dispatch_configuration
from gpuyard.render.objects import Object, managed_object
from gpuyard.render.text import yaml_text
from gpuyard_core.catalogue.kubernetes.claims import GPU_CLASS
from gpuyard_core.names import (
    GPU_CLAIM,
    KUEUE_CERTIFICATES,
    KUEUE_CONFIG_KEY,
    KUEUE_CONFIGMAP,
    KUEUE_NAMESPACE,
    KUEUE_WEBHOOKS,
    MIG_SLICES,
)

SAMPLING = "5m"
"""How often Kueue samples usage for fair sharing (as in Kueue v0.19)."""


def kueue_configuration(plan: PlatformPlan) -> Any:
    """The manager's configuration file."""
    queueing = plan.queueing
    claims = [{"name": GPU_CLAIM, "deviceClassNames": [GPU_CLASS]}]
    slices = [
        {"input": profile, "strategy": "Replace", "outputs": {MIG_SLICES: str(number)}}
        for profile, number in queueing.slices_of.items()
    ]
    strategies = ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
    by_usage = {
        "usageHalfLifeTime": f"{queueing.usage_half_life_hours}h",
        "usageSamplingInterval": SAMPLING,
        "resourceWeights": _worth(plan),
    }
    return filled_data(
        "kueue/values.yaml",
        "configuration",
        namespace=KUEUE_NAMESPACE,
        webhooks=KUEUE_WEBHOOKS,
        certificates=KUEUE_CERTIFICATES,
        gates=dict(GATES),
        frameworks=frameworks(plan.spec),
        without_quota=list(WITHOUT_QUOTA),
        claims=claims if any(pool.dra for pool in plan.pools) else None,
        transformations=slices or None,
        minutes=queueing.start_minutes,
        first_requeue=FIRST_REQUEUE_SECONDS,
        longest_requeue=LONGEST_REQUEUE_SECONDS,
        fair_sharing={"preemptionStrategies": strategies} if queueing.fair_sharing else None,
        by_usage=None if queueing.usage_half_life_hours is None else by_usage,
        dispatch=dispatch_configuration(plan),
    )


def _worth(plan: PlatformPlan) -> dict[str, float]:
    """The weight of one unit of each resource: its fraction of a GPU, the largest of all pools."""
    worth: dict[str, float] = {}
    for offer in (a for pool in plan.pools for a in pool.counted_resources):
        share = round(float(offer.gpu_share), 4)
        worth[offer.resource] = max(share, worth.get(offer.resource, 0))
    return dict(sorted(worth.items()))


def kueue_configuration_object(plan: PlatformPlan) -> Object:
    """The ConfigMap that Kueue's own chart would create; the manager reads it at startup."""
    data = {KUEUE_CONFIG_KEY: yaml_text(kueue_configuration(plan))}
    return managed_object(
        plan.name, "v1", "ConfigMap", KUEUE_CONFIGMAP, namespace=KUEUE_NAMESPACE, data=data
    )
