"""Rules on fields, images and node labels of GPU pods."""

import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from gpuyard_core.admission.bypass import requests_gpus
from gpuyard_core.admission.images import is_allowed_image, normalized_prefix
from gpuyard_core.admission.requirement import new_violation
from gpuyard_core.catalogue.software.cuda_tags import (
    LAST_OF_TWO_PARTS,
    NEWEST_OF_OLDEST,
    OLDEST,
    suggested_tag,
)
from gpuyard_core.findings import Path, Severity
from gpuyard_core.manifests.fields import at, is_true, items, known_value, mapping, number, text
from gpuyard_core.manifests.placeholders import (
    is_entirely_placeholder,
    is_moving_tag,
    is_no_image,
    is_placeholder,
)
from gpuyard_core.manifests.pods import GPU_PREFIXES, Pod
from gpuyard_core.manifests.quantities import quantity
from gpuyard_core.names import NVLINK_GPUS_LABEL
from gpuyard_lint.rules.rule import (
    ContextEffect,
    Parameters,
    Resource,
    Stack,
    Violation,
    load_rule,
    once_per_stack,
    read_table,
)
from gpuyard_lint.rules.subjects.claims import claims_only_other_devices
from gpuyard_lint.rules.subjects.component_images import image_at
from gpuyard_lint.rules.subjects.pods import (
    POD_KINDS,
    is_fabric_daemon,
    is_gpu_pod,
    pod_at,
    pods_of,
)
from gpuyard_lint.rules.subjects.pools import OWN_LABELS, POOL_KINDS, gpu_pool, sets_label

# GPU-POD-03
_DIGEST = re.compile(r"@sha256:[0-9a-f]{64}$")


_UTILITY_IMAGES = frozenset(read_table("utility_images"))
"""Utility images of which every version does the same."""

_OFFICIAL = _UTILITY_IMAGES.union(read_table("official_images"))
"""Names without an owner in Docker's registry; any other such name was built or loaded on the node."""

_OF_NETWORKS = frozenset(read_table("network_images"))
"""Sidecars that carry the workload's traffic: they do not use the GPUs."""


_FIRST = "initContainers"


def _check_tolerations_and_tags(resource: Resource, parameters: Parameters) -> Iterator[Violation]:
    if resource.namespace in parameters["namespaces"] or resource.kind.endswith("/DaemonSet"):
        return  # node agents run on every node by design
    for pod in pods_of(resource):
        if is_gpu_pod(pod):  # also with a limit of 0, which overlays raise
            yield from () if is_fabric_daemon(pod) else _tolerations(pod)
            yield from _images(resource, pod, parameters)


def _tolerations(pod: Pod) -> Iterator[Violation]:
    for index, toleration in enumerate(items(pod.spec, "tolerations")):
        value = mapping(toleration)
        if text(value, "operator") == "Exists" and not text(value, "key"):
            yield new_violation("placement.EVERY_TAINT", pod.field_path("tolerations", index))


def _images(resource: Resource, pod: Pod, parameters: Parameters) -> Iterator[Violation]:
    places = tuple(normalized_prefix(each) for each in parameters["allowed_images"])
    # init containers are not the workload
    some_have = any(_has_gpus(each) for path, each in pod.containers() if _FIRST not in path)
    for path, container in pod.containers():
        image, where = text(container, "image"), image_at(resource, path)
        unknown = is_no_image(image)
        if not image or (unknown and not _only_the_registry_is(image)):
            continue  # a placeholder
        if places and not unknown and not is_allowed_image(image, places):
            problem = f"{image} is not from an allowed registry"
            yield Violation(where, problem, f"use one of {', '.join(places)}")
        if _DIGEST.search(image) or not is_moving_tag(image):
            continue
        if _runs_beside(resource, where, container):
            # pods of one job, or of one service, start at different times
            then = "a pod that starts later can run different code than the others"
            if resource.group_kind == "Pod":
                then = "the same manifest can run different code later"
            yield Violation(
                where,
                f"{image} is a moving tag: {then}",
                "pin the image by digest: name:tag@sha256:…",
                is_advisory=_is_built_here(image, container)
                or (some_have and not _has_gpus(container)),
            )


def _adjust_tags(stack: Stack, resource: Resource, path: Path) -> ContextEffect:
    """A container that claims other devices only runs no GPU code."""
    pod = pod_at(resource, path)
    if pod is not None and claims_only_other_devices(stack, pod):
        return ContextEffect.CHOICE
    return ContextEffect.FULL


