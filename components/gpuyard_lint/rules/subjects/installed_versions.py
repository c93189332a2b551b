"""Programs that a repository installs at pinned versions, for which older API versions are correct."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpuyard_core.catalogue.software.versions import is_version, parse_version
from gpuyard_core.manifests.fields import at, if_known, items, mapping, text
from gpuyard_lint.rules.rule import Resource, Stack, UnknownValue, once_per_stack
from gpuyard_lint.rules.subjects.components import OPERATORS, RELEASES, is_switched_off, releases_of
from gpuyard_lint.rules.subjects.pods import POD_KINDS, pods_of

REMOTE = re.compile(
    r"github\.com/[\w.-]+/([\w.-]+?)(?:\.git)?(?:/|\?).*?(?:ref=|/download/)([^&/]+)"
)
"""A remote base of kustomize: a folder at a reference, or a file of a release."""
_IMAGES = {
    "kueue": re.compile(r"/kueue/kueue$"),
    "karpenter": re.compile(r"/karpenter/controller$"),
    "training-operator": re.compile(r"/training-operator$"),
    "trainer": re.compile(r"/trainer-controller-manager$"),
    "kuberay": re.compile(r"kuberay/operator$"),
    "gpu-operator": re.compile(r"nvidia/(cloud-native/)?gpu-operator$"),
}
PROGRAMS = frozenset({"karpenter", "kueue", "kuberay-operator"})
"""Components whose chart version decides which fields their objects may have."""
_SOURCES = tuple(f"source.toolkit.fluxcd.io/{kind}" for kind in ("OCIRepository", "GitRepository"))
"""Flux sources of a chart or manifests that a release references."""
CHART_FILE = "helm:ChartFile"
COMMAND = "command:install"
"""A program that a command in a script or a document installs, at a version."""
NEWEST = "newest"
"""The version of a command that names none: the release of the day."""
_BASES = ("resources", "bases", "components")
_KUEUE_SINCE = (0, 15)
"""The first Kueue that serves v1beta2 and reads queue names only from a label."""
_TRAINER_SINCE = (2,)
"""The first with TrainJob, under the new name of the repository."""
_RAY_SINCE = (1, 7)
"""The first KubeRay whose CRDs deprecate v1alpha1; 1.9 is planned to stop serving it."""
_RAY_PROGRAMS = ("kuberay", "kuberay-operator")
"""Its repository and its chart."""
_OPERATOR = "gpu-operator"
_CDI_SINCE = (25, 10)
"""The first GPU Operator with CDI by default, which keeps runc for pods without a runtime class."""
_AS_DEFAULT = "NVIDIA_RUNTIME_SET_AS_DEFAULT"
_DRIVER_INSTALLER = "nvidia-driver-installer"
"""Google's DaemonSet that installs the driver on GKE nodes, by name."""
_INSTALLER_IMAGE = re.compile(r"(^|/)([a-z]+-)?(nvidia|gpu)(-driver)?-installer([:@]|$)")
"""cos-nvidia-installer, gke-nvidia-installer, cos-gpu-installer, ubuntu-nvidia-driver-installer."""
_CHOOSES_CONFIG = "nvidia.com/device-plugin.config"
"""The node label by which the operator selects."""
_CHOOSES_NONE_SINCE = (1, 11)
"""The first GPU Operator that selects none by default, neither one called default nor the only one."""
_OF_A_VENDOR = re.compile(
    r".+\.opendatahub\.io|"
    r"(?:kueue|route|project|config|console|operator|security|machine|image|template|user)\.openshift\.io"
)
"""API groups of platforms whose operators install a Kueue in a version that no file contains; other
OpenShift operators, such as that of SR-IOV, run anywhere."""
_SHOWN_BY = "opendatahub.io/"
"""Labels by which such a platform shows a namespace to its users."""


def chart_versions(chart: Mapping[str, Any]) -> dict[str, str]:
    """Versions by chart name: of the chart itself, such as a copy, and of its dependencies."""
    charts = [chart, *map(mapping, items(chart, "dependencies"))]
    return {text(each, "name"): text(each, "version") for each in charts}


def version_if_all_older(stack: Stack, program: str, than: tuple[int, ...]) -> str:
    """The installed version, if all pinned versions are older than another; else "".

    Versions from commands count only if no file pins any: they can only excuse. One of several suffices,
    since it is unknown which of them applies.
    """
    versions = sorted({*_versions(stack, program), *_of_charts(stack, program)})
    newest = versions[-1] if versions else min(_of_commands(stack, program), default=None)
    return newest[1] if newest and newest[0] < than else ""


def any_at_least(stack: Stack, program: str, since: tuple[int, ...]) -> bool:
    """Whether a pinned version is not older: only then is the version that reads the objects certain."""
    return any(version >= since for version, _ in _versions(stack, program))


@once_per_stack
def injects_by_cdi_only(stack: Stack) -> bool:
    """Whether the GPU Operator keeps runc as the runtime of nodes: variables then add no device."""
    versions = [version for version, _ in _versions(stack, _OPERATOR)]
    if min(versions, default=()) < _CDI_SINCE and (versions or not _is_installed_by_cdi(stack)):
        return False
    return not any(
        is_switched_off(at(value, "cdi", "enabled"))
        or is_switched_off(at(value, "toolkit", "enabled"))
        or any(text(each, "name") == _AS_DEFAULT for each in items(at(value, "toolkit", "env")))
        for operator in stack.resources_of_kinds(*OPERATORS)
        for value in (at(operator.properties, *OPERATORS[operator.group_kind]),)
    )


