"""Google Cloud Managed Service for Prometheus: what its collectors scrape, and the rules that it evaluates.

Its collectors attach the node of a pod but no label of that node: the series of the DCGM exporter have no pool, and the
recording rules join it by the node. GKE's own packages of kube-state-metrics lack the labels of nodes and namespaces,
so gpuyard installs kube-state-metrics of its own. metrics.yaml has the objects.
"""

from pathlib import Path
from typing import Any

from gpuyard.plan.records import ObservabilityPlan, PlatformPlan, ServicePlan
from gpuyard.render.cloud.templates import filled
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
    KUEUE_NAMESPACE,
    MONITORING_NAMESPACE,
    SERVICE_LABEL,
)

_OBJECTS = Path(__file__).with_suffix(".yaml")
_READER = "gpuyard-metrics-reader"
"""The account whose token the collectors present to Kueue, its Secret and its roles."""


def metric_objects(plan: PlatformPlan, observed: ObservabilityPlan) -> list[Object] | None:
    """What to scrape, with the permission to scrape Kueue, and the rules; None without the managed service."""
    if not observed.managed:
        return None
    objects = _kueue(plan) if plan.queueing.install else []
    if plan.queueing.dispatch:
        return objects
    seconds, space = observed.scrape_seconds, operator_namespace(plan)
    timeout, series = min(10, seconds), series_regex(plan, {STATE_METRICS})
    spaces = {"namespace": MONITORING_NAMESPACE}
    return [
        _object(plan, DCGM, seconds=seconds, timeout=timeout, namespace=space, drop=DROP),
        _object(plan, STATE_METRICS, series=series),
        *([_object(plan, "validator", **spaces)] if textfile(plan) else []),
        *objects,
        _object(plan, "rules", platform=plan.name, groups=rule_groups(plan)),
    ]


def _kueue(plan: PlatformPlan) -> list[Object]:
    """Kueue serves metrics to accounts that may read them; the collectors present a token from a Secret."""
    names = ("token", "reader", "reader-binding", "token-reader", "token-reader-binding")
    values = {"kueue": KUEUE_NAMESPACE, "collector": GMP_COLLECTOR, "collectors": GMP_NAMESPACE}
    return [
        service_account(plan.name, _READER, KUEUE_NAMESPACE),
        *(_object(plan, f"kueue-{name}", **values) for name in names),
        _object(plan, "kueue", **values),
    ]


def pod_monitoring(
    plan: PlatformPlan, observed: ObservabilityPlan, service: ServicePlan, name: str
) -> Object | None:
    """The pods of a service."""
    if not observed.managed:
        return None
    return _object(
        plan,
        "service",
        name=name,
        namespace=service.namespace,
        label=SERVICE_LABEL,
        path=service.spec.metrics_path,
        seconds=observed.scrape_seconds,
    )


def _object(plan: PlatformPlan, key: str, **values: Any) -> Object:
    fields = {"api_version": "monitoring.googleapis.com/v1", **filled(_OBJECTS, key, **values)}
    return managed_object(plan.name, **fields)
