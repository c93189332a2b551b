"""Access to GPUs without a request: environment variables, mounts, annotations, runtime class."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.admission.parameters import TeamParameters
from gpuyard_core.admission.requirement import Workload, new_violation
from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import items, mapping, text
from gpuyard_core.manifests.pods import Pod, container_name, gpu_requests
from gpuyard_core.manifests.quantities import Violation

VARIABLE = "NVIDIA_VISIBLE_DEVICES"
VARIABLES = (VARIABLE, "NVIDIA_IMEX_CHANNELS")
HARMLESS = ("", "none", "void")
"""Values of the variables that expose no GPU."""
RUNTIME = "nvidia"
"""Prefix of NVIDIA's runtime class names: the operator creates nvidia, nvidia-cdi, nvidia-legacy."""
FOLDER = "nvidia-container-devices"
"""A mount below this folder of /var/run names a device to the container toolkit, if that is configured so; it
normalizes `..` and `//`.
"""
FABRIC = ("NVIDIA_MOFED", "NVIDIA_NVSWITCH")
"""Variables with which NVIDIA's container toolkit exposes all network adapters or all switches of a
node.
"""
DEVICES_SAID = (
    *("cdi.k8s.io/", "devices.nri.io", "mounts.nri.io"),
    *("devices.noderesource.dev", "mounts.noderesource.dev"),
)
"""Parts of annotation names with which the container runtime or its plugins expose devices and
directories: both names of containerd's device-injector, and NVIDIA's.
"""
BESIDE_GPUS = "devices.gke.io"
"""The same for GKE: pods that request GPUs use it to pass them to their GPUDirect daemon."""


def requests_gpus(pod: Pod) -> bool:
    """Whether the pod requests GPUs, as resources or through claims."""
    return any(pod.gpus().values()) or pod.claims_devices


def check_bypass(workload: Workload, _: TeamParameters) -> Iterator[Violation]:
    """GPUs that a workload accesses without a request."""
    for pod in workload.pods:
        yield from check_pod_bypass(pod)


def check_pod_bypass(pod: Pod) -> Iterator[Violation]:
    """GPUs that one pod accesses without a request."""
    for path, container in pod.containers():
        yield from _of_container(path, container)
    runtime = text(pod.spec.get("runtimeClassName"))
    for path, container in containers_given_all_gpus(pod) if runtime.startswith(RUNTIME) else ():
        name = container_name(path, container)
        yield new_violation(
            "bypass.SEES_ALL", pod.field_path("runtimeClassName"), container=name, runtime=runtime
        )
    for key in mapping(pod.metadata.get("annotations")):
        variables = (*DEVICES_SAID, *(() if requests_gpus(pod) else (BESIDE_GPUS,)))
        if any(each in str(key) for each in variables):
            yield new_violation(
                "bypass.ANNOTATED", (*pod.path, "metadata", "annotations", str(key)), name=str(key)
            )


def containers_given_all_gpus(pod: Pod) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Containers without a GPU request or an opt-out: the runtime class exposes all GPUs to them."""
    return (each for each in pod.containers() if not _sees_its_own(each[1]))


def _of_container(path: Path, container: Mapping[str, Any]) -> Iterator[Violation]:
    name = container_name(path, container)
    for index, each in enumerate(items(container.get("env"))):
        variable = mapping(each)
        variable_name = text(variable.get("name"))
        if variable_name in (*VARIABLES, *FABRIC) and not _gives_nothing(variable):
            problem = "bypass.TAKES_FABRIC" if variable_name in FABRIC else "bypass.TAKES"
            where = (*path, "env", index)
            yield new_violation(problem, where, variable=variable_name, container=name)
    for index, each in enumerate(items(container.get("volumeMounts"))):
        if FOLDER in text(mapping(each).get("mountPath")).split("/"):
            yield new_violation("bypass.MOUNTS", (*path, "volumeMounts", index), container=name)


def _gives_nothing(variable: Mapping[str, Any]) -> bool:
    return "valueFrom" not in variable and text(variable.get("value")) in HARMLESS


def _sees_its_own(container: Mapping[str, Any]) -> bool:
    """Whether the container requests GPUs or opts out."""
    variables = (mapping(each) for each in items(container.get("env")))
    return (
        bool(items(mapping(container.get("resources")).get("claims")))
        or any(gpu_requests(container).values())
        or any(
            text(one.get("name")) == VARIABLE and text(one.get("value")) in HARMLESS[1:]
            for one in variables
        )
    )
