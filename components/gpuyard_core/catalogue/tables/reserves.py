"""Memory and CPUs of a node that are not for pods, as tables for review against measurements.

`gpuyard_core.catalogue.reserves` reads it.
"""

KERNEL = """
#cloud  share   gib
aws     0.034  0.25
gcp     0.016  0.15
none    0.034  0.25
"""
"""Sold memory that the kernel does not have: a share and some GiB. Your own nodes are treated as on EC2."""

KUBELET_CPU = """
#  cpus   share
      1  0.06
      1  0.01
      2  0.005
      -  0.0025
"""
"""Number of next CPUs (a dash: all others), and the reserved share of them; the same on both clouds."""

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
"""Reserved MiB on EKS: a base, and an amount for each possible pod of the node."""
EVICTION_MIB = 100
"""Free memory below which the kubelet evicts pods."""
PODS_UNKNOWN = (110, 250, 30)
"""Pods of a node without a known limit: with fewer CPUs than the third number, and with at least as many."""
EFA_HUGE_PAGES_MIB = 5128 * 2
"""Huge pages of 2 MiB that the EFA driver reserves when it starts."""
