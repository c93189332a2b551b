"""A GPU platform on a cluster of your own: pools with MIG, queues and teams."""

import pulumi

from gpuyard.resources import Platform, await_registrations
from gpuyard.typed import PlatformDict

lab: PlatformDict = {
    "name": "lab",
    "cloud": "none",
    "kubernetes": "1.36",
    "cluster": {"existing": "blue"},  # a context of your kubeconfig
    "pools": [
        {"name": "train", "machine": "p5.48xlarge", "nodes": 4},
        {
            "name": "serve",
            "machine": "p4d.24xlarge",
            "nodes": 2,
            "sharing": {"mig": {"3g.20gb": 2}},
        },
    ],
    "teams": [
        {"name": "vision", "guarantee": {"train": 16}},
        {"name": "speech", "guarantee": {"serve/3g.20gb": 8}, "borrow": {"train": 8}},
    ],
}

platform = Platform("platform", {"platform": lab})

pulumi.export("bill", platform.bill)
await_registrations()
