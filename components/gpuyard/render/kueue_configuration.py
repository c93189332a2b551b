"""How Kueue itself is set up for a platform: what counts as quota, and who shares fairly."""

from typing import Any

from gpuyard.plan.dra import GPU_CLASS
from gpuyard.plan.kueue import FRAMEWORKS, GANG_TIMEOUT, WITHOUT_QUOTA
from gpuyard.plan.names import (
    GPU_CLAIM,
    KUEUE_CONFIG_KEY,
    KUEUE_CONFIGMAP,
    KUEUE_NAMESPACE,
    MIG_SLICES,
)
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.objects import Object, made
from gpuyard.render.text import yaml_text


def kueue_configuration(plan: PlatformPlan) -> dict[str, Any]:
    """The manager's configuration file."""
    configuration: dict[str, Any] = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "manageJobsWithoutQueueName": False,
        "integrations": {"frameworks": list(FRAMEWORKS)},
        "resources": {"excludeResourcePrefixes": list(WITHOUT_QUOTA)},
        "waitForPodsReady": {
            "timeout": GANG_TIMEOUT,
            "recoveryTimeout": GANG_TIMEOUT,
            "blockAdmission": False,
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
    return configuration


def kueue_configuration_object(plan: PlatformPlan) -> Object:
    """The ConfigMap that Kueue's own chart would make; the manager reads it when it starts."""
    data = {KUEUE_CONFIG_KEY: yaml_text(kueue_configuration(plan))}
    return made(plan, "v1", "ConfigMap", KUEUE_CONFIGMAP, namespace=KUEUE_NAMESPACE, data=data)
