"""Further networks that a fabric needs on GKE: their size, their profile, and where their addresses lie."""

from datetime import date

from gpuyard.catalogue.sources import Source

_LOOKED_UP = date(2026, 11, 23)

FABRIC_RANGES = ("192.168.0.0/16", "172.31.0.0/16", "10.255.0.0/16")
"""Where the addresses of further networks lie: the first that has none of the cluster's own."""
HOST_PREFIX, DEVICE_PREFIX, RDMA_PREFIX = 18, 20, 21
"""How large each of them is: /18 for hosts, 4,092 nodes on /20, and 2,044 on each of the eight /21 for RDMA."""
SIZES_SOURCE = Source(
    "cluster-toolkit v1.95.0 at 1047080: gke-a3-ultragpu.yaml (192.168.64.0/18 for the host, 192.168.128.0/18 in"
    " eight for RDMA) and gke-a3-highgpu.yaml (/20 for each of the GPUs' networks)",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
PREDEFINED_SUBNET = "default-subnet-1-"
"""Begins the name of the subnetwork that a network of bare metal has by itself; the network's name ends it."""
PREDEFINED_SOURCE = Source(
    "cluster-toolkit v1.95.0 at 1047080, modules/network/gpu-rdma-vpc/main.tf: the profile makes one subnetwork with"
    " the network, of this name, lets no other be made, and eight interfaces are on it. A node pool names network and"
    " subnetwork alone there (modules/compute/gke-node-pool): IPV6_ONLY, which that module has for instances, is no"
    " word of GKE's. Scripts that people show of such racks name the same subnetwork",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
PROFILE_URL = (
    "https://www.googleapis.com/compute/beta/projects/",
    "/global/networkProfiles/",
)
"""Of a network's profile: the project stands between, and zone and kind at the end."""
PROFILE_SOURCE = Source(
    "cluster-toolkit v1.95.0 at 1047080, network_profile of gke-a3-ultragpu.yaml; no firewall rules and no MTU of"
    " ours there, the profile says both",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
