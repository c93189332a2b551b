"""Location of a platform in AWS, default tags of its resources, and IAM roles."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.aws.foundation import StringInput
from gpuyard.render.aws.tags import aws_tags
from gpuyard.render.cloud.graph import CloudCall, CloudResource, Joined, Json

ACCOUNT = CloudCall(
    kind="aws:index/getCallerIdentity:getCallerIdentity",
    name="account",
    args={},
    outputs=("accountId",),
)
"""The account; one query, shared by all parts that need it."""
_PARTITIONS = {"cn-": "aws-cn", "us-gov-": "aws-us-gov"}
"""By region prefix; all other regions are in `aws`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsLocation:
    """A region, known now or queried later."""

    region: StringInput
    partition: StringInput
    calls: tuple[CloudCall, ...]
    """Queries that provide the values."""

    def policy(self, name: str) -> Joined:
        """ARN of an AWS managed policy."""
        return Joined("arn:", self.partition, f":iam::aws:policy/{name}")


def aws_location(plan: PlatformPlan) -> AwsLocation:
    """The location of the platform; the default region is that of the AWS provider."""
    if plan.region is not None:
        results = (name for start, name in _PARTITIONS.items() if plan.region.startswith(start))
        return AwsLocation(region=plan.region, partition=next(results, "aws"), calls=())
    region = CloudCall(
        kind="aws:index/getRegion:getRegion", name="region", args={}, outputs=("region",)
    )
    partition = CloudCall(
        kind="aws:index/getPartition:getPartition",
        name="partition",
        args={},
        outputs=("partition",),
    )
    return AwsLocation(
        region=region.get("region"),
        partition=partition.get("partition"),
        calls=(region, partition),
    )


def tags_of(plan: PlatformPlan, **more: str) -> dict[str, str]:
    """The tags of cluster-wide resources, and those of this one."""
    return {**aws_tags(plan), **more}


# ── roles ─────────────────────────────────────────────────────────────────────────────────────────
def statement(action: str | list[str], resource: Any, **more: Any) -> dict[str, Any]:
    """One permission of a policy."""
    return {"Effect": "Allow", "Action": action, "Resource": resource, **more}


def document(*statements: Mapping[str, Any]) -> Json:
    """A policy document."""
    return Json({"Version": "2012-10-17", "Statement": list(statements)})


def role(
    plan: PlatformPlan, name: str, service: str, actions: tuple[str, ...] = ("sts:AssumeRole",)
) -> CloudResource:
    """A role that only one AWS service may assume."""
    trust = {
        "Effect": "Allow",
        "Principal": {"Service": service},
        "Action": actions[0] if len(actions) == 1 else list(actions),
    }
    return CloudResource(
        kind="aws:iam/role:Role",
        name=name,
        inputs={"assumeRolePolicy": document(trust), "tags": tags_of(plan)},
        outputs=("arn", "name"),
    )


def policy_attachment(place: AwsLocation, of: CloudResource, policy: str) -> CloudResource:
    """Attaches an AWS managed policy to a role."""
    return CloudResource(
        kind="aws:iam/rolePolicyAttachment:RolePolicyAttachment",
        name=f"{of.name}-{policy.rpartition('/')[2]}",
        inputs={"role": of.get("name"), "policyArn": place.policy(policy)},
    )


def pod_identity_association(
    plan: PlatformPlan,
    name: str,
    cluster: Any,
    account: tuple[str, str],
    of: CloudResource,
    after: tuple[str, ...],
) -> CloudResource:
    """Assigns a role to the pods of one service account of a cluster, by namespace and name."""
    namespace, service_account = account
    return CloudResource(
        kind="aws:eks/podIdentityAssociation:PodIdentityAssociation",
        name=name,
        inputs={
            "clusterName": cluster,
            "namespace": namespace,
            "serviceAccount": service_account,
            "roleArn": of.get("arn"),
            "tags": tags_of(plan),
        },
        after=after,
    )
