"""Additional networks that a fabric needs on GKE: their size, profile and address ranges."""

FABRIC_RANGES = ("192.168.0.0/16", "172.31.0.0/16", "10.255.0.0/16")
"""Address ranges of additional networks: the first that does not overlap with the cluster's."""
HOST_PREFIX, DEVICE_PREFIX, RDMA_PREFIX = 18, 20, 21
"""Their prefix lengths: /18 for hosts, /20 for 4,092 nodes, and eight /21 for RDMA with 2,044 nodes each
(networks.sizes)."""
PREDEFINED_SUBNET = "default-subnet-1-"
"""Prefix of the subnetwork that GKE creates with a bare metal network; followed by the network's name
(networks.predefined)."""
PROFILE_URL = (
    "https://www.googleapis.com/compute/beta/projects/",
    "/global/networkProfiles/",
)
"""The URL of a network profile: the project is in the middle, zone and kind are at the end (networks.profile)."""
