"""What a kustomization changes of an object, one change after the other, in the order of kustomize.

Patches, the namespace, namePrefix and nameSuffix, labels and annotations, `images`; what another object gives
(replacements) is unknown. Which fields labels and images go to is as kustomize's own configuration has it.
"""

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from gpuyard.findings import Path
from gpuyard.lint.combined.patching import (
    apply_json_patch,
    name_at,
    pointer_steps,
    strategic_merge,
    with_set,
)
from gpuyard.lint.items import FileLocation
from gpuyard.manifests.fields import UNKNOWN, items, mapping, mappings, text

_CLUSTER_WIDE = re.compile(r"Namespace$|Cluster[A-Z]\w*|ResourceFlavor$|PriorityClass$|NodePool$")
"""Kinds that a namespace is not given to; one more or less changes no verdict of a rule."""
_NEVER_RENAMED = frozenset({"Namespace", "CustomResourceDefinition", "APIService"})
_REPEATS = re.compile(r"[*+?{]")
_REPEATS_GROUP = re.compile(r"\)[*+?{]|\\\d")
_PLAIN = re.compile(r"[\w-]*")
"""A pattern that matches itself alone."""
_MOST_REPEATS = 2
"""Python goes back over each: of three, the time grows with the cube of a name."""
_OWN_GROUPS = re.compile(r"(apps|batch|autoscaling|policy|([\w-]+\.)+k8s\.io)/|v1$")
"""Groups that kustomize knows the schemas of; in other kinds a patch replaces a list as a whole."""
_PODS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet", "ReplicationController", "Job"),
        ("spec", "template"),
    ),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
}
"""Where kinds that kustomize knows have the template of their pods."""
_SELECTORS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet"),
        ("spec", "selector", "matchLabels"),
    ),
    "Service": ("spec", "selector"),
    "ReplicationController": ("spec", "selector"),
}
_SELECTORS_THERE: Mapping[str, tuple[str, ...]] = {
    "Job": ("spec", "selector", "matchLabels"),
    "PodDisruptionBudget": ("spec", "selector", "matchLabels"),
    "NetworkPolicy": ("spec", "podSelector", "matchLabels"),
}
"""Selectors that get a label only where they have one."""
_CONTAINERS = frozenset({"containers", "initContainers"})


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """An object on its way, and the names that it had: patches and references may use any of them."""

    value: Any
    names: tuple[str, ...]

    @property
    def kind(self) -> str:
        """Its kind, without the group."""
        return name_at(self.value, "kind")


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that a kustomization does to objects, and where it says so."""

    place: FileLocation
    path: Path
    apply: Callable[[ObjectVersion], ObjectVersion | None]
    """What becomes of an object; None where it is taken away."""
    matches: Callable[[ObjectVersion], bool | None] = lambda _: True
    """Whether it is meant; None where only a run of kustomize tells."""
    key: tuple[str, str] = ("", "")
    """The kind and the name of all objects that it may select; "" for any."""
    is_certain: bool = True
    """Whether all of what it does is known here."""
    object_path: Callable[[Any, Path], Path] = lambda _, __: ()
    """Where below its path it says what stands at a path of an object that it has changed."""
    image: str = ""
    """The image that an entry of `images` is about."""
    stage: int = 0
    """When kustomize does it: what two say of one kustomization is done in this order."""
    deployer_file: str = ""
    """Who deploys with it, where that is not the kustomization itself."""


@dataclass(frozen=True, slots=True)
class ObjectPatch:
    """A patch written out: fields of an object, or operations on one."""

    place: FileLocation
    path: Path
    target: Mapping[Any, Any] | None
    """What it is for; None for the object that it names itself."""
    fields: Mapping[Any, Any] = field(default_factory=dict[Any, Any])
    operations: tuple[Mapping[Any, Any], ...] = ()


def kustomization_changes(
    kustomization: Mapping[str, Any],
    place: FileLocation,
    patches: Iterable[ObjectPatch],
    late: Iterable[ObjectPatch],
) -> Iterator[Change]:
    """What a kustomization does, in the order in which kustomize does it; `late` are patchesJson6902."""
    stages = (
        map(_patch, patches),
        _named(kustomization, place),
        map(_patch, late),
        _images(kustomization, place),
        _replacements(kustomization, place),
    )
    for stage, changes in enumerate(stages):
        yield from (replace(each, stage=stage) for each in changes)


def _named(kustomization: Mapping[str, Any], place: FileLocation) -> Iterator[Change]:
    if namespace := text(kustomization, "namespace"):
        yield Change(place, ("namespace",), lambda form: _in_namespace(form, namespace))
    if not _has_own_configuration(kustomization):
        yield from _names(kustomization, place)
    yield from _labels(kustomization, place)


def _images(kustomization: Mapping[str, Any], place: FileLocation) -> Iterator[Change]:
    for index, each in enumerate(mappings(kustomization, "images")):
        if not text(each, "name"):
            continue  # no image is called so
        key = next((k for k in ("newTag", "digest", "newName") if each.get(k)), "name")
        yield Change(place, ("images", index, key), _does_images(each), image=text(each, "name"))


def _replacements(kustomization: Mapping[str, Any], place: FileLocation) -> Iterator[Change]:
    for index, select, fields in _replaced(kustomization):
        where = ("replacements", index)
        does, selects = _does_unknown(fields), _selected_by(select)
        yield Change(place, where, does, selects, _key(select), is_certain=False)


def _has_own_configuration(kustomization: Mapping[str, Any]) -> bool:
    """Whether it says itself what refers to names, or has programs of its own that change objects."""
    return any(kustomization.get(key) for key in ("configurations", "transformers", "crds"))


def _in_namespace(form: ObjectVersion, namespace: str) -> ObjectVersion:
    if _CLUSTER_WIDE.search(form.kind):
        return form
    return replace(form, value=with_set(form.value, ["metadata", "namespace"], namespace))


def _names(kustomization: Mapping[str, Any], place: FileLocation) -> Iterator[Change]:
    for key in ("namePrefix", "nameSuffix"):
        if part := text(kustomization, key):
            yield Change(place, (key,), _does_name(part, before=key == "namePrefix"))


def _does_name(part: str, *, before: bool) -> Callable[[ObjectVersion], ObjectVersion]:
    def does(form: ObjectVersion) -> ObjectVersion:
        name = name_at(form.value, "metadata", "name")
        if form.kind in _NEVER_RENAMED or not name:
            return form
        new = f"{part}{name}" if before else f"{name}{part}"
        return ObjectVersion(with_set(form.value, ["metadata", "name"], new), (*form.names, new))

    return does


def _labels(kustomization: Mapping[str, Any], place: FileLocation) -> Iterator[Change]:
    for index, each in enumerate(mappings(kustomization, "labels")):
        selectors = each.get("includeSelectors") is True
        templates = selectors or each.get("includeTemplates") is True
        does = _does_labels(mapping(each, "pairs"), templates=templates, selectors=selectors)
        yield Change(place, ("labels", index, "pairs"), does)
    if common := mapping(kustomization, "commonLabels"):
        yield Change(place, ("commonLabels",), _does_labels(common, templates=True, selectors=True))
    if notes := mapping(kustomization, "commonAnnotations"):
        yield Change(place, ("commonAnnotations",), lambda form: _with_more(form, notes))


def _does_labels(
    pairs: Mapping[Any, Any], *, templates: bool, selectors: bool
) -> Callable[[ObjectVersion], ObjectVersion]:
    def does(form: ObjectVersion) -> ObjectVersion:
        value = _with_pairs(form.value, ("metadata", "labels"), pairs)
        if templates and form.kind in _PODS:
            value = _with_pairs(value, (*_PODS[form.kind], "metadata", "labels"), pairs)
        return replace(form, value=_selecting(value, form.kind, pairs) if selectors else value)

    return does


def _with_more(form: ObjectVersion, notes: Mapping[Any, Any]) -> ObjectVersion:
    value = _with_pairs(form.value, ("metadata", "annotations"), notes)
    if form.kind in _PODS:
        value = _with_pairs(value, (*_PODS[form.kind], "metadata", "annotations"), notes)
    return replace(form, value=value)


def _with_pairs(value: Any, path: Sequence[str], pairs: Mapping[Any, Any]) -> Any:
    for key, each in pairs.items():
        value = with_set(value, [*path, str(key)], each)
    return value


def _selecting(value: Any, kind: str, pairs: Mapping[Any, Any]) -> Any:
    if kind == "Service" and name_at(value, "apiVersion") != "v1":
        return value  # Knative's
    selector_path = _SELECTORS_THERE.get(kind, ())
    if selector_path and _at(value, selector_path):
        return _with_pairs(value, selector_path, pairs)
    return _with_pairs(value, _SELECTORS[kind], pairs) if kind in _SELECTORS else value


def _at(value: Any, path: Sequence[str]) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


# ── patches ──


def _patch(patch: ObjectPatch) -> Change:
    known = {"add", "replace", "remove", "test"}
    return Change(
        patch.place,
        patch.path,
        lambda form: _patched(patch, form),
        _selector(patch),
        _key_of(patch),
        all(text(each, "op") in known for each in patch.operations),
        lambda value, path: _in_patch(patch, value, path),
    )


def _in_patch(patch: ObjectPatch, value: Any, path: Path) -> Path:
    """Where a patch says what stands at a path: things of lists are found by their names."""
    if patch.operations:
        return _in_operations(patch.operations, path)
    here: Any = patch.fields
    results: list[str | int] = []
    for step in path:
        value = _below(value, step)
        own = _named_so(here, name_at(value, "name")) if isinstance(step, int) else step
        here = _below(here, own)
        if here is None:
            break
        results.append(own)
    return tuple(results)


def _named_so(listed: Any, name: str) -> int:
    """Where in a list of a patch the thing of this name is."""
    named = [name_at(each, "name") for each in listed] if isinstance(listed, list) else []
    return named.index(name) if name in named else len(named)


def _in_operations(operations: Sequence[Mapping[Any, Any]], path: Path) -> Path:
    """The value of the last one that is about the same: it leads to the place, or to what is around it."""
    steps_of_path = [str(step) for step in path]
    best, most = 0, -1
    for index, each in enumerate(operations):
        steps = pointer_steps(text(each, "path"))
        same = next(
            (i for i, (a, b) in enumerate(zip(steps, steps_of_path, strict=False)) if a != b),
            len(steps),
        )
        if same >= most:
            best, most = index, same
    return (best, "value", *path[most:])


def _below(value: Any, step: str | int) -> Any:
    if isinstance(step, int):
        return value[step] if isinstance(value, list) and step < len(value) else None
    return value.get(step) if isinstance(value, Mapping) else None


def _patched(patch: ObjectPatch, form: ObjectVersion) -> ObjectVersion | None:
    value = form.value
    for operation in patch.operations:
        value = apply_json_patch(value, operation)
    if patch.fields:
        value = _merged_object(value, patch.fields)
    if value is None:
        return None
    return (
        replace(form, value=value) if isinstance(value, Mapping) else form
    )  # kustomize refuses it


def _merged_object(value: Any, fields: Mapping[Any, Any]) -> Any:
    """What an object is, and what it is called, a strategic patch never changes."""
    merged = strategic_merge(
        value, fields, schema=bool(_OWN_GROUPS.match(name_at(value, "apiVersion")))
    )
    if not isinstance(merged, Mapping):
        return merged
    merged = {**merged, **{key: value[key] for key in ("apiVersion", "kind") if key in value}}
    for key in ("name", "namespace"):
        if own := name_at(value, "metadata", key):
            merged = with_set(merged, ["metadata", key], own)
    return merged


def _selector(patch: ObjectPatch) -> Callable[[ObjectVersion], bool | None]:
    if patch.target is not None:
        return _selected_by(patch.target)
    kind, name = text(patch.fields, "kind"), text(patch.fields, "metadata", "name")
    group = _group(patch.fields)

    def selects(form: ObjectVersion) -> bool:
        same = kind in {"", form.kind} and group in {None, _group(form.value)}
        return same and (not name or name in form.names)

    return selects


def _key_of(patch: ObjectPatch) -> tuple[str, str]:
    if patch.target is not None:
        return _key(patch.target)
    return text(patch.fields, "kind"), text(patch.fields, "metadata", "name")


def _key(target: Mapping[Any, Any]) -> tuple[str, str]:
    """The kind and the name of a target, "" for a pattern and for all after it."""
    kind, name = text(target, "kind"), text(target, "name")
    if not _PLAIN.fullmatch(kind):
        return "", ""
    return kind, name if _PLAIN.fullmatch(name) else ""


def _group(value: Any) -> str | None:
    """The group of an object, "" for Kubernetes' own; None where it says none."""
    version = name_at(value, "apiVersion")
    return version.rpartition("/")[0] if version else None


