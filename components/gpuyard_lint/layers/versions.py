"""Chart versions outside the release: in the dependencies of its chart, or in a list.

A folder that an Application deploys is a custom chart that wraps the vendor's, with its version in
`Chart.yaml`; an ApplicationSet has versions among the elements of its generator.
"""

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import UNKNOWN, NotEvaluatedError, mapping, mappings, text
from gpuyard_core.yaml_tree import Document
from gpuyard_lint.embedded_values import OF_ARGO
from gpuyard_lint.items import FileLocation, Item, LintInput
from gpuyard_lint.languages.hcl_values import merge_overlays
from gpuyard_lint.layers.order import FLUX, argo_layers, folder_of
from gpuyard_lint.layers.sets import elements_of, render_elements
from gpuyard_lint.layers.view import LayersView, ValuesLayer, documents_in, parsed
from gpuyard_lint.rules.rule import Resource
from gpuyard_lint.rules.subjects.components import at_path, chart_references

_RELEASE = "helm:Chart"
_FILES = frozenset({"GitRepository", "Bucket"})
_ELSEWHERE = re.compile(r"(?:https?|oci)://")


def with_releases_versioned_elsewhere(
    result: LintInput, names: Collection[str], text_of: Callable[[str], str]
) -> LintInput:
    """The same input, with each of these as a separate release, at its own line."""
    view = LayersView(names, text_of, result.items)
    more: dict[tuple[str, Path], Item] = {}
    for item in result.items:
        try:
            if item.place.file in result.example_files:
                continue
            for each in (*_of_elements(item, view), *_of_folders(item, view)):
                more.setdefault((each.place.file, each.place.prefix), each)
        except NotEvaluatedError:
            continue  # its source is not known yet
    return replace(result, items=(*result.items, *more.values()))


def _release(chart: str, version: str, values: Any, place: FileLocation) -> Item:
    properties = {"chart": chart, "version": version, "values": values}
    return Item(Resource(_RELEASE, chart, properties), place)


def _combined(layers: Iterable[ValuesLayer]) -> Any:
    return merge_overlays([each.value for each in layers], deep=True)


def _of_elements(item: Item, view: LayersView) -> Iterator[Item]:
    """For a set that lists its elements, if the template takes the version from the list."""
    kind, properties = item.resource.group_kind, item.resource.properties
    if kind != OF_ARGO[1] or _is_narrowed(properties):
        return
    for base in chart_references(kind, properties):
        source = mapping(at_path(properties, base))
        chart, version = text(source, "chart"), text(source, "targetRevision")
        for at, number, words in elements_of(properties) or () if "{{" in version else ():
            named = render_elements(chart, words).rpartition("/")[2]
            value = render_elements(version, words)
            key = next((key for key in words if render_elements(version, {key: ""}) != version), "")
            if named and "{{" not in f"{named}{value}":
                path: Path = ("spec", "generators", at, "list", "elements", number, *key.split("."))
                values = _combined(argo_layers(mapping(render_elements(source, words)), view))
                yield _release(named, value, values, _at(item.place, path))


def _is_narrowed(properties: Mapping[str, Any]) -> bool:
    """Whether a selector excludes elements, or a template changes some of them."""
    spec = mapping(properties, "spec")
    filters = [spec.get("templatePatch")]
    for each in mappings(spec, "generators"):
        filters += [each.get("selector"), mapping(each, "list").get("template")]
    return any(filters)


def _at(place: FileLocation, path: Path) -> FileLocation:
    """A place that is reported as one line."""
    return FileLocation(
        place.file, place.document, (*place.prefix, *path), fixed_position=place.position(path)
    )


def _of_folders(item: Item, view: LayersView) -> Iterator[Item]:
    """Versions of charts in a folder that a release deploys."""
    kind, properties = item.resource.group_kind, item.resource.properties
    if kind == FLUX:
        spec = mapping(properties, "spec", "chart", "spec")
        of_files = mapping(spec, "sourceRef").get("kind") in _FILES
        folder = folder_of(text(spec, "chart"), view) if of_files else None
        yield from _dependencies(folder, UNKNOWN, view)
    for base in chart_references(kind, properties) if kind in OF_ARGO else ():
        source = mapping(at_path(properties, base))
        folder = folder_of(text(source, "path"), view)
        yield from _dependencies(folder, _combined(argo_layers(source, view)), view)


def _dependencies(folder: str | None, values: Any, view: LayersView) -> Iterator[Item]:
    """The dependencies of a chart, at their locked versions; optional ones are omitted."""
    if folder is None:
        return
    file = posixpath.join(folder, "Chart.yaml")
    document = _document(view.text_of(file), file)
    locked = _locked(view.text_of(posixpath.join(folder, "Chart.lock")))
    for number, each in enumerate(mappings(document.value, "dependencies")):
        name, version = text(each, "name"), text(each, "version")
        elsewhere = _ELSEWHERE.match(text(each, "repository"))
        copied = view.text_of(posixpath.join(folder, "charts", name, "Chart.yaml"))
        if elsewhere and not copied and not each.get("condition") and not each.get("tags"):
            place = FileLocation(file, document, ("dependencies", number))
            own = values.get(name, {}) if isinstance(values, Mapping) else values
            yield _release(name, locked.get(name, version), own, place)


def _document(written: str, file: str) -> Document:
    documents = documents_in(written, file)
    return documents[0] if len(documents) == 1 else Document({}, {})


def _locked(written: str) -> dict[str, str]:
    """By name: the versions that `helm dependency update` has selected."""
    value = parsed(written)
    chosen = mappings(value, "dependencies") if isinstance(value, Mapping) else []
    return {text(each, "name"): text(each, "version") for each in chosen}
