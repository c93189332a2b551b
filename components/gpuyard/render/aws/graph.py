"""All AWS resources of a platform, in an order in which each can be created."""

from typing import Any

from gpuyard.plan.cluster.ranges import cluster_spec, cluster_zones
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.aws.addons import addon_parts
from gpuyard.render.aws.cluster import EXISTING_OUTPUTS, OUTPUTS, cluster_parts, existing_cluster
from gpuyard.render.aws.disk_key import disk_key_arn, disk_key_calls, disk_key_parts
from gpuyard.render.aws.foundation import EksNodeInputs, StringInput
from gpuyard.render.aws.karpenter.parts import karpenter_late_values, karpenter_parts
from gpuyard.render.aws.metrics import WORKSPACE, metric_parts, metric_values
from gpuyard.render.aws.network import network_of, subnets_by_zone
from gpuyard.render.aws.place import (
    AwsLocation,
    aws_location,
    document,
    pod_identity_association,
    role,
    statement,
)
from gpuyard.render.aws.pools import image_calls, node_groups
from gpuyard.render.aws.roles import (
    TAKEN_BY_PODS,
    autoscaler_role,
    control_plane_role,
    node_role,
    node_role_arn,
)
from gpuyard.render.aws.security import added_groups, security_group_with_rules
from gpuyard.render.aws.storage import AwsStoreFoundation, store_calls, store_parts, store_values
from gpuyard.render.cloud.graph import CloudCall, CloudGraph, CloudResource, Joined
from gpuyard.render.cloud.kubeconfig import ClusterAccess
from gpuyard.render.cloud.prerequisites import aws_prerequisites
from gpuyard.render.workloads.scalers import queries_managed_prometheus
from gpuyard_core.catalogue.cluster.eks import POD_IDENTITY_AGENT
from gpuyard_core.names import KEDA_ACCOUNT, KEDA_NAMESPACE, QUERY_URL, SYSTEM_POOL

_NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"


def aws_graph(plan: PlatformPlan) -> CloudGraph:
    """The new or existing cluster of the stack file, and the node groups of its pools."""
    place = aws_location(plan)
    if cluster_spec(plan.spec).existing:
        return _in_a_given_one(plan, place)
    network = network_of(plan, place)
    roles, workers = control_plane_role(plan, place), node_role(plan, place)
    control = cluster_parts(plan, place, network, roles)
    cluster = next(each for each in control if each.name == "cluster")
    group = security_group_with_rules(plan, network.vpc, cluster.get(OUTPUTS["group"]))
    before = addon_parts(plan, place, cluster, with_nodes=False)
    grant = disk_key_parts(plan, place)
    foundation = EksNodeInputs(
        cluster=cluster.get("name"),
        endpoint=cluster.get(OUTPUTS["endpoint"]),
        authority=cluster.get(OUTPUTS["authority"]),
        service_cidr=cluster.get(OUTPUTS["services"]),
        vpc=network.vpc,
        subnets=network.private,
        node_role=node_role_arn(plan),
        security_groups=(cluster.get(OUTPUTS["group"]), group[0].get("id"), *added_groups(plan)),
        disk_key=disk_key_arn(plan),
        after=(
            *(each.name for each in grant),
            *(each.name for each in workers[1:]),
            *(each.name for each in group[1:]),
            *(each.name for each in before if each.kind == "aws:eks/addon:Addon"),
            *network.egress_dependencies,
        ),
    )
    groups = node_groups(plan, foundation)
    agent = tuple(a.name for a in before if a.name == f"addon-{POD_IDENTITY_AGENT.name}")
    stores = AwsStoreFoundation(
        place=place,
        cluster=cluster.get("name"),
        vpc=network.vpc,
        subnets=network.private,
        node_security_group=group[0],
        ready=agent,
    )
    first = tuple(n.name for n in groups if n.kind == _NODE_GROUP and n.part == SYSTEM_POOL)
    return CloudGraph(
        (
            *network.resources,
            *roles,
            *workers,
            *control,
            *group,
            *before,
            *grant,
            *store_parts(plan, stores),
            *autoscaler_role(plan, cluster, agent),
            *karpenter_parts(plan, place, cluster, agent),
            *metric_parts(plan, cluster, agent),
            *scaler_parts(plan, place, cluster, agent),
            *groups,
            *addon_parts(plan, place, cluster, with_nodes=True, after=first),
        ),
        _once(
            (
                *place.calls,
                *disk_key_calls(plan),
                *store_calls(plan),
                *network.calls,
                *image_calls(plan),
            )
        ),
        {
            **store_values(plan),
            **karpenter_late_values(plan),
            **metric_values(plan, place),
            **scaler_values(plan, place),
        },
        aws_prerequisites(plan),
    )


def _once(calls: tuple[CloudCall, ...]) -> tuple[CloudCall, ...]:
    """Without duplicates: two parts may need the same answer."""
    return tuple({each.name: each for each in calls}.values())


