"""PromQL queries in resources: alerts, dashboards, adapters and scalers."""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any

from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import at, is_true, items, mapping, text
from gpuyard_lint.rules.rule import Resource, Stack

RULE_FILES = "config:prometheus-rules"
ADAPTER = "config:prometheus-adapter"
OF_PODS = ("rules", "custom")
ADAPTER_RULES = (*OF_PODS, "externalRules", "external")
"""Lists of an adapter's configuration, and of the values of its chart."""
DASHBOARD = "config:grafana-dashboard"
ALERTS = "config:grafana-alerts"
COUNTERS = "config:dcgm-counters"
SCALERS = ("keda.sh/ScaledObject", "keda.sh/ScaledJob")
QUERY_KINDS = (RULE_FILES, ADAPTER, DASHBOARD, ALERTS, *SCALERS)
MONITOR = "monitoring.coreos.com/ServiceMonitor"
_ENDPOINTS = {
    MONITOR: "endpoints",
    "monitoring.coreos.com/PodMonitor": "podMetricsEndpoints",
    "monitoring.googleapis.com/PodMonitoring": "endpoints",
}
"""Scrape configurations and the path of honorLabels; Google's has none, and so never keeps labels."""
_SERVER = "monitoring.coreos.com/Prometheus"
_JOBS = "config:scrape-jobs"
_JOBS_AT = ("scrape_configs", "additionalScrapeConfigs")
_OF_EXPORTER = re.compile(r"dcgm|nvidia|gpu|:9400", re.IGNORECASE)
_ASKS = "prometheus_io_scrape"
"""An annotation that pods of any application can have."""
_MAY_SCRAPE = re.compile(rf"dcgm|nvidia|gpu|:9400|{_ASKS}", re.IGNORECASE)
"""Words in a scrape job that may be for the exporter."""
_EXPORTER = "dcgm-exporter"
_OF_WORK = frozenset({"pod", "namespace", "container"})
_EXPORTERS = ("values:gpu-operator", "nvidia.com/ClusterPolicy", "values:dcgm-exporter")
_MONITOR_AT: tuple[Path, ...] = (
    ("dcgmExporter", "serviceMonitor"),
    ("spec", "dcgmExporter", "serviceMonitor"),
    ("serviceMonitor",),
)


def queries(resource: Resource) -> Iterator[tuple[Path, str]]:
    """Every expression in a resource of QUERY_KINDS, and its path."""
    for path, value in _WHERE[resource.group_kind](resource):
        if query := text(value):
            yield path, query


def rule_words(resource: Resource, path: Path) -> str:
    """The name and the annotations of the rule with this expression; "" if it is not in a rule."""
    if resource.group_kind != RULE_FILES or path[-1] != "expr":
        return ""
    rule = mapping(at(resource.properties, *path[:-1]))
    annotations = mapping(rule, "annotations")
    named = (
        rule.get("record"),
        rule.get("alert"),
        *map(annotations.get, ("summary", "description")),
    )
    return "; ".join(text(each) for each in named if each)


_Found = Iterator[tuple[Path, object]]


def _of_rules(resource: Resource) -> _Found:
    for g, group in enumerate(items(resource.properties, "groups")):
        for r, rule in enumerate(items(group, "rules")):
            yield ("groups", g, "rules", r, "expr"), mapping(rule).get("expr")
        yield from _of_alerts(mapping(group), ("groups", g))


def _of_alerts(group: Mapping[str, Any], path: Path) -> _Found:
    """Grafana alerts: each has several queries, some of them arithmetic expressions."""
    for r, rule in enumerate(items(group, "rules")):
        yield from _of_alert(mapping(rule), (*path, "rules", r))


def _of_alert(rule: Mapping[str, Any], path: Path) -> _Found:
    for d, query in enumerate(items(rule, "data")):
        yield (*path, "data", d, "model", "expr"), mapping(query, "model").get("expr")


def _of_adapter(resource: Resource) -> _Found:
    for key in ADAPTER_RULES:
        for index, rule in enumerate(items(resource.properties.get(key))):
            for field in ("seriesQuery", "metricsQuery"):
                yield (key, index, field), mapping(rule).get(field)


def _of_panels(within: object, path: Path) -> _Found:
    for p, panel in enumerate(items(within, "panels")):
        here: Path = (*path, "panels", p)
        for t, target in enumerate(items(panel, "targets")):
            yield (*here, "targets", t, "expr"), mapping(target).get("expr")
        yield from _of_panels(panel, here)  # a row contains panels


def _of_scaler(resource: Resource) -> _Found:
    for index, trigger in enumerate(items(at(resource.properties, "spec", "triggers"))):
        if text(trigger, "type") == "prometheus":
            path: Path = ("spec", "triggers", index, "metadata", "query")
            yield path, mapping(trigger, "metadata").get("query")


_WHERE: Mapping[str, Callable[[Resource], _Found]] = {
    RULE_FILES: _of_rules,
    ADAPTER: _of_adapter,
    DASHBOARD: lambda resource: _of_panels(resource.properties, ()),
    ALERTS: lambda r: chain(_of_alerts(r.properties, ()), _of_alert(r.properties, ())),
    **dict.fromkeys(SCALERS, _of_scaler),
}


def recording_rules(stack: Stack) -> frozenset[str]:
    """Recording rule names of this stack: Prometheus itself serves them."""
    return frozenset(
        text(rule, "record")
        for resource in stack.resources_of_kinds(RULE_FILES)
        for group in items(resource.properties, "groups")
        for rule in items(group, "rules")
    )


