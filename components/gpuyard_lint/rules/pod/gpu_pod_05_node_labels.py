"""GPU-POD-05: pods select nodes by labels that a component sets."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.admission.bypass import requests_gpus
from gpuyard_core.findings import Path, Severity
from gpuyard_core.manifests.placeholders import is_placeholder
from gpuyard_core.names import NVLINK_GPUS_LABEL
from gpuyard_lint.rules.rule import (
    ContextEffect,
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    items,
    mapping,
    once_per_stack,
    text,
)
from gpuyard_lint.rules.subjects.pods import POD_KINDS, Pod, is_gpu_pod, pods_of
from gpuyard_lint.rules.subjects.pools import OWN_LABELS, POOL_KINDS, gpu_pool, sets_label

_INSTEAD = (
    f"select nvidia.com/gpu.product, nvidia.com/gpu.clique or, on gpuyard nodes, {NVLINK_GPUS_LABEL}",
    "select karpenter.sh/capacity-type or eks.amazonaws.com/capacityType",
)
_INVENTED = tuple(zip(OWN_LABELS, _INSTEAD, strict=True))
"""Prefixes of labels from guides that no component sets."""
_OF_CLOUDS = frozenset(
    f"gpu.nvidia.com/{name}"
    for name in ("class", "count", "model", "vram", "gpus", "driver", "cuda")
)
"""Labels of CoreWeave nodes."""
_NUMBERS = frozenset({"nvidia.com/gpu.memory", "nvidia.com/gpu.count", "nvidia.com/gpu.replicas"})
_PLUGINS = re.compile(r"(^|/)(?<!rocm/)(k8s-device-plugin|dcgm-exporter)(:|@|$)")
_EXPORTER = re.compile(r"(^|/)nvidia/(k8s/)?dcgm-exporter(:|@|$)")
_POD_RESOURCES = "/var/lib/kubelet/pod-resources"
_ABOUT = "DCGM_EXPORTER_KUBERNETES"
_SELECTOR = "nodeSelector"
_WAITS = "--fail-on-init-error=false"
_WAITED = re.compile(r"(^|/)k8s-device-plugin:(1\.|v?0\.[0-6]\.)")
"""Device plugins before 0.7, which wait on nodes without GPUs, with any options."""
_SPACE = re.compile(r"\s")
_OFF = frozenset({"false", "False", "0"})
"""The vendor of the GPU is unknown then."""


def _check(resource: Resource, parameters: Parameters) -> Iterator[Violation]:
    for pod in pods_of(resource):
        for path, key, values in _selected(pod):
            if key not in parameters["labels"]:
                yield from _label(path, key, values)
        if is_gpu_pod(pod):
            yield from _spaces(pod)
        if resource.group_kind == "apps/DaemonSet":
            yield from _agent(pod, mapping(resource.properties.get("spec")))


def _spaces(pod: Pod) -> Iterator[Violation]:
    """The name of a GPU in nvidia-smi: feature discovery writes its label with dashes."""
    for key, value in mapping(pod.spec.get(_SELECTOR)).items():
        name = text(value).strip()
        if _SPACE.search(name) and not is_placeholder(name):
            yield Violation(
                pod.field_path(_SELECTOR, key),
                f"the API server rejects the pod: a label value has no spaces, and {name!r} does",
                f"write {key}: {_SPACE.sub('-', name)}",
            )


def _selected(pod: Pod) -> Iterator[tuple[Path, str, list[str]]]:
    for key, value in mapping(pod.spec.get(_SELECTOR)).items():
        yield pod.field_path(_SELECTOR, key), str(key), [text(value)]  # a key may be a number
    for path, term in _terms(pod):
        for index, each in enumerate(items(term.get("matchExpressions"))):
            expression = mapping(each)
            values = [text(value) for value in items(expression.get("values"))]
            yield (*path, "matchExpressions", index), text(expression.get("key")), values


def _terms(pod: Pod) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    node = mapping(mapping(pod.spec.get("affinity")).get("nodeAffinity"))
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    for index, term in enumerate(items(mapping(node.get(required)).get("nodeSelectorTerms"))):
        path = pod.field_path("affinity", "nodeAffinity", required, "nodeSelectorTerms", index)
        yield path, mapping(term)
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    for index, each in enumerate(items(node.get(preferred))):
        path = pod.field_path("affinity", "nodeAffinity", preferred, index, "preference")
        yield path, mapping(mapping(each).get("preference"))


def _label(path: Path, key: str, values: list[str]) -> Iterator[Violation]:
    for beginning, instead in _INVENTED:
        if key.startswith(beginning) and key not in _OF_CLOUDS:
            yield Violation(
                path,
                f"no component sets node label {key}: the pod stays pending, or the preference has no effect",
                instead,
            )
    for value in values if key in _NUMBERS else ():
        if not value.isdigit():
            yield Violation(
                path,
                f"{key} is a whole number as a string, MiB for memory: no node has {value!r}",
                f'write {key}: "40960", or compare with Gt',
            )


def _placed(pod: Pod) -> bool:
    return bool(mapping(pod.spec.get(_SELECTOR)) or mapping(pod.spec.get("affinity")))


def _waits(pod: Pod) -> bool:
    """A device plugin that does not fail without a GPU, such as in NVIDIA's own manifest."""
    containers = [container for _, container in pod.containers()]
    if any(_WAITED.search(text(container.get("image"))) for container in containers):
        return True
    return any(
        text(mapping(each).get("name")) == "FAIL_ON_INIT_ERROR"
        and text(mapping(each).get("value")) in _OFF
        for container in containers
        for each in items(container.get("env"))
    ) or any(
        text(each) == _WAITS
        for container in containers
        for field in ("command", "args")
        for each in items(container.get(field))
    )


