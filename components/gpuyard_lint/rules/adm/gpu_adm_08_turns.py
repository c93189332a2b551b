"""GPU-ADM-08: pods of a team do not preempt others and honour termination."""

from gpuyard_core.admission.requirements import TURNS
from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import Rule
from gpuyard_lint.rules.subjects.admission import ADMISSION_KINDS, check_requirement

RULE = Rule(
    id=TURNS.id,
    title=TURNS.title,
    severity=Severity.ERROR,
    why="A PriorityClass evicts other teams' jobs outside Kueue; a pod that does not end keeps borrowed GPUs.",
    fix=(
        "Omit priorityClassName, or list it in admission.priority_classes; use priorities that the platform"
        " defines; end within admission.max_grace_period_seconds (an hour without GPUs); set no finalizers on"
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
