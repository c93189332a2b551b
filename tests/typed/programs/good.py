"""A user's program that a strict type checker has nothing to say about."""

import pulumi

from gpuyard import plan_or_raise, platform_spec
from gpuyard.resources import (
    ClusterProvider,
    GpuNodePool,
    Platform,
    Queueing,
    Team,
    validate_platform,
)
from gpuyard.typed import CapacityOption, Cloud, PlatformDict, Pool, Shape, Sharing
from gpuyard.typed import Team as TeamDict

where: Cloud = "aws"
halves: Sharing = {"mig": {"3g.20gb": 2}}
ladder: list[CapacityOption] = [
    {"reserved": "cr-0123456789abcdef0", "nodes": 2},
    "spot",
    {"on-demand": True},
]
train: Pool = {"name": "train", "machine": "p5.48xlarge", "nodes": "2..8", "capacity": ladder}
serve = Pool(name="serve", machine="p4d.24xlarge", nodes=2, sharing=halves)
parts = Pool(
    name="parts",
    machine=["g6e.12xlarge", "g6e.24xlarge"],
    nodes="0..4",
    sharing={"time_slicing": 4},
    disk_gib="1TB",
)
own = Pool(
    name="own",
    machine={"gpu": "H100-80", "gpus": 8, "cpu": 192, "memory_gib": "2TB"},
    nodes=4,
    sharing={"mig": [{"gpus": "0-3", "1g.10gb": 7}, {"gpus": [4, 5], "2g.20gb": 3}]},
    fabric={"kind": "infiniband", "hcas": ["mlx5_0", "mlx5_1"]},
)
shape: Shape = {"name": "pair", "nodes": 2, "gpus_per_node": 8}
teams = [
    TeamDict(name="vision", guarantee={"train": 8, "serve/3g.20gb": 4}, isolation="slice"),
    TeamDict(name="speech", borrow={"train": 8}, groups=["speech"], idle={"after_minutes": 30}),
]
lab: PlatformDict = {
    "name": "lab",
    "cloud": where,
    "kubernetes": "1.36",
    "system": {"machine": "m7i.xlarge", "nodes": "2..3"},
    "pools": [train, serve, parts, own],
    "shapes": (shape,),
    "teams": teams,
    "priorities": {"production": 1000},
    "queueing": {
        "engine": "kueue",
        "cohorts": [{"name": "research", "weight": 2}],
        "stop_policy": None,
    },
    "prices": {"machines": {"p5.48xlarge": 42.5, "p4d.24xlarge": {"spot": 11.0}}},
    "policies": {"levels": {"GPU-TEN-02": "advisory"}},
    "addons": ["argo-cd"],
    "apply": "cluster",
}

config = pulumi.Config("gpuyard")
platform = Platform("lab", {"platform": lab, "cluster_name": pulumi.Output.from_input("blue")})
again = Platform("recurring", {"platform": config.require_object("platform")})
spec = platform_spec(config.require_object("platform"))
third = Platform("third", {"platform": spec})
fourth = Platform("fourth", {"platform": plan_or_raise(platform_spec(lab))})
fifth = Platform("fifth", {"platform": validate_platform(lab), "cluster_name": "blue"})

pool = GpuNodePool("pool", {"platform": lab, "pool": "train"})
queueing = Queueing("queueing", {"platform": lab})
team = Team("team", {"platform": lab, "team": "vision"}, pulumi.ResourceOptions(parent=queueing))
provider = ClusterProvider
pulumi.export("namespaces", team.namespaces)
pulumi.export("bill", platform.bill["maximum_usd_per_hour"])
