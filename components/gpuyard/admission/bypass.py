"""No GPU without a request: not by the environment, a mount or an annotation, nor by the runtime class."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.admission.parameters import TeamParameters
from gpuyard.admission.requirement import Violation, ViolationTemplate, Workload
from gpuyard.findings import Path
from gpuyard.manifests.fields import items, mapping, text
from gpuyard.manifests.pods import Pod, container_name, gpu_requests

VARIABLE = "NVIDIA_VISIBLE_DEVICES"
VARIABLES = (VARIABLE, "NVIDIA_IMEX_CHANNELS")
HARMLESS = ("", "none", "void")
"""Values of the variables that give nothing."""
RUNTIME = "nvidia"
"""How names of NVIDIA's runtime classes begin: the operator makes nvidia, nvidia-cdi, nvidia-legacy."""
FOLDER = "nvidia-container-devices"
MOUNTED = f"/var/run/{FOLDER}"
"""Below it a mount names a device to the container toolkit, where that is told to look; it reads paths with
`..` and `//` in them as they are meant."""
FABRIC = ("NVIDIA_MOFED", "NVIDIA_NVSWITCH")
"""Variables by which NVIDIA's container toolkit gives every network adapter and every switch of a node."""
DEVICES_SAID = (
    *("cdi.k8s.io/", "devices.nri.io", "mounts.nri.io"),
    *("devices.noderesource.dev", "mounts.noderesource.dev"),
)
"""What annotations contain that name devices and folders of the node to the container runtime, or to a plugin
of its: containerd's device-injector under its older name and its newer one, and NVIDIA's own."""
BESIDE_GPUS = "devices.gke.io"
"""The same of GKE's: a pod that asks for GPUs gives them so to the daemon of GPUDirect in it."""

TAKES = ViolationTemplate(
    "{variable} gives container {container} devices that nobody counts",
    "remove it: request nvidia.com/gpu, and the device plugin says which",
)
TAKES_FABRIC = ViolationTemplate(
    "{variable} gives container {container} every adapter or switch of the node, which nobody counts",
    "remove it: adapters are requested, and their device plugin says which",
)
MOUNTS = ViolationTemplate(
    f"a mount below {MOUNTED} gives container {{container}} GPUs that nobody counts",
    "remove the mount, and request nvidia.com/gpu",
)
ANNOTATED = ViolationTemplate(
    "the annotation {name} gives the pod devices or folders of the node that nobody counts",
    "remove it, and request nvidia.com/gpu",
)
SEES_ALL = ViolationTemplate(
    "container {container} asks for no GPU, and with the runtime class {runtime} sees every GPU of the node",
    f"leave runtimeClassName out, or set {VARIABLE} to void in it",
)


def requests_gpus(pod: Pod) -> bool:
    """Whether the pod asks for GPUs, counted or claimed."""
    return any(pod.gpus().values()) or pod.claims_devices


def check_bypass(workload: Workload, _: TeamParameters) -> Iterator[Violation]:
    """GPUs that are taken."""
    for pod in workload.pods:
        yield from pod_bypasses(pod)


def pod_bypasses(pod: Pod) -> Iterator[Violation]:
    """GPUs that one pod takes."""
    for path, container in pod.containers():
        yield from _of_container(path, container)
    runtime = text(pod.spec.get("runtimeClassName"))
    for path, container in containers_given_all_gpus(pod) if runtime.startswith(RUNTIME) else ():
        name = container_name(path, container)
        yield SEES_ALL.violation(pod.at("runtimeClassName"), container=name, runtime=runtime)
    for key in mapping(pod.metadata.get("annotations")):
        variables = (*DEVICES_SAID, *(() if requests_gpus(pod) else (BESIDE_GPUS,)))
        if any(each in str(key) for each in variables):
            yield ANNOTATED.violation(
                (*pod.path, "metadata", "annotations", str(key)), name=str(key)
            )


def containers_given_all_gpus(pod: Pod) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Containers that neither ask for GPUs nor say that they want none: a runtime class gives them all."""
    return (each for each in pod.containers() if not _sees_its_own(each[1]))


def _of_container(path: Path, container: Mapping[str, Any]) -> Iterator[Violation]:
    name = container_name(path, container)
    for index, each in enumerate(items(container.get("env"))):
        variable = mapping(each)
        variable_name = text(variable.get("name"))
        if variable_name in (*VARIABLES, *FABRIC) and not _gives_nothing(variable):
            sentence = TAKES_FABRIC if variable_name in FABRIC else TAKES
            yield sentence.violation((*path, "env", index), variable=variable_name, container=name)
    for index, each in enumerate(items(container.get("volumeMounts"))):
        if FOLDER in text(mapping(each).get("mountPath")).split("/"):
            yield MOUNTS.violation((*path, "volumeMounts", index), container=name)


def _gives_nothing(variable: Mapping[str, Any]) -> bool:
    return "valueFrom" not in variable and text(variable.get("value")) in HARMLESS


def _sees_its_own(container: Mapping[str, Any]) -> bool:
    """Whether it asks for GPUs, or says that it wants none."""
    variables = (mapping(each) for each in items(container.get("env")))
    return (
        bool(items(mapping(container.get("resources")).get("claims")))
        or any(gpu_requests(container).values())
        or any(
            text(one.get("name")) == VARIABLE and text(one.get("value")) in HARMLESS[1:]
            for one in variables
        )
    )