def exporter_keeps_labels(stack: Stack) -> bool:
    """True if everything in the input keeps the exporter's labels: honorLabels.

    One job that does not, or may scrape the exporter without it, is enough for False.
    """
    own = [_of_own_monitor(resource) for resource in stack.resources_of_kinds(*_EXPORTERS)]
    scrape_settings = [*_monitored(stack), *_scraped(stack)]
    known = [each for each in (*own, *scrape_settings) if each is not None]
    makes = any(is_label_created(stack, f"exported_{label}") for label in _OF_WORK)
    makes |= any(
        is_true(at(each.properties, "spec", "overrideHonorLabels"))
        for each in stack.resources_of_kinds(_SERVER)
    )
    return bool(known) and all(known) and not makes


def _of_own_monitor(resource: Resource) -> bool | None:
    """Whether an exporter's own monitor keeps labels, by default it does not; None if it is disabled."""
    monitors = [mapping(at(resource.properties, *path)) for path in _MONITOR_AT]
    if any(is_true(each.get("honorLabels")) for each in monitors):
        return True
    exporters = (at(resource.properties, *path[:-1]) for path in _MONITOR_AT)
    off = any(mapping(each).get("enabled") is False for each in (*monitors, *exporters))
    return None if off else False


def _monitored(stack: Stack) -> Iterator[bool]:
    """For each endpoint of a monitor that selects the exporter by labels, whether it keeps labels.

    An endpoint that may be the exporter's counts only if it does not.
    """
    for kind, field in _ENDPOINTS.items():
        for monitor in stack.resources_of_kinds(kind):
            chosen = mapping(at(monitor.properties, "spec", "selector", "matchLabels"))
            certain = any(_EXPORTER in text(value) for value in chosen.values())
            for endpoint in items(at(monitor.properties, "spec", field)):
                keeps = is_true(mapping(endpoint).get("honorLabels"))
                if certain or (not keeps and _OF_EXPORTER.search(str(monitor.properties))):
                    yield keeps


def _scraped(stack: Stack) -> Iterator[bool]:
    """The same for each Prometheus job that scrapes the exporter or all annotated pods."""
    for job in _all_jobs(stack):
        words, keeps = str(job), is_true(job.get("honor_labels"))
        if _EXPORTER in words or (not keeps and _MAY_SCRAPE.search(words)):
            yield keeps


def honors_labels(stack: Stack) -> bool:
    """True if a monitor of the exporter keeps its labels: honorLabels, or no conflicting ones added."""
    # a job that keeps labels and scrapes all annotated objects, such as the operator's Service
    of_all = (job for job in _all_jobs(stack) if is_true(job.get("honor_labels")))
    if any(map(_leaves_labels, _jobs(stack))) or any(_ASKS in str(job) for job in of_all):
        return True
    for resource in stack.resources_of_kinds(*_EXPORTERS):
        if any(is_true(at(resource.properties, *path, "honorLabels")) for path in _MONITOR_AT):
            return True
    return any(
        is_true(mapping(endpoint).get("honorLabels"))
        for monitor in stack.resources_of_kinds(MONITOR)
        for endpoint in items(at(monitor.properties, "spec", "endpoints"))
    )


def is_scraped_here(stack: Stack) -> bool:
    """Whether the input shows how an exporter is scraped: otherwise the origin of its labels is unknown."""
    monitors = stack.resources_of_kinds(*_ENDPOINTS)
    return (
        bool(stack.resources_of_kinds(*_EXPORTERS))
        or any(_OF_EXPORTER.search(str(each.properties)) for each in monitors)
        or any(True for _ in _jobs(stack))
    )


def _jobs(stack: Stack) -> Iterator[Mapping[str, Any]]:
    """Prometheus jobs that scrape a GPU exporter, judged by their text."""
    return (job for job in _all_jobs(stack) if _OF_EXPORTER.search(str(job)))


def _all_jobs(stack: Stack) -> Iterator[Mapping[str, Any]]:
    for resource in stack.resources_of_kinds(_JOBS):
        for field in _JOBS_AT:
            yield from map(mapping, items(resource.properties.get(field)))


def _leaves_labels(job: Mapping[str, Any]) -> bool:
    """Prometheus renames a label of the exporter only if the job adds one with that name."""
    target_labels = {text(each, "target_label") for each in items(job, "relabel_configs")}
    return is_true(job.get("honor_labels")) or not target_labels & _OF_WORK


_RELABELINGS = ("relabelings", "metricRelabelings")


def is_label_created(stack: Stack, name: str) -> bool:
    """True if a monitor adds a label with this name to series, regardless of the exporter's labels."""
    places = [
        at(resource.properties, *path)
        for resource in stack.resources_of_kinds(*_EXPORTERS)
        for path in _MONITOR_AT
    ]
    for kind, field in _ENDPOINTS.items():
        for monitor in stack.resources_of_kinds(kind):
            places += items(at(monitor.properties, "spec", field))
    by_jobs = (
        text(each, "target_label") == name
        for job in _jobs(stack)
        for field in ("relabel_configs", "metric_relabel_configs")
        for each in items(job.get(field))
    )
    return any(by_jobs) or any(
        text(each, "targetLabel") == name
        for place in places
        for relabelings in _RELABELINGS
        for each in items(place, relabelings)
    )
