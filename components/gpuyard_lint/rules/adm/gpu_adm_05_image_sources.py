"""GPU-ADM-05: images of a team come from allowed registries."""

from gpuyard_core.admission.requirements import SOURCES
from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import AuditReference, Rule
from gpuyard_lint.rules.subjects.admission import ADMISSION_KINDS, check_requirement

RULE = Rule(
    id=SOURCES.id,
    title=SOURCES.title,
    severity=Severity.ERROR,
    why="An image from an unknown registry runs next to the data and GPUs of other teams.",
    fix="Use images from registries listed in `allowed_images` of the team or of `admission`.",
    sources=("github.com/distribution/reference: splitDockerDomain",),
    references=(AuditReference("CIS EKS 1.8.0", "5.1.4"),),
    kinds=ADMISSION_KINDS,
    check_stack=check_requirement(SOURCES),
)
