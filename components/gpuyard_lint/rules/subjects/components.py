"""Components of a GPU platform and their versions, from any file."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard_core.errors import UsageError
from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import at_path, items, mapping, text
from gpuyard_core.manifests.placeholders import image_parts, is_entirely_placeholder
from gpuyard_core.yaml_tree import parse_documents
from gpuyard_lint.rules.rule import UNKNOWN, PartlyKnown, Resource, read_table
from gpuyard_lint.rules.subjects.component_images import image_at
from gpuyard_lint.rules.subjects.pods import POD_KINDS, pods_of

OPERATOR_VALUES = "values:gpu-operator"
CLUSTER_POLICY = "nvidia.com/ClusterPolicy"
OPERATORS: Mapping[str, tuple[str, ...]] = {OPERATOR_VALUES: (), CLUSTER_POLICY: ("spec",)}
"""Kinds that configure the GPU Operator, and the path of its settings."""
RELEASES = (
    "helm:Release",
    "helm:Chart",
    "helm.toolkit.fluxcd.io/HelmRelease",
    "argoproj.io/Application",
    "argoproj.io/ApplicationSet",
    "kustomize.config.k8s.io/Kustomization",
    "source.toolkit.fluxcd.io/OCIRepository",
)
_OCI = RELEASES[-1]
_OF_CHARTS = re.compile(r"chart|helm", re.IGNORECASE)
"""In the address or the media type of a registry artifact: others are manifests."""
_SOURCES: Mapping[str, Path] = {
    "argoproj.io/Application": ("spec",),
    "argoproj.io/ApplicationSet": ("spec", "template", "spec"),
}
"""The path of Argo CD's source or sources."""
_CHARTS: Mapping[str, str] = {
    "values:dcgm-exporter": "dcgm-exporter",
    "values:nvidia-device-plugin": "k8s-device-plugin",
}
"""Values with one image, and the default image."""
VERSIONED_KINDS = (OPERATOR_VALUES, CLUSTER_POLICY, *_CHARTS, *RELEASES, *POD_KINDS)

_GFD = "gfd"
_PARTS: Mapping[str, str] = read_table("operator_components")
"""Keys of the operator's values, and of a ClusterPolicy, with the component each installs."""
_IMAGES: Mapping[str, str] = read_table("component_images")
_VENDORS = ("nvidia", "nvcr")
_OF_ITS_OWN = re.compile(r"v?0\.(?:\d|1[0-4])\b.*")
"""GPU Feature Discovery was a separate program up to 0.14, and is part of the device plugin since then."""


@dataclass(frozen=True, slots=True)
class ComponentVersion:
    """A component at a version, and its place."""

    component: str
    version: str
    path: Path


def components_in(resource: Resource) -> Iterator[ComponentVersion]:
    """Every component whose version the resource sets."""
    kind = resource.group_kind
    if kind == OPERATOR_VALUES:
        yield from _parts(resource.properties, ())
    elif kind == CLUSTER_POLICY:
        yield from _parts(mapping(resource.properties, "spec"), ("spec",))
    elif kind in _CHARTS:
        image = mapping(resource.properties, "image")  # in parts, as in charts: {repository, tag}
        tag = text(image, "tag").partition("@")[0]
        name = text(image, "repository") or f"nvidia/{_CHARTS[kind]}"
        yield from _of_image(name, tag, ("image", "tag"))
    elif kind in RELEASES:
        for chart, version, path in releases_of(resource):
            if chart == "gpu-operator" and version:
                yield ComponentVersion("gpu-operator", version, path)
    else:
        yield from _images(resource)


def _parts(values: Mapping[str, Any], path: Path) -> Iterator[ComponentVersion]:
    for key, component in _PARTS.items():
        value = mapping(values.get(key))
        version = text(value, "version")
        version_match = key == _GFD and _OF_ITS_OWN.fullmatch(version)
        # a disabled component does not run, and one that may be disabled is never wrong
        enabled = value.get("enabled")
        off = is_switched_off(enabled) or enabled is UNKNOWN or is_entirely_placeholder(enabled)
        if version and not version_match and not off:
            yield ComponentVersion(component, version, (*path, key, "version"))


def is_switched_off(value: Any) -> bool:
    """Whether a switch of the operator is off; its chart does not quote text, so `"false"` is off."""
    return value is False or (isinstance(value, str) and value.lower() == "false")


def _images(resource: Resource) -> Iterator[ComponentVersion]:
    for pod in pods_of(resource):
        for path, container in pod.containers():
            image, tag, _ = image_parts(text(container, "image"))
            yield from _of_image(image, tag, image_at(resource, path))


def _of_image(image: str, tag: str, path: Path) -> Iterator[ComponentVersion]:
    name = image.rpartition("/")[2]
    if name in _IMAGES and tag and any(vendor in image for vendor in _VENDORS):
        yield ComponentVersion(_IMAGES[name], tag, path)


