"""No GPU without a request: neither by the environment nor by the runtime class."""

from collections.abc import Iterator

from gpuyard.admission.parameters import TeamParameters
from gpuyard.admission.requirement import Sentence, Slip, Workload
from gpuyard.manifests.fields import items, mapping, text
from gpuyard.manifests.pods import Pod, gpu_requests

VARIABLE = "NVIDIA_VISIBLE_DEVICES"
HARMLESS = ("", "none", "void")
"""Values of the variable that give nothing."""
RUNTIME = "nvidia"

TAKES = Sentence(
    f"{VARIABLE} gives container {{container}} GPUs that it did not ask for and nobody counts",
    "request nvidia.com/gpu, and leave the variable to the device plugin",
)
SEES_ALL = Sentence(
    f"the runtime class {RUNTIME} without a GPU request sees every GPU of the node",
    "request nvidia.com/gpu, or leave runtimeClassName out",
)


def asks(pod: Pod) -> bool:
    """Whether the pod asks for GPUs, counted or claimed."""
    return any(pod.gpus().values()) or pod.claims_devices


def bypasses(workload: Workload, _: TeamParameters) -> Iterator[Slip]:
    """GPUs that are taken."""
    for pod in workload.pods:
        yield from bypasses_of(pod)


def bypasses_of(pod: Pod) -> Iterator[Slip]:
    """GPUs that one pod takes."""
    for path, container in pod.containers():
        claims = items(mapping(container.get("resources")).get("claims"))
        if claims or any(gpu_requests(container).values()):
            continue
        for index, each in enumerate(items(container.get("env"))):
            variable = mapping(each)
            if text(variable.get("name")) == VARIABLE and (
                text(variable.get("value")) not in HARMLESS or "valueFrom" in variable
            ):
                yield TAKES.slip((*path, "env", index), container=text(container.get("name")))
    if text(pod.spec.get("runtimeClassName")) == RUNTIME and not asks(pod):
        yield SEES_ALL.slip(pod.at("runtimeClassName"))
