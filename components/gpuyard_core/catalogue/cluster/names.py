"""Name formats of principals, keys and networks of the clouds."""

import re
from dataclasses import dataclass

from gpuyard_core.catalogue.purchasing import IdFormat
from gpuyard_core.catalogue.sources import find_source

_IAM = find_source("names.iam")
_EC2 = find_source("names.ec2")
_MEMBERS = find_source("names.members")
_NETWORKS = find_source("names.networks")


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


AWS_NAMES = ClusterNames(
    admin=IdFormat(
        re.compile(r"arn:aws[a-z-]*:iam::\d{12}:(role|user)/[\w+=,.@/-]+"),
        "arn:aws:iam::123456789012:role/platform",
        _IAM,
    ),
    key=IdFormat(
        re.compile(r"arn:aws[a-z-]*:kms:(?P<region>[a-z0-9-]+):\d{12}:key/[0-9a-z-]+"),
        "arn:aws:kms:us-east-1:123456789012:key/12345678-90ab-cdef-1234-567890abcdef",
        find_source("names.aws-key"),
    ),
    network=IdFormat(re.compile(r"vpc-([0-9a-f]{8}|[0-9a-f]{17})"), "vpc-0123456789abcdef0", _EC2),
    subnet=IdFormat(
        re.compile(r"subnet-([0-9a-f]{8}|[0-9a-f]{17})"), "subnet-0123456789abcdef0", _EC2
    ),
    role=IdFormat(
        re.compile(r"arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]+"),
        "arn:aws:iam::123456789012:role/nodes",
        _IAM,
    ),
)
SECURITY_GROUP = IdFormat(
    re.compile(r"sg-([0-9a-f]{8}|[0-9a-f]{17})"), "sg-0123456789abcdef0", _EC2
)
GCP_NAMES = ClusterNames(
    admin=IdFormat(
        re.compile(r"(user|group|serviceAccount):[^\s:@]+@[^\s:@]+|principal(Set)?://\S+"),
        "group:platform@example.org",
        _MEMBERS,
    ),
    key=IdFormat(
        re.compile(
            r"projects/[^/\s]+/locations/(?P<region>[a-z0-9-]+)/keyRings/[\w-]+/cryptoKeys/[\w-]+"
        ),
        "projects/my-project/locations/us-central1/keyRings/my-ring/cryptoKeys/my-key",
        find_source("names.gcp-network"),
    ),
    network=IdFormat(
        re.compile(r"(projects/[^/\s]+/global/networks/)?[a-z]([-a-z0-9]{0,61}[a-z0-9])?"),
        "my-network",
        _NETWORKS,
    ),
    subnet=IdFormat(
        re.compile(
            r"(projects/[^/\s]+/regions/[a-z0-9-]+/subnetworks/)?[a-z]([-a-z0-9]{0,61}[a-z0-9])?"
        ),
        "my-subnetwork",
        _NETWORKS,
    ),
    role=IdFormat(
        re.compile(r"[a-z0-9-]+@[a-z0-9.-]+\.gserviceaccount\.com"),
        "nodes@my-project.iam.gserviceaccount.com",
        _MEMBERS,
    ),
)
PROJECT = IdFormat(
    re.compile(r"([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]"),
    "my-project-4711",
    find_source("names.project"),
)
"""The id of a Google Cloud project, not its name or number; old ids begin with a domain."""
