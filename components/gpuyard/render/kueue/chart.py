"""Kueue's chart with values from the plan: placement, size and initial configuration."""

from typing import Any

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.charts import Release, chart_release
from gpuyard.render.data_files import filled_data
from gpuyard.render.kueue.configuration import kueue_configuration
from gpuyard.render.objects import (
    Object,
    managed_object,
    namespace_object,
    system_node_selector,
    system_tolerations,
)
from gpuyard.render.pulled_image import image_values
from gpuyard.render.text import yaml_text
from gpuyard_core.catalogue.software.charts import KUEUE_CHART
from gpuyard_core.names import (
    KUEUE,
    KUEUE_ANSWERS,
    KUEUE_NAMESPACE,
    POD_SECURITY_LABEL,
)

_MEMORY = ((100, "512Mi"), (1000, "2Gi"))
"""Memory by maximum number of nodes. The first is the chart's own; the others are an estimate: the
manager caches every workload, and with topology every pod and node."""
_MOST_MEMORY = "4Gi"


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


def kueue_values(plan: PlatformPlan) -> Any:
    """The chart's values."""
    return filled_data(
        "kueue/values.yaml",
        "values",
        image=image_values(plan, KUEUE_CHART),
        memory=_memory(plan),
        tolerations=system_tolerations(),
        placed=system_node_selector(plan),
        configuration=yaml_text(kueue_configuration(plan)),
    )


def _memory(plan: PlatformPlan) -> str:
    nodes = sum(pool.nodes.high for pool in plan.pools)
    return next((memory for most, memory in _MEMORY if nodes <= most), _MOST_MEMORY)
