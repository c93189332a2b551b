"""kube-prometheus-stack with values from the plan: placement, size, what it selects, where alerts go.

The chart's own rules and the node exporter are off: gpuyard has rules of its own, and without pods on each node the
namespace can be `restricted`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.catalogue.software.charts import MONITORING_CHART, MONITORING_IMAGES, MonitoringImage
from gpuyard.catalogue.software.pins import PINS
from gpuyard.names import (
    MONITORING_NAMESPACE,
    PLATFORM_LABEL,
    POD_SECURITY_LABEL,
    POOL_LABEL,
    SYSTEM_POOL,
    TEAM_LABEL,
)
from gpuyard.plan.observability.stage import installs_monitoring
from gpuyard.plan.records import ObservabilityPlan, PlatformPlan
from gpuyard.render.charts import Release, chart_release
from gpuyard.render.mirror import mirrored
from gpuyard.render.objects import Object, namespace_object, system_tolerations
from gpuyard.render.observability.routing import RECEIVERS
from gpuyard.render.pulled_image import PulledImage, published_image

CAPACITY_LABELS = (
    "karpenter.sh/capacity-type",
    "eks.amazonaws.com/capacityType",
    "cloud.google.com/gke-spot",
    "cloud.google.com/gke-provisioning",
)
"""Labels of nodes that tell spot from on-demand capacity."""
_OFF = ("kubeControllerManager", "kubeEtcd", "kubeScheduler", "kubeProxy")
"""Parts of a control plane that clouds do not expose."""


def monitoring_objects(plan: PlatformPlan) -> list[Object]:
    """The namespace of the chart."""
    if not installs_monitoring(plan.spec):
        return []
    return [namespace_object(plan.name, MONITORING_NAMESPACE, {POD_SECURITY_LABEL: "restricted"})]


def monitoring_release(plan: PlatformPlan) -> Release | None:
    """The release; None if gpuyard installs no Prometheus."""
    observed = plan.observability
    if observed is None or not installs_monitoring(plan.spec):
        return None
    values = monitoring_values(plan, observed)
    return chart_release(plan, MONITORING_CHART, MONITORING_NAMESPACE, values)


def monitoring_images(plan: PlatformPlan) -> Iterator[PulledImage]:
    """The images of the chart."""
    observed = plan.observability
    if observed is None or not installs_monitoring(plan.spec):
        return
    for image in _images(observed):
        yield published_image(plan, image.home, _tag(plan, image), MONITORING_CHART.title)


def _images(observed: ObservabilityPlan) -> Iterator[MonitoringImage]:
    for image in MONITORING_IMAGES:
        if not image.optional or observed.grafana:
            yield image


def _tag(plan: PlatformPlan, image: MonitoringImage) -> str:
    """The tag of the image; empty if the stack file chooses another version of the chart."""
    known = plan.software[MONITORING_CHART.pin] == PINS[MONITORING_CHART.pin].version
    return image.tag if known else ""


def monitoring_values(plan: PlatformPlan, observed: ObservabilityPlan) -> dict[str, Any]:
    """The chart's values."""
    place = _placement(plan)
    labels = dict(observed.labels)
    values: dict[str, Any] = {
        "commonLabels": labels,
        "defaultRules": {"create": False},
        "nodeExporter": {"enabled": False},
        "grafana": {"enabled": observed.grafana, **(place if observed.grafana else {})},
        **{part: {"enabled": False} for part in _OFF},
        "prometheusOperator": {**place, "admissionWebhooks": {"patch": {**place}}},
        "kube-state-metrics": {
            **place,
            "metricLabelsAllowlist": [
                f"nodes=[{','.join((POOL_LABEL, *CAPACITY_LABELS))}]",
                f"namespaces=[{TEAM_LABEL}]",
            ],
            "prometheus": {"monitor": {"additionalLabels": labels}},
        },
        "alertmanager": {"alertmanagerSpec": {**place, **_routing(plan, observed)}},
        "prometheus": {"prometheusSpec": {**place, **_prometheus(observed, labels)}},
    }
    if plan.spec.mirror is not None:
        for image in _images(observed):
            registry, _, repository = mirrored(plan.spec, image.home).partition("/")
            _merge(values, image.values, {"registry": registry, "repository": repository})
    return values


def _merge(values: dict[str, Any], path: tuple[str, ...], image: Mapping[str, str]) -> None:
    for key in path:
        values = values.setdefault(key, {})
    values.update(image)


def _placement(plan: PlatformPlan) -> dict[str, Any]:
    """On gpuyard's system nodes if there are any."""
    placement: dict[str, Any] = {"tolerations": system_tolerations()}
    if plan.system is not None:
        placement["nodeSelector"] = {POOL_LABEL: SYSTEM_POOL}
    return placement


def _routing(plan: PlatformPlan, observed: ObservabilityPlan) -> dict[str, Any]:
    """The platform's receivers, and those that teams configure in their namespaces.

    prometheus-operator sends a team only alerts with the label `namespace` of its namespace: gpuyard's alerts have the
    namespace of the workload. So teams do not receive alerts of each other.
    """
    platform = {"matchLabels": {PLATFORM_LABEL: plan.name}}
    own = {"alertmanagerConfiguration": {"name": RECEIVERS}} if observed.alerts else {}
    return {
        "alertmanagerConfigNamespaceSelector": platform,
        "alertmanagerConfigMatcherStrategy": {"type": "OnNamespace"},
        **own,
    }


def _prometheus(observed: ObservabilityPlan, labels: Mapping[str, str]) -> dict[str, Any]:
    selector = {"matchLabels": dict(labels)}
    memory = f"{observed.memory_gib}Gi"
    volume: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": f"{observed.storage_gib}Gi"}},
    }
    if observed.storage_class:
        volume["storageClassName"] = observed.storage_class
    kinds = ("rule", "serviceMonitor", "podMonitor", "probe", "scrapeConfig")
    return {
        "retention": f"{observed.retention_days}d",
        "retentionSize": f"{max(1, observed.storage_gib * 9 // 10)}GiB",
        "resources": {"requests": {"cpu": "1", "memory": memory}, "limits": {"memory": memory}},
        "storageSpec": {"volumeClaimTemplate": {"spec": volume}},
        **{f"{kind}Selector": selector for kind in kinds},
        **{f"{kind}SelectorNilUsesHelmValues": False for kind in kinds},
    }
