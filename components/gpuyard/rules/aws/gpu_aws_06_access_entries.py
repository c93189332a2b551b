"""GPU-AWS-06: who may enter the cluster is said by access entries."""

from collections.abc import Iterator

from gpuyard.catalogue.software.versions import is_version, parse_version
from gpuyard.findings import Severity
from gpuyard.rules.rule import Parameters, Reference, Resource, Rule, Violation, at, is_true, text

_LISTED = ("API", "API_AND_CONFIG_MAP")
"""With these the creator has an access entry, as everybody: it is listed, and can be deleted."""


_SINCE = (1, 23)
"""The first Kubernetes of EKS whose clusters have access entries."""


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if _is_before_them(resource.properties.get("version")):
        return
    mode = text(at(resource.properties, "accessConfig", "authenticationMode"))
    if mode != "API":
        yield Violation(
            ("accessConfig", "authenticationMode"),
            "the aws-auth ConfigMap decides who enters: one bad edit locks everybody out, or lets them in",
            "set authenticationMode: API, and write access entries",
            is_advisory=bool(mode),  # what is written out is meant
        )
    creator = at(resource.properties, "accessConfig", "bootstrapClusterCreatorAdminPermissions")
    if mode not in _LISTED and (creator is None or is_true(creator)):
        yield Violation(
            ("accessConfig", "bootstrapClusterCreatorAdminPermissions"),
            "whoever created the cluster is its administrator for good, and no list says so",
            "set it to false, and give an access entry to the role that administers",
            is_advisory=creator is not None,
        )


def _is_before_them(version: object) -> bool:
    written = str(version)  # a number where nobody quoted it
    return (
        is_version("kubernetes", written) and parse_version("kubernetes", written).numbers < _SINCE
    )


RULE = Rule(
    id="GPU-AWS-06",
    title="EKS access uses access entries",
    severity=Severity.WARNING,
    why="The CI role that made the cluster should not stay its hidden administrator.",
    fix="Use authenticationMode: API with access entries, without the creator's standing rights.",
    sources=(
        "EKS user guide, access entries and authentication modes",
        "hashicorp/terraform-provider-aws 5.33.0: access_config; of one before nothing is asked",
    ),
    references=(Reference("CIS EKS 1.8.0", "4.1.7"),),
    kinds=("aws:eks/Cluster",),
    check=_check,
)
