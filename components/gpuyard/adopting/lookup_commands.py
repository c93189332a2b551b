"""Read-only CLI queries for each kind of resource."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuyard_core.names import OFFERING_TAG


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupCommand:
    """One query, and how its result is read. Fields of a resource are in braces."""

    arguments: tuple[str, ...]
    items: str = ""
    """Path of the items in the result; a single item is not a list."""
    id: str = ""
    """Path of the id in an item; empty when an item is a string."""
    id_template: str = "{item}"
    """Template of the provider's id."""
    matches: Mapping[str, str] = field(default_factory=dict[str, str])
    """Fields that must match, by their paths in an item."""
    required_values: Mapping[str, object] = field(default_factory=dict[str, object])
    """Required values of an item."""
    named: bool = False
    """Match by the generated name if nothing else does."""
    listed: bool = False
    """The item is found by its known id."""
    outputs: Mapping[str, str] = field(default_factory=dict[str, str])
    """Outputs that other resources use."""
    reference_fields: Mapping[str, str] = field(default_factory=dict[str, str])
    """Fields with the id or ARN of another resource."""
    compared_fields: Mapping[str, str] = field(default_factory=dict[str, str])
    """Fields whose differences are reported."""


_ONE_FILTER = ("nat-gateways", "flow-logs")
"""Commands whose flag has no plural s: the name of the API field (botocore 1.44.5, ec2)."""


def _aws(words: str, **more: Any) -> LookupCommand:
    return LookupCommand(
        arguments=("aws", *words.split(), "--output=json", "--region={region}"), **more
    )


def _ec2(what: str, by: str, **more: Any) -> LookupCommand:
    flag = "--filter" if what in _ONE_FILTER else "--filters"
    return _aws(f"ec2 describe-{what} {flag} {by}", **more)


def _gcp(words: str, id_: str = "name", *, named: bool = False, **more: Any) -> LookupCommand:
    arguments = ("gcloud", *words.split(), "--format=json", "--project={project}")
    return LookupCommand(arguments=arguments, id=id_, named=named, listed=not named, **more)


_IN_VPC = "Name=vpc-id,Values={vpcId}"


def _rule(*, egress: bool) -> LookupCommand:
    return _ec2(
        "security-group-rules",
        "Name=group-id,Values={securityGroupId}",
        items="SecurityGroupRules",
        id="SecurityGroupRuleId",
        required_values={"IsEgress": egress},
        matches={
            "ipProtocol": "IpProtocol",
            "fromPort": "FromPort",
            "cidrIpv4": "CidrIpv4",
            "referencedSecurityGroupId": "ReferencedGroupInfo.GroupId",
        },
    )


