"""Kustomizations: which files one deploys together, and what becomes of their objects on the way.

What is plain is done as kustomize does it: the namespace, `images`, and patches written out. What only a run
of kustomize would tell (replacements, generators, a remote base) is unknown: findings hold without it.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gpuyard.lint.items import FilePlace, FilesRead, Item
from gpuyard.manifests.fields import UNKNOWN, items, mapping, mappings, text
from gpuyard.rules.rule import Resource, group_kind

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
KUSTOMIZATION = "kustomize.config.k8s.io/v1beta1/Kustomization"
"""Of a file that leaves it out."""
KUSTOMIZATION_KINDS = frozenset({group_kind(KUSTOMIZATION), "kustomize.config.k8s.io/Component"})
OPERATIONS = "config:json-patch"
"""A file of operations, as a patch has them."""
_LISTS = ("resources", "bases", "crds", "configurations")
_CLUSTER_WIDE = re.compile(r"Namespace$|Cluster[A-Z]\w*|ResourceFlavor$|PriorityClass$|NodePool$")
"""Kinds that a namespace is not given to; one more or less changes no verdict of a rule."""


@dataclass(frozen=True, slots=True)
class ObjectPatch:
    """A patch written out: fields of an object, or operations on one."""

    target: Mapping[Any, Any]
    fields: Mapping[Any, Any] = field(default_factory=dict[Any, Any])
    operations: tuple[Mapping[Any, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Kustomization:
    """One kustomization, its paths made out."""

    file: str
    folders: tuple[str, ...]
    """What it takes, files and folders alike."""
    components: tuple[str, ...]
    patch_files: tuple[str, ...]
    namespace: str
    images: tuple[Mapping[Any, Any], ...]
    patches: tuple[ObjectPatch, ...]
    replaced: tuple[tuple[Mapping[Any, Any], tuple[str, ...]], ...]
    """By what selects them: fields that are another object's."""


def is_kustomization(value: Any, file: str) -> bool:
    """Whether a file of this name is a kustomization, its kind left out."""
    return isinstance(value, Mapping) and file.rpartition("/")[2] in NAMES


def kustomizations(reading: FilesRead) -> dict[str, Kustomization]:
    """By folder."""
    of_files: dict[str, list[Item]] = {}
    for item in reading.items:
        of_files.setdefault(item.place.file, []).append(item)
    found: dict[str, Kustomization] = {}
    for item in reading.items:
        if item.resource.group_kind in KUSTOMIZATION_KINDS:
            folder = posixpath.dirname(item.place.file)
            found[folder] = _read(item.place.file, item.resource.properties, of_files)
    return found


def _read(
    file: str, given: Mapping[str, Any], of_files: Mapping[str, Sequence[Item]]
) -> Kustomization:
    folder = posixpath.dirname(file)

    def there(names: Sequence[Any]) -> tuple[str, ...]:
        return tuple(_path(folder, name) for name in names if isinstance(name, str))

    charts = mappings(given, "helmCharts")
    values = [name for chart in charts for name in _values_files(chart)]
    taken = [name for key in _LISTS for name in items(given, key)]
    strategic = [n for n in items(given, "patchesStrategicMerge") if _is_file(n)]
    listed = [*mappings(given, "patches"), *mappings(given, "patchesJson6902")]
    patch_files = there([*strategic, *(text(each, "path") for each in listed)])
    return Kustomization(
        file=file,
        folders=there([*taken, *values]),
        components=there(items(given, "components")),
        patch_files=patch_files,
        namespace=text(given, "namespace"),
        images=tuple(mappings(given, "images")),
        patches=tuple(_patches(folder, listed, there(strategic), of_files)),
        replaced=tuple(_replaced(given)),
    )


def _path(folder: str, name: str) -> str:
    return posixpath.normpath(posixpath.join(folder, name))


def _is_file(name: Any) -> bool:
    """Not a patch that stands there itself."""
    return isinstance(name, str) and "\n" not in name


