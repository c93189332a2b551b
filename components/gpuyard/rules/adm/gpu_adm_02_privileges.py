"""GPU-ADM-02: pods of a team have no privilege and nothing of the node's own."""

from gpuyard.admission.requirements import PRIVILEGES
from gpuyard.findings import Severity
from gpuyard.rules.rule import Reference, Rule
from gpuyard.rules.subjects.admission import ADMISSION_KINDS, check_requirement

RULE = Rule(
    id=PRIVILEGES.id,
    title=PRIVILEGES.title,
    severity=Severity.ERROR,
    why="Privilege and the node's own namespaces undo every share, slice and quota, GPU pod or not.",
    fix="Remove privileged, hostPID, hostIPC, hostNetwork and procMount Unmasked; RDMA needs none of them.",
    sources=("Kubernetes Pod Security Standards, baseline",),
    references=(Reference("CIS EKS 1.8.0", "4.2.1-4.2.5"), Reference("CIS GKE 1.9.0", "4.2.1")),
    kinds=ADMISSION_KINDS,
    check_stack=check_requirement(PRIVILEGES),
)
