"""Resources inside resources: configuration in a ConfigMap, values in a release."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import UNKNOWN, NotEvaluatedError, mapping, mappings
from gpuyard_lint.app_template.objects import ChartRelease, app_template_objects
from gpuyard_lint.charts import chart_values_items
from gpuyard_lint.embedded import embedded_configuration, priority_expander_items, text_documents
from gpuyard_lint.items import FileLocation, Item, ReleasePart, SkippedFile
from gpuyard_lint.languages.bottlerocket import USER_DATA, sharing_settings
from gpuyard_lint.languages.eksctl import CLUSTER_CONFIG, cluster, node_groups
from gpuyard_lint.languages.hcl_values import merge_overlays
from gpuyard_lint.languages.helm_sets import nested_value, parse_set_value, steps_of
from gpuyard_lint.rules.subjects.components import (
    CHART_FIELDS,
    VALUES_BESIDE,
    VALUES_ELSEWHERE,
    accepts_other_values,
    at_path,
    chart_references,
)

_CONFIGURED = frozenset(
    {
        *("ConfigMap", "monitoring.coreos.com/PrometheusRule"),
        *(f"monitoring.googleapis.com/{kind}" for kind in ("Rules", "ClusterRules", "GlobalRules")),
        *(f"grafana.integreatly.org/Grafana{kind}" for kind in ("AlertRuleGroup", "Dashboard")),
    }
)
OF_ARGO = ("argoproj.io/Application", "argoproj.io/ApplicationSet")
_PARAMETERS = ("parameters", "fileParameters")
_BESIDE_PARAMETERS = ("values", "valuesObject", "valueFiles", "fileParameters")
_OF_PLUGIN = "config:device-plugin"
_KUSTOMIZE = "kustomize.config.k8s.io/Kustomization"
_NAME, _SPACE = ("metadata", "name"), ("metadata", "namespace")
_RELEASED_AS: Mapping[str, tuple[tuple[Path, ...], tuple[Path, ...]]] = {
    "helm.toolkit.fluxcd.io/HelmRelease": (
        (("spec", "releaseName"), _NAME),
        (("spec", "targetNamespace"), _SPACE),
    ),
    "helm.cattle.io/HelmChart": ((_NAME,), (("spec", "targetNamespace"), _SPACE)),
    "argoproj.io/Application": ((_NAME,), (("spec", "destination", "namespace"),)),
    "argoproj.io/ApplicationSet": ((), (("spec", "template", "spec", "destination", "namespace"),)),
    _KUSTOMIZE: ((("releaseName",),), (("namespace",),)),
    **dict.fromkeys(("helm:Release", "helm:Chart"), ((("name",),), (("namespace",),))),
}
"""By kind: the paths of a release's name and namespace; the first existing one counts."""
_AFTER_THE_CHART: tuple[Path, ...] = (("spec", "postRenderers"), ("postrender",))
"""Fields that change the objects of a chart, in Flux and in Terraform."""
_OTHERS = re.compile(r"(?<![a-z])(?:intel|amd|rocm|habana|gaudi|hami|volcano)(?![a-z])")
_OF_LABELS = re.compile(r"^(?!.*plugin).*(?:feature-discovery|\bgfd\b)")
"""Configuration for GPU Feature Discovery alone has fields of the device plugin, which does not read it."""


@dataclass(frozen=True, slots=True)
class _Parameter:
    """Fields that Argo CD passes to Helm as `--set`."""

    name: Path
    sets: Any
    position: tuple[int, int]


def with_embedded(item: Item) -> Iterator[Item]:
    """The item, and every resource inside it."""
    yield item
    yield from app_template_objects(item, ChartRelease())
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
    """The values of a release, and the objects that those of app-template describe."""
    kind, properties = item.resource.group_kind, item.resource.properties
    changed = any(at_path(properties, path) for path in _AFTER_THE_CHART)
    for base, to_chart, to_values in _charts(kind, properties):
        result = _values(
            at_path(properties, to_values), item, to_values, at_path(properties, to_chart)
        )
        result = (_in_its_release(each, item, base) for each in result)
        over = accepts_other_values(kind, properties, base)
        parameters = _helm_parameters(item, base) if kind in OF_ARGO else ()
        for each in map(_over_others, result) if over else result:
            yield each
            full_item, release = _with(each, parameters), _release(kind, properties, base)
            for described in () if changed else app_template_objects(full_item, release):
                yield replace(described, release=item.resource)


