"""Access to the host: privileges, host namespaces, devices and sockets."""

from collections.abc import Iterator, Mapping

from gpuyard_core.admission.parameters import TeamParameters
from gpuyard_core.admission.requirement import ViolationTemplate, Workload
from gpuyard_core.manifests.fields import is_true, items, known_value, mapping, text
from gpuyard_core.manifests.pods import container_name
from gpuyard_core.manifests.quantities import Violation

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
            context = mapping(container.get("securityContext"))
            name = container_name(path, container)
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


TYPES = (
    *("configMap", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim"),
    *("projected", "secret", "hostPath"),
)
"""Types that the Pod Security level `restricted` allows, and types that other requirements check."""
INLINE = "csi"
"""Also allowed by `restricted`: the platform lists the drivers of inline volumes."""
NAME = "name"
TEMPLATE = ("ephemeral", "volumeClaimTemplate", "spec", "volumeName")
PAST = ViolationTemplate(
    "volume {volume} is of type {type}, which the node mounts outside the team's network policy "
    "and quotas",
    "use a claim: an administrator creates a PersistentVolume with the team's claim as its "
    "claimRef",
)
OF_DRIVER = ViolationTemplate(
    "volume {volume} uses driver {driver}, which can mount any address outside the team's network "
    "policy",
    "use a claim, or list the driver in admission.csi_drivers if it checks what the pod may access",
)
BY_NAME = ViolationTemplate(
    "{what} {name} binds PersistentVolume {volume} by name, even one created for another team",
    "remove volumeName; administrators reserve a volume for a claim by its claimRef",
)


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
                    yield PAST.fill_in((*path, kind), volume=name, type=kind)
                elif driver not in parameters.csi_drivers:
                    yield OF_DRIVER.fill_in((*path, kind, "driver"), volume=name, driver=driver)
            inner = mapping(mapping(volume.get(TEMPLATE[0])).get(TEMPLATE[1]))
            if volume_name := text(mapping(inner.get("spec")).get("volumeName")):
                yield BY_NAME.fill_in(
                    (*path, *TEMPLATE), what="volume", name=name, volume=volume_name
                )
