"""Values of a release in files that it names, as with Argo CD, Flux and kustomize.

If all files are in the input, the release is checked with all its values; if one is not, the values that
it would override are unknown.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import NotEvaluatedError, mapping
from gpuyard_lint.items import Item, LintInput
from gpuyard_lint.languages.hcl_values import merge_overlays
from gpuyard_lint.layers.order import FLUX, OVERLAY_ORDER, values_layers
from gpuyard_lint.layers.values_variants import (
    as_complete_values,
    is_complete_values,
    merged_release_values,
    values_variants,
)
from gpuyard_lint.layers.view import KUSTOMIZE, LayersView
from gpuyard_lint.rules.rule import Resource
from gpuyard_lint.rules.subjects.components import at_path, chart_references

_OF_KUSTOMIZE = ("valuesInline", "valuesFile", "additionalValuesFiles", "valuesMerge")
_OF_ARGO = ("values", "valueFiles", "parameters", "fileParameters")


def with_referenced_values(
    result: LintInput, names: Collection[str], text_of: Callable[[str], str]
) -> LintInput:
    """The same input: releases with the values of their files, and values as deployed."""
    view = LayersView(names, text_of, result.items)
    items_with_values = [_merged(each, view) for each in result.items]
    releases = {
        id(each.resource): each.merged_resource
        for each in items_with_values
        if each.merged_resource is not None
    }
    return replace(
        result,
        items=tuple(_in_its_release(each, releases) for each in items_with_values),
        values_variants=values_variants(result.items, result.example_files, view),
    )


def _in_its_release(item: Item, releases: Mapping[int, Resource]) -> Item:
    """Values in a release, merged with all layers over and under them."""
    if item.part is None:
        return item
    release = releases.get(id(item.part.release), item.part.release)
    part = replace(item.part, release=release)
    deployed = merged_release_values(part, item.place.file)
    if deployed is None:
        return replace(item, part=part)
    written = item.resource
    if is_complete_values(deployed):  # no unknown value is below it
        written = replace(written, properties=as_complete_values(written.properties))
    same = is_complete_values(written.properties) and deployed == written.properties
    deployed_resource = None if same else replace(written, properties=deployed)
    return replace(item, resource=written, part=part, merged_resource=deployed_resource)


def _merged(item: Item, view: LayersView) -> Item:
    kind, properties = item.resource.group_kind, item.resource.properties
    if kind not in OVERLAY_ORDER:
        return item
    try:
        for base in chart_references(kind, properties):
            properties = _with_values(kind, properties, base, item.place.file, view)
    except NotEvaluatedError:
        return item  # the charts are unknown
    if properties is item.resource.properties:
        return item
    return replace(item, merged_resource=replace(item.resource, properties=properties))


def _with_values(
    kind: str, properties: Mapping[str, Any], base: Path, file: str, view: LayersView
) -> Mapping[str, Any]:
    """Its properties, with all values of the chart at one path."""
    layers = values_layers(kind, properties, base, file, view)
    if all(each.is_inline for each in layers):
        return properties  # it names none
    merged = merge_overlays([each.value for each in layers], deep=True)
    if kind == FLUX:
        return _set(properties, ("spec",), ("valuesFrom",), {"values": merged})
    if kind == KUSTOMIZE:
        return _set(properties, base, _OF_KUSTOMIZE, {"valuesInline": merged})
    return _set(properties, (*base, "helm"), _OF_ARGO, {"valuesObject": merged})


def _set(
    properties: Mapping[str, Any], path: Path, removed: Collection[str], own: Mapping[str, Any]
) -> Mapping[str, Any]:
    """With all its values at one path, and without references."""
    section = mapping(at_path(properties, path))
    others = {key: value for key, value in section.items() if key not in removed}
    return mapping(_set_value(properties, path, {**others, **own}))


def _set_value(value: Any, path: Path, new: Any) -> Any:
    """The value with another one below it."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        return [_set_value(each, rest, new) if i == step else each for i, each in enumerate(value)]
    return {**value, step: _set_value(value.get(step), rest, new)}
