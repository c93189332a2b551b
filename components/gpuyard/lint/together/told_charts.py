"""Values of which something in view says for which chart they are, whatever keys they have.

A release names its files of values (`$values/…` of Argo CD, `valuesFile` of kustomize) or a ConfigMap of them
(`valuesFrom` of Flux), as `helm_release` of Terraform does (`file`, `templatefile`), and a chart gives
another that it depends on a name of its own (`alias`).
"""

import posixpath
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpuyard.lint.charts import as_its_chart_has_it, knows, subcharts, values
from gpuyard.lint.embedded import text_documents
from gpuyard.lint.inside import OF_ARGO, with_inside
from gpuyard.lint.items import FilePlace, FilesRead, Item
from gpuyard.lint.layers.forms import told_files
from gpuyard.lint.layers.order import FLUX
from gpuyard.lint.layers.view import (
    KUSTOMIZE,
    LayersView,
    beside,
    config_named,
    documents_in,
    of_repository,
    parsed,
)
from gpuyard.lint.read import read
from gpuyard.manifests.fields import UNKNOWN, NotEvaluatedError, items, mapping, mappings, text
from gpuyard.rules.subjects.components import CHART_FIELDS, at_path, charts_at

_CHART = "Chart.yaml"
_OVER = ("values", "valuesObject", "parameters", "fileParameters")


def with_told_charts(
    found: FilesRead, said: Collection[str], names: Collection[str], text_of: Callable[[str], str]
) -> FilesRead:
    """The same, with values as what is told of their chart has them; of what is said already nothing."""
    charts = {
        file: chart
        for file, chart in _told(found, names, text_of).items()
        if file in names and file not in said
    }
    again = {file: read(text_of(file).encode(), file, chart) for file, chart in charts.items()}
    again = {file: each for file, each in again.items() if not each.unread}
    kept = [item for item in found.items if item.place.file not in again]
    more = [item for each in again.values() for item in each.items]
    told = (*_of_flux(kept), *_of_aliases(names, text_of))
    more += [each for item in told for each in with_inside(item)]
    read_now = {item.place.file for item in more} | set(again)
    unread = tuple(each for each in found.unread if each.file not in read_now)
    files = (*found.files, *(file for file in again if file not in found.files))
    return replace(found, items=(*kept, *more), unread=unread, files=files)


def _told(
    found: FilesRead, names: Collection[str], text_of: Callable[[str], str]
) -> dict[str, str]:
    """By file of values: the one chart that all who name it say."""
    told: dict[str, set[str]] = {}
    for release in found.handed:  # what it lays over them is looked at with it
        for file in release.files if release.chart else ():
            told.setdefault(file, set()).add(release.chart)
    view = LayersView(names, text_of, found.items)
    for item in found.items:
        for file, name in told_files(item, view):
            told.setdefault(file, set()).add(name)
        kind, properties = item.resource.group_kind, item.resource.properties
        if kind != KUSTOMIZE and kind not in OF_ARGO:
            continue
        try:
            for base in charts_at(kind, properties):
                chart = mapping(at_path(properties, base))
                name = text(chart, CHART_FIELDS.get(kind, "chart")).rpartition("/")[2]
                for file in _files(chart, name, item.place.file, names) if name else ():
                    told.setdefault(file, set()).add(name)
        except NotEvaluatedError:
            continue  # which charts or files there are, nobody knows
    return {file: min(charts) for file, charts in told.items() if len(charts) == 1}


def _files(chart: Mapping[Any, Any], name: str, file: str, names: Collection[str]) -> Iterator[str]:
    """Files of values that a kustomization, or a source of Argo CD, has for a chart.

    Of a chart that rules know only one that is all there is: what is laid over it may mend what it says, and
    is not known here.
    """
    helm = mapping(chart, "helm")
    given = [chart.get("valuesFile"), *items(chart, "additionalValuesFiles")]
    near = [beside(file, each) for each in given if isinstance(each, str)]
    listed = items(helm, "valueFiles")
    paths = [e.partition("/")[2] for e in listed if isinstance(e, str) and e.startswith("$")]
    found = [of_repository(posixpath.normpath(path), names) for path in paths]
    more = chart.get("valuesInline") or any(helm.get(key) for key in _OVER)
    alone = not more and len(near) + len(listed) == 1
    if alone or not knows(name):
        yield from (each for each in (*near, *found) if each is not None)


def _of_flux(found: Sequence[Item]) -> Iterator[Item]:
    """Values in the ConfigMap of a HelmRelease, where it takes no others."""
    configs: dict[str, list[Item]] = {}
    for item in found:
        if item.resource.group_kind == "ConfigMap":
            configs.setdefault(item.resource.name, []).append(item)
    for item in found:
        spec = item.resource.properties.get("spec")
        if item.resource.group_kind != FLUX or not isinstance(spec, Mapping):
            continue
        try:
            chart = text(spec, "chart", "spec", "chart").rpartition("/")[2]
            (given,) = mappings(spec, "valuesFrom") or ({},)
            named = config_named(given)
        except (NotEvaluatedError, ValueError):
            continue
        if chart and named and not spec.get("values"):
            yield from _in_config(*named, chart, configs)


def _in_config(
    name: str, key: str, chart: str, configs: Mapping[str, Sequence[Item]]
) -> Iterator[Item]:
    there = configs.get(name, ())
    if len(there) != 1:  # of two nobody knows which is meant
        return
    written = text(mapping(there[0].resource.properties, "data"), key)
    for document, inside in text_documents(written, there[0].place, ("data", key)):
        if isinstance(document.value, Mapping):
            yield from values(document.value, inside, chart)


def _of_aliases(names: Collection[str], text_of: Callable[[str], str]) -> Iterator[Item]:
    """Values of a chart that stand under the name that another chart, around it, gives it."""
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
                    # its own templates may read what the vendor's chart does not
                    yield (
                        replace(each, resource=as_its_chart_has_it(each.resource)) if own else each
                    )


def _under(aliases: Mapping[str, str], file: str, text_of: Callable[[str], str]) -> Iterator[Item]:
    for document in documents_in(text_of(file), file):
        below = {key: mapping(document.value).get(key) for key in aliases}
        yield from subcharts(below, FilePlace(file, document), aliases)


def _dependencies(chart: str) -> list[Mapping[Any, Any]]:
    """Those of a chart that has another name for one of them."""
    said = parsed(chart) if "alias" in chart else UNKNOWN
    return [] if said is UNKNOWN else mappings(said, "dependencies")