def _agent(pod: Pod, spec: Mapping[str, Any]) -> Iterator[Violation]:
    """A device plugin or an exporter that the operator does not manage."""
    images = [text(container.get("image")) for _, container in pod.containers()]
    if not any(_PLUGINS.search(image) for image in images):
        return
    if not mapping(spec.get("selector")):
        problem = "the API server rejects a DaemonSet without a pod selector"
        yield Violation(
            ("spec", "selector"), problem, "set matchLabels to the labels of the template"
        )
    if not (_placed(pod) or _waits(pod)):
        asking = requests_gpus(pod)  # it does not start on nodes without GPUs then
        yield Violation(
            pod.field_path(_SELECTOR),
            "one pod per node without GPUs stays pending, because it requests a GPU"
            if asking
            else "it runs on every node, including those without GPUs: a toleration excludes none",
            'select nvidia.com/gpu.present: "true"',
            # NVIDIA's own manifest of the exporter has only these
            is_advisory=asking or all(_EXPORTER.search(image) for image in images),
        )
    mounted = [text(mapping(each.get("hostPath")).get("path")) for _, each in pod.volumes()]
    mapped = any(map(_holds_the_socket, mounted))
    for path, container in pod.containers():
        for index, each in enumerate(map(mapping, items(container.get("env")))):
            if mapped or text(each.get("name")) != _ABOUT or text(each.get("value")) in _OFF:
                continue
            yield Violation(
                (*path, "env", index),
                "the exporter cannot map GPUs to pods: the kubelet's socket is not mounted",
                f"mount hostPath {_POD_RESOURCES}",
            )


def _context_effect(stack: Stack, resource: Resource, path: Path) -> ContextEffect:
    """A label that a resource in the input sets on nodes is valid.

    NVIDIA's own manifests select no nodes: it matters only if there are nodes without GPUs.
    """
    label = _label_at(resource, path)
    if label.startswith(OWN_LABELS):
        return ContextEffect.NONE if sets_label(stack, label) else ContextEffect.FULL
    is_sure = path[-1] != _SELECTOR or _has_other_pools(stack)
    return ContextEffect.FULL if is_sure else ContextEffect.CHOICE


@once_per_stack
def _has_other_pools(stack: Stack) -> bool:
    return None in map(gpu_pool, stack.resources_of_kinds(*POOL_KINDS))


def _label_at(resource: Resource, path: Path) -> str:
    """The selected label at a path, in a selector or in an expression; "" at other paths."""
    if path[-2:-1] == (_SELECTOR,):
        return str(path[-1])
    if path[-2:-1] == ("matchExpressions",):
        return text(at(resource.properties, *path, "key"))
    return ""


def _holds_the_socket(path: str) -> bool:
    """Whether the socket's folder, a parent or a child of it is mounted."""
    return path.startswith(_POD_RESOURCES) or f"{_POD_RESOURCES}/".startswith(
        f"{path.rstrip('/')}/"
    )


RULE = Rule(
    id="GPU-POD-05",
    title="Node selectors use labels that nodes have",
    severity=Severity.WARNING,
    why="With a label that no node has, the pod stays pending and the autoscaler adds no node.",
    fix="Select labels of GPU feature discovery, of the cloud, or of your pools.",
    sources=(
        "NVIDIA/k8s-device-plugin v0.20.0 docs/gpu-feature-discovery: labels",
        "Kubernetes v1.36 ValidatePodSpec: values of a nodeSelector are values of labels",
        "NVIDIA/dcgm-exporter README: DCGM_EXPORTER_KUBERNETES and pod-resources",
    ),
    kinds=POD_KINDS,
    parameters={"labels": ()},
    check=_check,
    adjust=_context_effect,
)
