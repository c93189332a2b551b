"""Values whose chart is known from another file in the input, with any keys.

A release names its files of values (`$values/…` of Argo CD, `valuesFile` of kustomize) or a ConfigMap of them
(`valuesFrom` of Flux), as `helm_release` of Terraform does (`file`, `templatefile`), and a chart may give
a dependency another name (`alias`).
"""

import posixpath
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpuyard_core.manifests.fields import UNKNOWN, NotEvaluatedError, items, mapping, mappings, text
from gpuyard_lint.charts import (
    chart_values_items,
    is_known_chart,
    keep_known_operator_values,
    subcharts,
)
from gpuyard_lint.embedded import text_documents
from gpuyard_lint.embedded_values import OF_ARGO, with_embedded
from gpuyard_lint.items import FileLocation, Item, LintInput
from gpuyard_lint.layers.order import FLUX
from gpuyard_lint.layers.values_variants import referenced_values_files
from gpuyard_lint.layers.view import (
    KUSTOMIZE,
    LayersView,
    documents_in,
    parsed,
    referenced_config_map,
    repository_path,
    sibling_file,
)
from gpuyard_lint.read import read
from gpuyard_lint.rules.subjects.components import CHART_FIELDS, at_path, chart_references

_CHART = "Chart.yaml"
_OVER = ("values", "valuesObject", "parameters", "fileParameters")


def resolve_chart_references(
    result: LintInput,
    known_charts: Collection[str],
    names: Collection[str],
    text_of: Callable[[str], str],
) -> LintInput:
    """The same input, with the chart of such values; values with a known chart are unchanged."""
    charts = {
        file: chart
        for file, chart in _chart_by_file(result, names, text_of).items()
        if file in names and file not in known_charts
    }
    again = {file: read(text_of(file).encode(), file, chart) for file, chart in charts.items()}
    again = {file: each for file, each in again.items() if not each.skipped}
    others = [item for item in result.items if item.place.file not in again]
    more = [item for each in again.values() for item in each.items]
    referenced = (*_of_flux(others), *_of_aliases(names, text_of))
    more += [each for item in referenced for each in with_embedded(item)]
    read_now = {item.place.file for item in more} | set(again)
    skipped = tuple(each for each in result.skipped if each.file not in read_now)
    files = (*result.files, *(file for file in again if file not in result.files))
    return replace(result, items=(*others, *more), skipped=skipped, files=files)


def _chart_by_file(
    result: LintInput, names: Collection[str], text_of: Callable[[str], str]
) -> dict[str, str]:
    """By values file: the one chart that all references name."""
    charts_by_file: dict[str, set[str]] = {}
    for release in result.values_overlays:  # its overrides are evaluated together with it
        for file in release.files if release.chart else ():
            charts_by_file.setdefault(file, set()).add(release.chart)
    view = LayersView(names, text_of, result.items)
    for item in result.items:
        for file, name in referenced_values_files(item, view):
            charts_by_file.setdefault(file, set()).add(name)
        kind, properties = item.resource.group_kind, item.resource.properties
        if kind != KUSTOMIZE and kind not in OF_ARGO:
            continue
        try:
            for base in chart_references(kind, properties):
                chart = mapping(at_path(properties, base))
                name = text(chart, CHART_FIELDS.get(kind, "chart")).rpartition("/")[2]
                for file in _files(chart, name, item.place.file, names) if name else ():
                    charts_by_file.setdefault(file, set()).add(name)
        except NotEvaluatedError:
            continue  # the charts or files are unknown
    return {file: min(charts) for file, charts in charts_by_file.items() if len(charts) == 1}


def _files(chart: Mapping[Any, Any], name: str, file: str, names: Collection[str]) -> Iterator[str]:
    """Values files that a kustomization, or a source of Argo CD, has for a chart.

    For a chart that rules know, only the sole file: values merged over it may fix a finding, and are
    unknown here.
    """
    helm = mapping(chart, "helm")
    values_files = [chart.get("valuesFile"), *items(chart, "additionalValuesFiles")]
    sibling_files = [sibling_file(file, each) for each in values_files if isinstance(each, str)]
    listed = items(helm, "valueFiles")
    paths = [e.partition("/")[2] for e in listed if isinstance(e, str) and e.startswith("$")]
    results = [repository_path(posixpath.normpath(path), names) for path in paths]
    more = chart.get("valuesInline") or any(helm.get(key) for key in _OVER)
    alone = not more and len(sibling_files) + len(listed) == 1
    if alone or not is_known_chart(name):
        yield from (each for each in (*sibling_files, *results) if each is not None)


def _of_flux(results: Sequence[Item]) -> Iterator[Item]:
    """Values in the ConfigMap of a HelmRelease, if it has no others."""
    configs: dict[str, list[Item]] = {}
    for item in results:
        if item.resource.group_kind == "ConfigMap":
            configs.setdefault(item.resource.name, []).append(item)
    for item in results:
        spec = item.resource.properties.get("spec")
        if item.resource.group_kind != FLUX or not isinstance(spec, Mapping):
            continue
        try:
            chart = text(spec, "chart", "spec", "chart").rpartition("/")[2]
            (value,) = mappings(spec, "valuesFrom") or ({},)
            named = referenced_config_map(value)
        except (NotEvaluatedError, ValueError):
            continue
        if chart and named and not spec.get("values"):
            yield from _in_config(*named, chart, configs)


def _in_config(
    name: str, key: str, chart: str, configs: Mapping[str, Sequence[Item]]
) -> Iterator[Item]:
    config_maps = configs.get(name, ())
    if len(config_maps) != 1:  # with two it is unknown which one applies
        return
    written = text(mapping(config_maps[0].resource.properties, "data"), key)
    for document, inside in text_documents(written, config_maps[0].place, ("data", key)):
        if isinstance(document.value, Mapping):
            yield from chart_values_items(document.value, inside, chart)


def _of_aliases(names: Collection[str], text_of: Callable[[str], str]) -> Iterator[Item]:
    """Values of a chart under the name that its parent chart gives it."""
    for chart in names:
        if posixpath.basename(chart) != _CHART:
            continue
        aliases = {
            text(each, "alias"): text(each, "name")
            for each in _dependencies(text_of(chart))
            if text(each, "alias") not in ("", text(each, "name"))
        }
        folder = posixpath.dirname(chart)
        templates = posixpath.join(folder, "templates", "")
        own = any(name.startswith(templates) for name in names) if aliases else False
        for file in sorted(names) if aliases else ():
            if posixpath.dirname(file) == folder and posixpath.basename(file).startswith("values"):
                for each in _under(aliases, file, text_of):
                    # its own templates may read keys that the vendor's chart does not have
                    yield (
                        replace(each, resource=keep_known_operator_values(each.resource))
                        if own
                        else each
                    )


def _under(aliases: Mapping[str, str], file: str, text_of: Callable[[str], str]) -> Iterator[Item]:
    for document in documents_in(text_of(file), file):
        below = {key: mapping(document.value).get(key) for key in aliases}
        yield from subcharts(below, FileLocation(file, document), aliases)


def _dependencies(chart: str) -> list[Mapping[Any, Any]]:
    """Values of a chart that renames one of its dependencies."""
    parsed_chart = parsed(chart) if "alias" in chart else UNKNOWN
    return [] if parsed_chart is UNKNOWN else mappings(parsed_chart, "dependencies")
