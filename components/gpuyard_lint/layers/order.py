"""The order in which the values of one release are merged; the last wins.

Argo CD: files of values, `valuesObject` in place of `values`, parameters. Flux: `valuesFrom`, `values`.
kustomize: `valuesFile` with `valuesInline`, then `additionalValuesFiles`.
"""

import posixpath
from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import UNKNOWN, items, mapping, mappings, text
from gpuyard_lint.embedded_values import OF_ARGO, parameter_values
from gpuyard_lint.layers.sets import generated_release_parameters, render_elements
from gpuyard_lint.layers.view import (
    KUSTOMIZE,
    LayersView,
    ValuesLayer,
    parsed,
    repository_path,
    sibling_file,
)
from gpuyard_lint.rules.subjects.components import at_path

FLUX = "helm.toolkit.fluxcd.io/HelmRelease"
OVERLAY_ORDER = (FLUX, KUSTOMIZE, *OF_ARGO)
"""Kinds with a known order."""
_CHART, _VALUES = "Chart.yaml", "values.yaml"


def values_layers(
    kind: str, properties: Mapping[str, Any], base: Path, file: str, view: LayersView
) -> list[ValuesLayer]:
    """The values of the chart at a path of one release, the lowest first."""
    chart = mapping(at_path(properties, base))
    if kind == FLUX:
        spec = mapping(properties, "spec")
        under = [view.of_config(mapping(each)) for each in items(spec, "valuesFrom")]
        return [*under, ValuesLayer(mapping(spec, "values"), is_inline=True)]
    if kind == KUSTOMIZE:
        return list(_of_kustomize(chart, file, view))
    return list(argo_layers(chart, view))


def values_layers_by_release(
    kind: str, properties: Mapping[str, Any], base: Path, file: str, view: LayersView
) -> Iterator[list[ValuesLayer]]:
    """The same of each release that a set generates; a path that matches no file is unchanged."""
    if kind not in OF_ARGO[1:]:
        yield values_layers(kind, properties, base, file, view)
        return
    listed = [text(each) for each in items(at_path(properties, (*base, "helm", "valueFiles")))]
    for value in generated_release_parameters(properties, listed, view.names):
        chart = mapping(render_elements(at_path(properties, base), value))
        yield list(argo_layers(chart, view))


def _of_kustomize(chart: Mapping[Any, Any], file: str, view: LayersView) -> Iterator[ValuesLayer]:
    value, inline = (
        chart.get("valuesFile"),
        ValuesLayer(mapping(chart, "valuesInline"), is_inline=True),
    )
    first = (
        view.layer(sibling_file(file, text(value))) if value else ValuesLayer({}, is_inline=True)
    )
    wins = chart.get("valuesMerge")
    if not inline.value or wins in (None, "override"):
        yield from (first, inline)
    elif wins == "replace":
        yield from (ValuesLayer({}, first.file), inline)  # nothing of the file is used
    else:
        yield from (inline, first)
    for each in items(chart, "additionalValuesFiles"):
        yield view.layer(sibling_file(file, text(each)))


def argo_layers(chart: Mapping[Any, Any], view: LayersView) -> Iterator[ValuesLayer]:
    """The layers of one source of an Application, the lowest first."""
    helm, folder = mapping(chart, "helm"), folder_of(text(chart, "path"), view)
    if folder is not None:
        own = view.layer(posixpath.join(folder, _VALUES))
        yield from [own] if own.value is not UNKNOWN else []
    for each in items(helm, "valueFiles"):
        yield view.layer(_named(text(each), folder, view))
    values_object = mapping(helm, "valuesObject")
    if values_object:
        yield ValuesLayer(values_object, is_inline=True)
    elif helm.get("values"):
        yield ValuesLayer(parsed(text(helm, "values")), is_inline=True)
    for each in mappings(helm, "parameters"):
        yield ValuesLayer(parameter_values(each))
    for each in mappings(helm, "fileParameters"):
        yield ValuesLayer(parameter_values({**each, "value": UNKNOWN}))


def folder_of(path: str, view: LayersView) -> str | None:
    """The folder of a chart in the input, by its path in a repository."""
    clean = posixpath.normpath(path).strip("/") if path else ""
    result = repository_path(posixpath.join(clean, _CHART), view.names) if clean else None
    return None if result is None else posixpath.dirname(result)


def _named(value: str, folder: str | None, view: LayersView) -> str | None:
    """A file of another source, `$values/…`, or one of the chart itself."""
    if value.startswith("$"):
        return repository_path(posixpath.normpath(value.partition("/")[2]), view.names)
    if folder is None or "://" in value:
        return None
    if value.startswith("/"):
        return repository_path(posixpath.normpath(value.lstrip("/")), view.names)
    return posixpath.normpath(posixpath.join(folder, value))
