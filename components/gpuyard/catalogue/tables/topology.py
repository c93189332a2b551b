"""Machines whose nodes have network topology labels, as tables for review against the sources.

A machine type without a row gets no labels from its cloud. `gpuyard.catalogue.topology` parses it.
"""

EC2_NODES = """
#layers types, as EC2 lists them
      3 g6e.xlarge g6e.2xlarge g6e.4xlarge g6e.8xlarge g6e.12xlarge g6e.16xlarge g6e.24xlarge g6e.48xlarge
      3 g7e.2xlarge g7e.4xlarge g7e.8xlarge g7e.12xlarge g7e.24xlarge g7e.48xlarge
      3 p3dn.24xlarge p4d.24xlarge p4de.24xlarge p5.48xlarge p5e.48xlarge p5en.48xlarge p6e-gb200.36xlarge
      4 p6-b200.48xlarge p6-b300.48xlarge
"""
"""Network nodes that DescribeInstanceTopology returns for an instance; each is one label of its Kubernetes node."""

GCE_FAMILIES = ("a3-highgpu-8g", "a3-megagpu-", "a3-ultragpu-", "a4-", "a4x-")
"""Prefixes of GCE machines whose nodes have block, subblock and host; no source for A3 Edge."""
