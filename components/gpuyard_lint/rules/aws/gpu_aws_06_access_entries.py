"""GPU-AWS-06: access entries control access to the cluster."""

from collections.abc import Iterator

from gpuyard_core.catalogue.software.versions import is_version, parse_version
from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import (
    AuditReference,
    Parameters,
    Resource,
    Rule,
    Violation,
    at,
    is_true,
    text,
)

_LISTED = ("API", "API_AND_CONFIG_MAP")
"""With these modes the creator has an access entry that you can list and delete."""


_SINCE = (1, 23)
"""The first Kubernetes version of EKS with access entries."""


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if _is_before_them(resource.properties.get("version")):
        return
    mode = text(at(resource.properties, "accessConfig", "authenticationMode"))
    if mode != "API":
        yield Violation(
            ("accessConfig", "authenticationMode"),
            "the aws-auth ConfigMap controls access: one wrong edit locks out all users or admits too many",
            "set authenticationMode: API, and create access entries",
            is_advisory=bool(mode),  # an explicit value is deliberate
        )
    creator = at(resource.properties, "accessConfig", "bootstrapClusterCreatorAdminPermissions")
    if mode not in _LISTED and (creator is None or is_true(creator)):
        yield Violation(
            ("accessConfig", "bootstrapClusterCreatorAdminPermissions"),
            "the creator of the cluster stays its administrator, and no list of access shows it",
            "set it to false, and create an access entry for the administrator role",
            is_advisory=creator is not None,
        )


def _is_before_them(version: object) -> bool:
    written = str(version)  # a number if it is not quoted
    return (
        is_version("kubernetes", written) and parse_version("kubernetes", written).numbers < _SINCE
    )


RULE = Rule(
    id="GPU-AWS-06",
    title="EKS access uses access entries",
    severity=Severity.WARNING,
    why="The CI role that created the cluster should not stay its hidden administrator.",
    fix="Set authenticationMode: API, use access entries, and disable bootstrapClusterCreatorAdminPermissions.",
    sources=(
        "EKS user guide, access entries and authentication modes",
        "hashicorp/terraform-provider-aws 5.33.0: access_config; earlier versions are not checked",
    ),
    references=(AuditReference("CIS EKS 1.8.0", "4.1.7"),),
    kinds=("aws:eks/Cluster",),
    check=_check,
)
