"""The changes of a kustomization to an object, one after the other, in the order of kustomize.

Patches, the namespace, namePrefix and nameSuffix, labels and annotations, `images`; values from other
objects (replacements) are unknown. Label and image fields are those of kustomize's own configuration.
"""

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from gpuyard_core.manifests.fields import UNKNOWN, at_path, items, mapping, mappings, text
from gpuyard_core.manifests.placeholders import image_parts
from gpuyard_lint.combined.patching import (
    apply_json_patch,
    strategic_merge,
    text_at_keys,
    with_set,
)

_CLUSTER_WIDE = re.compile(r"Namespace$|Cluster[A-Z]\w*|ResourceFlavor$|PriorityClass$|NodePool$")
"""Kinds without a namespace; an omission changes no result of a rule."""
_NEVER_RENAMED = frozenset({"Namespace", "CustomResourceDefinition", "APIService"})
_REPEATS = re.compile(r"[*+?{]")
_REPEATS_GROUP = re.compile(r"\)[*+?{]|\\\d")
_PLAIN = re.compile(r"[\w-]*")
"""A pattern that matches only itself."""
_MOST_REPEATS = 2
"""Python backtracks over each: with three, the time grows with the cube of a name."""
_OWN_GROUPS = re.compile(r"(apps|batch|autoscaling|policy|([\w-]+\.)+k8s\.io)/|v1$")
"""Groups whose schemas kustomize knows; in other kinds a patch replaces a list as a whole."""
_PODS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet", "ReplicationController", "Job"),
        ("spec", "template"),
    ),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
}
"""The path of the pod template in kinds that kustomize knows."""
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
"""Selectors that get a label only if they exist."""
_CONTAINERS = frozenset({"containers", "initContainers"})


@dataclass(frozen=True, slots=True)
class PatchedObject:
    """An object and its earlier names: patches and references may use any of them."""

    value: Any
    names: tuple[str, ...]

    @property
    def kind(self) -> str:
        """Its kind, without the group."""
        return text_at_keys(self.value, "kind")


@dataclass(frozen=True, slots=True)
class Change:
    """One change that a kustomization makes to objects."""

    apply: Callable[[PatchedObject], PatchedObject | None]
    """The object after the change; None if it is deleted."""
    matches: Callable[[PatchedObject], bool | None] = lambda _: True
    """Whether it applies; None if only a run of kustomize shows it."""
    target_kind_and_name: tuple[str, str] = ("", "")
    """The kinds and names of all objects that it may select; "" for any."""
    image: str = ""
    """The image that an entry of `images` is about."""


@dataclass(frozen=True, slots=True)
class ObjectPatch:
    """A parsed patch: fields of an object, or operations on one."""

    target: Mapping[Any, Any] | None
    """Its target; None for the object that it names itself."""
    fields: Mapping[Any, Any] = field(default_factory=dict[Any, Any])
    operations: tuple[Mapping[Any, Any], ...] = ()


def kustomization_changes(
    kustomization: Mapping[str, Any], patches: Iterable[ObjectPatch], late: Iterable[ObjectPatch]
) -> Iterator[Change]:
    """The changes of a kustomization in kustomize's order; `late` are patchesJson6902."""
    yield from map(_patch, patches)
    if namespace := text(kustomization, "namespace"):
        yield Change(partial(_in_namespace, namespace))
    # otherwise it configures its own name references, or has transformers that change objects
    if not any(kustomization.get(key) for key in ("configurations", "transformers", "crds")):
        if prefix := text(kustomization, "namePrefix"):
            yield Change(partial(_renamed, prefix, ""))
        if suffix := text(kustomization, "nameSuffix"):
            yield Change(partial(_renamed, "", suffix))
    yield from _labels(kustomization)
    yield from map(_patch, late)
    for each in mappings(kustomization, "images"):
        if name := text(each, "name"):
            yield Change(partial(_with_new_images, each), image=name)
    for each in mappings(kustomization, "replacements"):
        for target in mappings(each, "targets"):
            select = mapping(target, "select")
            fields = [field for field in items(target, "fieldPaths") if isinstance(field, str)]
            yield Change(partial(_with_unknown, fields), _selected_by(select), _key(select))


