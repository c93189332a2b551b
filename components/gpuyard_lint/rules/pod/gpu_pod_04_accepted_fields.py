"""GPU-POD-04: GPU pods use only valid fields, tags and amounts."""

import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from gpuyard_core.catalogue.software.cuda_tags import (
    LAST_OF_TWO_PARTS,
    NEWEST_OF_OLDEST,
    OLDEST,
    suggested_tag,
)
from gpuyard_core.findings import Path, Severity
from gpuyard_core.manifests.placeholders import is_entirely_placeholder, is_placeholder
from gpuyard_core.manifests.quantities import quantity
from gpuyard_lint.rules.rule import (
    Parameters,
    Resource,
    Rule,
    Violation,
    at,
    is_true,
    items,
    known_value,
    mapping,
    text,
)
from gpuyard_lint.rules.subjects.component_images import image_at
from gpuyard_lint.rules.subjects.pods import (
    GPU_PREFIXES,
    POD_KINDS,
    SYSTEM_NAMESPACES,
    Pod,
    is_gpu_pod,
    pods_of,
)

_VENDOR = re.compile(r"nvidia|nvcr|cuda|dcgm")
_CUDA = re.compile(r"(?:(?:[\w-]+\.)*docker\.(?:io|com)/|nvcr\.io/)?nvidia/cuda")
"""NVIDIA's registry; a mirror may keep removed tags."""
_TWO_PARTS = re.compile(r"(\d{1,9})\.(\d{1,9})(?:-|$)")
_EXPORTER = re.compile(r"(^|/)nvidia/(k8s/)?dcgm-exporter$")
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


def _check(resource: Resource, parameters: Parameters) -> Iterator[Violation]:
    if resource.namespace in parameters["namespaces"]:
        return
    yield from _beside_the_template(resource)
    for pod in pods_of(resource):
        if is_gpu_pod(pod) or _of_vendor(pod):
            for path, container in pod.containers():
                yield from _image(image_at(resource, path), text(container.get("image")))
                yield from _rights(path, mapping(container.get("securityContext")))
                yield from _variables(path, container)
                yield from _commands(path, container)
                yield from _quantities(path, mapping(container.get("resources")))


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


def _of_vendor(pod: Pod) -> bool:
    return any(_VENDOR.search(text(container.get("image"))) for _, container in pod.containers())


def _image(where: Path, image: str) -> Iterator[Violation]:
    name, _, tag = image.partition("@")[0].rpartition(":")
    if _CUDA.fullmatch(name) and (match := _TWO_PARTS.match(tag)):
        yield _cuda(where, tag, (int(match[1]), int(match[2])))
    if _EXPORTER.search(name) and _THREE_PARTS.fullmatch(tag):
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
    added = [text(each) for each in items(mapping(context.get("capabilities")).get("add"))]
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
    for index, variable in enumerate(items(container.get("env"))):
        name = text(mapping(variable).get("name"))
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
    limits, requests = mapping(resources.get("limits")), mapping(resources.get("requests"))
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


RULE = Rule(
    id="GPU-POD-04",
    title="A GPU pod uses valid resource requests and fields",
    severity=Severity.ERROR,
    why="Such a pod is rejected, cannot pull its image, or runs without the expected limit.",
    fix="Use existing tags, capabilities without CAP_, and whole GPUs as limits; share with MIG or MPS.",
    sources=(
        "Kubernetes API validation of extended resources and of allowPrivilegeEscalation",
        "NVIDIA/k8s-device-plugin v0.20.0, MPS; tags of nvidia/cuda and of the exporter",
    ),
    kinds=POD_KINDS,
    parameters={"namespaces": SYSTEM_NAMESPACES},
    check=_check,
)