def _selected_by(target: Mapping[Any, Any]) -> Callable[[ObjectVersion], bool | None]:
    """By what it is, each a pattern of the whole, and by labels."""
    keys = ("kind", "name", "group", "version", "namespace")
    fits = {key: _pattern(wanted) for key in keys if (wanted := text(target, key))}
    selectors = {f"{what}s": text(target, f"{what}Selector") for what in ("label", "annotation")}

    def selects(form: ObjectVersion) -> bool | None:
        group, _, version = name_at(form.value, "apiVersion").rpartition("/")
        names = {"kind": (form.kind,), "name": form.names, "group": (group,), "version": (version,)}
        for key, value in names.items():
            results = {fits[key](each) for each in value} if key in fits else {True}
            if True not in results:
                return None if None in results else False
        space = name_at(form.value, "metadata", "namespace") or "default"
        if "namespace" in fits and not fits["namespace"](space):
            return None  # it may have had another on its way
        results = {
            _has(selector, _at(form.value, ("metadata", what)))
            for what, selector in selectors.items()
        }
        return False if False in results else None if None in results else True

    return selects


def _has(selector: str, labels: Any) -> bool | None:
    """Whether labels are as a selector wants them; None for one that is not read here."""
    result = labels if isinstance(labels, Mapping) else {}
    for each in filter(None, (part.strip() for part in selector.split(","))):
        plain = re.fullmatch(r"([\w./-]+)\s*(?:(==?|!=)\s*([\w.-]*))?", each)
        if plain is None:
            return None
        key, sign, value = plain.groups()
        label_value = result.get(key)
        if key not in result if sign is None else (label_value == value) is (sign == "!="):
            return False
    return True