def _release(kind: str, properties: Mapping[str, Any], base: Path) -> ChartRelease:
    """The name and namespace of a release, as far as it sets them."""
    prefix = base if kind == _KUSTOMIZE else ()
    candidates = [
        [at_path(properties, (*prefix, *path)) for path in paths] for paths in _RELEASED_AS[kind]
    ]
    name, space = (
        next((each for each in result if isinstance(each, str)), "") for result in candidates
    )
    return ChartRelease(name, space)


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


def _in_its_release(item: Item, release: Item, base: Path) -> Item:
    """Values, with their release."""
    if not item.resource.kind.startswith("values:"):
        return item
    return replace(item, part=ReleasePart(release.resource, base))


def _over_others(item: Item) -> Item:
    """Values merged over others from elsewhere: keys not among them are unknown."""
    if not item.resource.kind.startswith("values:"):
        return item
    merged = merge_overlays([UNKNOWN, item.resource.properties], deep=True)
    return replace(item, resource=replace(item.resource, properties=merged))


def _helm_parameters(item: Item, base: Path) -> list[_Parameter]:
    """What an Application merges over the values of a chart."""
    try:
        helm = mapping(at_path(item.resource.properties, (*base, "helm")))
        return [
            _Parameter(
                *_set(each, field), item.place.position((*base, "helm", field, index, "value"))
            )
            for field in _PARAMETERS
            for index, each in enumerate(mappings(helm, field))
        ]
    except NotEvaluatedError:  # the charts are not known yet
        return [_Parameter((), UNKNOWN, (1, 1))]


def _set(parameter: Mapping[Any, Any], field: str) -> tuple[Path, Any]:
    """The name of a parameter, with its values; of a file outside the input they are unknown."""
    name = parameter.get("name")
    steps = steps_of(name, None)[0] if isinstance(name, str) and name else ()
    return steps, parameter_values(parameter) if field == _PARAMETERS[0] else nested_value(
        steps, UNKNOWN
    )


def _with(item: Item, parameters: Sequence[_Parameter]) -> Item:
    """Values with their overrides, located where each is set."""
    if not parameters or not item.resource.kind.startswith("values:"):
        return item
    layers = (item.resource.properties, *(each.sets for each in parameters))
    resource = replace(item.resource, properties=merge_overlays([*layers], deep=True))
    return replace(item, resource=resource, place=_told_at(item.place, parameters))


def _each_at_its_own(item: Item, base: Path) -> Item:
    """A release in which every parameter is located at its own line."""
    return replace(item, place=_told_at(item.place, _helm_parameters(item, base)))


def _told_at(place: FileLocation, parameters: Sequence[_Parameter]) -> FileLocation:
    return replace(place, override_positions={each.name: each.position for each in parameters})


def _parameters(item: Item) -> Iterator[Item]:
    """Parameters that Argo CD passes to Helm as `--set`, merged over all its values."""
    properties = item.resource.properties
    try:
        for base in chart_references(item.resource.group_kind, properties):
            helm = at_path(properties, (*base, "helm"))
            value = mappings(helm, "parameters") if isinstance(helm, Mapping) else []
            if value:
                merged = merge_overlays([parameter_values(each) for each in value], deep=True)
                path, chart = (*base, "helm", "parameters"), at_path(properties, (*base, "chart"))
                result = _values(merged, _each_at_its_own(item, base), path, chart)
                parts = (_in_its_release(each, item, base) for each in result)
                alone = not any(helm.get(key) for key in _BESIDE_PARAMETERS)
                yield from parts if alone else map(_over_others, parts)
    except NotEvaluatedError:
        return  # the parameters are not known yet


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
    try:
        results = list(chart_references(kind, properties)) if kind in VALUES_BESIDE else []
    except NotEvaluatedError:
        return  # their number is not known yet
    for path in results:
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
