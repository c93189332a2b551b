"""Google Cloud Managed Service for Prometheus: what its collectors scrape, and the rules that it evaluates.

Its collectors attach the node of a pod but no label of that node: the series of the DCGM exporter have no pool, and the
recording rules join it by the node. GKE's own packages of kube-state-metrics lack the labels of nodes and namespaces,
so gpuyard installs kube-state-metrics of its own.
"""

from typing import Any

from gpuyard.plan.records import ObservabilityPlan, PlatformPlan, ServicePlan
from gpuyard.render.access import RBAC
from gpuyard.render.gpu_operator.objects import operator_namespace
from gpuyard.render.objects import Object, managed_object, service_account
from gpuyard.render.observability.reads import series_regex
from gpuyard.render.observability.relabelings import DROP
from gpuyard.render.observability.rules import rule_groups
from gpuyard.render.observability.scope import textfile
from gpuyard_core.catalogue.metrics import DCGM, STATE_METRICS
from gpuyard_core.names import (
    GMP_COLLECTOR,
    GMP_NAMESPACE,
    KUEUE,
    KUEUE_NAMESPACE,
    MONITORING_NAMESPACE,
    SERVICE_LABEL,
)

_API = "monitoring.googleapis.com/v1"
_READER = "gpuyard-metrics-reader"
"""The account whose token the collectors present to Kueue, its Secret and its roles."""
_RELEASE = "kube-prometheus-stack"
_PORT = 8080
"""kube-state-metrics' port, the default of its chart (values.yaml, service.port)."""
_SECURE_PORT = 8443
"""Kueue's port of metrics (values.yaml of its chart, metrics.bindAddress)."""
_NODE_PORT = 9100
"""The node exporter's port, the default of its chart."""
_SLOW = "30s"
_OF_VALIDATOR: Object = {
    "sourceLabels": ["__name__"],
    "regex": "gpu_validation_.+",
    "action": "keep",
}


def metric_objects(plan: PlatformPlan, observed: ObservabilityPlan) -> list[Object] | None:
    """What to scrape, with the permission to scrape Kueue, and the rules; None without the managed service."""
    if not observed.managed:
        return None
    objects = _kueue(plan) if plan.queueing.install else []
    if plan.queueing.dispatch:
        return objects
    rules = managed_object(
        plan.name,
        _API,
        "ClusterRules",
        f"gpuyard-{plan.name}",
        spec={"groups": rule_groups(plan)},
    )
    validator = [_validator(plan)] if textfile(plan) else []
    return [_exporter(plan, observed), _state_metrics(plan), *validator, *objects, rules]


def _exporter(plan: PlatformPlan, observed: ObservabilityPlan) -> Object:
    """The DCGM exporter: its own labels of pods become `exported_…`, because the target has them too."""
    seconds = observed.scrape_seconds
    endpoint = {
        "port": "metrics",
        "interval": f"{seconds}s",
        "timeout": f"{min(10, seconds)}s",
        "metricRelabeling": [DROP],
    }
    spec = {
        "selector": {"matchLabels": {"app": "nvidia-dcgm-exporter"}},
        "endpoints": [endpoint],
        "targetLabels": {"metadata": ["container", "node", "pod"]},
    }
    return _monitoring(plan, "PodMonitoring", DCGM, spec, operator_namespace(plan))


def _state_metrics(plan: PlatformPlan) -> Object:
    """kube-state-metrics: without labels of the target, its own labels keep their names."""
    keep = {
        "sourceLabels": ["__name__"],
        "regex": series_regex(plan, {STATE_METRICS}),
        "action": "keep",
    }
    named = {"app.kubernetes.io/name": STATE_METRICS, "app.kubernetes.io/instance": _RELEASE}
    spec: Object = {
        "selector": {"matchLabels": named},
        "endpoints": [{"port": _PORT, "interval": _SLOW, "metricRelabeling": [keep]}],
        "targetLabels": {"metadata": []},
    }
    return _monitoring(plan, "ClusterPodMonitoring", STATE_METRICS, spec)


def _validator(plan: PlatformPlan) -> Object:
    """The node exporter, which serves the file of the validator: its series name their own node."""
    spec: Object = {
        "selector": {"matchLabels": {"app.kubernetes.io/name": "prometheus-node-exporter"}},
        "endpoints": [{"port": _NODE_PORT, "interval": _SLOW, "metricRelabeling": [_OF_VALIDATOR]}],
        "targetLabels": {"metadata": []},
    }
    return _monitoring(plan, "PodMonitoring", "validator", spec, MONITORING_NAMESPACE)


def _kueue(plan: PlatformPlan) -> list[Object]:
    """Kueue serves metrics to accounts that may read them; the collectors present a token from a Secret."""
    space = {"namespace": KUEUE_NAMESPACE}
    token = managed_object(
        plan.name,
        "v1",
        "Secret",
        _READER,
        namespace=KUEUE_NAMESPACE,
        annotations={"kubernetes.io/service-account.name": _READER},
        type="kubernetes.io/service-account-token",
    )
    read = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    fetch = [
        {
            "apiGroups": [""],
            "resources": ["secrets"],
            "resourceNames": [_READER],
            "verbs": ["get", "list", "watch"],
        }
    ]
    spec = {
        "selector": {
            "matchLabels": {
                "app.kubernetes.io/name": KUEUE,
                "control-plane": "controller-manager",
            }
        },
        "endpoints": [
            {
                "port": _SECURE_PORT,
                "scheme": "https",
                "interval": _SLOW,
                "authorization": {
                    "type": "Bearer",
                    "credentials": {"secret": {"name": _READER, "key": "token"}},
                },
                "tls": {"insecureSkipVerify": True},
            }
        ],
        "targetLabels": {"metadata": ["pod"]},
    }
    return [
        service_account(plan.name, _READER, KUEUE_NAMESPACE),
        token,
        *_grant(plan, "ClusterRole", read, KUEUE_NAMESPACE, _READER, {}),
        *_grant(plan, "Role", fetch, GMP_NAMESPACE, GMP_COLLECTOR, space),
        _monitoring(plan, "PodMonitoring", KUEUE, spec, KUEUE_NAMESPACE),
    ]


def _grant(
    plan: PlatformPlan,
    kind: str,
    rules: list[Object],
    namespace: str,
    account: str,
    space: dict[str, Any],
) -> list[Object]:
    ref = {"apiGroup": RBAC, "kind": kind, "name": _READER}
    who = [{"kind": "ServiceAccount", "name": account, "namespace": namespace}]
    api = f"{RBAC}/v1"
    return [
        managed_object(plan.name, api, kind, _READER, **space, rules=rules),
        managed_object(
            plan.name, api, f"{kind}Binding", _READER, **space, roleRef=ref, subjects=who
        ),
    ]


def pod_monitoring(
    plan: PlatformPlan, observed: ObservabilityPlan, service: ServicePlan, name: str
) -> Object | None:
    """The pods of a service: its collectors set `job` to the name of the object."""
    if not observed.managed:
        return None
    endpoint = {
        "port": "http",
        "path": service.spec.metrics_path,
        "interval": f"{observed.scrape_seconds}s",
    }
    spec = {"selector": {"matchLabels": {SERVICE_LABEL: name}}, "endpoints": [endpoint]}
    space = service.namespace
    return managed_object(plan.name, _API, "PodMonitoring", name, namespace=space, spec=spec)


def _monitoring(
    plan: PlatformPlan, kind: str, name: str, spec: Object, namespace: str | None = None
) -> Object:
    return managed_object(plan.name, _API, kind, f"gpuyard-{name}", namespace=namespace, spec=spec)
