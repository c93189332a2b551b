"""Dependencies between an account's resources: a missing one is an error, a used one cannot be deleted.

A tie is a field that names another resource. `vpc!` prevents the deletion of that one, with `cluster~` this
one is deleted with it, `role` does neither.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from testbed.plugins.cloud import shapes
from testbed.plugins.kubernetes.values import Unknown


@dataclass(frozen=True)
class Resource:
    """One resource of an account."""

    kind: str
    id: str
    inputs: Mapping[str, Any]
    state: Mapping[str, Any]
    imports: tuple[str, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """All names by which others may refer to it."""
        results = [self.id, *self.imports]
        for path in _NAMES:
            results += [
                each for each in values(self.state, path.split(".")) if isinstance(each, str)
            ]
        return frozenset(each for each in results if each)


NETWORK = "gcp:compute/network:Network"
_METAL, _PREDEFINED = "-vpc-roce-metal", "default-subnet-1-"


def predefined(resource: Resource) -> str:
    """Name of the predefined subnetwork of a bare metal network; "" for other networks."""
    profile = str(resource.inputs.get("networkProfile", ""))
    if resource.kind != NETWORK or not profile.endswith(_METAL):
        return ""
    return f"{_PREDEFINED}{resource.inputs['name']}"


_NAMES = (
    *("name", "arn", "keyId", "selfLink", "email", "url", "bucket", "fullyQualifiedName"),
    *("vpcConfig.clusterSecurityGroupId", "defaultSecurityGroupId", "mainRouteTableId"),
    *("resources.autoscalingGroups.name", "principalArn"),
)


def values(tree: Any, steps: list[str]) -> list[Any]:
    """All values at a path, through lists."""
    if isinstance(tree, list):
        return [value for each in tree for value in values(each, steps)]
    if not steps:
        return [tree]
    return values(tree.get(steps[0]), steps[1:]) if isinstance(tree, Mapping) else []


# The kinds of a tie's word, and the service's error if the resource is missing.
_TARGETS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "vpc": (("aws:ec2/vpc:Vpc",), "InvalidVpcID.NotFound: The vpc ID '{}' does not exist"),
    "subnet": (
        ("aws:ec2/subnet:Subnet",),
        "InvalidSubnetID.NotFound: The subnet ID '{}' does not exist",
    ),
    "group": (
        ("aws:ec2/securityGroup:SecurityGroup", "aws:eks/cluster:Cluster", "aws:ec2/vpc:Vpc"),
        "InvalidGroup.NotFound: The security group '{}' does not exist",
    ),
    "gateway": (
        ("aws:ec2/internetGateway:InternetGateway",),
        "InvalidInternetGatewayID.NotFound: The internetGateway ID '{}' does not exist",
    ),
    "nat": (
        ("aws:ec2/natGateway:NatGateway",),
        "NatGatewayNotFound: The Nat Gateway {} was not found",
    ),
    "address": (
        ("aws:ec2/eip:Eip",),
        "InvalidAllocationID.NotFound: The allocation ID '{}' does not exist",
    ),
    "table": (
        ("aws:ec2/routeTable:RouteTable", "aws:ec2/vpc:Vpc"),
        "InvalidRouteTableID.NotFound: The routeTable ID '{}' does not exist",
    ),
    "template": (
        ("aws:ec2/launchTemplate:LaunchTemplate",),
        "InvalidRequestException: The specified launch template {} does not exist",
    ),
    "cluster": (
        ("aws:eks/cluster:Cluster",),
        "ResourceNotFoundException: No cluster found for name: {}.",
    ),
    "entry": (
        ("aws:eks/accessEntry:AccessEntry",),
        "ResourceNotFoundException: The specified principalArn could not be found: {}",
    ),
    "role": (
        ("aws:iam/role:Role",),
        "NoSuchEntity: The role with name {} cannot be found.",
    ),
    "policy": (
        ("aws:iam/policy:Policy",),
        "NoSuchEntity: Policy {} does not exist or is not attachable.",
    ),
    "key": (("aws:kms/key:Key",), "NotFoundException: Key '{}' does not exist"),
    "bucket": (("aws:s3/bucket:Bucket",), "NoSuchBucket: The specified bucket does not exist: {}"),
    "files": (
        ("aws:efs/fileSystem:FileSystem",),
        "FileSystemNotFound: File system '{}' does not exist.",
    ),
    "lustre": (
        ("aws:fsx/lustreFileSystem:LustreFileSystem",),
        "FileSystemNotFound: File system '{}' does not exist.",
    ),
    "log": (
        ("aws:cloudwatch/logGroup:LogGroup", "aws:s3/bucket:Bucket"),
        "InvalidParameter: LogDestination: {} does not exist",
    ),
    "rule": (
        ("aws:cloudwatch/eventRule:EventRule",),
        "ResourceNotFoundException: Rule {} does not exist on EventBus default.",
    ),
    "queue": (
        ("aws:sqs/queue:Queue",),
        "AWS.SimpleQueueService.NonExistentQueue: The specified queue does not exist: {}",
    ),
    "topic": (("aws:sns/topic:Topic",), "NotFound: Topic does not exist: {}"),
    "scaling": (
        ("aws:autoscaling/group:Group", "aws:eks/nodeGroup:NodeGroup"),
        "ValidationError: AutoScalingGroup name not found - {}",
    ),
    "workspace": (
        ("aws:amp/workspace:Workspace",),
        "ResourceNotFoundException: Workspace not found: {}",
    ),
    "network": (
        (NETWORK,),
        "Error 404: The resource '{}' was not found, notFound",
    ),
    "subnetwork": (
        ("gcp:compute/subnetwork:Subnetwork", NETWORK),
        "Error 404: The resource '{}' was not found, notFound",
    ),
    "router": (
        ("gcp:compute/router:Router",),
        "Error 404: The resource '{}' was not found, notFound",
    ),
    "gke": (("gcp:container/cluster:Cluster",), "Error 404: Not found: {}., notFound"),
    "account": (
        ("gcp:serviceaccount/account:Account",),
        "Error 404: Service account {} does not exist., notFound",
    ),
    "ring": (("gcp:kms/keyRing:KeyRing",), "Error 404: KeyRing {} not found., notFound"),
    "crypto": (("gcp:kms/cryptoKey:CryptoKey",), "Error 404: CryptoKey {} not found., notFound"),
    "store": (
        ("gcp:storage/bucket:Bucket",),
        "Error 404: The specified bucket does not exist: {}, notFound",
    ),
}
_RULE = {"securityGroupId": "group~", "referencedSecurityGroupId": "group!"}
_TIES: Mapping[str, Mapping[str, str]] = {
    **{
        f"aws:amp/{name[0].lower()}{name[1:]}:{name}": {"workspaceId": "workspace~"}
        for name in ("AlertManagerDefinition", "RuleGroupNamespace", "WorkspaceConfiguration")
    },
    "aws:autoscaling/tag:Tag": {"autoscalingGroupName": "scaling~"},
    "aws:cloudwatch/eventTarget:EventTarget": {"rule": "rule!"},
    "aws:ec2/flowLog:FlowLog": {
        "vpcId": "vpc",
        "subnetId": "subnet",
        "iamRoleArn": "role",
        "logDestination": "log",
    },
    "aws:ec2/internetGateway:InternetGateway": {"vpcId": "vpc!"},
    "aws:ec2/launchTemplate:LaunchTemplate": {
        "vpcSecurityGroupIds": "group",
        "networkInterfaces.securityGroups": "group",
    },
    "aws:ec2/natGateway:NatGateway": {"subnetId": "subnet!", "allocationId": "address!"},
    "aws:ec2/route:Route": {
        "routeTableId": "table~",
        "gatewayId": "gateway!",
        "natGatewayId": "nat",
    },
    "aws:ec2/routeTable:RouteTable": {"vpcId": "vpc!"},
    "aws:ec2/routeTableAssociation:RouteTableAssociation": {
        "subnetId": "subnet~",
        "routeTableId": "table!",
    },
    "aws:ec2/securityGroup:SecurityGroup": {"vpcId": "vpc!"},
    "aws:ec2/securityGroupRule:SecurityGroupRule": {
        "securityGroupId": "group~",
        "sourceSecurityGroupId": "group!",
    },
    "aws:ec2/subnet:Subnet": {"vpcId": "vpc!"},
    "aws:ec2/vpcEndpoint:VpcEndpoint": {
        "vpcId": "vpc!",
        "subnetIds": "subnet!",
        "securityGroupIds": "group!",
        "routeTableIds": "table",
    },
    "aws:efs/accessPoint:AccessPoint": {"fileSystemId": "files~"},
    "aws:efs/backupPolicy:BackupPolicy": {"fileSystemId": "files~"},
    "aws:efs/mountTarget:MountTarget": {
        "fileSystemId": "files!",
        "subnetId": "subnet!",
        "securityGroups": "group!",
    },
    "aws:eks/accessEntry:AccessEntry": {"clusterName": "cluster~"},
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": {
        "clusterName": "cluster~",
        "principalArn": "entry~",
    },
    "aws:eks/addon:Addon": {"clusterName": "cluster~", "serviceAccountRoleArn": "role"},
    "aws:eks/cluster:Cluster": {
        "roleArn": "role",
        "vpcConfig.subnetIds": "subnet!",
        "vpcConfig.securityGroupIds": "group!",
        "encryptionConfig.provider.keyArn": "key",
    },
    "aws:eks/nodeGroup:NodeGroup": {
        "clusterName": "cluster!",
        "nodeRoleArn": "role",
        "subnetIds": "subnet!",
        "launchTemplate.id": "template",
        "launchTemplate.name": "template",
    },
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": {
        "clusterName": "cluster~",
        "roleArn": "role",
    },
    "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation": {"fileSystemId": "lustre~"},
    "aws:fsx/lustreFileSystem:LustreFileSystem": {
        "subnetIds": "subnet!",
        "securityGroupIds": "group!",
        "kmsKeyId": "key",
    },
    "aws:iam/instanceProfile:InstanceProfile": {"role": "role!"},
    "aws:iam/rolePolicy:RolePolicy": {"role": "role!"},
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": {"role": "role!", "policyArn": "policy!"},
    "aws:kms/alias:Alias": {"targetKeyId": "key~"},
    **{
        f"aws:s3/bucket{part}:Bucket{part}": {"bucket": "bucket~"}
        for part in (
            *("LifecycleConfiguration", "Logging", "Policy", "PublicAccessBlock", "Versioning"),
            "ServerSideEncryptionConfiguration",
        )
    },
    "aws:sns/topicPolicy:TopicPolicy": {"arn": "topic~"},
    "aws:sns/topicSubscription:TopicSubscription": {"topic": "topic~"},
    "aws:sqs/queuePolicy:QueuePolicy": {"queueUrl": "queue~"},
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _RULE,
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _RULE,
    "gcp:compute/address:Address": {"subnetwork": "subnetwork!"},
    "gcp:compute/firewall:Firewall": {"network": "network!"},
    "gcp:compute/networkPeering:NetworkPeering": {"network": "network~"},
    "gcp:compute/router:Router": {"network": "network!"},
    "gcp:compute/routerNat:RouterNat": {"router": "router~"},
    "gcp:compute/subnetwork:Subnetwork": {"network": "network!"},
    "gcp:container/cluster:Cluster": {
        "network": "network!",
        "subnetwork": "subnetwork!",
        "nodeConfig.serviceAccount": "account",
        "databaseEncryption.keyName": "crypto",
    },
    "gcp:container/nodePool:NodePool": {
        "cluster": "gke~",
        "nodeConfig.serviceAccount": "account",
        "networkConfig.additionalNodeNetworkConfigs.network": "network!",
        "networkConfig.additionalNodeNetworkConfigs.subnetwork": "subnetwork!",
    },
    "gcp:kms/cryptoKey:CryptoKey": {"keyRing": "ring"},
    "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember": {"cryptoKeyId": "crypto"},
    "gcp:serviceaccount/iAMBinding:IAMBinding": {"serviceAccountId": "account~"},
    "gcp:serviceaccount/iAMMember:IAMMember": {"serviceAccountId": "account~"},
    "gcp:servicenetworking/connection:Connection": {"network": "network!"},
    "gcp:storage/bucketIAMMember:BucketIAMMember": {"bucket": "store~"},
}
_SHARED = ("vpc-cni", "default")  # names of resources that every account or network has


def _by_all(value: str) -> bool:
    """Whether every account has it without creating it."""
    return value.startswith(("arn:aws:iam::aws:", "arn:aws:eks::aws:")) or value in _SHARED


@dataclass(frozen=True)
class Tie:
    """One field that names a resource."""

    path: str
    word: str
    value: str

    @property
    def kinds(self) -> tuple[str, ...]:
        return _TARGETS[self.word.rstrip("!~")][0]

    def says(self) -> str:
        """The service's error if it is missing."""
        return _TARGETS[self.word.rstrip("!~")][1].format(self.value)

    def means(self, resource: Resource) -> bool:
        """Whether this is the named resource."""
        if resource.kind not in self.kinds:
            return False
        if self.word.startswith("subnetwork") and resource.kind == NETWORK:
            return shapes.last(self.value) == predefined(resource) != ""
        names = resource.names
        return self.value in names or (":" in resource.kind and self._by_link(resource, names))

    def _by_link(self, resource: Resource, names: frozenset[str]) -> bool:
        """Google's services accept a name, an id or a link."""
        return resource.kind.startswith("gcp:") and shapes.last(self.value) in names


