"""All that AWS is to make for a platform, in an order in which each can be made."""

from gpuyard.names import SYSTEM_POOL
from gpuyard.plan.cluster.ranges import cluster_of, zones_of
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.aws.addons import addon_parts
from gpuyard.render.aws.cluster import OUTPUTS, cluster_parts, given_cluster
from gpuyard.render.aws.ground import Given, Ground
from gpuyard.render.aws.network import network_of, subnets_by_zone
from gpuyard.render.aws.place import AwsPlace, place_of
from gpuyard.render.aws.pools import image_calls, node_groups
from gpuyard.render.aws.roles import cluster_role, node_role
from gpuyard.render.aws.security import node_group_rules
from gpuyard.render.cloud.graph import CloudCall, CloudGraph

_NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"


def aws_graph(plan: PlatformPlan) -> CloudGraph:
    """The cluster that the stack file asks for, or the one it names, and the node groups of its pools."""
    place = place_of(plan)
    if cluster_of(plan.spec).existing:
        return _in_a_given_one(plan, place)
    network = network_of(plan, place)
    roles, workers = cluster_role(plan, place), node_role(plan, place)
    control = cluster_parts(plan, place, network, roles)
    cluster = next(each for each in control if each.name == "cluster")
    group = node_group_rules(plan, network.vpc, cluster.get(OUTPUTS["group"]))
    before = addon_parts(plan, place, cluster, with_nodes=False)
    ground = Ground(
        cluster=cluster.get("name"),
        endpoint=cluster.get(OUTPUTS["endpoint"]),
        authority=cluster.get(OUTPUTS["authority"]),
        service_cidr=cluster.get(OUTPUTS["services"]),
        vpc=network.vpc,
        subnets=network.private,
        node_role=workers[0].get("arn"),
        security_groups=(cluster.get(OUTPUTS["group"]), group[0].get("id")),
        after=(
            *(each.name for each in workers[1:]),
            *(each.name for each in group[1:]),
            *(each.name for each in before if each.kind == "aws:eks/addon:Addon"),
            *network.ready,
        ),
    )
    groups = node_groups(plan, ground)
    first = tuple(n.name for n in groups if n.kind == _NODE_GROUP and n.part == SYSTEM_POOL)
    return CloudGraph(
        (
            *network.resources,
            *roles,
            *workers,
            *control,
            *group,
            *before,
            *groups,
            *addon_parts(plan, place, cluster, with_nodes=True, after=first),
        ),
        (*place.calls, *network.calls, *image_calls(plan)),
    )


def _in_a_given_one(plan: PlatformPlan, place: AwsPlace) -> CloudGraph:
    """Nodes in a cluster that somebody else made: with a role and a group of their own, and no more."""
    cluster = given_cluster(plan)
    vpc = cluster.get("vpcConfig.vpcId")
    workers, group = (
        node_role(plan, place),
        node_group_rules(plan, vpc, cluster.get(OUTPUTS["group"])),
    )
    subnets, calls = _subnets_there(plan, place, cluster)
    ground = Ground(
        cluster=cluster.get("name"),
        endpoint=cluster.get("endpoint"),
        authority=cluster.get("certificateAuthorities.0.data"),
        service_cidr=cluster.get("kubernetesNetworkConfigs.0.serviceIpv4Cidr"),
        vpc=vpc,
        subnets=subnets,
        node_role=workers[0].get("arn"),
        security_groups=(cluster.get(OUTPUTS["group"]), group[0].get("id")),
        after=(*(each.name for each in workers[1:]), *(each.name for each in group[1:])),
    )
    made = (*workers, *group, *node_groups(plan, ground))
    return CloudGraph(made, (*place.calls, cluster, *calls, *image_calls(plan)))


def _subnets_there(
    plan: PlatformPlan, place: AwsPlace, cluster: CloudCall
) -> tuple[dict[str, Given], tuple[CloudCall, ...]]:
    """Those that the stack file says, else the cluster's own: by zone where zones are named."""
    if cluster_of(plan.spec).network.id:
        network = network_of(plan, place)
        return dict(network.private), network.calls
    if zones := zones_of(plan.spec):
        private = [("tag:kubernetes.io/role/internal-elb", ["1"])]
        return subnets_by_zone(cluster.get("vpcConfig.vpcId"), zones, private)
    ids = ("vpcConfig.subnetIds.0", "vpcConfig.subnetIds.1")
    return {each: cluster.get(each) for each in ids}, ()