def _has_gpus(container: Mapping[str, Any]) -> bool:
    """Whether the container requests GPUs."""
    resources = mapping(container, "resources")
    resource_requests = {**mapping(resources, "requests"), **mapping(resources, "limits")}
    counted = (
        number(n) for name, n in resource_requests.items() if str(name).startswith(GPU_PREFIXES)
    )
    return any(n != 0 for n in counted) or bool(resources.get("claims"))


def _is_built_here(image: str, container: Mapping[str, Any]) -> bool:
    """Whether nodes have the image locally, under a name that no registry has: only its owner changes it."""
    uses_local_image = text(container, "imagePullPolicy") == "IfNotPresent"
    return uses_local_image and "/" not in image and image.partition(":")[0] not in _OFFICIAL


def _only_the_registry_is(image: str) -> bool:
    """For example `<registry>/server:latest`: the tag moves in any registry."""
    registry, _, name = image.rpartition("/")
    return bool(registry) and name.endswith(":latest") and not is_no_image(name)


def _runs_beside(resource: Resource, where: Path, container: Mapping[str, Any]) -> bool:
    """Whether it is the workload: not an init container, nor a template that only selects nodes by size."""
    first = _FIRST in where and text(container, "restartPolicy") != "Always"
    image = text(container, "image")
    name = image.rpartition("/")[2].partition(":")[0]
    # an image that no registry has was built on the node: it has no digest to pin
    own = text(container, "imagePullPolicy") == "Never" or image.startswith("localhost/")
    known = name in _UTILITY_IMAGES | _OF_NETWORKS
    return not (first or own or known) and resource.group_kind != "PodTemplate"


# GPU-POD-04
_VENDOR = re.compile(r"nvidia|nvcr|cuda|dcgm")
_CUDA = re.compile(r"(?:(?:[\w-]+\.)*docker\.(?:io|com)/|nvcr\.io/)?nvidia/cuda")
"""NVIDIA's registry; a mirror may keep removed tags."""
_TWO_PARTS = re.compile(r"(\d{1,9})\.(\d{1,9})(?:-|$)")
_EXPORTER_NAME = re.compile(r"(^|/)nvidia/(k8s/)?dcgm-exporter$")
_THREE_PARTS = re.compile(r"v?[2-9]\.\d+\.\d+")
"""Before version 2, a tag contained only the exporter's version."""
_BESIDE: Mapping[str, tuple[Path, ...]] = {
    "batch/CronJob": (("spec",), ("spec", "jobTemplate", "spec")),
    **{f"apps/{kind}": (("spec",),) for kind in ("Deployment", "StatefulSet", "DaemonSet")},
    "batch/Job": (("spec",),),
}
"""By kind: where pod fields have no effect."""
_OF_PODS = ("tolerations", "nodeSelector", "affinity", "runtimeClassName", "priorityClassName")
_VARIABLES: Mapping[str, str] = {
    "CUDA_MEMORY_LIMIT": "share by MPS or MIG, which do limit memory",
    "GPU_MEMORY_LIMIT": "share by MPS or MIG, which do limit memory",
}
"""Variables from guides that neither CUDA nor the container toolkit reads."""
_MPS_SERVER = "nvidia-cuda-mps-control -d"
_MPS_WORDS: Mapping[str, tuple[str, str]] = {
    "set_default_memory_limit": (
        "MPS has no command set_default_memory_limit",
        "let the device plugin run MPS: sharing.mps limits the memory of each client",
    ),
    _MPS_SERVER: (
        "an MPS server in a pod serves no other pod: other pods cannot reach its pipes",
        "let the device plugin run MPS: sharing.mps in its configuration",
    ),
}


def _check_accepted_fields(resource: Resource, parameters: Parameters) -> Iterator[Violation]:
    if resource.namespace in parameters["namespaces"]:
        return
    yield from _beside_the_template(resource)
    for pod in pods_of(resource):
        images = (text(container, "image") for _, container in pod.containers())
        if is_gpu_pod(pod) or any(map(_VENDOR.search, images)):
            for path, container in pod.containers():
                yield from _image(image_at(resource, path), text(container, "image"))
                yield from _rights(path, mapping(container, "securityContext"))
                yield from _variables(path, container)
                yield from _commands(path, container)
                yield from _quantities(path, mapping(container, "resources"))


def _beside_the_template(resource: Resource) -> Iterator[Violation]:
    """Pod fields one level too high, where the API has no such field."""
    levels = _BESIDE.get(resource.group_kind, ())
    if not levels or not any(map(is_gpu_pod, pods_of(resource))):
        return
    for above, field in product(levels, _OF_PODS):
        if at(resource.properties, *above, field) is not None:
            yield Violation(
                (*above, field),
                f"{field} is a field of pods: here the API server rejects or drops it, and the pods lack it",
                f"move it to {'.'.join(map(str, levels[-1]))}.template.spec.{field}",
            )


