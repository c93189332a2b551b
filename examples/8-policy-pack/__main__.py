"""A program without gpuyard: `pulumi preview --policy-pack ../../policies` rejects its queue."""

import pulumi
import pulumi_kubernetes as k8s

blue = k8s.Provider("blue", context="blue")  # a context of your kubeconfig
k8s.apiextensions.CustomResource(
    "research",
    api_version="kueue.x-k8s.io/v1beta2",
    kind="ClusterQueue",
    metadata={"name": "research"},
    spec={
        "namespaceSelector": None,  # no namespace may use the queue
        "resourceGroups": [
            {
                "coveredResources": ["nvidia.com/gpu"],
                "flavors": [
                    {
                        "name": "train",
                        "resources": [{"name": "nvidia.com/gpu", "nominalQuota": 32}],
                    },
                ],
            },
        ],
    },
    opts=pulumi.ResourceOptions(provider=blue),
)
