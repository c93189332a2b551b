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

_CHARTS_OWN: dict[str, Any] = {
    "health": {"healthProbeBindAddress": ":8081"},
    "webhook": {"port": 9443},
    "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
    "controller": {
        "groupKindConcurrency": {
            "Job.batch": 5,
            "Pod": 5,
            "Workload.kueue.x-k8s.io": 10,
            "LocalQueue.kueue.x-k8s.io": 5,
            "ClusterQueue.kueue.x-k8s.io": 5,
            "ResourceFlavor.kueue.x-k8s.io": 1,
        }
    },
    "clientConnection": {"qps": 300, "burst": 500},
}
"""The chart's own configuration (charts/kueue/values.yaml, Kueue v0.19.2). gpuyard's replaces all
of it: without these the manager has 20 requests a second, and one worker for each kind."""

SAMPLING = "5m"
"""How often Kueue samples usage for fair sharing (as in Kueue v0.19)."""


def kueue_configuration(plan: PlatformPlan) -> dict[str, Any]:
    """The manager's configuration file."""
    minutes = plan.queueing.start_minutes
    configuration: dict[str, Any] = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": KUEUE_NAMESPACE,
        **_CHARTS_OWN,
        # Quota and usage of each queue as metrics: the chart omits them, dashboards need them.
        "metrics": {"bindAddress": ":8443", "enableClusterQueueResources": True},
        "internalCertManagement": {
            "enable": True,
            "webhookServiceName": KUEUE_WEBHOOKS,
            "webhookSecretName": KUEUE_CERTIFICATES,
        },
        "manageJobsWithoutQueueName": False,
        "featureGates": dict(GATES),
        "integrations": {"frameworks": frameworks(plan.spec)},
        "resources": {"excludeResourcePrefixes": list(WITHOUT_QUOTA)},
        "waitForPodsReady": {
            "timeout": f"{minutes}m",
            # a replacement of a failed pod needs another node, as its job did at first
            "recoveryTimeout": f"{minutes}m",
            "blockAdmission": False,
            "requeuingStrategy": {
                "timestamp": "Eviction",
                "backoffBaseSeconds": FIRST_REQUEUE_SECONDS,
                "backoffMaxSeconds": LONGEST_REQUEUE_SECONDS,
            },
        },
    }
    if any(pool.dra for pool in plan.pools):
        configuration["resources"]["deviceClassMappings"] = [
            {"name": GPU_CLAIM, "deviceClassNames": [GPU_CLASS]}
        ]
    if plan.queueing.slices_of:
        configuration["resources"]["transformations"] = [
            {"input": profile, "strategy": "Replace", "outputs": {MIG_SLICES: str(slices)}}
            for profile, slices in plan.queueing.slices_of.items()
        ]
    if plan.queueing.fair_sharing:
        strategies = ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
        configuration["fairSharing"] = {"preemptionStrategies": strategies}
    if plan.queueing.usage_half_life_hours is not None:
        configuration["admissionFairSharing"] = {
            "usageHalfLifeTime": f"{plan.queueing.usage_half_life_hours}h",
            "usageSamplingInterval": SAMPLING,
            "resourceWeights": _worth(plan),
        }
    return configuration | dispatch_configuration(plan)


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
