"""Values of a release that stand in files which it names, as Argo CD, Flux and kustomize take them.

Where each of them is in view, the release is judged with all its values; where one is not, what it lays over
the others is unknown.
"""

import posixpath
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

from gpuyard.errors import UsageError
from gpuyard.findings import Path
from gpuyard.lint.inside import OF_ARGO, of_parameter
from gpuyard.lint.items import Item
from gpuyard.lint.languages.hcl_values import overlaid
from gpuyard.manifests.fields import UNKNOWN, NotEvaluatedError, items, mapping, mappings, text
from gpuyard.rules.subjects.components import at_path, charts_at
from gpuyard.spec.yaml_tree import parse_documents

_FLUX = "helm.toolkit.fluxcd.io/HelmRelease"
_KUSTOMIZE = "kustomize.config.k8s.io/Kustomization"
_KEY = "values.yaml"
"""Under which Flux looks, where nothing else is said."""


@dataclass(frozen=True, slots=True)
class _View:
    """All that is in view, for who looks for a file."""

    names: Collection[str]
    text_of: Callable[[str], str]
    items: Sequence[Item]

    def values(self, file: str | None) -> Any:
        """Values in a file; UNKNOWN where it is not in view, or is something else."""
        return UNKNOWN if file is None else _parsed(self.text_of(file))


def of_repository(path: str, names: Collection[str]) -> str | None:
    """A file by its path from the top of a repository; None where it could be several."""
    found = [each for each in names if f"/{each}".endswith(f"/{path}")]
    return path if path in names else found[0] if len(found) == 1 else None


def with_named_values(
    found: Sequence[Item], names: Collection[str], text_of: Callable[[str], str]
) -> tuple[Item, ...]:
    """The same, releases with the values of the files that they name."""
    view = _View(names, text_of, found)
    return tuple(_laid(each, view) for each in found)


def _laid(item: Item, view: _View) -> Item:
    kind, properties = item.resource.group_kind, item.resource.properties
    if kind not in (_FLUX, _KUSTOMIZE, *OF_ARGO):
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
    kind: str, properties: Mapping[str, Any], base: Path, file: str, view: _View
) -> Mapping[str, Any]:
    """Its properties, with all values of the chart at a path in one place."""
    chart = mapping(at_path(properties, base))
    if kind == _FLUX:
        spec = mapping(properties, "spec")
        layers = [_of_config(mapping(each), view) for each in items(spec, "valuesFrom")]
        return _set(properties, ("spec",), "values", "valuesFrom", layers)
    if kind == _KUSTOMIZE:
        first = [chart.get("valuesFile"), *items(chart, "additionalValuesFiles")]
        folder = posixpath.dirname(file)
        paths = [posixpath.normpath(posixpath.join(folder, text(each))) for each in first if each]
        wins = chart.get("valuesMerge") in (None, "override")
        layers = [*map(view.values, paths), *([] if wins else [UNKNOWN])] if paths else []
        return _set(properties, base, "valuesInline", "valuesFile", layers)
    helm = mapping(chart, "helm")
    layers = [view.values(_of_argo(text(each), view)) for each in items(helm, "valueFiles")]
    written = [_parsed(text(helm, "values"))] if helm.get("values") else []
    over = [of_parameter(each) for each in mappings(helm, "parameters")]
    if not layers and not over:
        return properties
    own = [*written, mapping(helm, "valuesObject"), *over]
    made = {k: v for k, v in helm.items() if k not in ("values", "valueFiles", "parameters")}
    made["valuesObject"] = overlaid([*layers, *own], deep=True)
    return mapping(_put(properties, (*base, "helm"), made))


def _set(
    properties: Mapping[str, Any], path: Path, own: str, named: str, layers: Sequence[Any]
) -> Mapping[str, Any]:
    """With its own values over those of the layers, and nothing named any more."""
    if not layers:
        return properties
    there = mapping(at_path(properties, path))
    made = {k: v for k, v in there.items() if k not in (named, "additionalValuesFiles")}
    made[own] = overlaid([*layers, mapping(there, own)], deep=True)
    return mapping(_put(properties, path, made))


def _put(value: Any, path: Path, made: Any) -> Any:
    """The value with another one below it."""
    if not path:
        return made
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        return [_put(each, rest, made) if i == step else each for i, each in enumerate(value)]
    return {**value, step: _put(value[step], rest, made)}


def _of_argo(named: str, view: _View) -> str | None:
    """A file of another source, `$values/…`; those of the chart itself are not here."""
    if not named.startswith("$"):
        return None
    return of_repository(posixpath.normpath(named.partition("/")[2]), view.names)


def _of_config(given: Mapping[str, Any], view: _View) -> Any:
    """Of a ConfigMap in view, or of one that a kustomization makes of a file."""
    name, key = text(given, "name"), text(given, "valuesKey") or _KEY
    if given.get("kind") != "ConfigMap" or given.get("targetPath"):
        return UNKNOWN
    found = list(islice(_made(name, key, view), 2))
    return found[0]() if len(found) == 1 else UNKNOWN  # of two nobody knows which is meant


def _made(name: str, key: str, view: _View) -> Iterator[Callable[[], Any]]:
    """How to read each that may be meant: reading is what takes time, where all have one name."""
    for item in view.items:
        properties = item.resource.properties
        if item.resource.group_kind == "ConfigMap" and item.resource.name == name:
            yield partial(_parsed, text(mapping(properties, "data").get(key)))
        elif item.resource.group_kind == _KUSTOMIZE:
            folder = posixpath.dirname(item.place.file)
            for each in mappings(properties, "configMapGenerator"):
                for file in items(each, "files") if each.get("name") == name else ():
                    under, _, path = text(file).rpartition("=")
                    if (under or posixpath.basename(path)) == key:
                        yield partial(view.values, posixpath.normpath(posixpath.join(folder, path)))


def _parsed(written: str) -> Any:
    try:
        documents = parse_documents(written.encode(), "values") if written else []
    except (UsageError, UnicodeEncodeError):
        return UNKNOWN  # a template
    value = documents[0].value if len(documents) == 1 else UNKNOWN
    return value if isinstance(value, Mapping) else UNKNOWN
