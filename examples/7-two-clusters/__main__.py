"""Queues on two clusters in one program: each component uses the provider of its cluster."""

import pulumi

from gpuyard.resources import ClusterProvider, Queueing
from gpuyard.typed import Pool

clusters: dict[str, list[Pool]] = {
    "blue": [{"name": "train", "machine": "p5.48xlarge", "nodes": 4}],
    "green": [{"name": "serve", "machine": "g6e.48xlarge", "nodes": 2}],
}

for name, pools in clusters.items():
    provider = ClusterProvider(name, name, context=name)  # contexts of your kubeconfig
    queueing = Queueing(
        f"{name}-queues",
        {
            "name": name,
            "pools": pools,
            "teams": [{"name": "vision", "guarantee": {pools[0]["name"]: 8}}],
            "queueing": {"install": False},
        },
        pulumi.ResourceOptions(providers=[provider]),
    )
    pulumi.export(name, queueing.queues)
