"""What all AWS resources need: location, tags, the inputs of nodes, and IAM roles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gpuyard.plan.cluster.ranges import without_local_zones
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import CloudCall, CloudResource, Joined, Json
from gpuyard.render.cloud.templates import resource_of
from gpuyard_core.names import PLATFORM_LABEL, POOL_LABEL

StringInput = str | UnresolvedOutput | Joined
"""A value that is known now, or once the cluster exists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EksNodeInputs:
    """The properties of a cluster that its nodes need."""

    cluster: StringInput
    """Its name."""
    endpoint: StringInput
    """The endpoint of the API server: `https://…`."""
    authority: StringInput
    """The certificate of the cluster's authority, in base64."""
    service_cidr: StringInput
    """The address range of services, from which a node derives the address of cluster DNS."""
    vpc: StringInput
    subnets: Mapping[str, StringInput]
    """Ids of the private subnets, by zone: nodes have no public address."""
    node_role: StringInput
    """ARN of the node role, with its policies attached."""
    security_groups: tuple[StringInput, ...]
    """Of every network interface of a node. They allow all traffic between each other, both ways,
    as EFA requires; the group of the control plane is among them."""
    disk_key: StringInput | None = None
    """ARN of the key that encrypts disks; None: the account's default key for disks."""
    after: tuple[str, ...] = ()
    """Resources that nodes need to become ready: the network add-on, the policies of the node
    role."""

    def subnets_in(self, zones: Sequence[str]) -> list[StringInput]:
        """The subnets of these zones in order; without zones, of all availability zones."""
        if missing := sorted(set(zones) - self.subnets.keys()):
            available = ", ".join(sorted(self.subnets))
            raise ValueError(
                f"no private subnet in {', '.join(missing)}; private subnets exist in {available}"
            )
        return [self.subnets[zone] for zone in sorted(zones or without_local_zones(self.subnets))]


_OWNER, _COST_CENTER = "owner", "cost-center"
_RESOURCES = Path(__file__).parent / "resources.yaml"
TAKEN_BY_PODS = ("sts:AssumeRole", "sts:TagSession")


def aws_tags(plan: PlatformPlan, part: str = "", owner: str = "") -> dict[str, str]:
    """Tags of a resource of a pool, or of the whole cluster.

    Every cost needs an owner: without an owner and cost centre in the stack file it is the teams
    that own the pool, otherwise the platform.
    """
    user_tags = plan.spec.tags
    written = {key.lower().replace("_", "-") for key in user_tags}
    ours = {PLATFORM_LABEL: plan.name}
    if part:
        ours[POOL_LABEL] = part
    ours |= {
        key: value
        for key, value in ((_OWNER, owner or plan.name), (_COST_CENTER, plan.name))
        if key not in written
    }
    return dict(sorted({**user_tags, **ours}.items()))


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


def aws_resource(plan: PlatformPlan, key: str, /, **values: Any) -> CloudResource:
    """A resource of `resources.yaml`, with the tags of the platform and its own."""
    made = resource_of(_RESOURCES, key, platform=plan.name, **values)
    if (own := made.inputs.get("tags")) is None:
        return made
    return replace(made, inputs={**made.inputs, "tags": tags_of(plan, **own)})


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
            "clusterName": UnresolvedOutput("cluster.name"),
            "namespace": namespace,
            "serviceAccount": service_account,
            "roleArn": of.get("arn"),
            "tags": tags_of(plan),
        },
        after=after,
    )


def role_policy(of: CloudResource, name: str, *statements: Mapping[str, Any]) -> CloudResource:
    """The permissions of a role."""
    return CloudResource(
        kind="aws:iam/rolePolicy:RolePolicy",
        name=name,
        inputs={"role": of.get("name"), "policy": document(*statements)},
    )


def pod_role(
    plan: PlatformPlan,
    name: str,
    account: tuple[str, str],
    statements: Sequence[Mapping[str, Any]],
    ready: tuple[str, ...],
) -> list[CloudResource]:
    """A role of the pods of one service account, its permissions, and its assignment."""
    iam_role = role(plan, f"{name}-role", "pods.eks.amazonaws.com", TAKEN_BY_PODS)
    rights = role_policy(iam_role, f"{name}-rights", *statements)
    identity = pod_identity_association(
        plan, f"{name}-identity", account, iam_role, (rights.name, *ready)
    )
    return [iam_role, rights, identity]
