"""Hardware validation alone: a Job for each pool compares its nodes with the pool's description."""

import pulumi

from gpuyard.resources import ClusterProvider, Validation

blue = ClusterProvider("blue", "blue", context="blue")  # a context of your kubeconfig
check = Validation(
    "check",
    {
        "pools": [{"name": "train", "machine": "p5.48xlarge", "nodes": 4}],
        "validation": {
            "profile": "quick",
            "image": "registry.example.org/ml/validator:2026.11",
            "required": False,  # True: the deployment fails with a node that fails
            "gate": "none",
        },
    },
    pulumi.ResourceOptions(providers=[blue]),
)

pulumi.export("pools", check.pools)
