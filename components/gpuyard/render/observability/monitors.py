"""What Prometheus scrapes and evaluates: monitors, rules and receivers, by the labels that it selects.

The exporter's labels of pods become `exported_…`, relabelings set `pool` and `node`. Services and ports are those of
gpu-operator v26.7.0 (assets and manifests/state-dcgm-exporter: a GPUCluster has another name) and of Kueue's chart 0.19.2
(templates/manager/auth_proxy_service.yaml).
"""

from collections.abc import Iterable, Iterator
from typing import Any

from gpuyard.plan.records import ObservabilityPlan, PlatformPlan
from gpuyard.render.gpu_operator.objects import operator_namespace
from gpuyard.render.objects import Object, managed_object
from gpuyard.render.observability.relabelings import DROP, exporter_relabelings
from gpuyard.render.observability.routing import routing_object
from gpuyard.render.observability.rules import rule_groups
from gpuyard_core.catalogue.metrics import DCGM, exporters
from gpuyard_core.catalogue.software.charts import AUTOSCALER_CHART, KARPENTER_CHART
from gpuyard_core.names import KUEUE, KUEUE_NAMESPACE

_API = "monitoring.coreos.com/v1"
_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # noqa: S105 - a path
_PORTS = {AUTOSCALER_CHART.name: "http", KARPENTER_CHART.name: "http-metrics"}
"""The ports of the services that the charts create (their templates/service.yaml)."""


def monitor_objects(plan: PlatformPlan) -> list[Object]:
    """Monitors, rules and receivers; none without a Prometheus, and none on simulated nodes.

    A managed service has rules and receivers of its own.
    """
    observed = plan.observability
    if observed is None or plan.simulated:
        return []
    own = plan.provider.metric_objects(plan, observed)
    if own is not None:
        return own
    objects = [_kueue_monitor(plan, observed)] if plan.queueing.install else []
    objects += _scaler_monitors(plan, observed)
    if not plan.queueing.dispatch:
        objects.insert(0, _exporter_monitor(plan, observed))
    if observed.managed is not None:
        return objects
    if not plan.queueing.dispatch:
        objects.append(_rule_object(plan, observed, rule_groups(plan)))
    if observed.alerts is not None:
        objects.append(routing_object(plan, observed, observed.alerts))
    return objects


def _exporter_monitor(plan: PlatformPlan, observed: ObservabilityPlan) -> Object:
    """The DCGM exporter of the GPU Operator; its pool is a label of the node."""
    endpoint = {
        "port": "gpu-metrics",
        "honorLabels": False,
        "interval": f"{observed.scrape_seconds}s",
        "scrapeTimeout": f"{min(10, observed.scrape_seconds)}s",
        "relabelings": exporter_relabelings(plan),
        "metricRelabelings": [DROP],
    }
    claims = plan.operator is not None and plan.operator.claims
    selector = {"app": "nvidia-dcgm-exporter-dra" if claims else "nvidia-dcgm-exporter"}
    space = operator_namespace(plan)
    more = {"attachMetadata": {"node": True}}
    return _monitor(plan, observed, DCGM, space, selector, endpoint, more)


def _kueue_monitor(plan: PlatformPlan, observed: ObservabilityPlan) -> Object:
    """Kueue serves metrics by TLS to accounts that may read /metrics, as Prometheus of the chart may."""
    endpoint = {
        "port": "https",
        "scheme": "https",
        "path": "/metrics",
        "honorLabels": exporters()[KUEUE].honors_labels,
        "bearerTokenFile": _TOKEN,
        "tlsConfig": {"insecureSkipVerify": True},
    }
    selector = {
        "app.kubernetes.io/name": KUEUE,
        "app.kubernetes.io/component": "metrics-service",  # its other services have the same name
    }
    return _monitor(plan, observed, KUEUE, KUEUE_NAMESPACE, selector, endpoint, {})


def _scaler_monitors(plan: PlatformPlan, observed: ObservabilityPlan) -> Iterator[Object]:
    """Cluster Autoscaler and Karpenter, where gpuyard installs them."""
    for release in (
        plan.provider.autoscaler_release(plan),
        *plan.provider.karpenter_releases(plan),
    ):
        if release is not None and release.name in _PORTS:
            selector = {"app.kubernetes.io/instance": release.name}
            endpoint = {"port": _PORTS[release.name]}
            yield _monitor(plan, observed, release.name, release.namespace, selector, endpoint, {})


def _monitor(
    plan: PlatformPlan,
    observed: ObservabilityPlan,
    name: str,
    namespace: str,
    selector: Object,
    endpoint: Object,
    more: Object,
) -> Object:
    spec = {
        "namespaceSelector": {"matchNames": [namespace]},
        "selector": {"matchLabels": selector},
        "endpoints": [endpoint],
        **more,
    }
    return _custom(plan, observed, "ServiceMonitor", f"gpuyard-{name}", spec)


def _rule_object(
    plan: PlatformPlan, observed: ObservabilityPlan, groups: Iterable[dict[str, Any]]
) -> Object:
    """Rule groups as Prometheus of the operator reads them."""
    return _custom(plan, observed, "PrometheusRule", "gpuyard", {"groups": list(groups)})


def _custom(
    plan: PlatformPlan, observed: ObservabilityPlan, kind: str, name: str, spec: Object
) -> Object:
    return managed_object(
        plan.name,
        _API,
        kind,
        name,
        namespace=observed.namespace,
        labels=observed.labels,
        spec=spec,
    )
