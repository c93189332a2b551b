"""GPU-ADM-03: pods of a team mount nothing that hands out devices."""

from gpuyard.admission.requirements import DEVICES
from gpuyard.findings import Severity
from gpuyard.rules.rule import Rule
from gpuyard.rules.subjects.admission import ADMISSION_KINDS, check_requirement

RULE = Rule(
    id=DEVICES.id,
    title=DEVICES.title,
    severity=Severity.ERROR,
    why="Who mounts device files, or the socket that hands them out, has GPUs that nobody gave it.",
    fix="Remove hostPath volumes of devices, of the driver, the kubelet and the container runtime.",
    sources=(
        "Kubernetes Pod Security Standards, baseline",
        "Kubernetes documentation, device plugins and the pod-resources socket",
    ),
    kinds=ADMISSION_KINDS,
    check_stack=check_requirement(DEVICES),
)