def _in_a_given_one(plan: PlatformPlan, place: AwsLocation) -> CloudGraph:
    """Nodes in an existing cluster: with their own role and security group, and nothing else."""
    cluster = existing_cluster(plan)
    vpc = cluster.get("vpcConfig.vpcId")
    workers, group = (
        node_role(plan, place),
        security_group_with_rules(plan, vpc, cluster.get(EXISTING_OUTPUTS["group"])),
    )
    subnets, calls = _subnets_there(plan, place, cluster)
    foundation = EksNodeInputs(
        cluster=cluster.get("name"),
        endpoint=cluster.get(EXISTING_OUTPUTS["endpoint"]),
        authority=cluster.get(EXISTING_OUTPUTS["authority"]),
        service_cidr=cluster.get(EXISTING_OUTPUTS["services"]),
        vpc=vpc,
        subnets=subnets,
        node_role=node_role_arn(plan),
        security_groups=(
            cluster.get(EXISTING_OUTPUTS["group"]),
            group[0].get("id"),
            *added_groups(plan),
        ),
        after=(*(each.name for each in workers[1:]), *(each.name for each in group[1:])),
    )
    stores = AwsStoreFoundation(
        place=place,
        cluster=cluster.get("name"),
        vpc=vpc,
        subnets=subnets,
        node_security_group=group[0],
    )
    resources = (
        *workers,
        *group,
        *store_parts(plan, stores),
        *metric_parts(plan, cluster),
        *scaler_parts(plan, place, cluster),
        *node_groups(plan, foundation),
    )
    all_calls = (*place.calls, *store_calls(plan), cluster, *calls, *image_calls(plan))
    late_values = {
        **store_values(plan),
        **metric_values(plan, place),
        **scaler_values(plan, place),
    }
    return CloudGraph(resources, all_calls, late_values, aws_prerequisites(plan))


def _subnets_there(
    plan: PlatformPlan, place: AwsLocation, cluster: CloudCall
) -> tuple[dict[str, StringInput], tuple[CloudCall, ...]]:
    """The stack file's subnets, else the cluster's own; by zone if the stack file names zones."""
    if cluster_spec(plan.spec).network.id:
        network = network_of(plan, place)
        return dict(network.private), network.calls
    if zones := cluster_zones(plan.spec):
        private = [("tag:kubernetes.io/role/internal-elb", ["1"])]
        return subnets_by_zone(cluster.get("vpcConfig.vpcId"), zones, private)
    ids = ("vpcConfig.subnetIds.0", "vpcConfig.subnetIds.1")
    return {each: cluster.get(each) for each in ids}, ()


def scaler_parts(
    plan: PlatformPlan,
    place: AwsLocation,
    cluster: CloudResource | CloudCall,
    ready: tuple[str, ...] = (),
) -> list[CloudResource]:
    """KEDA's role and its assignment; none if no service needs it."""
    queues = {s.spec.queue.sqs for s in plan.services if s.spec.queue and s.spec.queue.sqs}
    allowed: list[dict[str, Any]] = []
    if queues:
        arns = [_arn(place, url) for url in sorted(queues)]
        allowed.append(statement("sqs:GetQueueAttributes", arns))
    if queries_managed_prometheus(plan):
        allowed.append(statement("aps:QueryMetrics", UnresolvedOutput(f"{WORKSPACE}.arn")))
    if not allowed:
        return []
    keda = role(plan, "keda-role", "pods.eks.amazonaws.com", TAKEN_BY_PODS)
    rights = CloudResource(
        kind="aws:iam/rolePolicy:RolePolicy",
        name="keda-rights",
        inputs={"role": keda.get("name"), "policy": document(*allowed)},
    )
    account = (KEDA_NAMESPACE, KEDA_ACCOUNT)
    after = (rights.name, *ready)
    identity = pod_identity_association(
        plan, "keda-identity", cluster.get("name"), account, keda, after
    )
    return [keda, rights, identity]


def _arn(place: AwsLocation, url: str) -> Joined:
    """`https://sqs.REGION.amazonaws.com/ACCOUNT/NAME`."""
    host, account, name = url.removeprefix("https://").split("/")
    return Joined("arn:", place.partition, f":sqs:{host.split('.')[1]}:{account}:{name}")


def scaler_values(plan: PlatformPlan, place: AwsLocation) -> dict[str, Any]:
    """The address of the workspace for queries; that of its own output ends with a slash, which KEDA would double."""
    if not queries_managed_prometheus(plan):
        return {}
    workspace = UnresolvedOutput(f"{WORKSPACE}.id")
    parts = ("https://aps-workspaces.", place.region, ".amazonaws.com/workspaces/", workspace)
    return {QUERY_URL: Joined(*parts)}


_HINT = "Install the AWS CLI, version 2: https://docs.aws.amazon.com/cli/latest/userguide/getting-started-install.html"


def eks_access(plan: PlatformPlan, profile: str | None = None) -> ClusterAccess:
    """The program is `aws`, with the provider's profile: another profile is another identity."""
    outputs = EXISTING_OUTPUTS if cluster_spec(plan.spec).existing else OUTPUTS
    endpoint = UnresolvedOutput(f"cluster.{outputs['endpoint']}")
    name = UnresolvedOutput("cluster.name")
    token = ["eks", "get-token", "--cluster-name", name, "--output", "json"]
    return ClusterAccess(
        endpoint=endpoint,
        authority=UnresolvedOutput(f"cluster.{outputs['authority']}"),
        # A replaced cluster has the same name and ARN, and another address.
        identity=endpoint,
        run={
            "command": "aws",
            "args": ["--region", aws_location(plan).region, *token],
            "installHint": _HINT,
            **({"env": [{"name": "AWS_PROFILE", "value": profile}]} if profile else {}),
        },
    )