def _pattern(pattern: str) -> Callable[[str], bool | None]:
    """Whether a name is as kustomize's pattern wants it; None for a pattern that Python may try for ever."""
    if _REPEATS_GROUP.search(pattern) or len(_REPEATS.findall(pattern)) > _MOST_REPEATS:
        return lambda _: None
    try:
        with warnings.catch_warnings(
            action="ignore"
        ):  # of what another version of Python may read otherwise
            compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return lambda given: pattern == given
    return lambda given: compiled.fullmatch(given) is not None


def _replaced(
    kustomization: Mapping[str, Any],
) -> Iterator[tuple[int, Mapping[Any, Any], tuple[str, ...]]]:
    for index, each in enumerate(mappings(kustomization, "replacements")):
        for target in mappings(each, "targets"):
            fields = tuple(f for f in items(target, "fieldPaths") if isinstance(f, str))
            yield index, mapping(target, "select"), fields


def _does_unknown(fields: Sequence[str]) -> Callable[[ObjectVersion], ObjectVersion]:
    def does(form: ObjectVersion) -> ObjectVersion:
        value = form.value
        for path in fields:
            value = with_set(value, path.split("."), UNKNOWN)
        return replace(form, value=value)

    return does


# ── images ──


def _does_images(entry: Mapping[Any, Any]) -> Callable[[ObjectVersion], ObjectVersion]:
    def does(form: ObjectVersion) -> ObjectVersion:
        value = _with_images(form.value, partial(_image, inputs=entry))
        return form if value is form.value else replace(form, value=value)

    return does


