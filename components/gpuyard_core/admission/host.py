"""Access to the host: privileges, host namespaces, devices and sockets."""

from collections.abc import Iterator

from gpuyard_core.admission.parameters import TeamParameters
from gpuyard_core.admission.requirement import Workload, new_violation
from gpuyard_core.manifests.fields import is_true, items, known_value, mapping, text
from gpuyard_core.manifests.pods import container_name
from gpuyard_core.manifests.quantities import Violation

SHARES_HOST = ("hostPID", "hostIPC", "hostNetwork")
"""Fields with which a pod shares a namespace of the node."""
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


def check_privileges(workload: Workload, _: TeamParameters) -> Iterator[Violation]:
    """Privileges that remove the isolation of a pod."""
    for pod in workload.pods:
        for field in SHARES_HOST:
            if is_true(pod.spec.get(field)):
                yield new_violation(f"host.SHARES_HOST.{field}", pod.field_path(field))
        for path, container in pod.containers():
            context = mapping(container.get("securityContext"))
            name = container_name(path, container)
            if is_true(context.get("privileged")):
                yield new_violation(
                    "host.PRIVILEGED", (*path, "securityContext", "privileged"), container=name
                )
            if text(context.get("procMount")) == "Unmasked":
                yield new_violation(
                    "host.UNMASKED", (*path, "securityContext", "procMount"), container=name
                )


def check_host_device_paths(workload: Workload, _: TeamParameters) -> Iterator[Violation]:
    """Volumes that expose devices."""
    for pod in workload.pods:
        for index, each in enumerate(items(pod.spec.get("volumes"))):
            volume = mapping(each)
            path = text(mapping(volume.get("hostPath")).get("path"))
            if path and exposes_device_path(path):
                where = pod.field_path("volumes", index, "hostPath", "path")
                yield new_violation(
                    "host.HANDS_OUT", where, volume=text(volume.get("name")), path=path
                )


def exposes_device_path(path: str) -> bool:
    """Whether the path is one of DEVICES, below one, or a parent of one."""
    plain = "".join(f"/{part}" for part in path.split("/") if part not in {"", "."})
    return any(
        plain == device or plain.startswith(f"{device}/") or device.startswith(f"{plain}/")
        for device in DEVICES
    )


TYPES = (
    *("configMap", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim"),
    *("projected", "secret", "hostPath"),
)
"""Types that the Pod Security level `restricted` allows, and types that other requirements check."""
INLINE = "csi"
"""Also allowed by `restricted`: the platform lists the drivers of inline volumes."""
NAME = "name"
TEMPLATE = ("ephemeral", "volumeClaimTemplate", "spec", "volumeName")


def check_volumes(workload: Workload, parameters: TeamParameters) -> Iterator[Violation]:
    """Volumes whose type bypasses the isolation of the team."""
    for pod in workload.pods:
        for index, each in enumerate(items(pod.spec.get("volumes"))):
            volume, path = mapping(each), pod.field_path("volumes", index)
            name = text(volume.get(NAME))
            for kind in volume:
                if kind in {NAME, *TYPES} or known_value(volume[kind]) is None:
                    continue
                driver = text(mapping(volume[kind]).get("driver"))
                if kind != INLINE:
                    yield new_violation("host.PAST", (*path, kind), volume=name, type=kind)
                elif driver not in parameters.csi_drivers:
                    yield new_violation(
                        "host.OF_DRIVER", (*path, kind, "driver"), volume=name, driver=driver
                    )
            inner = mapping(mapping(volume.get(TEMPLATE[0])).get(TEMPLATE[1]))
            if volume_name := text(mapping(inner.get("spec")).get("volumeName")):
                yield new_violation(
                    "host.BY_NAME", (*path, *TEMPLATE), what="volume", name=name, volume=volume_name
                )
