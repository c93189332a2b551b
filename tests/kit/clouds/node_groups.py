"""Node groups of a plan on a cluster whose values are all late."""

from collections.abc import Iterable, Mapping
from typing import Any

from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.aws.place import EksNodeInputs
from gpuyard.render.aws.pools import image_calls, node_groups
from gpuyard.render.cloud.graph import CloudGraph, CloudResource, resolve_values
from kit.stacks import Raw, plan_of, platform, pool

ZONES = tuple(f"us-east-1{letter}" for letter in "abcdef")
CLUSTER = CloudResource(
    kind="aws:eks/cluster:Cluster",
    name="cluster",
    inputs={"name": "lab"},
    outputs=("endpoint", "certificateAuthority", "vpc", "role", "group", *ZONES),
)
GROUND = EksNodeInputs(
    cluster=CLUSTER.get("name"),
    endpoint=CLUSTER.get("endpoint"),
    authority=CLUSTER.get("certificateAuthority"),
    service_cidr="10.100.0.0/16",
    vpc=CLUSTER.get("vpc"),
    subnets={zone: CLUSTER.get(zone) for zone in reversed(ZONES)},
    node_role=CLUSTER.get("role"),
    security_groups=(CLUSTER.get("group"),),
    after=("cluster",),
)
GROUP = "aws:eks/nodeGroup:NodeGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
PLACEMENT = "aws:ec2/placementGroup:PlacementGroup"
TAG = "aws:autoscaling/tag:Tag"


def aws(pools: Iterable[Raw] | None = None, **rest: Any) -> Raw:
    """A platform on AWS whose pools scale by node groups."""
    return platform([pool()] if pools is None else pools, cloud="aws", **rest)


def graph_of(
    plan: PlatformPlan | Mapping[str, Any], foundation: EksNodeInputs = GROUND
) -> CloudGraph:
    """The node groups of a plan on an existing cluster; all references resolve."""
    created = plan if isinstance(plan, PlatformPlan) else plan_of(plan)
    return CloudGraph((CLUSTER, *node_groups(created, foundation)), image_calls(created))


def written(value: Any) -> Any:
    """A tree with the names of late values, and user data as plain text."""
    return resolve_values(value, lambda name: f"<{name}>")


def late(name: str) -> UnresolvedOutput:
    """A late value of the cluster."""
    return CLUSTER.get(name)
