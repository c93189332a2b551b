"""What of a node's memory and CPUs is not for pods: made for reading and for comparing with measurements.

`gpuyard.catalogue.reserves` reads it.
"""

KERNEL = """
#cloud  share   gib
aws     0.034  0.25
gcp     0.016  0.15
none    0.034  0.25
"""
"""Memory as it is sold that no kernel has: a share of it, and some GiB. Of nodes of your own, as on EC2."""

KUBELET_CPU = """
#  cpus   share
      1  0.06
      1  0.01
      2  0.005
      -  0.0025
"""
"""So many of the next CPUs (a dash: all others), and the share of them that is kept; the same on both clouds."""

GKE_MEMORY = """
#   gib  share
      4  0.25
      4  0.2
      8  0.1
    112  0.06
      -  0.02
"""
"""The same for memory on GKE."""

EKS_MIB = (255, 11)
"""On EKS: so many MiB, and so many for each pod that the node may have."""
EVICTION_MIB = 100
"""Below so much free memory the kubelet puts pods out."""
PODS_UNKNOWN = (110, 250, 30)
"""Pods of a node of which no cloud says it: with fewer CPUs than the third, and with as many or more."""
EFA_HUGE_PAGES_MIB = 5128 * 2
"""Huge pages of 2 MiB that the EFA driver takes when it starts."""
