"""Ids of cloud resources, for imports and for resources in creation when Pulumi was killed.

Most ids follow from the inputs of the resource: `IDENTITIES`. EC2 assigns ids, which are looked up with the
user's `aws` command: `LOOKUPS`. A few kinds can be created again without effect: `AGAIN`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from gpuyard_core.catalogue.sources import Source
from gpuyard_core.names import OFFERING_TAG, PLATFORM_LABEL

SOURCES = (
    Source(
        "terraform-provider-aws 6 and terraform-provider-google 7: the id that each resource sets",
        date(2026, 11, 23),
        as_of=date(2026, 11, 23),
    ),
    Source(
        "AWS CLI reference: ec2 describe-tags and similar commands",
        date(2026, 11, 23),
        as_of=date(2026, 11, 23),
    ),
)

IMPORTED = Source(
    "sections `Import` of terraform-provider-aws 6.58.0 and of terraform-provider-google-beta 93c65b2d60",
    date(2026, 11, 23),
    as_of=date(2026, 11, 23),
)
"""The id formats of `pulumi import` (`IDENTITIES`)."""
LOOKED_UP = Source(
    "AWS CLI command reference (ec2, eks, iam, logs, s3api, efs, fsx); gcloud reference (compute, container,"
    " iam, kms, storage)",
    date(2026, 11, 23),
    as_of=date(2026, 11, 23),
)
"""The commands that list existing resources of an account (`gpuyard.adopting.lookup_commands`)."""


@dataclass(frozen=True, slots=True)
class IdForm:
    """The id format of a kind, with the names of input fields."""

    id: str = ""
    """Empty if only the cloud knows it."""
    imported: str = ""
    """The id for `pulumi import`, if different; `{id}` is the cloud's id."""


_GKE = "projects/{project}/locations/{location}/clusters/"
_GLOBAL = "projects/{project}/global"
_REGIONAL = "projects/{project}/regions/{region}"
_BUCKET = IdForm("{bucket}")

