"""Resources inside resources: configuration in a ConfigMap, values in a release."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import UNKNOWN, NotEvaluatedError, at_path, if_known, mappings
from gpuyard_lint.charts import chart_values_items
from gpuyard_lint.embedded import embedded_configuration, priority_expander_items, text_documents
from gpuyard_lint.items import FileLocation, Item, SkippedFile
from gpuyard_lint.languages.bottlerocket import sharing_settings
from gpuyard_lint.languages.eksctl import CLUSTER_CONFIG, cluster, node_groups
from gpuyard_lint.languages.hcl_values import merge_overlays
from gpuyard_lint.languages.helm_sets import nested_value, parse_set_value, steps_of
from gpuyard_lint.rules.subjects.components import (
    CHART_FIELDS,
    VALUES_BESIDE,
    VALUES_ELSEWHERE,
    accepts_other_values,
    chart_references,
)
from gpuyard_lint.rules.subjects.pools import USER_DATA

_CONFIGURED = frozenset(
    {
        *("ConfigMap", "monitoring.coreos.com/PrometheusRule"),
        *(f"monitoring.googleapis.com/{kind}" for kind in ("Rules", "ClusterRules", "GlobalRules")),
        *(f"grafana.integreatly.org/Grafana{kind}" for kind in ("AlertRuleGroup", "Dashboard")),
    }
)
OF_ARGO = ("argoproj.io/Application", "argoproj.io/ApplicationSet")
_BESIDE_PARAMETERS = ("values", "valuesObject", "valueFiles", "fileParameters")
_OF_PLUGIN = "config:device-plugin"
_OTHERS = re.compile(r"(?<![a-z])(?:intel|amd|rocm|habana|gaudi|hami|volcano)(?![a-z])")
_OF_LABELS = re.compile(r"^(?!.*plugin).*(?:feature-discovery|\bgfd\b)")
"""Configuration for GPU Feature Discovery alone has fields of the device plugin, which does not read it."""


def with_embedded(item: Item) -> Iterator[Item]:
    """The item, and every resource inside it."""
    yield item
    kind, properties = item.resource.group_kind, item.resource.properties
    if kind in _CONFIGURED:
        of_labels = kind == "ConfigMap" and _OF_LABELS.search(item.resource.name)
        for each in embedded_configuration(properties, item.place):
            if not of_labels or each.resource.kind != _OF_PLUGIN:
                yield each
        yield from priority_expander_items(properties, item.place)
    if kind in USER_DATA and isinstance(text := at_path(properties, USER_DATA[kind]), str):
        yield from sharing_settings(text, item.place, USER_DATA[kind])
    if kind == CLUSTER_CONFIG:
        yield from node_groups(properties, item.place)
        yield from cluster(properties, item.place)
    if kind in OF_ARGO:
        yield from _parameters(item)
    if not _is_another_vendors(item):
        yield from _of_charts(item)


def _of_charts(item: Item) -> Iterator[Item]:
    """The values of a release."""
    kind, properties = item.resource.group_kind, item.resource.properties
    for base, to_chart, to_values in _charts(kind, properties):
        result = _values(
            at_path(properties, to_values), item, to_values, at_path(properties, to_chart)
        )
        over = accepts_other_values(kind, properties, base)
        yield from map(_over_others, result) if over else result


A_TEMPLATE_OF_VALUES = "values that are a template: their content depends on what fills it in"


def unread_embedded(item: Item) -> Iterator[SkippedFile]:
    """Values of a release that are not YAML before substitution, as in an ApplicationSet."""
    kind, properties = item.resource.group_kind, item.resource.properties
    for _, __, path in _charts(kind, properties):
        value = at_path(properties, path)
        if (
            isinstance(value, str)
            and "{{" in value
            and not [*text_documents(value, item.place, path)]
        ):
            line, _ = item.place.position(path)
            yield SkippedFile(item.place.file, A_TEMPLATE_OF_VALUES, line, template=True)


def _is_another_vendors(item: Item) -> bool:
    """A Flux chart outside the input is recognised by its values, unless its name is of another chart."""
    reference = at_path(item.resource.properties, ("spec", "chartRef", "name"))
    return isinstance(reference, str) and any(
        _OTHERS.search(name) for name in (reference, item.resource.name)
    )


def _over_others(item: Item) -> Item:
    """Values merged over others from elsewhere: keys not among them are unknown."""
    if not item.resource.kind.startswith("values:"):
        return item
    merged = merge_overlays([UNKNOWN, item.resource.properties], deep=True)
    return replace(item, resource=replace(item.resource, properties=merged))


def _parameters(item: Item) -> Iterator[Item]:
    """Parameters that Argo CD passes to Helm as `--set`, merged over all its values."""
    properties = item.resource.properties
    try:
        for base in chart_references(item.resource.group_kind, properties):
            helm = at_path(properties, (*base, "helm"))
            listed = mappings(helm, "parameters") if isinstance(helm, Mapping) else []
            if listed:
                merged = merge_overlays([parameter_values(each) for each in listed], deep=True)
                path, chart = (*base, "helm", "parameters"), at_path(properties, (*base, "chart"))
                result = _values(merged, _each_at_its_own(item, path, listed), path, chart)
                alone = not any(helm.get(key) for key in _BESIDE_PARAMETERS)
                yield from result if alone else map(_over_others, result)
    except NotEvaluatedError:
        return  # the parameters are not known yet


def _each_at_its_own(item: Item, path: Path, listed: Sequence[Mapping[Any, Any]]) -> Item:
    """A release in which every parameter is located at its own line."""
    positions = {
        steps_of(name, None)[0]: item.place.position((*path, index, "value"))
        for index, each in enumerate(listed)
        if isinstance(name := each.get("name"), str)
    }
    return replace(item, place=replace(item.place, override_positions=positions))


def parameter_values(parameter: Mapping[Any, Any]) -> Any:
    """One parameter as values; UNKNOWN if its name or value is unknown."""
    name, value = parameter.get("name"), parameter.get("value")
    if not isinstance(name, str) or not name:
        return UNKNOWN
    forced = parameter.get("forceString") is True
    return nested_value(*steps_of(name, value if forced else parse_set_value(value)))


def _charts(kind: str, properties: Mapping[str, Any]) -> Iterator[tuple[Path, Path, Path]]:
    """The path of each chart, its name and its values."""
    if kind in VALUES_ELSEWHERE:
        yield ((), *VALUES_ELSEWHERE[kind])
    for path in if_known(chart_references(kind, properties)) if kind in VALUES_BESIDE else ():
        # in an Application the text counts only without an object of values
        has_values_object = (
            kind in OF_ARGO and at_path(properties, (*path, "helm", "valuesObject")) is not None
        )
        for below in VALUES_BESIDE[kind][: 1 if has_values_object else None]:
            yield path, (*path, CHART_FIELDS.get(kind, "chart")), (*path, *below)


def _values(value: Any, item: Item, path: Path, chart: Any) -> Iterator[Item]:
    """Values as a mapping, as text, or as the list of texts of Terraform's helm_release."""
    name = str(chart).rpartition("/")[2] if isinstance(chart, str) else None
    if isinstance(value, Mapping):
        below = replace(
            item.place, prefix=(*item.place.prefix, *path), pulumi_name=None, to_document_name=None
        )
        yield from chart_values_items(value, below, name)
    elif isinstance(value, str):
        yield from _text(value, item.place, path, name)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _values(each, item, (*path, index), chart)


def _text(text: str, place: FileLocation, path: Path, chart: str | None) -> Iterator[Item]:
    for document, inside in text_documents(text, place, path):
        if isinstance(document.value, Mapping):
            yield from chart_values_items(document.value, inside, chart)
