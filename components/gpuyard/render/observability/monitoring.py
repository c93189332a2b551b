"""kube-prometheus-stack with values from the plan: placement, size, what it selects, where alerts go.

The chart's own rules are off: gpuyard has rules of its own. The node exporter only serves the file of the validator, if
there is one: it mounts a folder of the node, so the namespace is `privileged` then, and `restricted` otherwise.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpuyard.plan.observability.stage import installs_monitoring
from gpuyard.plan.records import ObservabilityPlan, PlatformPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.charts import Release, chart_release, merge_values
from gpuyard.render.mirror import mirrored
from gpuyard.render.objects import Object, namespace_object, system_placement
from gpuyard.render.observability.facts import node_labels
from gpuyard.render.observability.reads import series_regex
from gpuyard.render.observability.routing import RECEIVERS
from gpuyard.render.observability.scope import textfile
from gpuyard.render.pulled_image import PulledImage, published_image
from gpuyard_core.catalogue.software.charts import (
    MONITORING_CHART,
    MONITORING_IMAGES,
    MonitoringImage,
)
from gpuyard_core.catalogue.software.digests import digest_of
from gpuyard_core.catalogue.software.pins import PINS
from gpuyard_core.names import (
    CLASS_LABEL,
    MONITORING_NAMESPACE,
    PLATFORM_LABEL,
    POD_SECURITY_LABEL,
    REMOTE_REGION,
    REMOTE_WRITE,
)

_OFF = ("kubeControllerManager", "kubeEtcd", "kubeScheduler", "kubeProxy")
"""Parts of a control plane that clouds do not expose."""
_STATE, _NODE_EXPORTER = "kube-state-metrics", "prometheus-node-exporter"
_OF_OPERATOR = (
    "crds",
    "prometheusOperator",
    "prometheus",
    "alertmanager",
    "kubernetesServiceMonitors",
)
_SCRAPED = ("serviceMonitor", "podMonitor", "probe", "scrapeConfig")
COLLECTOR_ACCOUNT = "prometheus"
"""The service account of Prometheus in agent mode."""


def monitoring_objects(plan: PlatformPlan) -> list[Object]:
    """The namespace of the chart."""
    if not installs_monitoring(plan.spec):
        return []
    level = "privileged" if textfile(plan) else "restricted"
    return [namespace_object(plan.name, MONITORING_NAMESPACE, {POD_SECURITY_LABEL: level})]


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
    for image in _images(plan, observed):
        yield published_image(plan, image.home, _tag(plan, image), MONITORING_CHART.title)


def _images(plan: PlatformPlan, observed: ObservabilityPlan) -> Iterator[MonitoringImage]:
    """A managed service has its own Alertmanager and Grafana, and one with collectors needs no operator."""
    is_ours = observed.managed is None
    enabled = {
        "": True,
        "grafana": is_ours and observed.grafana,
        "nodeExporter": bool(textfile(plan)),
    }
    lacks = set() if is_ours else {"alertmanager"}
    lacks |= set() if observed.has_operator else {*_OF_OPERATOR}
    return (
        image
        for image in MONITORING_IMAGES
        if enabled[image.optional] and image.values[0] not in lacks
    )


def _tag(plan: PlatformPlan, image: MonitoringImage) -> str:
    """The tag of the image; empty if the stack file chooses another version of the chart."""
    known = plan.software[MONITORING_CHART.pin] == PINS[MONITORING_CHART.pin].version
    return image.tag if known else ""


def monitoring_values(plan: PlatformPlan, observed: ObservabilityPlan) -> dict[str, Any]:
    """The chart's values."""
    place = system_placement(plan)
    labels = dict(observed.labels)
    values: dict[str, Any] = {
        "commonLabels": labels,
        "defaultRules": {"create": False},
        "nodeExporter": {"enabled": False},
        **_node_exporter(textfile(plan), labels),
        "grafana": {"enabled": False},
        **{part: {"enabled": False} for part in _OFF},
        _STATE: {
            **place,
            "metricLabelsAllowlist": [
                f"nodes=[{','.join(node_labels(plan))}]",
                f"pods=[{CLASS_LABEL}]",
            ],
            "prometheus": {"monitor": {"additionalLabels": labels}},
        },
        "prometheusOperator": {**place, "admissionWebhooks": {"patch": {**place}}},
    }
    if not observed.has_operator:
        values |= {part: {"enabled": False} for part in _OF_OPERATOR}
        for exporter in values.keys() & {_STATE, _NODE_EXPORTER}:
            values[exporter]["prometheus"] = {"monitor": {"enabled": False}}
    elif observed.managed:
        values |= {"alertmanager": {"enabled": False}, "prometheus": _agent(plan, observed, place)}
    else:
        values |= {
            "grafana": {"enabled": observed.grafana, **(place if observed.grafana else {})},
            "alertmanager": {"alertmanagerSpec": {**place, **_routing(plan, observed)}},
            "prometheus": {"prometheusSpec": {**place, **_prometheus(observed)}},
        }
    for image in _images(plan, observed):
        if given := _image_values(plan, image):
            merge_values(values, image.values, given)
    return values


