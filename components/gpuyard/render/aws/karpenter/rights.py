"""The AWS permissions of Karpenter's controller, split like its own template (`TEMPLATE_SOURCE`).

Nodes use gpuyard's instance profile, so Karpenter creates and deletes none: its only permission in
IAM is to pass the node role.
"""

from collections.abc import Mapping
from typing import Any

from gpuyard.render.aws.foundation import StringInput
from gpuyard.render.aws.place import AwsLocation, statement
from gpuyard.render.cloud.graph import Joined
from gpuyard_core.catalogue.kubernetes.karpenter import (
    LOOKS,
    MADE,
    POOL_OF_NODE,
    STARTS_FROM,
    TAKES,
)

_START = ["ec2:RunInstances", "ec2:CreateFleet"]


def controller_rights(
    name: str, place: AwsLocation, *, role: StringInput, queue: StringInput
) -> Mapping[str, list[dict[str, Any]]]:
    """Statements by purpose; the tags of the cluster `name` identify Karpenter's own resources."""
    return {
        "nodes": _node_rights(name, place),
        "role": [
            statement(
                "iam:PassRole",
                role,
                Condition=_equals(
                    {"iam:PassedToService": ["ec2.amazonaws.com", "ec2.amazonaws.com.cn"]}
                ),
            )
        ],
        "cluster": [
            statement("eks:DescribeCluster", _cluster(name, place)),
            statement(
                "arc-zonal-shift:GetManagedResource",
                "*",
                # the account number is unknown: it is `*`, which only a `like` condition matches
                Condition={
                    "StringLike": {"arc-zonal-shift:ResourceIdentifier": _cluster(name, place)}
                },
            ),
        ],
        "interruptions": [statement(list(TAKES), queue)],
        "discovery": [
            statement(list(LOOKS), "*", Condition=_equals({"aws:RequestedRegion": place.region})),
            statement(
                "ssm:GetParameter", _arn(place, "ssm", "parameter/aws/service/*", account="")
            ),
            statement(["pricing:GetProducts", "iam:ListInstanceProfiles"], "*"),
            statement(
                "iam:GetInstanceProfile",
                Joined("arn:", place.partition, ":iam::*:instance-profile/*"),
            ),
        ],
    }


def _node_rights(name: str, place: AwsLocation) -> list[dict[str, Any]]:
    """It may start only what it tags for this cluster, and change and delete only that."""
    tag = f"kubernetes.io/cluster/{name}"
    new = {f"aws:RequestTag/{tag}": "owned", "aws:RequestTag/eks:eks-cluster-name": name}
    pooled = {"StringLike": {f"aws:RequestTag/{POOL_OF_NODE}": "*"}}
    launched = [_ec2(place, f"{each}/*") for each in MADE]
    ours = {
        **_equals({f"aws:ResourceTag/{tag}": "owned"}),
        "StringLike": {f"aws:ResourceTag/{POOL_OF_NODE}": "*"},
    }
    instances, templates = _ec2(place, "instance/*"), _ec2(place, "launch-template/*")
    image_arns = [_ec2(place, f"{each}/*", account="") for each in ("image", "snapshot")]
    by = {"ec2:CreateAction": ["RunInstances", "CreateFleet", "CreateLaunchTemplate"]}
    renamed = {
        **ours,
        "StringEqualsIfExists": {"aws:RequestTag/eks:eks-cluster-name": name},
        "ForAllValues:StringEquals": {
            "aws:TagKeys": ["eks:eks-cluster-name", "karpenter.sh/nodeclaim", "Name"]
        },
    }
    return [
        statement(_START, [*image_arns, *(_ec2(place, f"{each}/*") for each in STARTS_FROM)]),
        statement(_START, templates, Condition=ours),
        statement(
            [*_START, "ec2:CreateLaunchTemplate"], launched, Condition={**_equals(new), **pooled}
        ),
        statement("ec2:CreateTags", launched, Condition={**_equals({**new, **by}), **pooled}),
        statement("ec2:CreateTags", instances, Condition=renamed),
        statement(
            ["ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"],
            [instances, templates],
            Condition=ours,
        ),
    ]


def _equals(values: Mapping[str, Any]) -> dict[str, Any]:
    return {"StringEquals": dict(values)}


def _cluster(name: str, place: AwsLocation) -> Joined:
    return _arn(place, "eks", f"cluster/{name}")


def _ec2(place: AwsLocation, what: str, account: str = "*") -> Joined:
    return _arn(place, "ec2", what, account)


def _arn(place: AwsLocation, service: str, what: str, account: str = "*") -> Joined:
    return Joined("arn:", place.partition, f":{service}:", place.region, f":{account}:{what}")