def _in_namespace(namespace: str, form: PatchedObject) -> PatchedObject:
    if _CLUSTER_WIDE.search(form.kind):
        return form
    return replace(form, value=with_set(form.value, ["metadata", "namespace"], namespace))


def _renamed(prefix: str, suffix: str, form: PatchedObject) -> PatchedObject:
    name = text_at_keys(form.value, "metadata", "name")
    if form.kind in _NEVER_RENAMED or not name:
        return form
    new = f"{prefix}{name}{suffix}"
    return PatchedObject(with_set(form.value, ["metadata", "name"], new), (*form.names, new))


def _labels(kustomization: Mapping[str, Any]) -> Iterator[Change]:
    for each in mappings(kustomization, "labels"):
        selectors = each.get("includeSelectors") is True
        templates = selectors or each.get("includeTemplates") is True
        pairs = mapping(each, "pairs")
        yield Change(partial(_marked, "labels", pairs, templates=templates, selectors=selectors))
    if common := mapping(kustomization, "commonLabels"):
        yield Change(partial(_marked, "labels", common, selectors=True))
    if notes := mapping(kustomization, "commonAnnotations"):
        yield Change(partial(_marked, "annotations", notes))


def _marked(
    field: str,
    pairs: Mapping[Any, Any],
    form: PatchedObject,
    *,
    templates: bool = True,
    selectors: bool = False,
) -> PatchedObject:
    """With labels or annotations, also in its pod template and its selectors."""
    value = _with_pairs(form.value, ("metadata", field), pairs)
    if templates and form.kind in _PODS:
        value = _with_pairs(value, (*_PODS[form.kind], "metadata", field), pairs)
    return replace(form, value=_selecting(value, form.kind, pairs) if selectors else value)


def _with_pairs(value: Any, path: Sequence[str], pairs: Mapping[Any, Any]) -> Any:
    for key, each in pairs.items():
        value = with_set(value, [*path, str(key)], each)
    return value


def _selecting(value: Any, kind: str, pairs: Mapping[Any, Any]) -> Any:
    if kind == "Service" and text_at_keys(value, "apiVersion") != "v1":
        return value  # Knative's
    selector_path = _SELECTORS_THERE.get(kind, ())
    if selector_path and at_path(value, selector_path):
        return _with_pairs(value, selector_path, pairs)
    return _with_pairs(value, _SELECTORS[kind], pairs) if kind in _SELECTORS else value


# ── patches ──


def _patch(patch: ObjectPatch) -> Change:
    apply = partial(_patched, patch)
    if patch.target is not None:
        return Change(apply, _selected_by(patch.target), _key(patch.target))
    kind, name = text(patch.fields, "kind"), text(patch.fields, "metadata", "name")
    group = _group(patch.fields)

    def selects(form: PatchedObject) -> bool:
        same = kind in {"", form.kind} and group in {None, _group(form.value)}
        return same and (not name or name in form.names)

    return Change(apply, selects, (kind, name))


def _patched(patch: ObjectPatch, form: PatchedObject) -> PatchedObject | None:
    value = form.value
    for operation in patch.operations:
        value = apply_json_patch(value, operation)
    if patch.fields:
        value = _merged_object(value, patch.fields)
    if value is None:
        return None
    return (
        replace(form, value=value) if isinstance(value, Mapping) else form
    )  # kustomize rejects it


def _merged_object(value: Any, fields: Mapping[Any, Any]) -> Any:
    """A strategic patch never changes the kind and name of an object."""
    merged = strategic_merge(
        value, fields, schema=bool(_OWN_GROUPS.match(text_at_keys(value, "apiVersion")))
    )
    if not isinstance(merged, Mapping):
        return merged
    merged = {**merged, **{key: value[key] for key in ("apiVersion", "kind") if key in value}}
    for key in ("name", "namespace"):
        if own := text_at_keys(value, "metadata", key):
            merged = with_set(merged, ["metadata", key], own)
    return merged


