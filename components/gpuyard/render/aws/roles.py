"""Roles of an EKS cluster: of its control plane, its nodes, and each add-on that asks AWS for something."""

from gpuyard.catalogue.cluster.eks import (
    CLUSTER_POLICIES,
    FSX_CSI,
    NODE_POLICIES,
    VPC_CNI,
    EksAddon,
)
from gpuyard.catalogue.kubernetes.autoscalers import CHANGES, LOOKS, OWNED_TAG
from gpuyard.names import AUTOSCALER_ACCOUNT, KUBE_SYSTEM
from gpuyard.plan.capacity.autoscaler import installs_autoscaler
from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.aws.place import (
    AwsLocation,
    document,
    pod_identity_association,
    policy_attachment,
    role,
    statement,
)
from gpuyard.render.cloud.graph import CloudResource

TAKEN_BY_PODS = ("sts:AssumeRole", "sts:TagSession")


def cluster_role(plan: PlatformPlan, place: AwsLocation) -> list[CloudResource]:
    """What the control plane may do in the account."""
    iam_role = role(plan, "cluster-role", "eks.amazonaws.com", TAKEN_BY_PODS)
    return [iam_role, *(policy_attachment(place, iam_role, policy) for policy in CLUSTER_POLICIES)]


def node_role(plan: PlatformPlan, place: AwsLocation) -> list[CloudResource]:
    """What nodes may do, and so every pod on them: join, and pull images.

    In a cluster that is there already nobody knows whether its network add-on has a role of its own: nodes
    then have that of giving addresses too.
    """
    iam_role = role(plan, "node-role", "ec2.amazonaws.com")
    exists = cluster_spec(plan.spec).existing is not None
    policies = (*NODE_POLICIES, *(VPC_CNI.policies if exists else ()))
    return [iam_role, *(policy_attachment(place, iam_role, policy) for policy in policies)]


def addon_role(plan: PlatformPlan, place: AwsLocation, addon: EksAddon) -> list[CloudResource]:
    """What one add-on may do: its service account takes the role by Pod Identity, without keys."""
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
    """What Cluster Autoscaler may do: look at all groups, and change those of this cluster alone."""
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
    """AWS's own policy for it gives it every file system of the account."""
    return CloudResource(
        kind="aws:iam/rolePolicy:RolePolicy",
        name=f"{iam_role.name}-describes",
        inputs={
            "role": iam_role.get("name"),
            "policy": document(statement("fsx:DescribeFileSystems", "*")),
        },
    )