def _values_files(chart: Mapping[Any, Any]) -> Iterator[Any]:
    yield chart.get("valuesFile")
    yield from items(chart, "additionalValuesFiles")


def _patches(
    folder: str,
    listed: Sequence[Mapping[Any, Any]],
    strategic: Sequence[str],
    of_files: Mapping[str, Sequence[Item]],
) -> Iterator[ObjectPatch]:
    """Those in files of their own, and those that stand in the kustomization as text."""
    for name in strategic:
        yield from _of_objects(of_files.get(name, ()), {})
    for each in listed:
        target = mapping(each, "target")
        inline = text(each, "patch")
        if inline:
            yield from _inline(inline, target)
        elif path := text(each, "path"):
            yield from _of_objects(of_files.get(_path(folder, path), ()), target)


def _of_objects(objects: Sequence[Item], target: Mapping[Any, Any]) -> Iterator[ObjectPatch]:
    for each in objects:
        if ":" not in each.resource.kind:
            yield ObjectPatch(target or _itself(each.resource.properties), each.resource.properties)
        elif each.resource.kind == OPERATIONS:
            yield ObjectPatch(target, operations=tuple(each.resource.properties["operations"]))


def is_operations(value: Any) -> bool:
    """True for a list of operations on one object (RFC 6902)."""
    return bool(mappings(value)) and all({"op", "path"} <= set(each) for each in mappings(value))


def operations(value: Any, place: FilePlace) -> Iterator[Item]:
    """Such a list, for the kustomization that takes it."""
    yield Item(Resource(OPERATIONS, place.file, {"operations": value}), place)


def _inline(written: str, target: Mapping[Any, Any]) -> Iterator[ObjectPatch]:
    from gpuyard.errors import UsageError
    from gpuyard.spec.yaml_tree import parse_documents

    try:
        documents = parse_documents(written.encode(), "a patch")
    except UsageError:
        return
    for document in documents:
        value = document.value
        if is_operations(value):
            yield ObjectPatch(target, operations=tuple(value))
        elif isinstance(value, Mapping):
            yield ObjectPatch(target or _itself(value), value)


