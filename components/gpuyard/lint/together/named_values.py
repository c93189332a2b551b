"""Values of a release that stand in files which it names, as Argo CD, Flux and kustomize take them.

Where each of them is in view, the release is judged with all its values; where one is not, what it lays over
the others is unknown.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from gpuyard.findings import Path
from gpuyard.lint.items import FilesRead, Item
from gpuyard.lint.languages.hcl_values import overlaid
from gpuyard.lint.layers.forms import as_whole, forms_of_files, is_whole, values_there
from gpuyard.lint.layers.order import FLUX, LAID, layers_of
from gpuyard.lint.layers.view import KUSTOMIZE, LayersView
from gpuyard.manifests.fields import NotEvaluatedError, mapping
from gpuyard.rules.rule import Resource
from gpuyard.rules.subjects.components import at_path, charts_at

_OF_KUSTOMIZE = ("valuesInline", "valuesFile", "additionalValuesFiles", "valuesMerge")
_OF_ARGO = ("values", "valueFiles", "parameters", "fileParameters")


def with_named_values(
    found: FilesRead, names: Collection[str], text_of: Callable[[str], str]
) -> FilesRead:
    """The same, releases with the values of the files that they name, and values as they are deployed."""
    view = LayersView(names, text_of, found.items)
    laid = [_laid(each, view) for each in found.items]
    releases = {id(each.resource): each.laid for each in laid if each.laid is not None}
    return replace(
        found,
        items=tuple(_in_its_release(each, releases) for each in laid),
        laid=forms_of_files(found.items, found.samples, view),
    )


def _in_its_release(item: Item, releases: Mapping[int, Resource]) -> Item:
    """Values in a release with all that it lays over and under them."""
    if item.part is None:
        return item
    release = releases.get(id(item.part.release), item.part.release)
    part = replace(item.part, release=release)
    there = values_there(part, item.place.file)
    if there is None:
        return replace(item, part=part)
    written = item.resource
    if is_whole(there):  # nothing under it is unknown
        written = replace(written, properties=as_whole(written.properties))
    same = is_whole(written.properties) and there == written.properties
    laid = None if same else replace(written, properties=there)
    return replace(item, resource=written, part=part, laid=laid)


def _laid(item: Item, view: LayersView) -> Item:
    kind, properties = item.resource.group_kind, item.resource.properties
    if kind not in LAID:
        return item
    try:
        for base in charts_at(kind, properties):
            properties = _with_values(kind, properties, base, item.place.file, view)
    except NotEvaluatedError:
        return item  # which charts there are, nobody knows
    if properties is item.resource.properties:
        return item
    return replace(item, laid=replace(item.resource, properties=properties))


def _with_values(
    kind: str, properties: Mapping[str, Any], base: Path, file: str, view: LayersView
) -> Mapping[str, Any]:
    """Its properties, with all values of the chart at a path in one place."""
    layers = layers_of(kind, properties, base, file, view)
    if all(each.own for each in layers):
        return properties  # it names none
    made = overlaid([each.value for each in layers], deep=True)
    if kind == FLUX:
        return _set(properties, ("spec",), ("valuesFrom",), {"values": made})
    if kind == KUSTOMIZE:
        return _set(properties, base, _OF_KUSTOMIZE, {"valuesInline": made})
    return _set(properties, (*base, "helm"), _OF_ARGO, {"valuesObject": made})


def _set(
    properties: Mapping[str, Any], path: Path, gone: Collection[str], own: Mapping[str, Any]
) -> Mapping[str, Any]:
    """With all its values in one place, and nothing named any more."""
    there = mapping(at_path(properties, path))
    made = {key: value for key, value in there.items() if key not in gone}
    return mapping(_put(properties, path, {**made, **own}))


def _put(value: Any, path: Path, made: Any) -> Any:
    """The value with another one below it."""
    if not path:
        return made
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        return [_put(each, rest, made) if i == step else each for i, each in enumerate(value)]
    return {**value, step: _put(value.get(step), rest, made)}
