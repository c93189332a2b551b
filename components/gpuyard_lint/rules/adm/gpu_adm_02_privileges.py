"""GPU-ADM-02: pods of a team are not privileged and use no host namespaces."""

from gpuyard_core.admission.requirements import PRIVILEGES
from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import AuditReference, Rule
from gpuyard_lint.rules.subjects.admission import ADMISSION_KINDS, check_requirement

RULE = Rule(
    id=PRIVILEGES.id,
    title=PRIVILEGES.title,
    severity=Severity.ERROR,
    why="A privileged pod or one in host namespaces bypasses shares, slices and quotas, with or without GPUs.",
    fix="Remove privileged, hostPID, hostIPC, hostNetwork and procMount Unmasked; RDMA needs none of them.",
    sources=("Kubernetes Pod Security Standards, baseline",),
    references=(
        AuditReference("CIS EKS 1.8.0", "4.2.1-4.2.5"),
        AuditReference("CIS GKE 1.9.0", "4.2.1"),
    ),
    kinds=ADMISSION_KINDS,
    check_stack=check_requirement(PRIVILEGES),
)
