"""GPU-POD-01: GPUs are asked for, never taken past the scheduler."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.admission.bypass import containers_given_all_gpus, pod_bypasses
from gpuyard.admission.requirements import BYPASS
from gpuyard.findings import Path, Severity
from gpuyard.manifests.placeholders import is_placeholder
from gpuyard.manifests.pods import gpu_requests
from gpuyard.rules.rule import (
    ContextEffect,
    Parameters,
    Reference,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    mapping,
    text,
)
from gpuyard.rules.subjects.cuda_images import is_cuda_image
from gpuyard.rules.subjects.device_counts import (
    counts_gpus,
    max_gpus_per_node,
    requests_all_gpus,
    uses_time_slicing,
)
from gpuyard.rules.subjects.installed_versions import injects_by_cdi_only
from gpuyard.rules.subjects.pods import (
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
"""As what exporters run: a Deployment where there is one machine."""
_WATCHES = re.compile(r"gpu[-_]?(?:monitor|metrics|stats?\b|watch|top\b)|nvitop", re.IGNORECASE)
_ELSEWHERE = {"configMapKeyRef", "secretKeyRef"}


def _check(resource: Resource, parameters: Parameters) -> Iterator[Violation]:
    if resource.namespace in parameters["namespaces"] or is_placeholder(resource.namespace):
        return
    for pod in pods_of(resource):
        exporters = _exporters(resource, pod)
        alone = bool(exporters) and len(exporters) == len(list(pod.containers()))
        if alone or (resource.group_kind == "apps/DaemonSet" and _is_a_plugin(pod)):
            continue  # who hands out the GPUs of a node, or measures them, looks at all of them
        agent = is_node_agent(resource, pod)
        for slip in pod_bypasses(pod):
            if (
                _is_unknown(resource, slip.path)
                or slip.path[: len(pod.at("containers", 0))] in exporters
            ):
                continue
            if slip.path != pod.at(_CLASS):
                less = Severity.WARNING if _requests_gpus(resource, slip.path) else None
                mine = agent or _watches(resource, slip.path)
                yield Violation(slip.path, slip.problem, slip.fix, severity=less, is_advisory=mine)
        # beside one that measures, the class is there for that one
        yield from _by_class(pod, agent=agent or bool(exporters))


def _exporters(resource: Resource, pod: Pod) -> set[Path]:
    """Where containers stand that measure all GPUs of a node, and may take none."""
    if resource.group_kind not in _OF_NODES:
        return set()
    return {path for path, container in pod.containers() if is_gpu_monitor(container)}


def _by_class(pod: Pod, *, agent: bool) -> Iterator[Violation]:
    """The runtime class gives an image what its own variable asks for, and no file says what that is."""
    slips = [slip for slip in pod_bypasses(pod) if slip.path == pod.at(_CLASS)]
    are_cuda = [
        is_cuda_image(text(each.get("image"))) for _, each in containers_given_all_gpus(pod)
    ]
    if not slips or not any(each is not False for each in are_cuda):
        return
    runtime = text(pod.spec.get(_CLASS))
    one = slips[0] if len(slips) == 1 else None
    yield Violation(
        pod.at(_CLASS),
        f"GPUs that nobody counts: the runtime class {runtime} gives every GPU of the node to a container"
        " without a request whose image asks for them, as CUDA's do",
        one.fix if one else "request nvidia.com/gpu, or leave runtimeClassName out",
        severity=Severity.WARNING,
        # beside a container that asks for GPUs the class is there for that one
        is_advisory=agent or any(pod.gpus().values()) or pod.claims_devices or True not in are_cuda,
    )


def _context_effect(stack: Stack, resource: Resource, path: Path) -> ContextEffect:
    """Where nobody in view counts GPUs, or it has all of its node, nothing is taken from others.

    With turns on GPUs of which nobody knows how many there are, it may be the one that all share anyway.
    """
    if max_gpus_per_node(stack) == 1 or not counts_gpus(stack):
        return ContextEffect.CHOICE
    pod = pod_at(resource, path)
    if (
        "env" in path
        and pod is not None
        and not pod.spec.get(_CLASS)
        and injects_by_cdi_only(stack)
    ):
        return ContextEffect.CHOICE  # the variable gives nothing there
    if pod is not None and requests_all_gpus(stack, pod):
        return ContextEffect.CHOICE
    if max_gpus_per_node(stack) is None and uses_time_slicing(stack):
        return ContextEffect.CHOICE if _requests_gpus(resource, path) else ContextEffect.UNSURE
    return ContextEffect.FULL


def _container(resource: Resource, path: Path) -> Mapping[str, Any]:
    """The container in which a place is."""
    end = next((i for i, step in enumerate(path) if step in _OF_CONTAINER), None)
    return mapping(at(resource.properties, *path[:end])) if end else {}


def _watches(resource: Resource, path: Path) -> bool:
    """Whether what the container is called says that it looks at GPUs, and works on none."""
    container = _container(resource, path)
    return any(_WATCHES.search(text(container.get(field))) for field in ("name", "image"))


def _requests_gpus(resource: Resource, path: Path) -> bool:
    """Whether the container at a path asks for GPUs itself: of a node with one it gets that one anyway."""
    return any(gpu_requests(_container(resource, path)).values())


def _is_a_plugin(pod: Pod) -> bool:
    """Whether it stands on the socket of the kubelet at which devices are offered."""
    return any(text(each, "hostPath", "path").startswith(_SOCKETS) for _, each in pod.volumes())


def _is_unknown(resource: Resource, path: Path) -> bool:
    """A variable whose value stands in another object, or is filled in later, may be any."""
    variable = mapping(at(resource.properties, *path))
    elsewhere = mapping(variable.get("valueFrom")).keys() & _ELSEWHERE
    return bool(elsewhere) or is_placeholder(variable.get("value"))


RULE = Rule(
    id=BYPASS.id,
    title=BYPASS.title,
    severity=Severity.ERROR,
    why="A pod that takes GPUs past the scheduler shares them with whoever was given them, unseen.",
    fix="Request nvidia.com/gpu; leave NVIDIA_VISIBLE_DEVICES and the runtime class nvidia to the operator.",
    sources=(
        "NVIDIA/gpu-operator issues 421 and 700",
        "NVIDIA GPU Operator documentation, CDI: the runtime class is for management containers",
    ),
    references=(Reference("CNCF AI Conformance", "secure_accelerator_access"),),
    kinds=POD_KINDS,
    parameters={"namespaces": SYSTEM_NAMESPACES},
    check=_check,
    adjust=_context_effect,
)