def ties(kind: str, inputs: Mapping[str, Any]) -> Iterator[Tie]:
    """The resources that these inputs name."""
    for path, word in _TIES.get(kind, {}).items():
        for value in values(inputs, path.split(".")):
            if isinstance(value, str) and value and not _by_all(value):
                yield Tie(path, word, value)


def lacking(kind: str, inputs: Mapping[str, Any], existing: Iterable[Resource]) -> list[str]:
    """Errors of the service for missing resources."""
    blocked = list(existing)
    return [
        tie.says()
        for tie in ties(kind, inputs)
        if not isinstance(tie.value, Unknown) and not any(tie.means(each) for each in blocked)
    ]


def users(resource: Resource, existing: Iterable[Resource], mark: str) -> list[Resource]:
    """The others whose ties of this mark name a resource."""
    return [
        each
        for each in existing
        if each.id != resource.id or each.kind != resource.kind
        if any(
            tie.word.endswith(mark) and tie.means(resource) for tie in ties(each.kind, each.inputs)
        )
    ]


# The service's error on deletion of a used resource; kinds that are not listed can be deleted.
_VIOLATION = "DependencyViolation: The {name} '{id}' has dependencies and cannot be deleted."
_IN_USE = "Error 400: '{id}' is already being used by '{user}', resourceInUseByAnotherResource"
_KEPT = {
    "aws:ec2/vpc:Vpc": _VIOLATION,
    "aws:ec2/subnet:Subnet": _VIOLATION,
    "aws:ec2/routeTable:RouteTable": _VIOLATION,
    "aws:ec2/securityGroup:SecurityGroup": "DependencyViolation: resource {id} has a dependent object",
    "aws:ec2/internetGateway:InternetGateway": (
        "DependencyViolation: Network has some mapped public address(es)."
    ),
    "aws:ec2/eip:Eip": "InvalidIPAddress.InUse: Address {id} is in use.",
    "aws:eks/cluster:Cluster": "ResourceInUseException: Cluster has nodegroups attached",
    "aws:efs/fileSystem:FileSystem": (
        "FileSystemInUse: File system '{id}' has mount targets created in it."
    ),
    "aws:iam/role:Role": "DeleteConflict: Cannot delete entity, must detach all policies first.",
    "aws:iam/policy:Policy": "DeleteConflict: Cannot delete a policy attached to entities.",
    "aws:cloudwatch/eventRule:EventRule": (
        "ValidationException: Rule can't be deleted since it has targets."
    ),
    "gcp:compute/network:Network": _IN_USE,
    "gcp:compute/subnetwork:Subnetwork": _IN_USE,
}


def kept(resource: Resource, existing: Iterable[Resource]) -> str:
    """The service's error on deletion while others use the resource; "" if it can be deleted."""
    result = users(resource, existing, "!")
    form = _KEPT.get(resource.kind)
    if not form or not result:
        return ""
    name = resource.kind.partition("/")[2].partition(":")[0]
    return form.format(id=resource.id, user=result[0].id, name=name)
