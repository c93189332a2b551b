"""GPU-POD-01: GPUs are asked for, never taken past the scheduler."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.findings import Path, Severity
from gpuyard.rules.pods import POD_KINDS, Pod, gpu_requests, pods_of
from gpuyard.rules.rule import (
    Parameters,
    Reference,
    Resource,
    Rule,
    Violation,
    items,
    mapping,
    text,
)

_VARIABLE = "NVIDIA_VISIBLE_DEVICES"
_HARMLESS = frozenset({"void", "none", ""})
_RUNTIME = "nvidia"


def _check(resource: Resource, parameters: Parameters) -> Iterator[Violation]:
    if resource.namespace in parameters["namespaces"]:
        return
    for pod in pods_of(resource):
        yield from _variables(pod)
        if text(pod.spec.get("runtimeClassName")) == _RUNTIME and not _asks(pod):
            yield Violation(
                pod.at("runtimeClassName"),
                "the runtime class nvidia without a GPU request sees every GPU of the node",
                "request nvidia.com/gpu, or leave runtimeClassName out",
            )


def _asks(pod: Pod) -> bool:
    return bool(any(pod.gpus().values()) or pod.claims_devices)


def _variables(pod: Pod) -> Iterator[Violation]:
    for path, container in pod.containers():
        if gpu_requests(container) or mapping(container.get("resources")).get("claims"):
            continue
        for where, variable in _environment(path, container):
            if text(variable.get("name")) != _VARIABLE:
                continue
            if text(variable.get("value")) not in _HARMLESS or "valueFrom" in variable:
                yield Violation(
                    where,
                    f"{_VARIABLE} gives the container GPUs that it did not ask for and nobody counts",
                    "request nvidia.com/gpu, and leave the variable to the device plugin",
                )


def _environment(
    path: Path, container: Mapping[str, Any]
) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    for index, variable in enumerate(items(container.get("env"))):
        yield (*path, "env", index), mapping(variable)


RULE = Rule(
    id="GPU-POD-01",
    title="A GPU is requested, never taken through the environment or the runtime class",
    severity=Severity.REFUSE,
    why="A pod that takes GPUs past the scheduler shares them with whoever was given them, unseen.",
    fix="Request nvidia.com/gpu; leave NVIDIA_VISIBLE_DEVICES and the runtime class nvidia to the operator.",
    sources=(
        "NVIDIA/gpu-operator issues 421 and 700",
        "NVIDIA GPU Operator documentation, CDI: the runtime class is for management containers",
    ),
    references=(Reference("CNCF AI Conformance", "secure_accelerator_access"),),
    kinds=POD_KINDS,
    parameters={"namespaces": ("gpu-operator", "kube-system", "gpuyard-system")},
    check=_check,
)
