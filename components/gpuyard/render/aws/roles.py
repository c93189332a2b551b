"""IAM roles of an EKS cluster: of its control plane, its nodes, and each add-on that calls AWS."""

from gpuyard.plan.capacity.scaling import installs_autoscaler
from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.aws.foundation import StringInput
from gpuyard.render.aws.place import (
    AwsLocation,
    document,
    pod_identity_association,
    policy_attachment,
    role,
    statement,
)
from gpuyard.render.cloud.graph import CloudResource
from gpuyard_core.catalogue.cluster.eks import (
    CLUSTER_POLICIES,
    FSX_CSI,
    NODE_POLICIES,
    VPC_CNI,
    EksAddon,
)
from gpuyard_core.catalogue.kubernetes.autoscalers import CHANGES, LOOKS, OWNED_TAG
from gpuyard_core.names import AUTOSCALER_ACCOUNT, KUBE_SYSTEM

TAKEN_BY_PODS = ("sts:AssumeRole", "sts:TagSession")


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
    own = [_describes_fsx(iam_role)] if addon is FSX_CSI else []
    return [
        iam_role,
        *(policy_attachment(place, iam_role, policy) for policy in addon.policies),
        *own,
    ]


def autoscaler_role(
    plan: PlatformPlan, cluster: CloudResource, ready: tuple[str, ...]
) -> list[CloudResource]:
    """The permissions of Cluster Autoscaler: read all groups, change those of this cluster."""
    if not installs_autoscaler(plan.spec):
        return []
    iam_role = role(plan, "autoscaler-role", "pods.eks.amazonaws.com", TAKEN_BY_PODS)
    owned = {f"aws:ResourceTag/{OWNED_TAG.format(plan.name)}": "owned"}
    rights = CloudResource(
        kind="aws:iam/rolePolicy:RolePolicy",
        name="autoscaler-rights",
        inputs={
            "role": iam_role.get("name"),
            "policy": document(
                statement(list(LOOKS), "*"),
                statement(list(CHANGES), "*", Condition={"StringEquals": owned}),
            ),
        },
    )
    identity = pod_identity_association(
        plan,
        "autoscaler-identity",
        cluster.get("name"),
        (KUBE_SYSTEM, AUTOSCALER_ACCOUNT),
        iam_role,
        (rights.name, *ready),
    )
    return [iam_role, rights, identity]


def _describes_fsx(iam_role: CloudResource) -> CloudResource:
    """AWS's managed policy for it allows every file system of the account."""
    return CloudResource(
        kind="aws:iam/rolePolicy:RolePolicy",
        name=f"{iam_role.name}-describes",
        inputs={
            "role": iam_role.get("name"),
            "policy": document(statement("fsx:DescribeFileSystems", "*")),
        },
    )
