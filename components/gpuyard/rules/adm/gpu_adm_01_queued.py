"""GPU-ADM-01: what asks for GPUs in a team's namespace names a queue."""

from gpuyard.admission.requirements import QUEUED
from gpuyard.findings import Severity
from gpuyard.rules.rule import Rule
from gpuyard.rules.subjects.admission import ADMISSION_KINDS, check_requirement

RULE = Rule(
    id=QUEUED.id,
    title=QUEUED.title,
    severity=Severity.ERROR,
    why="GPUs past the queue are counted in nobody's quota, and taken from jobs that were promised them.",
    fix="Label what asks for GPUs with kueue.x-k8s.io/queue-name; pods of a DaemonSet by their template.",
    sources=(
        "kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/defaults.go: the queue called default",
        "the same, pkg/controller/jobs/deployment and statefulset, webhooks and pod reconciler: own labels",
    ),
    kinds=ADMISSION_KINDS,
    check_stack=check_requirement(QUEUED),
)
