"""GPU-ADM-01: workloads that request GPUs in a team namespace name a queue."""

from gpuyard_core.admission.requirements import QUEUED
from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import Rule
from gpuyard_lint.rules.subjects.admission import ADMISSION_KINDS, check_requirement

RULE = Rule(
    id=QUEUED.id,
    title=QUEUED.title,
    severity=Severity.ERROR,
    why="GPUs used outside a queue count against no quota and are missing for admitted jobs.",
    fix="Label workloads that request GPUs with kueue.x-k8s.io/queue-name; for a DaemonSet, its pod template.",
    sources=(
        "kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/defaults.go: the queue called default",
        "the same, pkg/controller/jobs/deployment and statefulset, webhooks and pod reconciler: own labels",
    ),
    kinds=ADMISSION_KINDS,
    check_stack=check_requirement(QUEUED),
)
