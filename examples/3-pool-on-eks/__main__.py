"""A pool of GPU nodes on an EKS cluster that exists already."""

import pulumi

from gpuyard.resources import GpuNodePool

train = GpuNodePool(
    "train",
    {
        "cluster": "ml-prod",  # its name in EKS
        "kubernetes": "1.36",
        "pool": {
            "name": "train",
            "machine": "g6e.48xlarge",
            "nodes": 2,
            "zones": ["us-east-1a"],
        },
    },
)

pulumi.export("resources", train.resources)
