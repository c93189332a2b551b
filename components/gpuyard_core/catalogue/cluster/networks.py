"""Cluster networks: allowed sizes by cloud, and how many addresses a node uses."""

from dataclasses import dataclass

from gpuyard_core.catalogue.sources import Source
from gpuyard_core.catalogue.tables import read_keyed


@dataclass(frozen=True, slots=True)
class RangeSizes:
    """The allowed prefix lengths of a range, and the default range."""

    widest: int
    narrowest: int
    default: str
    source: Source


_RANGES = dict(read_keyed("network_ranges", RangeSizes))
EKS_RANGES = {field: _RANGES[f"aws.{field}"] for field in ("cidr", "services")}
GKE_RANGES = {field: _RANGES[f"gcp.{field}"] for field in ("cidr", "pods", "services")}
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
