"""Pods in all kinds that create them, so that a pod rule is written once."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from gpuyard_core.admission.bypass import requests_gpus
from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import at, if_known, items, mapping, text
from gpuyard_core.manifests.pods import Pod
from gpuyard_core.manifests.templates import KINDS, Kind, PodsForm, templates_of
from gpuyard_core.manifests.templates import POD_KINDS as WITH_PODS
from gpuyard_lint.rules.rule import NotEvaluatedError, Resource, Stack
from gpuyard_lint.rules.subjects.component_images import PARTS

POD_KINDS = tuple(sorted({*WITH_PODS, *PARTS}))
"""Every kind with a pod, in the Kubernetes form or in the kind's own fields."""
_OF_FABRIC = re.compile(r"gpudirect|tcpx|nccl-tests?\b")
_OF_AGENTS = re.compile(
    r"exporter|monitor|metric|telemetr|collector|agent|probe|health|check|diagnos|observ|dcgm|"
    r"plugin|driver|installer|toolkit|snapshot|remediat|power.?(?:limit|cap)|persistence",
    re.IGNORECASE,
)
_EXPORTER_IMAGE = re.compile(r"(^|/)(?:dcgm-exporter|nvidia_gpu_exporter)([:@]|$)")
"""By the last part of the name: many registries have copies of them."""
_EXPORTER_NAMES = frozenset({"dcgm-exporter", "nvidia-dcgm-exporter"})
_RUNS_EXPORTER = re.compile(r"(?:^|[\s(;&|]|/bin/)dcgm-exporter(?=[\s;)&|]|$)")
"""The exporter at the start of a command, also inside a shell command."""
_WORDS = re.compile(r"gpu|nvidia", re.IGNORECASE)
_RUNTIMES = ("serving.kserve.io/ServingRuntime", "serving.kserve.io/ClusterServingRuntime")
"""KServe rejects a model that requests one that is `disabled`, and selects none by default."""
_STAYS = "karpenter.sh/do-not-disrupt"
_KEPT = 64
"""The number of recent results that are kept."""
OTHER_ACCELERATORS = (
    "google.com/tpu",
    "amd.com/gpu",
    "aws.amazon.com/neuron",
    "habana.ai/",
    "gpu.intel.com/",
)
"""Accelerators of other vendors: their pods' claims are not checked."""


def is_gpu_pod(pod: Pod) -> bool:
    """Whether it requests GPUs, in any number, or claims devices that may be GPUs."""
    resource_names = {
        str(name)
        for _, container in pod.containers()
        for part in ("limits", "requests")
        for name in mapping(container, "resources", part)
    }
    of_others = any(name.startswith(OTHER_ACCELERATORS) for name in resource_names)
    return bool(pod.gpus()) or (pod.claims_devices and not of_others)


def all_gpu_pods_block_disruption(stack: Stack) -> bool:
    """Whether pods with GPUs are in the input, and each asks Karpenter not to disrupt its node."""
    results = if_known(
        text(mapping(pod.metadata, "annotations").get(_STAYS))
        for resource in stack.resources_of_kinds(*POD_KINDS)
        for pod in pods_of(resource)
        if is_gpu_pod(pod)
    )
    return bool(results) and set(results) == {"true"}


def is_fabric_daemon(pod: Pod) -> bool:
    """Whether it belongs to Google's GPUDirect or tests a fabric: it inspects nodes."""
    images = [text(container, "image") for _, container in pod.containers()]
    return any(map(_OF_FABRIC.search, images))


def speaks_of_gpus(resource: Resource) -> bool:
    """Whether it mentions GPUs anywhere."""
    return _WORDS.search(str(resource.properties)) is not None


def pods_of(resource: Resource) -> Iterator[Pod]:
    """Every pod or pod template in a resource."""
    result, known_to_the_end = _pods(resource)
    yield from result
    if not known_to_the_end:
        raise NotEvaluatedError


def pod_at(resource: Resource, path: Path) -> Pod | None:
    """The pod at a path of a resource."""
    return next((pod for pod in pods_of(resource) if pod.path == path[: len(pod.path)]), None)


def is_gpu_monitor(container: Mapping[str, Any]) -> bool:
    """Whether it runs an exporter of GPU metrics, by image, name or command."""
    words = (text(each) for field in ("command", "args") for each in items(container.get(field)))
    return (
        _EXPORTER_IMAGE.search(text(container, "image")) is not None
        or text(container, "name") in _EXPORTER_NAMES
        or any(map(_RUNS_EXPORTER.search, words))
    )


def is_node_agent(resource: Resource, pod: Pod) -> bool:
    """Whether it runs on every node, requests no GPU, and is named as a monitor, a test or a manager of all GPUs.

    So are exporters that request one: monitoring all GPUs of a node needs none.
    """
    if resource.group_kind != "apps/DaemonSet":
        return False
    containers = [container for _, container in pod.containers()]
    if containers and all(map(is_gpu_monitor, containers)):
        return True
    descriptions = [f"{text(each.get('name'))} {text(each.get('image'))}" for each in containers]
    agent = bool(_OF_AGENTS.search(resource.name)) or all(map(_OF_AGENTS.search, descriptions))
    return agent and not requests_gpus(pod)


@lru_cache(maxsize=_KEPT)
def _pods(resource: Resource) -> tuple[tuple[Pod, ...], bool]:
    """Cached for the next rule, which needs the same; an unknown value does not hide others."""
    kind = KINDS.get(resource.group_kind)
    results: list[Pod] = []
    if resource.group_kind in _RUNTIMES and at(resource.properties, "spec", "disabled") is True:
        return (), True
    try:
        results.extend(pods_in(kind, resource) if kind else ())
        parts = PARTS.get(resource.group_kind)
        results.extend(parts(resource.properties) if parts else ())
    except NotEvaluatedError:
        return tuple(results), False
    return tuple(results), True


def pods_in(kind: Kind, resource: Resource) -> Iterator[Pod]:
    """The same if its kind is known."""
    for result in templates_of(kind, resource.properties):
        if not (result.spec and result.is_written) or result.form is PodsForm.PARTS:
            continue
        inline = result.form is PodsForm.INLINE
        path = result.path if inline else result.path[:-1]
        shared_list = (
            at(resource.properties, *result.inherited_volumes_path)
            if result.inherited_volumes_path
            else None
        )
        listed = (
            shared_list if isinstance(shared_list, list) else []
        )  # an unknown value adds nothing
        shared = tuple(
            ((*result.inherited_volumes_path, n), mapping(each)) for n, each in enumerate(listed)
        )
        yield Pod(path, result.metadata, result.spec, inline, result.container_fields, shared)
