"""Kustomizations: the files that each deploys together, and its changes to their objects.

Simple fields are applied as kustomize does: inline patches, the namespace, name prefixes, labels and
`images`. What only a run of kustomize shows (replacements, generators, a remote base) is unknown:
findings hold without it.
"""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuyard_core.errors import UsageError
from gpuyard_core.manifests.fields import items, mapping, mappings, text
from gpuyard_core.yaml_tree import parse_documents
from gpuyard_lint.combined.changes import Change, ObjectPatch, kustomization_changes
from gpuyard_lint.items import FileLocation, Item, LintInput
from gpuyard_lint.rules.rule import Resource, group_kind

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
KUSTOMIZATION = "kustomize.config.k8s.io/v1beta1/Kustomization"
"""The marker of a file that omits the kind."""
KUSTOMIZATION_KINDS = frozenset({group_kind(KUSTOMIZATION), "kustomize.config.k8s.io/Component"})
FLUX = "kustomize.toolkit.fluxcd.io/Kustomization"
"""A Flux Kustomization, which deploys a folder and changes it: despite its name, not a kustomization."""
OPERATIONS = "config:json-patch"
"""A file of JSON Patch operations."""
_UNREAD = ({"op": "unread", "path": "/spec"},)
_LONGEST_PATH = 4096
_STRATEGIC = "patchesStrategicMerge"
_LISTS = ("resources", "bases", "crds", "configurations")


@dataclass(frozen=True, slots=True)
class Kustomization:
    """One kustomization, with resolved paths."""

    file: str
    folders: tuple[str, ...]
    """Its files and folders."""
    components: tuple[str, ...]
    patch_files: tuple[str, ...]
    changes: tuple[Change, ...]
    """Its changes to their objects, in order."""


def is_kustomization(value: Any, file: str) -> bool:
    """Whether a file with this name is a kustomization without a kind."""
    return isinstance(value, Mapping) and file.rpartition("/")[2] in NAMES


def kustomizations(reading: LintInput) -> dict[str, Kustomization]:
    """By folder."""
    of_files: dict[str, list[Item]] = {}
    for item in reading.items:
        of_files.setdefault(item.place.file, []).append(item)
    results: dict[str, Kustomization] = {}
    for item in reading.items:
        if item.resource.group_kind in KUSTOMIZATION_KINDS:
            folder = posixpath.dirname(item.place.file)
            results[folder] = _read(item, of_files)
    return results


def _read(item: Item, of_files: Mapping[str, Sequence[Item]]) -> Kustomization:
    file, value = item.place.file, item.resource.properties
    folder = posixpath.dirname(file)

    def there(names: Sequence[Any]) -> tuple[str, ...]:
        texts = (name for name in names if isinstance(name, str) and len(name) <= _LONGEST_PATH)
        return tuple(_path(folder, name) for name in texts)

    charts = mappings(value, "helmCharts")
    values = [chart.get("valuesFile") for chart in charts]
    values += [name for chart in charts for name in items(chart, "additionalValuesFiles")]
    referenced = [name for key in _LISTS for name in items(value, key)]
    strategic = [n for n in items(value, _STRATEGIC) if _is_file(n)]
    listed = [*mappings(value, "patches"), *mappings(value, "patchesJson6902")]
    patches, late = (list(_patches(item, key, of_files)) for key in ("patches", "patchesJson6902"))
    older: list[ObjectPatch] = []
    for each in items(value, _STRATEGIC):  # names of files, or inline text
        if _is_file(each):
            older += _of_objects(of_files.get(_path(folder, each), ()), None)
        elif isinstance(each, str):
            older += _inline_patches(each, None)
    return Kustomization(
        file=file,
        folders=there([*referenced, *values]),
        components=there(items(value, "components")),
        patch_files=there([*strategic, *(text(each, "path") for each in listed)]),
        changes=tuple(kustomization_changes(value, [*older, *patches], late)),
    )


def _path(folder: str, name: str) -> str:
    return posixpath.normpath(posixpath.join(folder, name))


def _is_file(name: Any) -> bool:
    """A reference, not an inline patch."""
    return isinstance(name, str) and "\n" not in name


def _patches(item: Item, key: str, of_files: Mapping[str, Sequence[Item]]) -> Iterator[ObjectPatch]:
    """Patches in separate files, and inline ones in the kustomization."""
    folder = posixpath.dirname(item.place.file)
    for each in items(item.resource.properties, key):
        target = mapping(each, "target") or None
        if patch := text(each, "patch"):
            yield from _inline_patches(patch, target)
        elif path := text(each, "path"):
            yield from _of_objects(of_files.get(_path(folder, path), ()), target)


def _of_objects(objects: Sequence[Item], target: Mapping[Any, Any] | None) -> Iterator[ObjectPatch]:
    for each in objects:
        if ":" not in each.resource.kind:
            yield ObjectPatch(target, each.resource.properties)
        elif each.resource.kind == OPERATIONS:
            done = tuple(each.resource.properties["operations"])
            yield ObjectPatch(target or {}, operations=done)


def is_json_patch(value: Any) -> bool:
    """True for a list of operations on one object (RFC 6902)."""
    return bool(mappings(value)) and all({"op", "path"} <= set(each) for each in mappings(value))


def json_patch_items(value: Any, place: FileLocation) -> Iterator[Item]:
    """Such a list, for the kustomization that references it."""
    yield Item(Resource(OPERATIONS, place.file, {"operations": value}), place)


def _inline_patches(written: str, target: Mapping[Any, Any] | None) -> Iterator[ObjectPatch]:
    """Patches in a text; after a template, the target of the patch is unknown."""
    try:
        documents = parse_documents(written.encode(), "a patch")
    except UsageError:
        if target is not None:
            yield ObjectPatch(target, operations=_UNREAD)
        return
    for document in documents:
        if is_json_patch(document.value):
            yield ObjectPatch(target or {}, operations=tuple(document.value))
        elif isinstance(document.value, Mapping):
            yield ObjectPatch(target, document.value)


def built_resource(resource: Resource, objects: tuple[Resource, ...]) -> Resource | None:
    """The resulting object: with its kind and name, or with a name that contains it."""
    same = [each for each in objects if each.group_kind == resource.group_kind]
    results = [each for each in same if each.name == resource.name]
    results = results or [each for each in same if resource.name in each.name]
    return results[0] if len(results) == 1 else None
