"""Queues and teams on a cluster of your own, whose nodes and GPU Operator exist already."""

import pulumi

from gpuyard.resources import ClusterProvider, Queueing, Team
from gpuyard.typed import Pool
from gpuyard.typed import Team as TeamDict

pools: list[Pool] = [{"name": "train", "machine": "p5.48xlarge", "nodes": 4}]
teams: list[TeamDict] = [
    {"name": "vision", "guarantee": {"train": 16}},
    {"name": "speech", "guarantee": {"train": 8}, "borrow": {"train": 8}},
]

blue = ClusterProvider("blue", "blue", context="blue")  # a context of your kubeconfig
queueing = Queueing(
    "queues",
    {"name": "lab", "pools": pools, "teams": teams, "queueing": {"install": False}},
    pulumi.ResourceOptions(providers=[blue]),
)
for team in teams:
    Team(
        team["name"],
        {"name": "lab", "pools": pools, "teams": teams, "team": team["name"]},
        pulumi.ResourceOptions(providers=[blue], depends_on=[queueing]),
    )

pulumi.export("queues", queueing.queues)