def _image_values(plan: PlatformPlan, image: MonitoringImage) -> dict[str, str]:
    """Its digest if that is known, and its place if that is a mirror."""
    values: dict[str, str] = {}
    if plan.spec.mirror is not None:
        registry, _, repository = mirrored(plan.spec, image.home).partition("/")
        values = {"registry": registry, "repository": repository}
    if digest := digest_of(image.home, _tag(plan, image)):
        values["sha"] = digest.removeprefix("sha256:")
    return values


def _node_exporter(folder: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """It serves the file of the validator and nothing else."""
    if not folder:
        return {}
    mount = {"name": "textfile", "hostPath": folder, "type": "DirectoryOrCreate"}
    return {
        "nodeExporter": {"enabled": True},
        _NODE_EXPORTER: {
            "hostNetwork": False,
            "hostPID": False,
            "hostRootFsMount": {"enabled": False},
            "extraArgs": [
                "--collector.disable-defaults",
                "--collector.textfile",
                "--collector.textfile.directory=/textfile",
            ],
            "extraHostVolumeMounts": [{**mount, "mountPath": "/textfile", "readOnly": True}],
            "prometheus": {"monitor": {"additionalLabels": dict(labels)}},
        },
    }


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


def _agent(
    plan: PlatformPlan, observed: ObservabilityPlan, place: Mapping[str, Any]
) -> dict[str, Any]:
    """Prometheus in agent mode: it sends samples to the managed service, and stores none."""
    target = {
        "url": UnresolvedOutput(REMOTE_WRITE),
        "sigv4": {"region": plan.region or UnresolvedOutput(REMOTE_REGION)},
        "writeRelabelConfigs": [
            {"sourceLabels": ["__name__"], "regex": series_regex(plan), "action": "keep"}
        ],
    }
    return {
        "agentMode": True,
        "serviceAccount": {"name": COLLECTOR_ACCOUNT},
        "prometheusSpec": {
            **place,
            "remoteWrite": [target],
            **_resources(observed),
            **_selectors(observed, _SCRAPED),
        },
    }


def _resources(observed: ObservabilityPlan) -> dict[str, Any]:
    memory = f"{observed.memory_gib}Gi"
    return {"resources": {"requests": {"cpu": "1", "memory": memory}, "limits": {"memory": memory}}}


def _selectors(observed: ObservabilityPlan, kinds: Iterable[str]) -> dict[str, Any]:
    selector = {"matchLabels": dict(observed.labels)}
    return {
        **{f"{kind}Selector": selector for kind in kinds},
        **{f"{kind}SelectorNilUsesHelmValues": False for kind in kinds},
    }


def _prometheus(observed: ObservabilityPlan) -> dict[str, Any]:
    volume: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": f"{observed.storage_gib}Gi"}},
    }
    if observed.storage_class:
        volume["storageClassName"] = observed.storage_class
    return {
        "retention": f"{observed.retention_days}d",
        "retentionSize": f"{max(1, observed.storage_gib * 9 // 10)}GiB",
        **_resources(observed),
        "storageSpec": {"volumeClaimTemplate": {"spec": volume}},
        **_selectors(observed, ("rule", *_SCRAPED)),
    }
