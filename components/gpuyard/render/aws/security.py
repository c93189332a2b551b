"""The security group of nodes: nothing comes in from outside, and all reach each other, as EFA needs."""

from collections.abc import Mapping

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.aws.foundation import StringInput
from gpuyard.render.aws.place import tags_of
from gpuyard.render.cloud.graph import CloudResource

_ALL = "-1"
"""Every protocol and port: EFA's own is none that a rule could name."""


def node_group_rules(
    plan: PlatformPlan, vpc: StringInput, cluster_group: StringInput
) -> list[CloudResource]:
    """The group, and its rules one by one, so that a rule added later leaves the others alone.

    Nodes have the cluster's own group too, in which EKS lets control plane and nodes talk. A rule for it here
    keeps that true of an interface that has this group alone.
    """
    group = CloudResource(
        kind="aws:ec2/securityGroup:SecurityGroup",
        name="nodes",
        inputs={
            "vpcId": vpc,
            "description": "Nodes: everything among themselves, nothing from outside",
            # The rules name the group itself: they go before it does.
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
            "The control plane, and what carries its group",
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


def _rule(
    group: CloudResource, way: str, name: str, description: str, peer: Mapping[str, object]
) -> CloudResource:
    return CloudResource(
        kind=f"aws:vpc/securityGroup{way}Rule:SecurityGroup{way}Rule",
        name=name,
        inputs={"securityGroupId": group.get("id"), "description": description, **peer},
    )
