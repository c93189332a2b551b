"""GPU-ADM-07: team members do not set a controller in ownerReferences."""

from gpuyard_core.admission.requirements import OWNED
from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import Rule
from gpuyard_lint.rules.subjects.admission import ADMISSION_KINDS, check_requirement

RULE = Rule(
    id=OWNED.id,
    title=OWNED.title,
    severity=Severity.ERROR,
    why="Kueue counts a pod with its controller. A pod with a made-up owner runs GPUs that Kueue does not count.",
    fix="Remove ownerReferences with controller: true; controllers set them on the objects they create.",
    sources=(
        "kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework, FindAncestorJobManagedByKueue",
    ),
    kinds=ADMISSION_KINDS,
    check_stack=check_requirement(OWNED),
)
