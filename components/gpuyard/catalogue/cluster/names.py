"""Name formats of principals, keys and networks of the clouds."""

import re
from collections.abc import Mapping
from datetime import date

from gpuyard.catalogue.purchasing import IdFormat
from gpuyard.catalogue.sources import Source

_LOOKED_UP = date(2026, 11, 22)
_IAM = Source(
    "IAM User Guide, IAM identifiers: ARNs of users, roles and the root user",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
_EC2 = Source(
    "EC2 API Reference: ids of 8 or 17 hexadecimal digits after vpc- and subnet-",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
_MEMBERS = Source(
    "Google Cloud IAM, principal identifiers of allow policies",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)

ADMINS: Mapping[str, IdFormat] = {
    "aws": IdFormat(
        re.compile(r"arn:aws[a-z-]*:iam::\d{12}:(role|user)/[\w+=,.@/-]+"),
        "arn:aws:iam::123456789012:role/platform",
        _IAM,
    ),
    "gcp": IdFormat(
        re.compile(r"(user|group|serviceAccount):[^\s:@]+@[^\s:@]+|principal(Set)?://\S+"),
        "group:platform@example.org",
        _MEMBERS,
    ),
}
"""Principals that can get access to a cluster, by cloud; not role sessions, and not `allUsers`."""
KEYS: Mapping[str, IdFormat] = {
    "aws": IdFormat(
        re.compile(r"arn:aws[a-z-]*:kms:(?P<region>[a-z0-9-]+):\d{12}:key/[0-9a-z-]+"),
        "arn:aws:kms:us-east-1:123456789012:key/12345678-90ab-cdef-1234-567890abcdef",
        Source(
            "KMS Developer Guide, key ARN; an alias can be pointed at another key, so it is not accepted",
            _LOOKED_UP,
            as_of=_LOOKED_UP,
        ),
    ),
    "gcp": IdFormat(
        re.compile(
            r"projects/[^/\s]+/locations/(?P<region>[a-z0-9-]+)/keyRings/[\w-]+/cryptoKeys/[\w-]+"
        ),
        "projects/my-project/locations/us-central1/keyRings/my-ring/cryptoKeys/my-key",
        Source(
            "Cloud KMS, resource names of keys",
            _LOOKED_UP,
            as_of=_LOOKED_UP,
        ),
    ),
}
"""Key formats by cloud, with the region of the key."""
NETWORKS: Mapping[str, IdFormat] = {
    "aws": IdFormat(re.compile(r"vpc-([0-9a-f]{8}|[0-9a-f]{17})"), "vpc-0123456789abcdef0", _EC2),
    "gcp": IdFormat(
        re.compile(r"(projects/[^/\s]+/global/networks/)?[a-z]([-a-z0-9]{0,61}[a-z0-9])?"),
        "my-network",
        Source(
            "Compute Engine, names of resources and their self links",
            _LOOKED_UP,
            as_of=_LOOKED_UP,
        ),
    ),
}
"""By cloud."""
SUBNETS: Mapping[str, IdFormat] = {
    "aws": IdFormat(
        re.compile(r"subnet-([0-9a-f]{8}|[0-9a-f]{17})"), "subnet-0123456789abcdef0", _EC2
    ),
    "gcp": IdFormat(
        re.compile(
            r"(projects/[^/\s]+/regions/[a-z0-9-]+/subnetworks/)?[a-z]([-a-z0-9]{0,61}[a-z0-9])?"
        ),
        "my-subnetwork",
        NETWORKS["gcp"].source,
    ),
}
"""By cloud."""
PROJECT = IdFormat(
    re.compile(r"([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]"),
    "my-project-4711",
    Source(
        "Cloud Resource Manager API, projectId: 6 to 30 small letters, digits or dashes, a letter first, no dash last",
        date(2026, 11, 24),
        as_of=date(2026, 11, 24),
    ),
)
"""The id of a Google Cloud project, not its name or number; old ids begin with a domain."""
