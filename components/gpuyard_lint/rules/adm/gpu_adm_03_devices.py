"""GPU-ADM-03: pods of a team mount no device files or device sockets."""

from gpuyard_core.admission.requirements import DEVICES
from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import Rule
from gpuyard_lint.rules.subjects.admission import ADMISSION_KINDS, check_requirement

RULE = Rule(
    id=DEVICES.id,
    title=DEVICES.title,
    severity=Severity.ERROR,
    why="A pod that mounts device files or the device-plugin socket can use GPUs that it did not request.",
    fix="Remove hostPath volumes of devices, the driver, the kubelet and the container runtime.",
    sources=(
        "Kubernetes Pod Security Standards, baseline",
        "Kubernetes documentation, device plugins and the pod-resources socket",
    ),
    kinds=ADMISSION_KINDS,
    check_stack=check_requirement(DEVICES),
)
