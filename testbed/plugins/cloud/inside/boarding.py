"""What an instance needs to join an EKS cluster: a role, a network route, the cluster's security group, add-ons.

EKS reports the same for all of it: `NodeCreationFailure: Instances failed to join the kubernetes cluster`. The
reason is in the instance's own log.
"""

import json
from collections.abc import Mapping
from typing import Any

from testbed.plugins.cloud.inside.user_data import BadUserData, Told
from testbed.plugins.cloud.rules.looking import at, items, text
from testbed.plugins.cloud.service.ties import Resource

_WORKER = ("AmazonEKSWorkerNodePolicy", "AmazonEKSWorkerNodeMinimalPolicy")
_PULLS = (
    "AmazonEC2ContainerRegistryReadOnly",
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonEC2ContainerRegistryPowerUser",
)
_ADDRESSES = "AmazonEKS_CNI_Policy"
_ENDPOINTS = ("ec2", "ecr.api", "ecr.dkr", "s3")
_EVERYWHERE = "0.0.0.0/0"
Held = list[Resource]


def must_join(
    group: Resource,
    cluster: Resource,
    reported: Told,
    template: Mapping[str, Any],
    existing: Held,
) -> None:
    """Raise BadUserData for the first missing requirement of a node."""
    role = next(each for each in existing if group.inputs["nodeRoleArn"] in each.names)
    for message in (
        _script(reported, cluster),
        _role(role, existing),
        _addons(cluster, role, existing),
        _groups(template, cluster),
        *(_way_out(each, existing) for each in items(group.inputs, "subnetIds")),
    ):
        if message:
            raise BadUserData(message)


def _script(reported: Told, cluster: Resource) -> str:
    """Check the cluster that a script names; nodeadm and Bottlerocket get it from EKS."""
    true = {
        "cluster": cluster.id,
        "endpoint": cluster.state["endpoint"],
        "authority": cluster.state["certificateAuthority"]["data"],
    }
    wrong = [name for name, value in reported.joins.items() if value != true[name]]
    return f"bootstrap.sh was given another {wrong[0]} than the cluster's" if wrong else ""


def _role(role: Resource, existing: Held) -> str:
    trusted = json.dumps(json.loads(role.inputs["assumeRolePolicy"]).get("Statement"))
    if "ec2.amazonaws.com" not in trusted and '"*"' not in trusted:
        return f"the instance has no credentials: ec2.amazonaws.com may not assume {role.id}"
    names = _policies(role, existing)
    if not names & set(_WORKER):
        return f"nodeadm: ec2:DescribeInstances is denied: {role.id} lacks {_WORKER[0]}"
    if not names & set(_PULLS):
        return f"pulling pause: no basic auth credentials: {role.id} lacks {_PULLS[1]}"
    return ""


def _policies(role: Resource, existing: Held) -> set[str]:
    attached = [
        each.inputs["policyArn"]
        for each in existing
        if each.kind == "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
        and each.inputs["role"] in role.names
    ]
    return {
        each.rpartition("/")[2] for each in (*attached, *items(role.inputs, "managedPolicyArns"))
    }


# ── add-ons ───────────────────────────────────────────────────────────────────────────────────────
def _addons(cluster: Resource, role: Resource, existing: Held) -> str:
    """A node is ready once its network add-on assigned addresses, with its own or the node's permissions."""
    created = {
        each.inputs["addonName"]: each
        for each in existing
        if each.kind == "aws:eks/addon:Addon" and each.inputs["clusterName"] == cluster.id
    }
    itself = cluster.inputs.get("bootstrapSelfManagedAddons", True)
    for name in ("vpc-cni", "kube-proxy"):
        if name not in created and not itself:
            return f"the node stays NotReady: container runtime network not ready: no add-on {name}"
    if _ADDRESSES in _policies(role, existing):
        return ""
    cni = created.get("vpc-cni")
    if cni is not None and cni.inputs.get("serviceAccountRoleArn"):
        return ""
    if not _has_identity(cluster, cni, existing):
        return "aws-node: ec2:AssignPrivateIpAddresses is denied: no role gives it"
    if "eks-pod-identity-agent" not in created:
        return "aws-node: no credentials: eks-pod-identity-agent does not run"
    return ""


def _has_identity(cluster: Resource, cni: Resource | None, existing: Held) -> bool:
    value = items(cni.inputs, "podIdentityAssociations") if cni else []
    return any(each.get("serviceAccount") == "aws-node" for each in value) or any(
        each.inputs["serviceAccount"] == "aws-node" and each.inputs["clusterName"] == cluster.id
        for each in existing
        if each.kind == "aws:eks/podIdentityAssociation:PodIdentityAssociation"
    )


# ── the network ───────────────────────────────────────────────────────────────────────────────────
def _groups(template: Mapping[str, Any], cluster: Resource) -> str:
    """EKS adds the cluster's security group only if the template names none."""
    inputs = [*items(template, "vpcSecurityGroupIds")]
    for each in items(template, "networkInterfaces"):
        inputs += items(each, "securityGroups")
    own = at(cluster.state, "vpcConfig.clusterSecurityGroupId")
    if inputs and own not in inputs:
        return f"kubelet: dial tcp: i/o timeout: the instance is not in the cluster's group {own}"
    return ""


def _way_out(subnet: str, existing: Held) -> str:
    """The route to the services that a node calls at its start, or endpoints in its VPC."""
    table = next(
        (
            each.inputs["routeTableId"]
            for each in existing
            if each.kind == "aws:ec2/routeTableAssociation:RouteTableAssociation"
            and each.inputs.get("subnetId") == subnet
        ),
        None,
    )
    routed = any(
        each.kind == "aws:ec2/route:Route"
        and each.inputs["routeTableId"] == table
        and each.inputs.get("destinationCidrBlock") == _EVERYWHERE
        for each in existing
    )
    if routed:
        return ""
    vpc = next(each.inputs["vpcId"] for each in existing if each.id == subnet)
    services = {
        text(each.inputs, "serviceName").split(".", 3)[-1]
        for each in existing
        if each.kind == "aws:ec2/vpcEndpoint:VpcEndpoint" and each.inputs["vpcId"] == vpc
    }
    lacking = [each for each in _ENDPOINTS if each not in services]
    if not lacking:
        return ""
    return (
        f"nodeadm: dial tcp: i/o timeout: {subnet} has no route out,"
        f" and its VPC no endpoint of {lacking[0]}"
    )
