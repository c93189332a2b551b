"""Networks of clusters: how large the clouds let them be, and how many addresses a node takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from gpuyard.catalogue.sources import Source

_LOOKED_UP = date(2026, 11, 22)
_VPC = Source(
    "VPC User Guide: a block of a VPC is /16 to /28, and five addresses of each subnet are taken; ours has"
    " eight private subnets and eight public ones, the smallest an eighth of an eighth of it",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
_GKE = Source(
    "GKE, VPC-native clusters: a /24 of the pods' range for a node of up to 110 pods; four addresses of the"
    " primary range are taken",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
_SERVICES = Source(
    "hashicorp/terraform-provider-aws v6.58.0, eks cluster: serviceIpv4Cidr /12 to /24, of a private range",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)


@dataclass(frozen=True, slots=True)
class RangeSizes:
    """How long the prefix of a range may be, and what is taken when nobody says one."""

    widest: int
    narrowest: int
    default: str
    source: Source


RANGES: Mapping[str, Mapping[str, RangeSizes]] = {
    "aws": {
        "cidr": RangeSizes(16, 22, "10.0.0.0/16", _VPC),
        "services": RangeSizes(12, 24, "172.20.0.0/16", _SERVICES),
    },
    "gcp": {
        "cidr": RangeSizes(9, 26, "10.0.0.0/16", _GKE),
        "pods": RangeSizes(9, 21, "10.16.0.0/13", _GKE),
        "services": RangeSizes(16, 27, "10.8.0.0/20", _GKE),
    },
}
"""By cloud and by word of `cluster.network`."""
PRIVATE_RANGES = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
"""RFC 1918; EKS takes no other for services."""
SHARED_RANGE = "100.64.0.0/10"
"""RFC 6598: for networks, where private ones are used up."""

PREFIX_ADDRESSES = 16
PREFIXES_OF_A_NODE = 2
PREFIX_DELEGATION = Source(
    "amazon-vpc-cni-k8s docs/prefix-and-ip-target.md: with prefix delegation an interface takes /28 blocks of 16"
    " addresses, and keeps one beside those in use (WARM_PREFIX_TARGET=1)",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
"""So the least that a node with one pod takes is two blocks, beside its own addresses."""
EC2_TAKEN = 5
GCE_TAKEN = 4
GKE_NODE_PODS = 256
"""Addresses of the pods' range that each node of up to 110 pods has to itself."""