def _image(where: Path, image: str) -> Iterator[Violation]:
    name, _, tag = image.partition("@")[0].rpartition(":")
    if _CUDA.fullmatch(name) and (match := _TWO_PARTS.match(tag)):
        yield _cuda(where, tag, (int(match[1]), int(match[2])))
    if _EXPORTER_NAME.search(name) and _THREE_PARTS.fullmatch(tag):
        yield Violation(
            where,
            f"the exporter has no image with tag {tag}: a tag is DCGM version, exporter version and system",
            "write, for example, 4.6.0-4.8.3-distroless",
        )


def _cuda(path: Path, tag: str, version: tuple[int, int]) -> Violation:
    """A tag with two parts: new versions never had one, and old ones were removed."""
    is_withdrawn = "NVIDIA has removed all tags of that age"
    never = "its versions have three parts, and old two-part tags were removed"
    reason = is_withdrawn if version <= LAST_OF_TWO_PARTS else never
    instead = suggested_tag(version, tag)
    if instead is None:
        which = "CUDA 11 or newer" if version < OLDEST else "a tag with three parts"
        instead = f"{which}, such as {suggested_tag(NEWEST_OF_OLDEST, tag)}"
    problem = f"no CUDA image has the tag {tag}: {reason}"
    return Violation(path, problem, f"write {instead}, preferably with its digest")


def _rights(path: Path, context: Mapping[str, Any]) -> Iterator[Violation]:
    added = [text(each) for each in items(context, "capabilities", "add")]
    for index, name in enumerate(added):
        if name.startswith("CAP_"):
            yield Violation(
                (*path, "securityContext", "capabilities", "add", index),
                f"the runtime does not know {name}: capability names have no CAP_ prefix here",
                f"write {name.removeprefix('CAP_')}",
            )
    strong = is_true(context.get("privileged")) or "CAP_SYS_ADMIN" in added
    if known_value(context.get("allowPrivilegeEscalation")) is False and strong:
        yield Violation(
            (*path, "securityContext", "allowPrivilegeEscalation"),
            "the API server rejects allowPrivilegeEscalation: false with privileged or CAP_SYS_ADMIN",
            "remove privileged or CAP_SYS_ADMIN; GPU pods need neither",
        )


def _variables(path: Path, container: Mapping[str, Any]) -> Iterator[Violation]:
    for index, variable in enumerate(items(container, "env")):
        name = text(variable, "name")
        if name in _VARIABLES:
            yield Violation(
                (*path, "env", index),
                f"neither CUDA nor the container toolkit reads {name}",
                _VARIABLES[name],
            )


def _commands(path: Path, container: Mapping[str, Any]) -> Iterator[Violation]:
    for field in ("command", "args"):
        words = " ".join(text(each) for each in items(container.get(field)))
        for result, (problem, fix) in _MPS_WORDS.items():
            if result in words:
                # a server for the processes of one pod is useful to that pod
                severity = Severity.WARNING if result == _MPS_SERVER else None
                yield Violation((*path, field), problem, fix, severity=severity)


def _quantities(path: Path, resources: Mapping[str, Any]) -> Iterator[Violation]:
    limits, requests = mapping(resources, "limits"), mapping(resources, "requests")
    for name in sorted({*limits, *requests}):
        if not name.startswith(GPU_PREFIXES):
            continue
        limit, request = (
            quantity(known_value(limits.get(name))),
            quantity(known_value(requests.get(name))),
        )
        whose = "limits" if name in limits else "requests"
        amount = limit if name in limits else request
        where = (*path, "resources", whose, name)
        value = known_value(resources[whose][name])
        if is_placeholder(value) or is_placeholder(requests.get(name)):
            continue
        if amount is None or amount % 1:
            yield Violation(
                where,
                f"{value} is not a valid amount of {name}: it must be a whole number",
                "request 1 and share GPUs with MIG or MPS",
            )
        elif name not in limits and not is_entirely_placeholder(resources.get("limits")):
            yield Violation(
                where, f"the API server rejects {name} without a limit", "write it under limits"
            )
        elif name in requests and request != limit:
            yield Violation(
                where,
                f"{name} has request {requests[name]} and limit {limits[name]}: they must be equal",
                "omit the request",
            )


