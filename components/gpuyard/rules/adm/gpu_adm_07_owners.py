"""GPU-ADM-07: nobody in a team names the controller of what it makes."""

from gpuyard.admission.requirements import OWNED
from gpuyard.findings import Severity
from gpuyard.rules.rule import Rule
from gpuyard.rules.subjects.admission import ADMISSION_KINDS, check_requirement

RULE = Rule(
    id=OWNED.id,
    title=OWNED.title,
    severity=Severity.ERROR,
    why="Queues count a pod with its controller. Who may name one at will runs GPUs that nobody counts.",
    fix="Remove owners with controller: true; controllers of the cluster write them into what they make.",
    sources=(
        "kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework, FindAncestorJobManagedByKueue",
    ),
    kinds=ADMISSION_KINDS,
    check_stack=check_requirement(OWNED),
)
