"""Name formats of principals, keys and networks of the clouds."""

from dataclasses import dataclass, fields

from gpuyard_core.catalogue.purchasing import ID_FORMATS, IdFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterNames:
    """The formats of what the `cluster` of a stack file names in one cloud."""

    admin: IdFormat
    """A principal that can get access to a cluster: no role session, and not `allUsers`."""
    key: IdFormat
    """A key, with its region."""
    network: IdFormat
    subnet: IdFormat
    role: IdFormat
    """An identity of the control plane or of nodes."""


AWS_NAMES, GCP_NAMES = (
    ClusterNames(**{each.name: ID_FORMATS[f"{cloud}.{each.name}"] for each in fields(ClusterNames)})
    for cloud in ("aws", "gcp")
)
SECURITY_GROUP, PROJECT = ID_FORMATS["aws.security-group"], ID_FORMATS["gcp.project"]