# GPU-POD-05
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
_EXPORTER_IMAGE = re.compile(r"(^|/)nvidia/(k8s/)?dcgm-exporter(:|@|$)")
_POD_RESOURCES = "/var/lib/kubelet/pod-resources"
_ABOUT = "DCGM_EXPORTER_KUBERNETES"
_SELECTOR = "nodeSelector"
_WAITS = "--fail-on-init-error=false"
_WAITED = re.compile(r"(^|/)k8s-device-plugin:(1\.|v?0\.[0-6]\.)")
"""Device plugins before 0.7, which wait on nodes without GPUs, with any options."""
_SPACE = re.compile(r"\s")
_OFF = frozenset({"false", "False", "0"})
"""The vendor of the GPU is unknown then."""


def _check_node_labels(resource: Resource, parameters: Parameters) -> Iterator[Violation]:
    for pod in pods_of(resource):
        for path, key, values in _selected(pod):
            if key not in parameters["labels"]:
                yield from _label(path, key, values)
        if is_gpu_pod(pod):
            yield from _spaces(pod)
        if resource.group_kind == "apps/DaemonSet":
            yield from _agent(pod, mapping(resource.properties, "spec"))


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
        for index, each in enumerate(items(term, "matchExpressions")):
            expression = mapping(each)
            values = [text(value) for value in items(expression, "values")]
            yield (*path, "matchExpressions", index), text(expression, "key"), values


def _terms(pod: Pod) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    node = mapping(pod.spec, "affinity", "nodeAffinity")
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    for index, term in enumerate(items(mapping(node.get(required)).get("nodeSelectorTerms"))):
        path = pod.field_path("affinity", "nodeAffinity", required, "nodeSelectorTerms", index)
        yield path, mapping(term)
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    for index, each in enumerate(items(node.get(preferred))):
        path = pod.field_path("affinity", "nodeAffinity", preferred, index, "preference")
        yield path, mapping(each, "preference")


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


def _waits(pod: Pod) -> bool:
    """A device plugin that does not fail without a GPU, such as in NVIDIA's own manifest."""
    containers = [container for _, container in pod.containers()]
    if any(_WAITED.search(text(container, "image")) for container in containers):
        return True
    return any(
        text(each, "name") == "FAIL_ON_INIT_ERROR" and text(each, "value") in _OFF
        for container in containers
        for each in items(container, "env")
    ) or any(
        text(each) == _WAITS
        for container in containers
        for field in ("command", "args")
        for each in items(container.get(field))
    )


def _agent(pod: Pod, spec: Mapping[str, Any]) -> Iterator[Violation]:
    """A device plugin or an exporter that the operator does not manage."""
    images = [text(container, "image") for _, container in pod.containers()]
    if not any(_PLUGINS.search(image) for image in images):
        return
    if not mapping(spec, "selector"):
        problem = "the API server rejects a DaemonSet without a pod selector"
        yield Violation(
            ("spec", "selector"), problem, "set matchLabels to the labels of the template"
        )
    if not (bool(mapping(pod.spec.get(_SELECTOR)) or mapping(pod.spec, "affinity")) or _waits(pod)):
        asking = requests_gpus(pod)  # it does not start on nodes without GPUs then
        yield Violation(
            pod.field_path(_SELECTOR),
            "one pod per node without GPUs stays pending, because it requests a GPU"
            if asking
            else "it runs on every node, including those without GPUs: a toleration excludes none",
            'select nvidia.com/gpu.present: "true"',
            # NVIDIA's own manifest of the exporter has only these
            is_advisory=asking or all(_EXPORTER_IMAGE.search(image) for image in images),
        )
    mounted = [text(each, "hostPath", "path") for _, each in pod.volumes()]
    mapped = any(  # the socket's folder, a parent or a child of it
        path.startswith(_POD_RESOURCES) or f"{_POD_RESOURCES}/".startswith(f"{path.rstrip('/')}/")
        for path in mounted
    )
    for path, container in pod.containers():
        for index, each in enumerate(map(mapping, items(container, "env"))):
            if mapped or text(each, "name") != _ABOUT or text(each, "value") in _OFF:
                continue
            yield Violation(
                (*path, "env", index),
                "the exporter cannot map GPUs to pods: the kubelet's socket is not mounted",
                f"mount hostPath {_POD_RESOURCES}",
            )


def _adjust_node_labels(stack: Stack, resource: Resource, path: Path) -> ContextEffect:
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


RULES = (
    load_rule(
        "GPU-POD-03", kinds=POD_KINDS, check=_check_tolerations_and_tags, adjust=_adjust_tags
    ),
    load_rule("GPU-POD-04", kinds=POD_KINDS, check=_check_accepted_fields),
    load_rule("GPU-POD-05", kinds=POD_KINDS, check=_check_node_labels, adjust=_adjust_node_labels),
)
