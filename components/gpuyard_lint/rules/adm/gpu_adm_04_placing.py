"""GPU-ADM-04: pods of a team stay off nodes reserved for others."""

from gpuyard_core.admission.requirements import PLACING
from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import Rule
from gpuyard_lint.rules.subjects.admission import ADMISSION_KINDS, check_requirement

RULE = Rule(
    id=PLACING.id,
    title=PLACING.title,
    severity=Severity.ERROR,
    why="Taints reserve pools for teams and GPU nodes for GPU pods only if no other pod tolerates them.",
    fix="Tolerate taints by key; let the queue add tolerations of pools; select nodes by label, not by name.",
    sources=("Kubernetes documentation, taints and tolerations: nodeName bypasses the scheduler",),
    kinds=ADMISSION_KINDS,
    check_stack=check_requirement(PLACING),
)