def _with_images(value: Any, new: Callable[[str], str], *, here: bool = False) -> Any:
    """With another text for each `image` of containers below; itself where none changes."""
    if isinstance(value, list):
        replaced = [_with_images(each, new, here=here) for each in value]
        return replaced if any(a is not b for a, b in zip(replaced, value, strict=True)) else value
    if not isinstance(value, Mapping):
        return value
    changed = {
        key: replaced
        for key, each in value.items()
        if (replaced := _image_below(key, each, new, here=here)) is not each
    }
    return {**value, **changed} if changed else value


def _image_below(key: Any, value: Any, new: Callable[[str], str], *, here: bool) -> Any:
    if here and key == "image" and isinstance(value, str):
        return new(value)
    return _with_images(value, new, here=key in _CONTAINERS)


def image_names(form: ObjectVersion) -> set[str]:
    """The images of all containers of an object, without their tags and digests."""
    found: set[str] = set()

    def seen(written: str) -> str:
        found.add(_image_parts(written)[0])
        return written

    _with_images(form.value, seen)
    return found


def _image_parts(written: str) -> tuple[str, str, str]:
    """The name of an image, its tag, and its digest."""
    bare, _, digest = written.partition("@")
    folder, slash, last = bare.rpartition("/")
    name, _, tag = last.partition(":")
    return f"{folder}{slash}{name}", tag, digest


def _image(written: str, inputs: Mapping[Any, Any]) -> str:
    name, tag, digest = _image_parts(written)
    if text(inputs, "name") != name:
        return written
    if inputs.get("newTag") or text(inputs, "digest"):  # the digest of before is of another image
        tag, digest = str(inputs.get("newTag") or tag), text(inputs, "digest")
    at = f"@{digest}" if digest else ""
    return f"{text(inputs, 'newName') or text(inputs, 'name')}{f':{tag}' if tag else ''}{at}"