def _is_installed_by_cdi(stack: Stack) -> bool:
    """Whether commands install a current operator, each without setting any of its values."""
    results = [
        each.properties for each in stack.resources_of_kinds(COMMAND) if each.name == _OPERATOR
    ]
    old = any(version < _CDI_SINCE for version, _ in _of_commands(stack, _OPERATOR))
    open_ = any(isinstance(each["version"], UnknownValue) or each.get("values") for each in results)
    return bool(results) and not old and not open_


@once_per_stack
def is_version_unknown(stack: Stack, program: str) -> bool:
    """Whether a variable decides the version of an installed chart."""
    return any(
        isinstance(resource.properties.get("version"), UnknownValue)
        and text(resource.properties, "chart").rpartition("/")[2] == program
        for resource in stack.resources_of_kinds(*RELEASES)
    )


def kueue_without_v1beta2(stack: Stack) -> str:
    """The version of the installed Kueue, if it has no v1beta2; else ""."""
    return version_if_all_older(stack, "kueue", _KUEUE_SINCE)


def trainer_without_trainjob(stack: Stack) -> str:
    """The installed training operator, if it has no TrainJob; else ""."""
    if any_at_least(stack, "trainer", _TRAINER_SINCE):
        return ""
    of_old = version_if_all_older(stack, "training-operator", _TRAINER_SINCE)
    return of_old or version_if_all_older(stack, "trainer", _TRAINER_SINCE)


def kuberay_accepting_v1alpha1(stack: Stack) -> str:
    """The installed KubeRay, if v1alpha1 is not deprecated in it; else ""."""
    results = [version_if_all_older(stack, each, _RAY_SINCE) for each in _RAY_PROGRAMS]
    newer = any(any_at_least(stack, each, _RAY_SINCE) for each in _RAY_PROGRAMS)
    return "" if newer else next(filter(None, results), "")


@once_per_stack
def has_driver_installer(stack: Stack) -> bool:
    """Whether a DaemonSet installs the driver on GKE nodes."""
    return any(map(_installs_drivers, stack.resources_of_kinds("apps/DaemonSet")))


def _installs_drivers(agent: Resource) -> bool:
    images = if_known(text(c, "image") for pod in pods_of(agent) for _, c in pod.containers())
    return _DRIVER_INSTALLER in agent.name or any(map(_INSTALLER_IMAGE.search, images))


@once_per_stack
def chooses_configs(stack: Stack) -> bool:
    """Whether a configuration of the plugin is selected: by a label in the input, or by an older operator."""
    if version_if_all_older(stack, "gpu-operator", _CHOOSES_NONE_SINCE):
        return True
    return any(_has_key(each.properties, _CHOOSES_CONFIG) for each in stack.resources)


def _has_key(value: Any, key: str) -> bool:
    if isinstance(value, Mapping):
        return key in value or any(_has_key(each, key) for each in value.values())
    return isinstance(value, list | tuple) and any(_has_key(each, key) for each in value)


@once_per_stack
def has_vendor_kueue(stack: Stack) -> bool:
    """Whether a vendor's operator installs Kueue."""
    namespaces = [
        mapping(each.properties, "metadata", "labels")
        for each in stack.resources_of_kinds("Namespace")
    ]
    shown = any(str(label).startswith(_SHOWN_BY) for labels in namespaces for label in labels)
    groups = (kind.partition("/")[0] for kind in stack.by_kind)
    return shown or any(map(_OF_A_VENDOR.fullmatch, groups))


@once_per_stack
def _versions(stack: Stack, program: str) -> list[tuple[tuple[int, ...], str]]:
    resources = stack.resources_of_kinds(*RELEASES, *_SOURCES, *POD_KINDS)
    # an unknown value is like a missing one
    return _parsed(program, (v for each in resources for v in if_known(_pinned(each, program))))


def _of_charts(stack: Stack, program: str) -> list[tuple[tuple[int, ...], str]]:
    charts = (each.properties for each in stack.resources_of_kinds(CHART_FILE))
    return _parsed(program, (chart_versions(each).get(program, "") for each in charts))


def _of_commands(stack: Stack, program: str) -> list[tuple[tuple[int, ...], str]]:
    commands = (each for each in stack.resources_of_kinds(COMMAND) if each.name == program)
    return _parsed(program, (each.properties["version"] for each in commands))


def _parsed(program: str, versions: Iterable[Any]) -> list[tuple[tuple[int, ...], str]]:
    texts = (each for each in versions if isinstance(each, str) and is_version(program, each))
    return [(parse_version(program, each).numbers, each) for each in texts]


def _pinned(resource: Resource, program: str) -> Iterator[str]:
    if resource.group_kind in _SOURCES:
        spec = mapping(resource.properties, "spec")
        yield from (
            [text(spec, "ref", "tag")] if _is_repository_of(text(spec, "url"), program) else []
        )
    elif resource.group_kind in RELEASES:
        for chart, version, path in releases_of(resource):
            address = "" if chart else text(at(resource.properties, *path[:-1], "repoURL"))
            if chart == program or _is_repository_of(address, program):
                yield version
        for field in _BASES:
            for base in map(text, items(resource.properties.get(field))):
                if (remote := REMOTE.search(base)) and remote[1] == program:
                    yield remote[2]
    else:
        containers = (each for pod in pods_of(resource) for _, each in pod.containers())
        for container in containers if program in _IMAGES else ():
            image, _, tag = text(container, "image").partition("@")[0].rpartition(":")
            if _IMAGES[program].search(image):
                yield tag


def _is_repository_of(address: str, program: str) -> bool:
    """Whether a git or OCI repository is that of the program, by name."""
    return address.rstrip("/").rpartition("/")[2].removesuffix(".git") == program