IDENTITIES: Mapping[str, IdForm] = {
    "aws:amp/alertManagerDefinition:AlertManagerDefinition": IdForm("{workspaceId}"),
    "aws:amp/workspaceConfiguration:WorkspaceConfiguration": IdForm("{workspaceId}"),
    "aws:autoscaling/tag:Tag": IdForm("{autoscalingGroupName},{tag[key]}"),
    "aws:cloudwatch/eventRule:EventRule": IdForm("{name}"),
    "aws:cloudwatch/eventTarget:EventTarget": IdForm("{rule}-{targetId}", "{rule}/{targetId}"),
    "aws:cloudwatch/logGroup:LogGroup": IdForm("{name}"),
    "aws:ec2/placementGroup:PlacementGroup": IdForm("{name}"),
    "aws:ec2/route:Route": IdForm(
        "r-{routeTableId}{checksum}", "{routeTableId}_{destinationCidrBlock}"
    ),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": IdForm(
        imported="{subnetId}/{routeTableId}"
    ),
    "aws:efs/backupPolicy:BackupPolicy": IdForm("{fileSystemId}"),
    "aws:eks/accessEntry:AccessEntry": IdForm("{clusterName}:{principalArn}"),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": IdForm(
        "{clusterName}#{principalArn}#{policyArn}"
    ),
    "aws:eks/addon:Addon": IdForm("{clusterName}:{addonName}"),
    "aws:eks/cluster:Cluster": IdForm("{name}"),
    "aws:eks/nodeGroup:NodeGroup": IdForm("{clusterName}:{nodeGroupName}"),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": IdForm(imported="{clusterName},{id}"),
    "aws:iam/instanceProfile:InstanceProfile": IdForm("{name}"),
    "aws:iam/role:Role": IdForm("{name}"),
    "aws:iam/rolePolicy:RolePolicy": IdForm("{role}:{name}"),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": IdForm("{role}/{policyArn}"),
    "aws:kms/alias:Alias": IdForm("{name}"),
    "aws:s3/bucket:Bucket": _BUCKET,
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": _BUCKET,
    "aws:s3/bucketPolicy:BucketPolicy": _BUCKET,
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": _BUCKET,
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": _BUCKET,
    "aws:s3/bucketVersioning:BucketVersioning": _BUCKET,
    "aws:sqs/queuePolicy:QueuePolicy": IdForm("{queueUrl}"),
    "gcp:compute/firewall:Firewall": IdForm(f"{_GLOBAL}/firewalls/{{name}}"),
    "gcp:compute/globalAddress:GlobalAddress": IdForm(f"{_GLOBAL}/addresses/{{name}}"),
    "gcp:compute/network:Network": IdForm(f"{_GLOBAL}/networks/{{name}}"),
    "gcp:compute/resourcePolicy:ResourcePolicy": IdForm(f"{_REGIONAL}/resourcePolicies/{{name}}"),
    "gcp:compute/router:Router": IdForm(f"{_REGIONAL}/routers/{{name}}"),
    "gcp:compute/routerNat:RouterNat": IdForm(
        "{project}/{region}/{router}/{name}", f"{_REGIONAL}/routers/{{router}}/{{name}}"
    ),
    "gcp:compute/subnetwork:Subnetwork": IdForm(f"{_REGIONAL}/subnetworks/{{name}}"),
    "gcp:container/cluster:Cluster": IdForm(f"{_GKE}{{name}}"),
    "gcp:container/nodePool:NodePool": IdForm(
        f"{_GKE}{{cluster}}/nodePools/{{name}}", "{project}/{location}/{cluster}/{name}"
    ),
    "gcp:filestore/instance:Instance": IdForm(
        "projects/{project}/locations/{location}/instances/{name}"
    ),
    "gcp:kms/cryptoKey:CryptoKey": IdForm("{keyRing}/cryptoKeys/{name}"),
    "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember": IdForm(
        "{cryptoKeyId}/{role}/{member}", "{cryptoKeyId} {role} {member}"
    ),
    "gcp:kms/keyRing:KeyRing": IdForm("projects/{project}/locations/{location}/keyRings/{name}"),
    "gcp:lustre/instance:Instance": IdForm(
        "projects/{project}/locations/{location}/instances/{instanceId}"
    ),
    "gcp:projects/iAMMember:IAMMember": IdForm(
        "{project}/{role}/{member}", "{project} {role} {member}"
    ),
    "gcp:serviceaccount/account:Account": IdForm(
        "projects/{project}/serviceAccounts/{accountId}@{project}.iam.gserviceaccount.com"
    ),
    "gcp:serviceaccount/iAMMember:IAMMember": IdForm(
        "{serviceAccountId}/{role}/{member}", "{serviceAccountId} {role} {member}"
    ),
    "gcp:storage/bucket:Bucket": IdForm("{name}"),
    "gcp:storage/bucketIAMMember:BucketIAMMember": IdForm(
        "b/{bucket}/{role}/{member}", "b/{bucket} {role} {member}"
    ),
}
"""Id formats by kind; for every other kind the cloud assigns the id, and import uses it unchanged. `checksum`
is the CRC-32 of a route's range."""

ADOPTED_ON_CREATE = frozenset(
    {
        "aws:amp/workspaceConfiguration:WorkspaceConfiguration",
        "aws:efs/backupPolicy:BackupPolicy",
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
        "aws:kms/grant:Grant",
        "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration",
        "aws:s3/bucketPolicy:BucketPolicy",
        "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",
        "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
        "aws:s3/bucketVersioning:BucketVersioning",
        "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember",
        "gcp:projects/iAMMember:IAMMember",
        "gcp:serviceaccount/iAMMember:IAMMember",
        "gcp:storage/bucketIAMMember:BucketIAMMember",
    }
)
"""Grants and settings: creating an existing one has no effect."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """An `aws` command, and the path of the ids in its output."""

    words: tuple[str, ...]
    """Arguments with fields of the resource; `named` is its tag `Name`, `platform` gpuyard's tag."""
    items: tuple[str, ...]
    """The path of nested lists to the items."""
    identity: str = ""
    """The field with the id, for an ARN its last part; empty if the item is the id."""
    match: Mapping[str, str | bool] = field(default_factory=dict[str, str | bool])
    """Values that an item must have, with fields of the resource."""


