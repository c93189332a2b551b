"""The GPU Operator, which partitions the GPUs of one pool with MIG."""

import pulumi

from gpuyard.resources import ClusterProvider, GpuOperator

blue = ClusterProvider("blue", "blue", context="blue")  # a context of your kubeconfig
operator = GpuOperator(
    "operator",
    {
        "pools": [
            {"name": "train", "machine": "p5.48xlarge", "nodes": 4},
            {
                "name": "serve",
                "machine": "p4d.24xlarge",
                "nodes": 2,
                "sharing": {"mig": {"3g.20gb": 2}},
            },
        ],
    },
    pulumi.ResourceOptions(providers=[blue]),
)

pulumi.export("configurations", operator.configurations)
