"""Nothing of the host: no privilege, no namespace of the node's, none of its devices and sockets."""

from collections.abc import Iterator, Mapping

from gpuyard.admission.parameters import TeamParameters
from gpuyard.admission.requirement import Violation, ViolationTemplate, Workload
from gpuyard.manifests.fields import is_true, items, mapping, text
from gpuyard.manifests.pods import container_name

SHARES_HOST: Mapping[str, ViolationTemplate] = {
    field: ViolationTemplate(f"with {field} the pod {effect}", f"remove {field}")
    for field, effect in (
        ("hostPID", "sees every process of the node"),
        (
            "hostIPC",
            "shares memory with every pod of the node, MPS clients of other teams among them",
        ),
        ("hostNetwork", "has the node's own address, and no network policy holds it"),
    )
}
PRIVILEGED = ViolationTemplate(
    "container {container} is privileged: it reaches every GPU of the node, whatever it was given",
    "remove securityContext.privileged; for RDMA a node's runtime lets pods lock memory (LimitMEMLOCK)",
)
UNMASKED = ViolationTemplate(
    "procMount Unmasked shows container {container} what the node keeps from it in /proc and /sys",
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
"""Where a node keeps what hands out devices: they, all below them, and every folder that they are in."""
HANDS_OUT = ViolationTemplate(
    "volume {volume} mounts the host's {path}, and gets devices past the device plugin",
    "remove the volume; the device plugin mounts what the pod was given",
)


def check_privileges(workload: Workload, _: TeamParameters) -> Iterator[Violation]:
    """What lifts a pod out of its box."""
    for pod in workload.pods:
        for field, sentence in SHARES_HOST.items():
            if is_true(pod.spec.get(field)):
                yield sentence.violation(pod.at(field))
        for path, container in pod.containers():
            context, name = (
                mapping(container.get("securityContext")),
                container_name(path, container),
            )
            if is_true(context.get("privileged")):
                yield PRIVILEGED.violation((*path, "securityContext", "privileged"), container=name)
            if text(context.get("procMount")) == "Unmasked":
                yield UNMASKED.violation((*path, "securityContext", "procMount"), container=name)


def check_devices(workload: Workload, _: TeamParameters) -> Iterator[Violation]:
    """Volumes through which devices are had."""
    for pod in workload.pods:
        for index, each in enumerate(items(pod.spec.get("volumes"))):
            volume = mapping(each)
            path = text(mapping(volume.get("hostPath")).get("path"))
            if path and exposes_device_path(path):
                where = pod.at("volumes", index, "hostPath", "path")
                yield HANDS_OUT.violation(where, volume=text(volume.get("name")), path=path)


def exposes_device_path(path: str) -> bool:
    """Whether it is one of DEVICES, in one or around one."""
    plain = "".join(f"/{part}" for part in path.split("/") if part not in {"", "."})
    return any(
        plain == device or plain.startswith(f"{device}/") or device.startswith(f"{plain}/")
        for device in DEVICES
    )
