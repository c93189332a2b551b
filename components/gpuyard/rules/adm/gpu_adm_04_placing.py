"""GPU-ADM-04: pods of a team stay off nodes that are kept for others."""

from gpuyard.admission.requirements import PLACING
from gpuyard.findings import Severity
from gpuyard.rules.rule import Rule
from gpuyard.rules.subjects.admission import ADMISSION_KINDS, check_requirement

RULE = Rule(
    id=PLACING.id,
    title=PLACING.title,
    severity=Severity.ERROR,
    why="A pool is a team's, and GPU nodes are for GPUs, only as long as nobody else's pods tolerate them.",
    fix="Tolerate by key, and leave the taints of pools to the queue; choose nodes by labels, not by name.",
    sources=("Kubernetes documentation, taints and tolerations: nodeName bypasses the scheduler",),
    kinds=ADMISSION_KINDS,
    check_stack=check_requirement(PLACING),
)
