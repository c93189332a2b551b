"""Kueue's chart with values from the plan: placement, size and initial configuration."""

from typing import Any

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.charts import Release, chart_release
from gpuyard.render.kueue.configuration import kueue_configuration
from gpuyard.render.objects import Object, managed_object, namespace_object, system_tolerations
from gpuyard.render.pulled_image import image_values
from gpuyard.render.text import yaml_text
from gpuyard_core.catalogue.software.charts import KUEUE_CHART
from gpuyard_core.names import (
    KUEUE,
    KUEUE_ANSWERS,
    KUEUE_NAMESPACE,
    POD_SECURITY_LABEL,
    POOL_LABEL,
    SYSTEM_POOL,
)

_MEMORY = ((100, "512Mi"), (1000, "2Gi"))
"""Memory by maximum number of nodes. The first is the chart's own; the others are an estimate: the
manager caches every workload, and with topology every pod and node."""
_MOST_MEMORY = "4Gi"
REPLICAS = 2
"""One leads, the other serves webhooks when the leader moves: without webhooks no pod can be
created."""


def kueue_release(plan: PlatformPlan) -> Release | None:
    """The release; None if Kueue already exists."""
    if not plan.queueing.install:
        return None
    return chart_release(plan, KUEUE_CHART, KUEUE_NAMESPACE, kueue_values(plan))


def kueue_readiness_service(plan: PlatformPlan) -> Object:
    """A service that has endpoints once a manager is ready and serves webhooks.

    A deployment waits for it before it creates the first queue: without webhooks no queue can be
    created.
    """
    selector = {"app.kubernetes.io/name": KUEUE, "control-plane": "controller-manager"}
    spec = {"selector": selector, "ports": [{"name": "webhooks", "port": 443, "targetPort": 9443}]}
    return managed_object(
        plan.name, "v1", "Service", KUEUE_ANSWERS, namespace=KUEUE_NAMESPACE, spec=spec
    )


def kueue_objects(plan: PlatformPlan) -> list[Object]:
    """The namespace of the chart."""
    labels = {POD_SECURITY_LABEL: "restricted"}
    return [namespace_object(plan.name, KUEUE_NAMESPACE, labels)] if plan.queueing.install else []


def kueue_values(plan: PlatformPlan) -> dict[str, Any]:
    """The chart's values: only those that differ from its own, except the image."""
    image = {**image_values(plan, KUEUE_CHART), "pullPolicy": "IfNotPresent"}
    memory = _memory(plan)
    resources = {
        "requests": {"cpu": "500m", "memory": memory},
        "limits": {"cpu": "2", "memory": memory},
    }
    return {
        # The configuration refers to these object names in every release.
        "fullnameOverride": KUEUE,
        "controllerManager": {
            "replicas": REPLICAS,
            "podDisruptionBudget": {"enabled": True, "minAvailable": 1},
            "manager": {"image": image, "resources": resources},
            **_placement(plan),
        },
        "managerConfig": {"controllerManagerConfigYaml": yaml_text(kueue_configuration(plan))},
    }


def _placement(plan: PlatformPlan) -> dict[str, Any]:
    """On gpuyard's system nodes if there are any, and on two of them if possible."""
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app.kubernetes.io/name": KUEUE}},
    }
    placement: dict[str, Any] = {
        "tolerations": system_tolerations(),
        "topologySpreadConstraints": [spread],
    }
    if plan.system is not None:
        placement["nodeSelector"] = {POOL_LABEL: SYSTEM_POOL}
    return placement


def _memory(plan: PlatformPlan) -> str:
    nodes = sum(pool.nodes.high for pool in plan.pools)
    return next((memory for most, memory in _MEMORY if nodes <= most), _MOST_MEMORY)
