"""Cluster networks: allowed sizes by cloud, and how many addresses a node uses."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard_core.catalogue.sources import Source, find_source

_VPC = find_source("networks.vpc")
_GKE = find_source("networks.gke")
_SERVICES = find_source("networks.services")


@dataclass(frozen=True, slots=True)
class RangeSizes:
    """The allowed prefix lengths of a range, and the default range."""

    widest: int
    narrowest: int
    default: str
    source: Source


EKS_RANGES: Mapping[str, RangeSizes] = {
    "cidr": RangeSizes(16, 22, "10.0.0.0/16", _VPC),
    "services": RangeSizes(12, 24, "172.20.0.0/16", _SERVICES),
}
GKE_RANGES: Mapping[str, RangeSizes] = {
    "cidr": RangeSizes(9, 26, "10.0.0.0/16", _GKE),
    "pods": RangeSizes(9, 21, "10.16.0.0/13", _GKE),
    "services": RangeSizes(16, 27, "10.8.0.0/20", _GKE),
}
"""Range sizes by field of `cluster.network`."""
PRIVATE_RANGES = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
"""RFC 1918; EKS accepts no other ranges for services."""
SHARED_RANGE = "100.64.0.0/10"
"""RFC 6598: for networks if private ranges are used up."""

PREFIX_ADDRESSES = 16
PREFIXES_OF_A_NODE = 2  # networks.prefix-delegation
EC2_TAKEN = 5
GCE_TAKEN = 4
GKE_NODE_PODS = 256
"""Addresses of the pod range that are reserved for each node of up to 110 pods."""