def releases_of(resource: Resource) -> Iterator[tuple[str, str, Path]]:
    """The charts that it installs, with version and its place."""
    kind = resource.group_kind
    if kind == _OCI:
        yield from _in_a_registry(mapping(resource.properties, "spec"))
        return
    field = "targetRevision" if kind in _SOURCES else "version"
    for path in chart_references(kind, resource.properties):
        section: Any = resource.properties
        for step in path:
            section = items(section)[step] if isinstance(step, int) else mapping(section).get(step)
        result = mapping(section)
        chart = text(result.get(CHART_FIELDS.get(kind, "chart"))).rstrip("/").rpartition("/")[2]
        yield chart, text(result.get(field)), (*path, field)


def _in_a_registry(spec: Mapping[Any, Any]) -> Iterator[tuple[str, str, Path]]:
    """A chart that Flux pulls from a registry: its name ends the address; a digest fixes the version."""
    ref, address = mapping(spec, "ref"), text(spec, "url").rstrip("/")
    field = "semver" if ref.get("semver") else "tag"
    written = f"{address} {text(spec, 'layerSelector', 'mediaType')}"
    if _OF_CHARTS.search(written) and not ref.get("digest"):
        # registry tags contain no `+`
        yield address.rpartition("/")[2], text(ref, field).replace("_", "+"), ("spec", "ref", field)


CHART_FIELDS: Mapping[str, str] = {"kustomize.config.k8s.io/Kustomization": "name"}
"""The key of a chart's name, if it has another name."""


def chart_references(kind: str, properties: Mapping[str, Any]) -> Iterator[Path]:
    """The paths of the chart and its version in a resource of RELEASES."""
    if kind == "helm.toolkit.fluxcd.io/HelmRelease":
        yield ("spec", "chart", "spec")
    elif kind in CHART_FIELDS:
        yield from (("helmCharts", index) for index in range(len(items(properties, "helmCharts"))))
    elif kind in _SOURCES:
        spec = mapping(properties, *(str(step) for step in _SOURCES[kind]))
        yield (*_SOURCES[kind], "source")
        for index in range(len(items(spec, "sources"))):
            yield (*_SOURCES[kind], "sources", index)
    else:
        yield ()


_OF_ARGO: tuple[Path, ...] = (("helm", "valuesObject"), ("helm", "values"))
VALUES_BESIDE: Mapping[str, tuple[Path, ...]] = {
    "argoproj.io/Application": _OF_ARGO,
    "argoproj.io/ApplicationSet": _OF_ARGO,
    "kustomize.config.k8s.io/Kustomization": (("valuesInline",),),
    "helm:Release": (("values",),),
    "helm:Chart": (("values",),),
}
"""By kind: the path of values next to the name of their chart."""
VALUES_ELSEWHERE: Mapping[str, tuple[Path, Path]] = {
    "helm.toolkit.fluxcd.io/HelmRelease": (("spec", "chart", "spec", "chart"), ("spec", "values")),
    "helm.cattle.io/HelmChart": (("spec", "chart"), ("spec", "valuesContent")),
}
"""By kind: the paths of a chart name and of its values, if they are separate."""


def values_of(resource: Resource, chart: Path) -> Iterator[Mapping[str, Any]]:
    """The known values of a release for the chart at a path."""
    kind = resource.group_kind
    paths = [(*chart, *below) for below in VALUES_BESIDE.get(kind, ())]
    paths += [VALUES_ELSEWHERE[kind][1]] if kind in VALUES_ELSEWHERE else []
    for path in paths:
        found = at_path(resource.properties, path)
        for each in found if isinstance(found, list | tuple) else (found,):
            yield from [each] if isinstance(each, Mapping) else _written(each)


_VALUES_UNDER: Mapping[str, tuple[Path, ...]] = {
    "argoproj.io/Application": (("helm", "valueFiles"),),
    "argoproj.io/ApplicationSet": (("helm", "valueFiles"),),
    "kustomize.config.k8s.io/Kustomization": (("valuesFile",), ("additionalValuesFiles",)),
}
"""By kind: references to other values, over which the inline ones are merged."""
_APART_UNDER: Mapping[str, tuple[Path, ...]] = {
    "helm.toolkit.fluxcd.io/HelmRelease": (("spec", "valuesFrom"),)
}
"""The same, if they are not next to the chart."""


def accepts_other_values(kind: str, properties: Mapping[str, Any], chart: Path) -> bool:
    """Whether values of the chart at a path are merged over values from elsewhere."""
    paths = ((*chart, *below) for below in _VALUES_UNDER.get(kind, ()))
    return any(at_path(properties, path) for path in (*paths, *_APART_UNDER.get(kind, ())))


def has_more_values(resource: Resource, chart: Path) -> bool:
    """Whether a release gets values for the chart at a path from elsewhere, or unknown ones."""
    properties, kind = resource.properties, resource.group_kind
    if kind == _OCI or accepts_other_values(kind, properties, chart):
        return True
    value = properties.get("values") if kind.startswith("helm:") else None
    return any(
        each is UNKNOWN or isinstance(each, PartlyKnown)
        for each in (value if isinstance(value, list) else [value])
    )


def _written(value: Any) -> Iterator[Mapping[str, Any]]:
    """Values as text, as Argo CD and Terraform accept them."""
    try:
        documents = parse_documents(value.encode(), "values") if isinstance(value, str) else []
    except (UsageError, UnicodeEncodeError):
        return  # a template of values, or prose
    yield from (each.value for each in documents if isinstance(each.value, Mapping))