def _itself(value: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """A patch without a target is for the object that it names."""
    return {"kind": text(value, "kind"), "name": text(value, "metadata", "name")}


def _replaced(given: Mapping[str, Any]) -> Iterator[tuple[Mapping[Any, Any], tuple[str, ...]]]:
    for each in mappings(given, "replacements"):
        for target in mappings(each, "targets"):
            fields = tuple(f for f in items(target, "fieldPaths") if isinstance(f, str))
            yield mapping(target, "select"), fields


def deployed(resource: Resource, chain: Sequence[Kustomization]) -> Resource | None:
    """The object as these kustomizations, the inner one first, deploy it; None where one takes it away."""
    if ":" in resource.kind:
        return resource
    value: Any = resource.properties
    for each in chain:
        value = _by_one(each, value)
        if value is None:
            return None
    return resource if value is resource.properties else replace(resource, properties=value)


def _by_one(by: Kustomization, value: Any) -> Any:
    for patch in by.patches:
        if _selects(patch.target, value):
            value = _patched(patch, value)
            if value is None:
                return None
    if by.images:
        value = _with_images(value, by.images)
    for select, fields in by.replaced:
        if _selects(select, value):
            for path in fields:
                value = _set(value, path.split("."), UNKNOWN)
    if by.namespace and not _CLUSTER_WIDE.search(_name(value, "kind")):
        value = _set(value, ["metadata", "namespace"], by.namespace)
    return value


def _selects(target: Mapping[Any, Any], value: Any) -> bool:
    """By kind and name, each a pattern of the whole; one by labels is taken to be meant."""
    return all(
        not text(target, key) or _matches(text(target, key), given)
        for key, given in (
            ("kind", _name(value, "kind")),
            ("name", _name(value, "metadata", "name")),
        )
    )


def _name(value: Any, *keys: str) -> str:
    """What is written there, "" for whatever is no text, or not known yet."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, str) else ""


def _matches(pattern: str, given: str) -> bool:
    try:
        return re.fullmatch(pattern, given) is not None
    except re.error:
        return pattern == given


def _patched(patch: ObjectPatch, value: Any) -> Any:
    for each in patch.operations:
        steps = [s.replace("~1", "/").replace("~0", "~") for s in text(each, "path").split("/")[1:]]
        gone = text(each, "op") == "remove"
        value = _without(value, steps) if gone else _set(value, steps, each.get("value", UNKNOWN))
    return merged(value, patch.fields) if patch.fields else value


def merged(value: Any, patch: Any) -> Any:
    """A strategic merge: mappings field by field, lists of named things by their names, the rest replaced."""
    if isinstance(value, Mapping) and isinstance(patch, Mapping):
        if patch.get("$patch") == "delete":
            return None
        both = {**value, **{key: merged(value.get(key), each) for key, each in patch.items()}}
        return {key: each for key, each in both.items() if each is not None}
    if _are_named(value) and _are_named(patch):
        more = {each["name"]: each for each in patch}
        same = [merged(each, more.pop(each["name"], {})) for each in value]
        return [*(each for each in same if each is not None), *more.values()]
    return patch


def _are_named(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(_name(each, "name") for each in value)


def _set(value: Any, steps: Sequence[str], new: Any) -> Any:
    """With something else at a place; the same where there is no such place."""
    if not steps:
        return new
    step, *rest = steps
    if isinstance(value, list):
        if step == "-":
            return [*value, new]
        if step.isdecimal():
            return [_set(e, rest, new) if i == int(step) else e for i, e in enumerate(value)]
        wanted = step.removeprefix("[name=").removesuffix("]")
        return [
            _set(each, rest, new) if wanted in {"*", _name(each, "name")} else each
            for each in value
        ]
    if not isinstance(value, Mapping) and value is not None:
        return value
    return {**(value or {}), step: _set((value or {}).get(step), rest, new)}


def _without(value: Any, steps: Sequence[str]) -> Any:
    step, *rest = steps or ("",)
    if isinstance(value, list) and step.isdecimal():
        if not rest:
            return [each for index, each in enumerate(value) if index != int(step)]
        return [_without(e, rest) if i == int(step) else e for i, e in enumerate(value)]
    if not isinstance(value, Mapping) or step not in value:
        return value
    if not rest:
        return {key: each for key, each in value.items() if key != step}
    return {**value, step: _without(value[step], rest)}


def _with_images(value: Any, images: Sequence[Mapping[Any, Any]]) -> Any:
    """Every `image` below, as `images` says it."""
    if isinstance(value, Mapping):
        return {
            key: _image(each, images)
            if key == "image" and isinstance(each, str)
            else _with_images(each, images)
            for key, each in value.items()
        }
    return [_with_images(each, images) for each in value] if isinstance(value, list) else value


def _image(written: str, images: Sequence[Mapping[Any, Any]]) -> str:
    bare, _, digest = written.partition("@")
    folder, slash, last = bare.rpartition("/")
    name, _, tag = last.partition(":")
    for each in images:
        if text(each, "name") == f"{folder}{slash}{name}":
            tag, digest = str(each.get("newTag") or tag), text(each, "digest") or digest
            at = f"@{digest}" if digest else ""
            return f"{text(each, 'newName') or text(each, 'name')}{f':{tag}' if tag else ''}{at}"
    return written


def made_of(resource: Resource, objects: tuple[Resource, ...]) -> Resource | None:
    """What became of an object: the one of its kind and name, or of a name with more around it."""
    same = [each for each in objects if each.group_kind == resource.group_kind]
    found = [each for each in same if each.name == resource.name]
    found = found or [each for each in same if resource.name in each.name]
    return found[0] if len(found) == 1 else None
