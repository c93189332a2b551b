"""The security group of nodes: no traffic from outside, all among nodes, as EFA requires."""

from collections.abc import Mapping

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.aws.foundation import StringInput
from gpuyard.render.aws.place import tags_of
from gpuyard.render.cloud.graph import CloudResource

_ALL = "-1"
"""Every protocol and port: a rule cannot name EFA's own protocol."""


def security_group_with_rules(
    plan: PlatformPlan, vpc: StringInput, cluster_group: StringInput
) -> list[CloudResource]:
    """The group, and separate rules, so that adding a rule later does not affect the others.

    Nodes also have the cluster's own group, in which EKS allows traffic between control plane and
    nodes. A rule here allows the same for an interface that has only this group.
    """
    group = CloudResource(
        kind="aws:ec2/securityGroup:SecurityGroup",
        name="nodes",
        inputs={
            "vpcId": vpc,
            "description": "Nodes: everything among themselves, nothing from outside",
            # The rules refer to the group: they are deleted first.
            "revokeRulesOnDelete": True,
            "tags": tags_of(
                plan, Name=f"{plan.name}-nodes", **{"karpenter.sh/discovery": plan.name}
            ),
        },
    )
    itself = {"referencedSecurityGroupId": group.get("id"), "ipProtocol": _ALL}
    return [
        group,
        _rule(group, "Ingress", "nodes-from-nodes", "Nodes among themselves, EFA too", itself),
        _rule(group, "Egress", "nodes-to-nodes", "Nodes among themselves, EFA too", itself),
        _rule(
            group,
            "Ingress",
            "nodes-from-control-plane",
            "The control plane, and members of its group",
            {"referencedSecurityGroupId": cluster_group, "ipProtocol": _ALL},
        ),
        _rule(
            group,
            "Egress",
            "nodes-out",
            "Images, AWS and the control plane",
            {"cidrIpv4": "0.0.0.0/0", "ipProtocol": _ALL},
        ),
    ]


def added_groups(plan: PlatformPlan) -> tuple[str, ...]:
    """Existing groups that nodes have in addition."""
    return cluster_spec(plan.spec).network.security_groups


def _rule(
    group: CloudResource, way: str, name: str, description: str, peer: Mapping[str, object]
) -> CloudResource:
    return CloudResource(
        kind=f"aws:vpc/securityGroup{way}Rule:SecurityGroup{way}Rule",
        name=name,
        inputs={"securityGroupId": group.get("id"), "description": description, **peer},
    )
