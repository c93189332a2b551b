"""Components of a GPU platform and their versions, wherever a file says them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.findings import Path
from gpuyard.rules.rule import Resource, mapping, text
from gpuyard.rules.subjects.pods import POD_KINDS, pods_of

OPERATOR_VALUES = "values:gpu-operator"
CLUSTER_POLICY = "nvidia.com/ClusterPolicy"
RELEASES = (
    "helm:Release",
    "helm:Chart",
    "helm.toolkit.fluxcd.io/HelmRelease",
    "argoproj.io/Application",
)
VERSIONED_KINDS = (OPERATOR_VALUES, CLUSTER_POLICY, *RELEASES, *POD_KINDS)

_PARTS: Mapping[str, str] = {
    "driver": "driver",
    "toolkit": "container-toolkit",
    "devicePlugin": "device-plugin",
    "gfd": "device-plugin",
    "migManager": "mig-manager",
    "dcgm": "dcgm",
    "dcgmExporter": "dcgm-exporter",
    "operator": "gpu-operator",
}
"""Keys of the operator's values, and of a ClusterPolicy, with the component each installs."""
_IMAGES: Mapping[str, str] = {
    "gpu-operator": "gpu-operator",
    "container-toolkit": "container-toolkit",
    "k8s-device-plugin": "device-plugin",
    "k8s-mig-manager": "mig-manager",
    "dcgm-exporter": "dcgm-exporter",
    "dcgm": "dcgm",
    "driver": "driver",
}
_VENDORS = ("nvidia", "nvcr")


@dataclass(frozen=True, slots=True)
class ComponentVersion:
    """A component at a version, and where it is said."""

    component: str
    version: str
    path: Path


def components_in(resource: Resource) -> Iterator[ComponentVersion]:
    """Every component whose version the resource says."""
    kind = resource.group_kind
    if kind == OPERATOR_VALUES:
        yield from _parts(resource.properties, ())
    elif kind == CLUSTER_POLICY:
        yield from _parts(mapping(resource.properties.get("spec")), ("spec",))
    elif kind in RELEASES:
        chart, version, path = release_of(resource)
        if chart == "gpu-operator" and version:
            yield ComponentVersion("gpu-operator", version, path)
    else:
        yield from _images(resource)


def _parts(values: Mapping[str, Any], path: Path) -> Iterator[ComponentVersion]:
    for key, component in _PARTS.items():
        version = text(mapping(values.get(key)).get("version"))
        if version:
            yield ComponentVersion(component, version, (*path, key, "version"))


def _images(resource: Resource) -> Iterator[ComponentVersion]:
    for pod in pods_of(resource):
        for path, container in pod.containers():
            image = text(container.get("image"))
            name, _, tag = image.rpartition("/")[2].partition("@")[0].partition(":")
            if name in _IMAGES and tag and any(vendor in image for vendor in _VENDORS):
                yield ComponentVersion(_IMAGES[name], tag, (*path, "image"))


def release_of(resource: Resource) -> tuple[str, str, Path]:
    """The chart of a release, its version, and where the version stands."""
    properties, kind = resource.properties, resource.group_kind
    if kind == "helm.toolkit.fluxcd.io/HelmRelease":
        path: Path = ("spec", "chart", "spec")
    elif kind == "argoproj.io/Application":
        path = ("spec", "source")
    else:
        path = ()
    found = properties
    for step in path:
        found = mapping(found.get(str(step)))
    field = "targetRevision" if kind == "argoproj.io/Application" else "version"
    chart = text(found.get("chart")).rstrip("/").rpartition("/")[2]
    return chart, text(found.get(field)), (*path, field)
