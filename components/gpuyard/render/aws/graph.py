"""All AWS resources of a platform, in an order in which each can be created."""

from collections.abc import Mapping
from typing import Any

from gpuyard.plan.cluster.ranges import cluster_spec, cluster_zones
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.aws.cluster import EXISTING_OUTPUTS, OUTPUTS, cluster_parts, existing_cluster
from gpuyard.render.aws.karpenter.parts import karpenter_late_values, karpenter_parts
from gpuyard.render.aws.network import (
    NetworkParts,
    added_groups,
    network_of,
    security_group_with_rules,
    subnets_by_zone,
)
from gpuyard.render.aws.place import (
    AwsLocation,
    EksNodeInputs,
    StringInput,
    aws_location,
    aws_resource,
    pod_role,
    statement,
)
from gpuyard.render.aws.pools import image_calls, node_groups
from gpuyard.render.aws.roles import (
    addon_role,
    autoscaler_role,
    control_plane_role,
    disk_key_arn,
    disk_key_calls,
    disk_key_parts,
    node_role,
    node_role_arn,
)
from gpuyard.render.aws.storage import AwsStoreFoundation, store_calls, store_parts, store_values
from gpuyard.render.cloud.graph import CloudCall, CloudGraph, CloudResource, Joined, Json
from gpuyard.render.cloud.kubeconfig import ClusterAccess
from gpuyard.render.cloud.prerequisites import aws_prerequisites
from gpuyard.render.observability.monitoring import COLLECTOR_ACCOUNT
from gpuyard.render.observability.routing import sns_routing
from gpuyard.render.observability.rules import rule_file
from gpuyard.render.workloads.scalers import queries_managed_prometheus
from gpuyard_core.catalogue.cluster.eks import (
    EKS_ADDONS,
    POD_IDENTITY_AGENT,
    S3_CSI,
    VPC_CNI,
    EksAddon,
)
from gpuyard_core.names import (
    KEDA_ACCOUNT,
    KEDA_NAMESPACE,
    MONITORING_NAMESPACE,
    QUERY_URL,
    REMOTE_REGION,
    REMOTE_WRITE,
    SYSTEM_POOL,
)

_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    # Prefix delegation, so that a node has as many pods as the kubelet allows.
    VPC_CNI.name: {
        "enableNetworkPolicy": "true",
        "env": {"ENABLE_PREFIX_DELEGATION": "true", "WARM_PREFIX_TARGET": "1"},
    },
    # Nodes with GPUs are tainted, and the driver mounts where pods are.
    S3_CSI.name: {"node": {"tolerateAllTaints": True}},
}


def addons_of(plan: PlatformPlan) -> tuple[EksAddon, ...]:
    """The add-ons of every cluster, and the CSI drivers of the configured storage."""
    kinds = {"", *plan.storage.kinds}
    return tuple(addon for addon in EKS_ADDONS.values() if addon.dataset in kinds)


def addon_parts(
    plan: PlatformPlan, place: AwsLocation, *, with_nodes: bool, after: tuple[str, ...] = ()
) -> list[CloudResource]:
    """The add-ons that wait for nodes, or those that nodes wait for, with their roles."""
    results: list[CloudResource] = []
    for addon in addons_of(plan):
        if addon.needs_nodes is with_nodes:
            roles, settings = addon_role(plan, place, addon), _SETTINGS.get(addon.name)
            account = addon.service_account
            identity = [
                {"roleArn": each.get("arn"), "serviceAccount": account} for each in roles[:1]
            ]
            made = aws_resource(
                plan,
                "addon",
                addon=addon.name,
                version=addon.versions.get(plan.kubernetes),
                settings=Json(settings) if settings else None,
                identity=identity or None,
                after=(*(each.name for each in roles[1:]), *after),
            )
            results += [*roles, made]
    return results


WORKSPACE = "metrics-workspace"
"""Its name in the graph."""


def metric_parts(plan: PlatformPlan, ready: tuple[str, ...]) -> list[CloudResource]:
    """All resources in order; none without a managed Prometheus. A dispatcher has no rules."""
    observed = plan.observability
    if observed is None or observed.managed is None:
        return []
    workspace = aws_resource(plan, WORKSPACE)
    parts = [workspace, aws_resource(plan, "metrics-retention", days=observed.retention_days)]
    if not plan.queueing.dispatch:
        parts.append(aws_resource(plan, "metrics-rules", rules=rule_file(plan)))
    if observed.alerts is not None:
        routing = sns_routing(plan, observed.alerts)
        parts.append(aws_resource(plan, "metrics-receivers", routing=routing))
    rights = [statement("aps:RemoteWrite", workspace.get("arn"))]
    account = (MONITORING_NAMESPACE, COLLECTOR_ACCOUNT)
    return [*parts, *pod_role(plan, "metrics", account, rights, ready)]


