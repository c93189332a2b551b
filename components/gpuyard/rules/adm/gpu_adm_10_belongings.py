"""GPU-ADM-10: what a team makes beside pods takes nothing of others."""

from gpuyard.admission.requirements import BELONGINGS
from gpuyard.findings import Severity
from gpuyard.rules.rule import Rule
from gpuyard.rules.subjects.admission import BELONGINGS as KINDS
from gpuyard.rules.subjects.admission import check_requirement

RULE = Rule(
    id=BELONGINGS.id,
    title=BELONGINGS.title,
    severity=Severity.ERROR,
    why="Who writes down an address, or the name of a volume, has it, whosever it was; lasting tokens leak.",
    fix="Leave out externalIPs and volumeName, and let pods have tokens of their own that expire.",
    sources=(
        "CVE-2020-8554: Services with externalIPs",
        "Kubernetes documentation, persistent volumes: reserving one by its claimRef",
    ),
    kinds=KINDS,
    check_stack=check_requirement(BELONGINGS, KINDS),
)