def _tagged(kind: str) -> Lookup:
    filters = ("Name=key,Values=Name", "Name=value,Values={named}")
    words = ("ec2", "describe-tags", "--filters", f"Name=resource-type,Values={kind}", *filters)
    return Lookup(words, ("Tags",), "ResourceId")


def _rule(*, egress: bool) -> Lookup:
    words = ("ec2", "describe-security-group-rules", "--filters")
    return Lookup(
        (*words, "Name=group-id,Values={securityGroupId}"),
        ("SecurityGroupRules",),
        "SecurityGroupRuleId",
        {"Description": "{description}", "IsEgress": egress},
    )


def _named(kind: str, key: str = "Name", value: str = "{named}") -> Lookup:
    words = ("resourcegroupstaggingapi", "get-resources", "--resource-type-filters", kind)
    filters = ("--tag-filters", f"Key={key},Values={value}")
    return Lookup((*words, *filters), ("ResourceTagMappingList",), "ResourceARN")


LOOKUPS: Mapping[str, Lookup] = {
    "aws:amp/workspace:Workspace": _named("aps:workspace", PLATFORM_LABEL, "{platform}"),
    "aws:ec2/capacityBlockReservation:CapacityBlockReservation": Lookup(
        (
            *("ec2", "describe-capacity-reservations", "--filters"),
            f"Name=tag:{OFFERING_TAG},Values={{capacityBlockOfferingId}}",
        ),
        ("CapacityReservations",),
        "CapacityReservationId",
    ),
    "aws:ec2/eip:Eip": _tagged("elastic-ip"),
    "aws:ec2/flowLog:FlowLog": _tagged("vpc-flow-log"),
    "aws:ec2/internetGateway:InternetGateway": _tagged("internet-gateway"),
    "aws:ec2/launchTemplate:LaunchTemplate": Lookup(
        (
            *("ec2", "describe-launch-templates", "--filters"),
            "Name=launch-template-name,Values={name}",
        ),
        ("LaunchTemplates",),
        "LaunchTemplateId",
    ),
    "aws:ec2/natGateway:NatGateway": _tagged("natgateway"),
    "aws:ec2/routeTable:RouteTable": _tagged("route-table"),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": Lookup(
        ("ec2", "describe-route-tables", "--route-table-ids", "{routeTableId}"),
        ("RouteTables", "Associations"),
        "RouteTableAssociationId",
        {"SubnetId": "{subnetId}"},
    ),
    "aws:ec2/securityGroup:SecurityGroup": _tagged("security-group"),
    "aws:ec2/subnet:Subnet": _tagged("subnet"),
    "aws:ec2/vpc:Vpc": _tagged("vpc"),
    "aws:ec2/vpcEndpoint:VpcEndpoint": _tagged("vpc-endpoint"),
    "aws:efs/accessPoint:AccessPoint": Lookup(
        ("efs", "describe-access-points", "--file-system-id", "{fileSystemId}"),
        ("AccessPoints",),
        "AccessPointId",
        {"Name": "{named}"},
    ),
    "aws:efs/fileSystem:FileSystem": _named("elasticfilesystem:file-system"),
    "aws:efs/mountTarget:MountTarget": Lookup(
        ("efs", "describe-mount-targets", "--file-system-id", "{fileSystemId}"),
        ("MountTargets",),
        "MountTargetId",
        {"SubnetId": "{subnetId}"},
    ),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": Lookup(
        (
            *("eks", "list-pod-identity-associations", "--cluster-name", "{clusterName}"),
            *("--namespace", "{namespace}", "--service-account", "{serviceAccount}"),
        ),
        ("associations",),
        "associationId",
    ),
    "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation": Lookup(
        (
            *("fsx", "describe-data-repository-associations", "--filters"),
            "Name=file-system-id,Values={fileSystemId}",
        ),
        ("Associations",),
        "AssociationId",
        {"DataRepositoryPath": "{dataRepositoryPath}"},
    ),
    "aws:fsx/lustreFileSystem:LustreFileSystem": _named("fsx:file-system"),
    "aws:kms/key:Key": _named("kms:key", PLATFORM_LABEL, "{platform}"),
    "aws:sqs/queue:Queue": Lookup(
        ("sqs", "list-queues", "--queue-name-prefix", "{name}"), ("QueueUrls",)
    ),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _rule(egress=True),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _rule(egress=False),
}
