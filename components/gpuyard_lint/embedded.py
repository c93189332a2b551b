"""Configuration inside other resources: MIG layouts in a ConfigMap, sharing in chart values, rules in a CR.

It is recognised by content, not by its key, because every guide nests it differently. Text with
YAML is parsed as YAML, and lines are those of the surrounding file.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpuyard_core.errors import UsageError
from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import at_path
from gpuyard_core.yaml_tree import Document, parse_documents
from gpuyard_lint.items import FileLocation, Item
from gpuyard_lint.kubernetes import is_object
from gpuyard_lint.kubernetes import resource as kubernetes_resource
from gpuyard_lint.rules.rule import Resource


def _device_plugin(value: Mapping[str, Any]) -> bool:
    own = {"sharing", "flags", "resources"}
    return value.get("version") == "v1" and bool(own & set(value)) and "mig-configs" not in value


def _listed(value: Mapping[str, Any], key: str, *each: str) -> bool:
    """True if a list is there and all its entries have one of these keys."""
    result = value.get(key)
    return (
        isinstance(result, list)
        and bool(result)
        and all(isinstance(one, Mapping) and any(name in one for name in each) for one in result)
    )


def _alert(value: Mapping[str, Any]) -> bool:
    """One rule of Grafana alerts, as in its API."""
    return isinstance(value.get("condition"), str) and _listed(value, "data", "refId")


_BY_USE = ("custom", "external")


def _adapts(value: Mapping[str, Any], key: str) -> bool:
    """The rules of an adapter in the values of its chart: by purpose."""
    return _listed(value, key, "seriesQuery", "metricsQuery")


JOBS = ("scrape_configs", "additionalScrapeConfigs")
"""Scrape jobs of a Prometheus, in its own configuration or the values of its charts."""
KINDS: tuple[tuple[str, Callable[[Mapping[str, Any]], bool]], ...] = (
    ("mig-parted", lambda value: isinstance(value.get("mig-configs"), dict)),
    ("device-plugin", _device_plugin),
    ("prometheus-rules", lambda value: _listed(value, "groups", "rules")),
    ("scrape-jobs", lambda value: any(_listed(value, each, "job_name") for each in JOBS)),
    ("prometheus-adapter", lambda value: _listed(value, "rules", "seriesQuery", "metricsQuery")),
    ("prometheus-adapter", lambda value: any(_adapts(value, each) for each in _BY_USE)),
    ("grafana-alerts", lambda value: _listed(value, "rules", "data")),
    ("grafana-alerts", _alert),
    ("grafana-dashboard", lambda value: _listed(value, "panels", "targets", "panels", "gridPos")),
)
"""The type of a mapping, by its content; the first match."""
_MARKS = (
    *("mig-configs:", "sharing:", "flags:", "groups:", "seriesQuery:", "apiVersion:"),
    *("scrape_configs:", '"panels"'),
)
"""Text without any of these contains no checked configuration."""
COUNTERS = "DCGM_"
"""Prefix of counter names."""
PRIORITIES = "cluster-autoscaler-priority-expander"
"""The ConfigMap that the priority expander reads, under any release."""


def has_configuration(value: Any) -> bool:
    """True for a file that is a configuration itself."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, Mapping) and _alert(each) for each in value)
    if not isinstance(value, Mapping):
        return False
    rules = value.get("rules")  # in the adapter's chart they are one level down
    below = isinstance(rules, Mapping) and any(_adapts(rules, each) for each in _BY_USE)
    # values of the chart of the Prometheus operator, alone or in another chart
    within = (value, value.get("kube-prometheus-stack"))
    specs = (at_path(each, ("prometheus", "prometheusSpec")) for each in within)
    known = (value, *(each for each in specs if isinstance(each, Mapping)))
    return below or any(fits(each) for each in known for _, fits in KINDS)


def embedded_configuration(value: Any, place: FileLocation) -> Iterator[Item]:
    """Every configuration below a value, including the value itself."""
    yield from _walk(value, place, ())


def _walk(value: Any, place: FileLocation, path: Path) -> Iterator[Item]:
    if isinstance(value, Mapping):
        kind = next((name for name, fits in KINDS if fits(value)), None)
        if kind is not None:
            name = str(path[-1]) if path else place.file
            yield Item(Resource(f"config:{kind}", name, value), _below(place, path))
            return
        for key, each in value.items():
            yield from _walk(each, place, (*path, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _walk(each, place, (*path, index))
    elif isinstance(value, str) and "\n" in value:
        if any(mark in value for mark in _MARKS):
            yield from _yaml(value, place, path)
        elif COUNTERS in value:
            yield from exporter_counters(value, str(path[-1]), _below(place, path))


def _yaml(text: str, place: FileLocation, path: Path) -> Iterator[Item]:
    name = str(path[-1]) if path else place.file
    for document, inside in text_documents(text, place, path):
        if is_object(document.value):
            yield Item(kubernetes_resource(document.value, place.file), inside)
            continue
        for item in embedded_configuration(document.value, inside):
            named = replace(item.resource, name=name) if not item.place.prefix else item.resource
            yield Item(named, item.place)


def text_documents(
    text: str, place: FileLocation, path: Path
) -> Iterator[tuple[Document, FileLocation]]:
    """The YAML documents of a text; text that is not YAML is prose or a script."""
    try:
        documents = parse_documents(text.encode(), place.file)
    except (UsageError, UnicodeEncodeError):
        return
    for document in documents:
        yield document, place.nested_in(path, document)


def exporter_counters(text: str, name: str, place: FileLocation) -> Iterator[Item]:
    """The list of counters of an exporter: one per line, other lines are text."""
    fields = [line.split(",")[0].strip() for line in text.splitlines()]
    names = [field for field in fields if field.startswith(COUNTERS)]
    if names:
        yield Item(Resource("config:dcgm-counters", name, {"fields": names}), place)


def _below(place: FileLocation, path: Path) -> FileLocation:
    return replace(place, prefix=(*place.prefix, *path))


def priority_expander_items(value: Mapping[str, Any], place: FileLocation) -> Iterator[Item]:
    """The configuration of the priority expander, if it is the ConfigMap that the expander reads."""
    path = ("data", "priorities")
    text = at_path(value, path)
    if at_path(value, ("metadata", "name")) != PRIORITIES or not isinstance(text, str):
        return
    for document, inside in text_documents(text, place, path):
        if isinstance(document.value, Mapping):
            yield Item(Resource("config:priority-expander", PRIORITIES, document.value), inside)