LOOKS: Mapping[str, tuple[LookupCommand, ...]] = {
    # ── AWS ───────────────────────────────────────────────────────────────────────────────────────
    "aws:eks/cluster:Cluster": (
        _aws(
            "eks describe-cluster --name {name}",
            items="cluster",
            id="name",
            outputs={
                "vpcConfig.clusterSecurityGroupId": "resourcesVpcConfig.clusterSecurityGroupId"
            },
            reference_fields={
                "roleArn": "roleArn",
                "encryptionConfig.provider.keyArn": "encryptionConfig.0.provider.keyArn",
            },
            compared_fields={
                "version": "version",
                "accessConfig.authenticationMode": "accessConfig.authenticationMode",
                "kubernetesNetworkConfig.serviceIpv4Cidr": "kubernetesNetworkConfig.serviceIpv4Cidr",
                "vpcConfig.subnetIds": "resourcesVpcConfig.subnetIds",
            },
        ),
    ),
    "aws:eks/nodeGroup:NodeGroup": (
        _aws(
            "eks list-nodegroups --cluster-name {clusterName}",
            items="nodegroups",
            id_template="{clusterName}:{item}",
            named=True,
        ),
        _aws(
            "eks describe-nodegroup --cluster-name {clusterName} --nodegroup-name {last}",
            items="nodegroup",
            id="nodegroupName",
            id_template="{clusterName}:{item}",
            outputs={"resources.0.autoscalingGroups.0.name": "resources.autoScalingGroups.0.name"},
            reference_fields={"nodeRoleArn": "nodeRole", "launchTemplate.id": "launchTemplate.id"},
            compared_fields={
                "version": "version",
                "capacityType": "capacityType",
                "amiType": "amiType",
                "instanceTypes": "instanceTypes",
                "subnetIds": "subnets",
            },
        ),
    ),
    "aws:eks/addon:Addon": (
        _aws("eks list-addons --cluster-name {clusterName}", items="addons", listed=True),
    ),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": (
        _aws(
            "eks list-pod-identity-associations --cluster-name {clusterName}",
            items="associations",
            id="associationId",
            matches={"namespace": "namespace", "serviceAccount": "serviceAccount"},
        ),
    ),
    "aws:amp/workspace:Workspace": (
        _aws(
            "amp list-workspaces --alias {alias}",
            items="workspaces",
            id="workspaceId",
            matches={"alias": "alias"},
            outputs={"arn": "arn"},
        ),
    ),
    "aws:amp/ruleGroupNamespace:RuleGroupNamespace": (
        _aws(
            "amp list-rule-groups-namespaces --workspace-id {workspaceId}",
            items="ruleGroupsNamespaces",
            id="arn",
            matches={"name": "name"},
        ),
    ),
    "aws:iam/role:Role": (
        _aws("iam list-roles", items="Roles", id="RoleName", named=True, outputs={"arn": "Arn"}),
    ),
    "aws:iam/rolePolicy:RolePolicy": (
        _aws(
            "iam list-role-policies --role-name {role}",
            items="PolicyNames",
            id_template="{role}:{item}",
            named=True,
        ),
    ),
    "aws:kms/grant:Grant": (
        _aws(
            "kms list-grants --key-id {keyId}",
            items="Grants",
            id="GrantId",
            id_template="{keyId}:{item}",
            matches={"name": "Name"},
        ),
    ),
    "aws:iam/instanceProfile:InstanceProfile": (
        _aws(
            "iam list-instance-profiles",
            items="InstanceProfiles",
            id="InstanceProfileName",
            named=True,
        ),
    ),
    "aws:sqs/queue:Queue": (_aws("sqs list-queues", items="QueueUrls", named=True),),
    "aws:cloudwatch/eventRule:EventRule": (
        _aws("events list-rules", items="Rules", id="Name", named=True),
    ),
    "aws:cloudwatch/eventTarget:EventTarget": (
        _aws(
            "events list-targets-by-rule --rule {rule}",
            items="Targets",
            id="Id",
            id_template="{rule}-{item}",
            matches={"targetId": "Id"},
        ),
    ),
    "aws:cloudwatch/logGroup:LogGroup": (
        _aws(
            "logs describe-log-groups --log-group-name-prefix {name}",
            items="logGroups",
            id="logGroupName",
            listed=True,
        ),
    ),
    "aws:s3/bucket:Bucket": (_aws("s3api list-buckets", items="Buckets", id="Name", listed=True),),
    "aws:ec2/vpc:Vpc": (
        _ec2("vpcs", "Name=cidr-block,Values={cidrBlock}", items="Vpcs", id="VpcId"),
    ),
    "aws:ec2/subnet:Subnet": (
        _ec2(
            "subnets",
            _IN_VPC,
            items="Subnets",
            id="SubnetId",
            matches={"cidrBlock": "CidrBlock"},
            compared_fields={"availabilityZone": "AvailabilityZone"},
        ),
    ),
    "aws:ec2/internetGateway:InternetGateway": (
        _ec2(
            "internet-gateways",
            "Name=attachment.vpc-id,Values={vpcId}",
            items="InternetGateways",
            id="InternetGatewayId",
        ),
    ),
    "aws:ec2/routeTable:RouteTable": (
        _ec2("route-tables", _IN_VPC, items="RouteTables", id="RouteTableId"),
    ),
    "aws:ec2/natGateway:NatGateway": (
        _ec2(
            "nat-gateways",
            "Name=subnet-id,Values={subnetId} Name=state,Values=available",
            items="NatGateways",
            id="NatGatewayId",
            reference_fields={"allocationId": "NatGatewayAddresses.0.AllocationId"},
        ),
    ),
    "aws:ec2/vpcEndpoint:VpcEndpoint": (
        _ec2(
            "vpc-endpoints",
            _IN_VPC,
            items="VpcEndpoints",
            id="VpcEndpointId",
            matches={"serviceName": "ServiceName"},
        ),
    ),
    "aws:ec2/flowLog:FlowLog": (
        _ec2(
            "flow-logs",
            "Name=resource-id,Values={vpcId}",
            items="FlowLogs",
            id="FlowLogId",
            reference_fields={"iamRoleArn": "DeliverLogsPermissionArn"},
        ),
    ),
    "aws:ec2/securityGroup:SecurityGroup": (
        _ec2(
            "security-groups",
            _IN_VPC,
            items="SecurityGroups",
            id="GroupId",
            matches={"description": "Description"},
        ),
    ),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": (_rule(egress=False),),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": (_rule(egress=True),),
    "aws:ec2/placementGroup:PlacementGroup": (
        _aws("ec2 describe-placement-groups", items="PlacementGroups", id="GroupName", named=True),
    ),
    "aws:ec2/capacityBlockReservation:CapacityBlockReservation": (
        _ec2(
            "capacity-reservations",
            f"Name=tag:{OFFERING_TAG},Values={{capacityBlockOfferingId}}",
            items="CapacityReservations",
            id="CapacityReservationId",
        ),
    ),
    "aws:efs/fileSystem:FileSystem": (
        _aws("efs describe-file-systems", items="FileSystems", id="FileSystemId"),
    ),
    "aws:efs/mountTarget:MountTarget": (
        _aws(
            "efs describe-mount-targets --file-system-id {fileSystemId}",
            items="MountTargets",
            id="MountTargetId",
            matches={"subnetId": "SubnetId"},
        ),
    ),
    "aws:efs/accessPoint:AccessPoint": (
        _aws(
            "efs describe-access-points --file-system-id {fileSystemId}",
            items="AccessPoints",
            id="AccessPointId",
            matches={"rootDirectory.path": "RootDirectory.Path"},
        ),
    ),
    "aws:fsx/lustreFileSystem:LustreFileSystem": (
        _aws("fsx describe-file-systems", items="FileSystems", id="FileSystemId"),
    ),
    # ── Google Cloud ────────────────────────────────────────────────────────────────────────────────────
    "gcp:compute/network:Network": (_gcp("compute networks list"),),
    "gcp:compute/subnetwork:Subnetwork": (
        _gcp(
            "compute networks subnets list --regions={region}",
            compared_fields={"ipCidrRange": "ipCidrRange"},
        ),
    ),
    "gcp:compute/router:Router": (_gcp("compute routers list --regions={region}"),),
    "gcp:compute/routerNat:RouterNat": (
        _gcp("compute routers nats list --router={router} --region={region}"),
    ),
    "gcp:compute/firewall:Firewall": (_gcp("compute firewall-rules list"),),
    "gcp:compute/resourcePolicy:ResourcePolicy": (_gcp("compute resource-policies list"),),
    "gcp:serviceaccount/account:Account": (_gcp("iam service-accounts list", "email"),),
    "gcp:kms/keyRing:KeyRing": (
        # it cannot be deleted, so its name is generated
        _gcp("kms keyrings list --location={location}", named=True),
    ),
    "gcp:kms/cryptoKey:CryptoKey": (_gcp("kms keys list --keyring={keyRing}"),),
    "gcp:container/cluster:Cluster": (
        _gcp(
            "container clusters list --location={location}",
            compared_fields={"datapathProvider": "networkConfig.datapathProvider"},
        ),
    ),
    "gcp:container/nodePool:NodePool": (
        _gcp(
            "container node-pools list --cluster={cluster} --location={location}",
            compared_fields={
                "nodeConfig.machineType": "config.machineType",
                "nodeConfig.spot": "config.spot",
                "nodeLocations": "locations",
            },
        ),
    ),
    "gcp:storage/bucket:Bucket": (_gcp("storage buckets list"),),
    "gcp:filestore/instance:Instance": (_gcp("filestore instances list --location={location}"),),
    "gcp:lustre/instance:Instance": (_gcp("lustre instances list --location={location}"),),
    # ── queries for values in ids ──────────────────────────────────────────────────────────────────
    "gcp:organizations/getProject:getProject": (
        LookupCommand(
            arguments=("gcloud", "projects", "describe", "{project}", "--format=json"),
            outputs={"number": "projectNumber"},
        ),
    ),
}
"""By kind. For ids that are derived from names, a query shows whether they exist."""
