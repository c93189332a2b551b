"""GPU-SHR-05: a container requests at most one share of a GPU."""

from collections.abc import Iterator

from gpuyard_core.admission.placement import check_pod_shares
from gpuyard_core.admission.requirements import SHARES
from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import Parameters, Resource, Rule, Violation
from gpuyard_lint.rules.subjects.pods import POD_KINDS, pods_of


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    for pod in pods_of(resource):
        yield from check_pod_shares(pod)


RULE = Rule(
    id=SHARES.id,
    title=SHARES.title,
    severity=Severity.ERROR,
    why="The kubelet rejects such a pod with UnexpectedAdmissionError, and its job creates another.",
    fix="Request one nvidia.com/gpu.shared; for more capacity request a slice or a whole GPU.",
    sources=(
        "NVIDIA/k8s-device-plugin v0.18 internal/rm/rm.go, ValidateRequest",
        "NVIDIA/k8s-device-plugin README, failRequestsGreaterThanOne; with MPS it always holds",
    ),
    kinds=POD_KINDS,
    check=_check,
)
