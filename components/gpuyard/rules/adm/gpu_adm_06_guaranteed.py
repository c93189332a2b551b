"""GPU-ADM-06: training pods request as much CPU and memory as they may use."""

from gpuyard.admission.requirements import GUARANTEED
from gpuyard.findings import Severity
from gpuyard.rules.rule import Rule
from gpuyard.rules.subjects.admission import ADMISSION_KINDS, check_requirement

RULE = Rule(
    id=GUARANTEED.id,
    title=GUARANTEED.title,
    severity=Severity.ERROR,
    why="A gang is as slow as the pod whose cores others took, and ends with the first that has no memory.",
    fix="Give pods of class training the same CPU and memory as request and limit, in every container.",
    sources=(
        "Kubernetes documentation, quality of service: Guaranteed; CPU manager, static policy",
    ),
    kinds=ADMISSION_KINDS,
    check_stack=check_requirement(GUARANTEED),
)
