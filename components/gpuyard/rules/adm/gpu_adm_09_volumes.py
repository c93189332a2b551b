"""GPU-ADM-09: pods of a team mount volumes of the cluster alone."""

from gpuyard.admission.requirements import VOLUMES
from gpuyard.findings import Severity
from gpuyard.rules.rule import Rule
from gpuyard.rules.subjects.admission import ADMISSION_KINDS, check_requirement

RULE = Rule(
    id=VOLUMES.id,
    title=VOLUMES.title,
    severity=Severity.ERROR,
    why="What a node mounts for a pod comes by the node's network: past what a team may reach, from anybody.",
    fix="Mount claims, config maps, secrets and empty folders; admins make volumes of what is elsewhere.",
    sources=("Kubernetes Pod Security Standards, restricted: volume types",),
    kinds=ADMISSION_KINDS,
    check_stack=check_requirement(VOLUMES),
)
