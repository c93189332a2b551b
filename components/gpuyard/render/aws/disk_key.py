"""The key of one's own that disks of nodes are encrypted with, and who may use it for them.

EC2 uses the key in the name of whoever starts an instance. Of node groups that is the role of Auto Scaling,
of Karpenter's nodes its controller: without a right of theirs every start fails, and nothing says why.
"""

from typing import Any

from gpuyard.catalogue.cluster.eks import AUTO_SCALING_ROLE, DISK_OPERATIONS
from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.aws.place import ACCOUNT, AwsLocation, statement
from gpuyard.render.cloud.graph import CloudCall, CloudResource, Joined

GRANT = "disk-key-grant"


def disk_key(plan: PlatformPlan) -> str | None:
    """Its ARN; None: the account's own key for disks, which admits everybody who may start instances."""
    cluster = cluster_spec(plan.spec)
    return None if cluster.existing else cluster.key


def disk_key_parts(plan: PlatformPlan, place: AwsLocation) -> list[CloudResource]:
    """A grant for the role that starts the instances of every group; the key's own policy stays as it is."""
    key = disk_key(plan)
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
    """Whose account it is: the role of Auto Scaling has its number."""
    return (ACCOUNT,) if disk_key(plan) else ()


def disk_key_rights(plan: PlatformPlan, place: AwsLocation) -> list[dict[str, Any]]:
    """What Karpenter's controller may do with it: what EC2 does for it, and nothing else."""
    key = disk_key(plan)
    if key is None:
        return []
    by_ec2 = {"kms:ViaService": Joined("ec2.", place.region, ".amazonaws.com")}
    grants = {"StringEquals": by_ec2, "Bool": {"kms:GrantIsForAWSResource": "true"}}
    uses = [f"kms:{each}" for each in DISK_OPERATIONS if each != "CreateGrant"]
    return [
        statement(uses, key, Condition={"StringEquals": by_ec2}),
        statement("kms:CreateGrant", key, Condition=grants),
    ]
