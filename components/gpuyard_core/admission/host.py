"""Access to the host: privileges, host namespaces, devices and sockets."""

from collections.abc import Iterator, Mapping

from gpuyard_core.admission.parameters import TeamParameters
from gpuyard_core.admission.requirement import ViolationTemplate, Workload
from gpuyard_core.manifests.fields import is_true, items, mapping, text
from gpuyard_core.manifests.pods import container_name
from gpuyard_core.manifests.resources import Violation

SHARES_HOST: Mapping[str, ViolationTemplate] = {
    field: ViolationTemplate(f"with {field} the pod {effect}", f"remove {field}")
    for field, effect in (
        ("hostPID", "sees every process on the node"),
        (
            "hostIPC",
            "shares memory with every pod on the node, including MPS clients of other teams",
        ),
        ("hostNetwork", "has the node's IP address and bypasses network policies"),
    )
}
PRIVILEGED = ViolationTemplate(
    "container {container} is privileged: it can use every GPU of the node, allocated or not",
    "remove securityContext.privileged; RDMA needs LimitMEMLOCK in the node's container runtime "
    "instead",
)
UNMASKED = ViolationTemplate(
    "procMount Unmasked exposes masked paths of /proc and /sys to container {container}",
    "remove securityContext.procMount",
)
DEVICES = (
    *("/dev", "/proc", "/sys"),
    *("/run/nvidia", "/var/run/nvidia", "/run/nvidia-persistenced", "/var/run/nvidia-persistenced"),
    *("/tmp/nvidia-mps", "/etc/cdi", "/run/cdi", "/var/run/cdi"),  # noqa: S108  as pods have them
    *(
        "/var/lib/kubelet/device-plugins",
        "/var/lib/kubelet/pod-resources",
        "/var/lib/kubelet/plugins",
    ),
    *("/var/lib/kubelet/plugins_registry", "/run/containerd", "/var/run/containerd"),
    *("/run/crio", "/var/run/crio", "/run/k3s/containerd", "/var/run/k3s/containerd"),
    *(
        "/run/docker.sock",
        "/var/run/docker.sock",
        "/run/cri-dockerd.sock",
        "/var/run/cri-dockerd.sock",
    ),
)
"""Host paths that expose devices; paths below them and their parent directories do so as well."""
HANDS_OUT = ViolationTemplate(
    "volume {volume} mounts host path {path}, which bypasses the device plugin",
    "remove the volume; the device plugin mounts the allocated devices",
)


def check_privileges(workload: Workload, _: TeamParameters) -> Iterator[Violation]:
    """Privileges that remove the isolation of a pod."""
    for pod in workload.pods:
        for field, sentence in SHARES_HOST.items():
            if is_true(pod.spec.get(field)):
                yield sentence.fill_in(pod.field_path(field))
        for path, container in pod.containers():
            context, name = (
                mapping(container.get("securityContext")),
                container_name(path, container),
            )
            if is_true(context.get("privileged")):
                yield PRIVILEGED.fill_in((*path, "securityContext", "privileged"), container=name)
            if text(context.get("procMount")) == "Unmasked":
                yield UNMASKED.fill_in((*path, "securityContext", "procMount"), container=name)


def check_host_device_paths(workload: Workload, _: TeamParameters) -> Iterator[Violation]:
    """Volumes that expose devices."""
    for pod in workload.pods:
        for index, each in enumerate(items(pod.spec.get("volumes"))):
            volume = mapping(each)
            path = text(mapping(volume.get("hostPath")).get("path"))
            if path and exposes_device_path(path):
                where = pod.field_path("volumes", index, "hostPath", "path")
                yield HANDS_OUT.fill_in(where, volume=text(volume.get("name")), path=path)


def exposes_device_path(path: str) -> bool:
    """Whether the path is one of DEVICES, below one, or a parent of one."""
    plain = "".join(f"/{part}" for part in path.split("/") if part not in {"", "."})
    return any(
        plain == device or plain.startswith(f"{device}/") or device.startswith(f"{plain}/")
        for device in DEVICES
    )