def metric_values(plan: PlatformPlan, place: AwsLocation) -> dict[str, Any]:
    """Where Prometheus in the cluster sends samples, by the names of these late values."""
    observed = plan.observability
    if observed is None or observed.managed is None:
        return {}
    endpoint = UnresolvedOutput(f"{WORKSPACE}.prometheusEndpoint")
    region = {} if plan.region else {REMOTE_REGION: place.region}
    return {REMOTE_WRITE: Joined(endpoint, "api/v1/remote_write"), **region}


_NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"


def aws_graph(plan: PlatformPlan) -> CloudGraph:
    """The new or existing cluster of the stack file, and the node groups of its pools.

    Nodes in an existing cluster have their own role and security group.
    """
    place = aws_location(plan)
    workers, grant = node_role(plan, place), disk_key_parts(plan, place)
    cluster: CloudResource | CloudCall
    if cluster_spec(plan.spec).existing:
        cluster, outputs = existing_cluster(plan), EXISTING_OUTPUTS
        subnets, calls = _subnets_there(plan, place, cluster)
        vpc, calls = cluster.get("vpcConfig.vpcId"), (cluster, *calls)
        network = NetworkParts(vpc=vpc, private=subnets, control_plane_subnets=(), calls=calls)
        control, before, roles = [], [], []
    else:
        network, roles, outputs = network_of(plan, place), control_plane_role(plan, place), OUTPUTS
        control = cluster_parts(plan, place, network, roles)
        cluster = next(each for each in control if each.name == "cluster")
        before = addon_parts(plan, place, with_nodes=False)
    cluster_group = cluster.get(outputs["group"])
    group = security_group_with_rules(plan, network.vpc, cluster_group)
    foundation = EksNodeInputs(
        cluster=cluster.get("name"),
        endpoint=cluster.get(outputs["endpoint"]),
        authority=cluster.get(outputs["authority"]),
        service_cidr=cluster.get(outputs["services"]),
        vpc=network.vpc,
        subnets=network.private,
        node_role=node_role_arn(plan),
        security_groups=(cluster_group, group[0].get("id"), *added_groups(plan)),
        disk_key=disk_key_arn(plan),
        after=(
            *(each.name for each in (*grant, *workers[1:], *group[1:])),
            *(each.name for each in before if each.kind == "aws:eks/addon:Addon"),
            *network.egress_dependencies,
        ),
    )
    groups = node_groups(plan, foundation)
    agent = tuple(a.name for a in before if a.name == f"addon-{POD_IDENTITY_AGENT.name}")
    stores = AwsStoreFoundation(
        place=place,
        vpc=network.vpc,
        subnets=network.private,
        node_security_group=group[0],
        ready=agent,
    )
    first = tuple(n.name for n in groups if n.kind == _NODE_GROUP and n.part == SYSTEM_POOL)
    calls = (
        *place.calls,
        *disk_key_calls(plan),
        *store_calls(plan),
        *network.calls,
        *image_calls(plan),
    )
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
            *autoscaler_role(plan, agent),
            *karpenter_parts(plan, place, agent),
            *metric_parts(plan, agent),
            *scaler_parts(plan, place, agent),
            *groups,
            *(addon_parts(plan, place, with_nodes=True, after=first) if control else ()),
        ),
        tuple({each.name: each for each in calls}.values()),  # two parts may need the same answer
        {
            **store_values(plan),
            **karpenter_late_values(plan),
            **metric_values(plan, place),
            **scaler_values(plan, place),
        },
        aws_prerequisites(plan),
    )


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
    plan: PlatformPlan, place: AwsLocation, ready: tuple[str, ...]
) -> list[CloudResource]:
    """KEDA's role and its assignment; none if no service needs it."""
    queues = {s.spec.queue.sqs for s in plan.services if s.spec.queue and s.spec.queue.sqs}
    allowed: list[dict[str, Any]] = []
    if queues:
        arns = [_arn(place, url) for url in sorted(queues)]
        allowed.append(statement("sqs:GetQueueAttributes", arns))
    if queries_managed_prometheus(plan):
        allowed.append(statement("aps:QueryMetrics", UnresolvedOutput(f"{WORKSPACE}.arn")))
    return pod_role(plan, "keda", (KEDA_NAMESPACE, KEDA_ACCOUNT), allowed, ready) if allowed else []


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
