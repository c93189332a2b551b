"""GPU-POD-01: pods request GPUs and do not bypass the scheduler."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpuyard_core.admission.bypass import check_pod_bypass, containers_given_all_gpus
from gpuyard_core.admission.requirements import BYPASS
from gpuyard_core.findings import Path, Severity
from gpuyard_core.manifests.placeholders import is_placeholder
from gpuyard_core.manifests.pods import gpu_requests
from gpuyard_lint.rules.rule import (
    AuditReference,
    ContextEffect,
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    mapping,
    text,
)
from gpuyard_lint.rules.subjects.cuda_images import is_cuda_image
from gpuyard_lint.rules.subjects.device_counts import (
    has_gpu_requests,
    max_gpus_per_node,
    requests_all_gpus,
    uses_time_slicing,
)
from gpuyard_lint.rules.subjects.installed_versions import injects_by_cdi_only
from gpuyard_lint.rules.subjects.pods import (
    POD_KINDS,
    SYSTEM_NAMESPACES,
    Pod,
    is_gpu_monitor,
    is_node_agent,
    pod_at,
    pods_of,
)

_SOCKETS = "/var/lib/kubelet/device-plugins"
_CLASS = "runtimeClassName"
_OF_CONTAINER = frozenset({"env", "volumeMounts"})
_OF_NODES = frozenset({"apps/DaemonSet", "apps/Deployment"})
"""Kinds that run exporters: also a Deployment, on a single machine."""
_WATCHES = re.compile(r"gpu[-_]?(?:monitor|metrics|stats?\b|watch|top\b)|nvitop", re.IGNORECASE)
_ELSEWHERE = {"configMapKeyRef", "secretKeyRef"}


def _check(resource: Resource, parameters: Parameters) -> Iterator[Violation]:
    if resource.namespace in parameters["namespaces"] or is_placeholder(resource.namespace):
        return
    for pod in pods_of(resource):
        exporters = _exporters(resource, pod)
        alone = bool(exporters) and len(exporters) == len(list(pod.containers()))
        if alone or (resource.group_kind == "apps/DaemonSet" and _is_a_plugin(pod)):
            continue  # device plugins and monitoring agents access all GPUs of a node
        agent = is_node_agent(resource, pod)
        for violation in check_pod_bypass(pod):
            if (
                _is_unknown(resource, violation.path)
                or violation.path[: len(pod.field_path("containers", 0))] in exporters
            ):
                continue
            if violation.path != pod.field_path(_CLASS):
                less = Severity.WARNING if _requests_gpus(resource, violation.path) else None
                mine = agent or _watches(resource, violation.path)
                yield replace(violation, severity=less, is_advisory=mine)
        # next to a monitoring container, the class is for that container
        yield from _by_class(pod, agent=agent or bool(exporters))


def _exporters(resource: Resource, pod: Pod) -> set[Path]:
    """Containers that monitor all GPUs of a node and may request none."""
    if resource.group_kind not in _OF_NODES:
        return set()
    return {path for path, container in pod.containers() if is_gpu_monitor(container)}


def _by_class(pod: Pod, *, agent: bool) -> Iterator[Violation]:
    """The runtime class gives GPUs to an image by the image's own variable, which no file contains."""
    slips = [
        violation for violation in check_pod_bypass(pod) if violation.path == pod.field_path(_CLASS)
    ]
    are_cuda = [
        is_cuda_image(text(each.get("image"))) for _, each in containers_given_all_gpus(pod)
    ]
    if not slips or not any(each is not False for each in are_cuda):
        return
    runtime = text(pod.spec.get(_CLASS))
    one = slips[0] if len(slips) == 1 else None
    yield Violation(
        pod.field_path(_CLASS),
        f"uncounted GPUs: the runtime class {runtime} gives every GPU of the node to a container"
        " without a GPU request whose image asks for them, as CUDA images do",
        one.fix if one else "request nvidia.com/gpu, or omit runtimeClassName",
        severity=Severity.WARNING,
        # next to a container that requests GPUs, the class is for that container
        is_advisory=agent or any(pod.gpus().values()) or pod.claims_devices or True not in are_cuda,
    )


def _context_effect(stack: Stack, resource: Resource, path: Path) -> ContextEffect:
    """Without GPU accounting in the input, or with all GPUs of the node, the pod takes nothing from others.

    With time-slicing of an unknown number of GPUs, it may be the GPU that all pods share anyway.
    """
    if max_gpus_per_node(stack) == 1 or not has_gpu_requests(stack):
        return ContextEffect.CHOICE
    pod = pod_at(resource, path)
    if (
        "env" in path
        and pod is not None
        and not pod.spec.get(_CLASS)
        and injects_by_cdi_only(stack)
    ):
        return ContextEffect.CHOICE  # the variable has no effect there
    if pod is not None and requests_all_gpus(stack, pod):
        return ContextEffect.CHOICE
    if max_gpus_per_node(stack) is None and uses_time_slicing(stack):
        return ContextEffect.CHOICE if _requests_gpus(resource, path) else ContextEffect.UNSURE
    return ContextEffect.FULL


def _container(resource: Resource, path: Path) -> Mapping[str, Any]:
    """The container at a path."""
    end = next((i for i, step in enumerate(path) if step in _OF_CONTAINER), None)
    return mapping(at(resource.properties, *path[:end])) if end else {}


def _watches(resource: Resource, path: Path) -> bool:
    """Whether the container name says that it monitors GPUs and runs no workload on them."""
    container = _container(resource, path)
    return any(_WATCHES.search(text(container.get(field))) for field in ("name", "image"))


def _requests_gpus(resource: Resource, path: Path) -> bool:
    """Whether the container at a path requests GPUs: on a node with one GPU it gets that one anyway."""
    return any(gpu_requests(_container(resource, path)).values())


def _is_a_plugin(pod: Pod) -> bool:
    """Whether it mounts the device-plugin socket of the kubelet."""
    return any(text(each, "hostPath", "path").startswith(_SOCKETS) for _, each in pod.volumes())


def _is_unknown(resource: Resource, path: Path) -> bool:
    """A variable with a value from another object, or a placeholder, may have any value."""
    variable = mapping(at(resource.properties, *path))
    elsewhere = mapping(variable.get("valueFrom")).keys() & _ELSEWHERE
    return bool(elsewhere) or is_placeholder(variable.get("value"))


RULE = Rule(
    id=BYPASS.id,
    title=BYPASS.title,
    severity=Severity.ERROR,
    why="A pod that uses GPUs without a request shares them, unnoticed, with the pod that requested them.",
    fix="Request nvidia.com/gpu; do not set NVIDIA_VISIBLE_DEVICES or the runtime class nvidia.",
    sources=(
        "NVIDIA/gpu-operator issues 421 and 700",
        "NVIDIA GPU Operator documentation, CDI: the runtime class is for management containers",
    ),
    references=(AuditReference("CNCF AI Conformance", "secure_accelerator_access"),),
    kinds=POD_KINDS,
    parameters={"namespaces": SYSTEM_NAMESPACES},
    check=_check,
    adjust=_context_effect,
)
