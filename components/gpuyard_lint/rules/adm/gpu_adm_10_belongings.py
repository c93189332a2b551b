"""GPU-ADM-10: Services, claims and Secrets of a team take nothing from others."""

from gpuyard_core.admission.requirements import BELONGINGS
from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import Rule
from gpuyard_lint.rules.subjects.admission import BELONGINGS as KINDS
from gpuyard_lint.rules.subjects.admission import check_requirement

RULE = Rule(
    id=BELONGINGS.id,
    title=BELONGINGS.title,
    severity=Severity.ERROR,
    why="With externalIPs or volumeName a team takes addresses or volumes of others; long-lived tokens leak.",
    fix="Omit externalIPs and volumeName; use projected service account tokens, which expire.",
    sources=(
        "CVE-2020-8554: Services with externalIPs",
        "Kubernetes documentation, persistent volumes: reserving one by its claimRef",
    ),
    kinds=KINDS,
    check_stack=check_requirement(BELONGINGS, KINDS),
)
