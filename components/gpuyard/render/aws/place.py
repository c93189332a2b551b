"""Where in AWS a platform is, what its resources are tagged with, and how roles are made."""

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
"""Whose account it is; one question, whoever needs it."""
_PARTITIONS = {"cn-": "aws-cn", "us-gov-": "aws-us-gov"}
"""By the beginning of a region; every other one is of `aws`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsLocation:
    """A region, known now or when it is asked for."""

    region: StringInput
    partition: StringInput
    calls: tuple[CloudCall, ...]
    """What has to be asked."""

    def policy(self, name: str) -> Joined:
        """ARN of a policy that AWS keeps."""
        return Joined("arn:", self.partition, f":iam::aws:policy/{name}")


def aws_location(plan: PlatformPlan) -> AwsLocation:
    """Where the platform is; where nobody says it, AWS is asked for the region of its provider."""
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
    """Those of every resource that is there for the whole cluster, and what is said of this one."""
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
    """A role that a service of AWS takes, and nobody else."""
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
    """A policy that AWS keeps, given to a role."""
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
    """A role, for the pods of one service account of a cluster: its namespace and name."""
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
