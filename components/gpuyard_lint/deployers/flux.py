"""Changes of a Flux Kustomization: patches, images, components, and substitutions after the build.

Fields: https://fluxcd.io/flux/components/kustomize/kustomizations/.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import items, mapping, mappings, text
from gpuyard_core.manifests.placeholders import substituted
from gpuyard_lint.combined.changes import Change, ObjectPatch, PatchedObject
from gpuyard_lint.combined.patching import text_at_keys
from gpuyard_lint.deployers.deployer import Deployer, changes_in, patches_in
from gpuyard_lint.items import Item

_FIELDS = ("namePrefix", "nameSuffix", "images")
_AFTER = 9
"""Substitutions are applied after all else."""
_VARIABLE = re.compile(r"(?<!\$)\$\{(\w+)(?::?[-=][^{}]*)?\}")
_OFF = "kustomize.toolkit.fluxcd.io/substitute"


def flux_deployer(item: Item) -> Deployer:
    """A Kustomization of Flux."""
    spec = mapping(item.resource.properties, "spec")
    kustomization = {key: spec[key] for key in _FIELDS if key in spec}
    if namespace := text(spec, "targetNamespace"):
        kustomization["namespace"] = namespace
    patches = [*_strategic(item, spec), *patches_in(item, ("spec",))]
    late = patches_in(item, ("spec",), "patchesJson6902")
    results = [*changes_in(item, ("spec",), kustomization, patches, late), *_filled_in(item, spec)]
    return Deployer(
        item,
        _VARIABLE.sub("*", text(spec, "path")),
        tuple(results),
        tuple(each for each in items(spec, "components") if isinstance(each, str)),
        deploys_plain_folder=True,
    )


def _strategic(item: Item, spec: Mapping[str, Any]) -> Iterator[ObjectPatch]:
    key = "patchesStrategicMerge"
    for index, each in enumerate(mappings(spec, key)):
        yield ObjectPatch(item.place, ("spec", key, index), None, each)


def _filled_in(item: Item, spec: Mapping[str, Any]) -> Iterator[Change]:
    """Values for `${NAME}`; those from a ConfigMap or a Secret are unknown."""
    value = mapping(spec, "postBuild", "substitute")
    values = {str(key): str(each) for key, each in value.items() if isinstance(each, str | int)}
    if values:
        path: Path = ("spec", "postBuild", "substitute")
        change = Change(item.place, path, lambda form: _with_values(form, values), stage=_AFTER)
        named = next(iter(values)) if len(values) == 1 else ""
        yield replace(change, path=(*path, named) if named else path, deployer_file=item.place.file)


def _with_values(form: PatchedObject, values: Mapping[str, str]) -> PatchedObject:
    switch = text_at_keys(form.value, "metadata", "annotations", _OFF)
    switch = switch or text_at_keys(form.value, "metadata", "labels", _OFF)
    if switch == "disabled":
        return form
    value = _substituted(form.value, values)
    return form if value is form.value else replace(form, value=value)


def _substituted(value: Any, values: Mapping[str, str]) -> Any:
    """Every text below with its known variables substituted; unchanged if there are none."""
    if isinstance(value, str):
        if "${" not in value:
            return value
        return substituted(_VARIABLE, lambda found: values.get(found[1], found[0]), value)
    if isinstance(value, Mapping):
        replaced = {key: _substituted(each, values) for key, each in value.items()}
        return value if all(replaced[key] is value[key] for key in replaced) else replaced
    if isinstance(value, list):
        listed = [_substituted(each, values) for each in value]
        return value if all(a is b for a, b in zip(listed, value, strict=True)) else listed
    return value
