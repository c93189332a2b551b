"""IAM roles of an EKS cluster: of its control plane, its nodes, and each add-on that calls AWS."""

from typing import Any

from gpuyard.plan.capacity.scaling import installs_autoscaler
from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.aws.place import (
    ACCOUNT,
    TAKEN_BY_PODS,
    AwsLocation,
    StringInput,
    aws_resource,
    pod_role,
    policy_attachment,
    role,
    role_policy,
    statement,
)
from gpuyard.render.cloud.graph import CloudCall, CloudResource, Joined
from gpuyard_core.catalogue.cluster.eks import (
    AUTO_SCALING_ROLE,
    CLUSTER_POLICIES,
    DISK_OPERATIONS,
    FSX_CSI,
    NODE_POLICIES,
    VPC_CNI,
    EksAddon,
)
from gpuyard_core.catalogue.kubernetes.autoscalers import CHANGES, LOOKS, OWNED_TAG
from gpuyard_core.names import AUTOSCALER_ACCOUNT, KUBE_SYSTEM


def disk_key_arn(plan: PlatformPlan) -> str | None:
    """The ARN; None: the account's default key, which everyone who may start instances can use."""
    cluster = cluster_spec(plan.spec)
    return None if cluster.existing else cluster.key


def disk_key_parts(plan: PlatformPlan, place: AwsLocation) -> list[CloudResource]:
    """A grant for the role that starts the instances of groups; the key policy is unchanged."""
    key = disk_key_arn(plan)
    if key is None:
        return []
    values = {"partition": place.partition, "role": AUTO_SCALING_ROLE}
    operations = list(DISK_OPERATIONS)
    return [aws_resource(plan, "disk-key-grant", key=key, operations=operations, **values)]


def disk_key_calls(plan: PlatformPlan) -> tuple[CloudCall, ...]:
    """The account: its number is part of the ARN of Auto Scaling's role."""
    return (ACCOUNT,) if disk_key_arn(plan) else ()


def disk_key_rights(plan: PlatformPlan, place: AwsLocation) -> list[dict[str, Any]]:
    """What Karpenter's controller may do with the key: only what EC2 does on its behalf."""
    key = disk_key_arn(plan)
    if key is None:
        return []
    by_ec2 = {"kms:ViaService": Joined("ec2.", place.region, ".amazonaws.com")}
    grants = {"StringEquals": by_ec2, "Bool": {"kms:GrantIsForAWSResource": "true"}}
    uses = [f"kms:{each}" for each in DISK_OPERATIONS if each != "CreateGrant"]
    return [
        statement(uses, key, Condition={"StringEquals": by_ec2}),
        statement("kms:CreateGrant", key, Condition=grants),
    ]


def control_plane_role(plan: PlatformPlan, place: AwsLocation) -> list[CloudResource]:
    """The permissions of the control plane in the account; none for an existing role."""
    if cluster_spec(plan.spec).roles.cluster is not None:
        return []
    iam_role = role(plan, "cluster-role", "eks.amazonaws.com", TAKEN_BY_PODS)
    return [iam_role, *(policy_attachment(place, iam_role, policy) for policy in CLUSTER_POLICIES)]


def node_role(plan: PlatformPlan, place: AwsLocation) -> list[CloudResource]:
    """The permissions of nodes, and so of every pod on them: join the cluster and pull images.

    In an existing cluster the network add-on may have no role of its own: nodes then also get the
    permission to assign addresses. An existing role stays as it is.
    """
    if cluster_spec(plan.spec).roles.nodes is not None:
        return []
    iam_role = role(plan, "node-role", "ec2.amazonaws.com")
    exists = cluster_spec(plan.spec).existing is not None
    policies = (*NODE_POLICIES, *(VPC_CNI.policies if exists else ()))
    return [iam_role, *(policy_attachment(place, iam_role, policy) for policy in policies)]


def node_role_arn(plan: PlatformPlan) -> StringInput:
    """The ARN of the role of node groups."""
    return cluster_spec(plan.spec).roles.nodes or UnresolvedOutput("node-role.arn")


def addon_role(plan: PlatformPlan, place: AwsLocation, addon: EksAddon) -> list[CloudResource]:
    """The permissions of one add-on: its service account assumes the role by Pod Identity."""
    if not addon.service_account:
        return []
    iam_role = role(plan, f"{addon.name}-role", "pods.eks.amazonaws.com", TAKEN_BY_PODS)
    results = [iam_role, *(policy_attachment(place, iam_role, each) for each in addon.policies)]
    if addon is FSX_CSI:  # AWS's managed policy for it allows every file system of the account
        allowed = statement("fsx:DescribeFileSystems", "*")
        results.append(role_policy(iam_role, f"{iam_role.name}-describes", allowed))
    return results


def autoscaler_role(plan: PlatformPlan, ready: tuple[str, ...]) -> list[CloudResource]:
    """The permissions of Cluster Autoscaler: read all groups, change those of this cluster."""
    if not installs_autoscaler(plan.spec):
        return []
    owned = {f"aws:ResourceTag/{OWNED_TAG.format(plan.name)}": "owned"}
    rights = [
        statement(list(LOOKS), "*"),
        statement(list(CHANGES), "*", Condition={"StringEquals": owned}),
    ]
    return pod_role(plan, "autoscaler", (KUBE_SYSTEM, AUTOSCALER_ACCOUNT), rights, ready)