def _key(target: Mapping[Any, Any]) -> tuple[str, str]:
    """The kind and the name of a target, "" for a pattern and for any."""
    kind, name = text(target, "kind"), text(target, "name")
    if not _PLAIN.fullmatch(kind):
        return "", ""
    return kind, name if _PLAIN.fullmatch(name) else ""


def _group(value: Any) -> str | None:
    """The group of an object, "" for the core group; None if it has none."""
    version = text_at_keys(value, "apiVersion")
    return version.rpartition("/")[0] if version else None


def _selected_by(target: Mapping[Any, Any]) -> Callable[[PatchedObject], bool | None]:
    """By group, version, kind and name, each an anchored pattern, and by labels."""
    keys = ("kind", "name", "group", "version", "namespace")
    fits = {key: _pattern(wanted) for key in keys if (wanted := text(target, key))}
    selectors = {f"{what}s": text(target, f"{what}Selector") for what in ("label", "annotation")}

    def selects(form: PatchedObject) -> bool | None:
        group, _, version = text_at_keys(form.value, "apiVersion").rpartition("/")
        names = {"kind": (form.kind,), "name": form.names, "group": (group,), "version": (version,)}
        for key, value in names.items():
            results = {fits[key](each) for each in value} if key in fits else {True}
            if True not in results:
                return None if None in results else False
        space = text_at_keys(form.value, "metadata", "namespace") or "default"
        if "namespace" in fits and not fits["namespace"](space):
            return None  # it may have had another one before
        results = {
            _has(selector, at_path(form.value, ("metadata", what)))
            for what, selector in selectors.items()
        }
        return False if False in results else None if None in results else True

    return selects


def _has(selector: str, labels: Any) -> bool | None:
    """Whether labels match a selector; None for an unsupported selector."""
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
    """Whether a name matches kustomize's pattern; None for a pattern with unbounded time in Python."""
    if _REPEATS_GROUP.search(pattern) or len(_REPEATS.findall(pattern)) > _MOST_REPEATS:
        return lambda _: None
    try:
        with warnings.catch_warnings(
            action="ignore"
        ):  # in a syntax that another Python version may read differently
            compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return lambda given: pattern == given
    return lambda given: compiled.fullmatch(given) is not None


def _with_unknown(fields: Sequence[str], form: PatchedObject) -> PatchedObject:
    value = form.value
    for path in fields:
        value = with_set(value, path.split("."), UNKNOWN)
    return replace(form, value=value)


# ── images ──


def _with_new_images(entry: Mapping[Any, Any], form: PatchedObject) -> PatchedObject:
    value = _with_images(form.value, partial(_image, inputs=entry))
    return form if value is form.value else replace(form, value=value)


def _with_images(value: Any, new: Callable[[str], str], *, here: bool = False) -> Any:
    """With another text for each `image` of containers below; unchanged if none changes."""
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


def image_names(form: PatchedObject) -> set[str]:
    """The images of all containers of an object, without their tags and digests."""
    found: set[str] = set()

    def seen(written: str) -> str:
        found.add(image_parts(written)[0])
        return written

    _with_images(form.value, seen)
    return found


def _image(written: str, inputs: Mapping[Any, Any]) -> str:
    name, tag, digest = image_parts(written)
    if text(inputs, "name") != name:
        return written
    if inputs.get("newTag") or text(inputs, "digest"):  # the old digest is of another image
        tag, digest = str(inputs.get("newTag") or tag), text(inputs, "digest")
    at = f"@{digest}" if digest else ""
    return f"{text(inputs, 'newName') or text(inputs, 'name')}{f':{tag}' if tag else ''}{at}"
