"""Additional networks that a fabric needs on GKE: their size, profile and address ranges."""

from datetime import date

from gpuyard_core.catalogue.sources import Source

_LOOKED_UP = date(2026, 11, 23)

FABRIC_RANGES = ("192.168.0.0/16", "172.31.0.0/16", "10.255.0.0/16")
"""Address ranges of additional networks: the first that does not overlap with the cluster's."""
HOST_PREFIX, DEVICE_PREFIX, RDMA_PREFIX = 18, 20, 21
"""Their prefix lengths: /18 for hosts, /20 for 4,092 nodes, and eight /21 for RDMA with 2,044 nodes each."""
SIZES_SOURCE = Source(
    "cluster-toolkit v1.95.0 at 1047080: gke-a3-ultragpu.yaml (192.168.64.0/18 for the host, 192.168.128.0/18 in"
    " eight for RDMA) and gke-a3-highgpu.yaml (/20 for each of the GPUs' networks)",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
PREDEFINED_SUBNET = "default-subnet-1-"
"""Prefix of the subnetwork that GKE creates with a bare metal network; followed by the network's name."""
PREDEFINED_SOURCE = Source(
    "cluster-toolkit v1.95.0 at 1047080, modules/network/gpu-rdma-vpc/main.tf: the profile creates one subnetwork with"
    " this name, allows no other, and eight interfaces are on it. A node pool names only network and"
    " subnetwork there (modules/compute/gke-node-pool): IPV6_ONLY, which that module has for instances, is not a"
    " value of GKE. Published scripts for such racks name the same subnetwork",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
PROFILE_URL = (
    "https://www.googleapis.com/compute/beta/projects/",
    "/global/networkProfiles/",
)
"""The URL of a network profile: the project is in the middle, zone and kind are at the end."""
PROFILE_SOURCE = Source(
    "cluster-toolkit v1.95.0 at 1047080, network_profile of gke-a3-ultragpu.yaml; gpuyard sets no firewall"
    " rules and no MTU there, the profile has both",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
