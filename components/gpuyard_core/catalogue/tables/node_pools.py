"""Settings of each capacity type for the node pools of the clouds, as tables for review against the sources.

A dash: the argument is omitted. `gpuyard_core.catalogue.node_pools` parses it.
"""

EC2_PURCHASES = """
#mode       EKS             Karpenter  market          reservations
reserved    ON_DEMAND       reserved   -               capacity-reservations-only
block       CAPACITY_BLOCK  reserved   capacity-block  capacity-reservations-only
flex-start  ON_DEMAND       on-demand  -               open
spot        SPOT            spot       spot            none
on-demand   ON_DEMAND       on-demand  -               open
"""

GKE_PURCHASES = """
#mode       spot  flex-start  reservation           repaired
reserved    no    no          SPECIFIC_RESERVATION  yes
block       no    no          SPECIFIC_RESERVATION  yes
flex-start  no    yes         NO_RESERVATION        no
spot        yes   no          NO_RESERVATION        yes
on-demand   no    no          NO_RESERVATION        yes
"""

WORKLOAD_POLICIES = """
#machines             type             topology
a4x-highgpu-4g        HIGH_THROUGHPUT  1x72
a4x-maxgpu-4g-metal   HIGH_THROUGHPUT  1x72
"""
"""Policies that place the nodes of an NVLink domain; reservations of these machines also need them."""

GKE_VERSIONS = """
#machines             minor  first version
a4x-highgpu-4g        1.32   1.32.8-gke.1108000
a4x-highgpu-4g        1.33   1.33.4-gke.1036000
a4x-maxgpu-4g-metal   1.34   1.34.3-gke.1318000
a4x-maxgpu-4g-metal   1.35   1.35.0-gke.2745000
"""
"""The oldest GKE version of a minor that supports a machine; later minors support it from their first version."""
