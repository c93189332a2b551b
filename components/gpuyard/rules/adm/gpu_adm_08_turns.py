"""GPU-ADM-08: pods of a team push nobody aside and end when they are told."""

from gpuyard.admission.requirements import TURNS
from gpuyard.findings import Severity
from gpuyard.rules.rule import Rule
from gpuyard.rules.subjects.admission import ADMISSION_KINDS, check_requirement

RULE = Rule(
    id=TURNS.id,
    title=TURNS.title,
    severity=Severity.ERROR,
    why="A PriorityClass evicts other teams' jobs past every queue; a pod that stays keeps what it borrowed.",
    fix=(
        "Leave priorityClassName out, or have it listed in admission.priority_classes; name priorities of the"
        " platform; end within admission.max_grace_period_seconds (an hour without GPUs); put no finalizers into"
        " pods."
    ),
    sources=(
        "kubernetes-sigs/kueue v0.19.2 pkg/util/priority: any WorkloadPriorityClass, by its label",
        "Kubernetes documentation, pod priority and preemption: every namespace may name any class",
        "Kubernetes cluster-autoscaler FAQ and GKE documentation: an hour of grace at most",
    ),
    kinds=ADMISSION_KINDS,
    check_stack=check_requirement(TURNS),
)
