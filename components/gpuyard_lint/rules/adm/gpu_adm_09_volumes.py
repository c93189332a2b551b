"""GPU-ADM-09: pods of a team mount cluster volumes only."""

from gpuyard_core.admission.requirements import VOLUMES
from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import Rule
from gpuyard_lint.rules.subjects.admission import ADMISSION_KINDS, check_requirement

RULE = Rule(
    id=VOLUMES.id,
    title=VOLUMES.title,
    severity=Severity.ERROR,
    why="A node mounts volumes over its own network, which bypasses the network policies of the team.",
    fix="Mount PersistentVolumeClaims, ConfigMaps, Secrets and emptyDirs; let admins create other volumes.",
    sources=("Kubernetes Pod Security Standards, restricted: volume types",),
    kinds=ADMISSION_KINDS,
    check_stack=check_requirement(VOLUMES),
)
