"""GPU-ADM-06: training pods request as much CPU and memory as their limits."""

from gpuyard_core.admission.requirements import GUARANTEED
from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import Rule
from gpuyard_lint.rules.subjects.admission import ADMISSION_KINDS, check_requirement

RULE = Rule(
    id=GUARANTEED.id,
    title=GUARANTEED.title,
    severity=Severity.ERROR,
    why="A gang is as slow as its pod with the least CPU, and fails when one pod runs out of memory.",
    fix="In pods of class training, set equal CPU and memory requests and limits in every container.",
    sources=(
        "Kubernetes documentation, quality of service: Guaranteed; CPU manager, static policy",
    ),
    kinds=ADMISSION_KINDS,
    check_stack=check_requirement(GUARANTEED),
)
