"""The customer-managed key that encrypts disks of nodes, and the rights to use it.

EC2 uses the key in the name of the principal that starts an instance: for node groups the role of
Auto Scaling, for Karpenter's nodes its controller. Without the right every start fails without a
clear error.
"""

from typing import Any

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.aws.place import ACCOUNT, AwsLocation, statement
from gpuyard.render.cloud.graph import CloudCall, CloudResource, Joined
from gpuyard_core.catalogue.cluster.eks import AUTO_SCALING_ROLE, DISK_OPERATIONS

GRANT = "disk-key-grant"


def disk_key_arn(plan: PlatformPlan) -> str | None:
    """The ARN; None: the account's default key, which everyone who may start instances can use."""
    cluster = cluster_spec(plan.spec)
    return None if cluster.existing else cluster.key


def disk_key_parts(plan: PlatformPlan, place: AwsLocation) -> list[CloudResource]:
    """A grant for the role that starts the instances of groups; the key policy is unchanged."""
    key = disk_key_arn(plan)
    if key is None:
        return []
    return [
        CloudResource(
            kind="aws:kms/grant:Grant",
            name=GRANT,
            inputs={
                "name": f"gpuyard-{plan.name}-disks",
                "keyId": key,
                "granteePrincipal": Joined(
                    "arn:",
                    place.partition,
                    ":iam::",
                    ACCOUNT.get("accountId"),
                    f":role/{AUTO_SCALING_ROLE}",
                ),
                "operations": list(DISK_OPERATIONS),
            },
            delete_first=True,
        )
    ]


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
