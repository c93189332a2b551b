"""Uniqueness: names, ranges, one mount target per zone."""

import ipaddress
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from testbed.plugins.cloud.service.ties import Resource, predefined
from testbed.plugins.cloud.shapes import last, zone_id

_SUBNET = "aws:ec2/subnet:Subnet"
_WITHOUT_EKS = ("use1-az3", "usw1-az2", "cac1-az3")
# By type the fields that must be unique, and the service's error. Some ids are names.
_ONCE: Mapping[str, tuple[tuple[str, ...], str]] = {
    "aws:cloudwatch/logGroup:LogGroup": (
        ("id",),
        "ResourceAlreadyExistsException: The specified log group already exists",
    ),
    "aws:ec2/launchTemplate:LaunchTemplate": (
        ("name",),
        "InvalidLaunchTemplateName.AlreadyExistsException: Launch template name already in use.",
    ),
    "aws:ec2/placementGroup:PlacementGroup": (
        ("id",),
        "InvalidPlacementGroup.Duplicate: The placement group '{id}' already exists.",
    ),
    "aws:ec2/securityGroup:SecurityGroup": (
        ("name", "vpcId"),
        "InvalidGroup.Duplicate: The security group '{name}' already exists for VPC '{vpcId}'",
    ),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": (
        ("subnetId",),
        "Resource.AlreadyAssociated: the specified association for subnet {subnetId} conflicts with another",
    ),
    "aws:ec2/route:Route": (
        ("routeTableId", "destinationCidrBlock", "destinationIpv6CidrBlock"),
        "RouteAlreadyExists: The route identified by {destinationCidrBlock} already exists.",
    ),
    "aws:efs/fileSystem:FileSystem": (
        ("creationToken",),
        "FileSystemAlreadyExists: File system already exists with creation token {creationToken}",
    ),
    "aws:eks/accessEntry:AccessEntry": (
        ("id",),
        "ResourceInUseException: The specified access entry resource is already in use on this cluster.",
    ),
    "aws:eks/addon:Addon": (("id",), "ResourceInUseException: Addon already exists."),
    "aws:eks/cluster:Cluster": (
        ("id",),
        "ResourceInUseException: Cluster already exists with name: {name}",
    ),
    "aws:eks/nodeGroup:NodeGroup": (
        ("id",),
        "ResourceInUseException: NodeGroup already exists with name {nodeGroupName}",
    ),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": (
        ("clusterName", "namespace", "serviceAccount"),
        "ResourceInUseException: Association already exists: {namespace}/{serviceAccount}",
    ),
    "aws:iam/instanceProfile:InstanceProfile": (
        ("id",),
        "EntityAlreadyExists: Instance Profile {name} already exists.",
    ),
    "aws:iam/openIdConnectProvider:OpenIdConnectProvider": (
        ("id",),
        "EntityAlreadyExists: Provider with url {url} already exists.",
    ),
    "aws:iam/policy:Policy": (
        ("id",),
        "EntityAlreadyExists: A policy called {name} already exists. Duplicate names are not allowed.",
    ),
    "aws:iam/role:Role": (("id",), "EntityAlreadyExists: Role with name {name} already exists."),
    "aws:iam/serviceLinkedRole:ServiceLinkedRole": (
        ("id",),
        "InvalidInput: Service role name has been taken in this account, please try a different suffix.",
    ),
    "aws:kms/alias:Alias": (
        ("id",),
        "AlreadyExistsException: An alias with the name {name} already exists",
    ),
    "aws:s3/bucket:Bucket": (
        ("id",),
        "BucketAlreadyOwnedByYou: Your previous request to create the named bucket succeeded: {bucket}",
    ),
    "aws:sqs/queue:Queue": (("id",), "QueueAlreadyExists: A queue already exists with name {name}"),
}
_RULE_FIELDS = (
    *("securityGroupId", "ipProtocol", "fromPort", "toPort", "cidrIpv4", "cidrIpv6"),
    *("prefixListId", "referencedSecurityGroupId"),
)
_DUPLICATE = "InvalidPermission.Duplicate: the specified rule already exists"
_RULES = {
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": (_RULE_FIELDS, _DUPLICATE),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": (_RULE_FIELDS, _DUPLICATE),
}
# Google's services reject duplicates, except grants, which are then the same grant.
_GRANTS = ("IAMMember", "IAMBinding", "Service", "BucketIAMMember", "CryptoKeyIAMMember")


def collisions(
    kind: str, id_: str, inputs: Mapping[str, Any], existing: Iterable[Resource]
) -> list[str]:
    """Errors of the service if the resource collides with others."""
    blocked = list(existing)
    own = [each for each in blocked if each.kind == kind]
    results = [*_twice(kind, id_, inputs, own)]
    if kind in _MORE:
        results += _MORE[kind](inputs, blocked)
    return results


def _twice(kind: str, id_: str, inputs: Mapping[str, Any], own: list[Resource]) -> list[str]:
    if kind.startswith("gcp:") and not kind.endswith(_GRANTS):
        is_used = any(each.id == id_ for each in own)
        return [f"Error 409: The resource '{id_}' already exists, alreadyExists"] if is_used else []
    fields, message = {**_ONCE, **_RULES}.get(kind, ((), ""))
    expected = [inputs.get(name) if name != "id" else id_ for name in fields]
    for each in own:
        other = [each.inputs.get(name) if name != "id" else each.id for name in fields]
        if fields and expected == other:
            return [message.format_map({**dict.fromkeys(fields, ""), **inputs, "id": id_})]
    return []


# ── ranges and zones ──────────────────────────────────────────────────────────────────────────────
def _subnet(inputs: Mapping[str, Any], existing: list[Resource]) -> list[str]:
    block = inputs.get("cidrBlock")
    if not block:
        return []
    expected = ipaddress.IPv4Network(block)
    vpc = next((each for each in existing if each.id == inputs.get("vpcId")), None)
    complete = vpc.inputs.get("cidrBlock") if vpc else None
    if complete and not expected.subnet_of(ipaddress.IPv4Network(complete)):
        return [f"InvalidSubnet.Range: The CIDR '{block}' is invalid."]
    for each in _of(existing, _SUBNET, "vpcId", inputs):
        if expected.overlaps(ipaddress.IPv4Network(each.inputs["cidrBlock"])):
            return [f"InvalidSubnet.Conflict: The CIDR '{block}' conflicts with another subnet"]
    return []


def _subnetwork(inputs: Mapping[str, Any], existing: list[Resource]) -> list[str]:
    metal = {name for each in existing if predefined(each) for name in each.names}
    if last(inputs.get("network")) in metal:
        return [f"Error 400: the network profile of {inputs['network']} lets no subnetwork be made"]
    expected = _ranges(inputs)
    for each in _of(existing, "gcp:compute/subnetwork:Subnetwork", "network", inputs):
        for mine in expected:
            if any(mine.overlaps(other) for other in _ranges(each.inputs)):
                name = each.inputs["name"]
                return [
                    f"Error 400: Invalid IPCidrRange: {mine} conflicts with '{name}', badRequest"
                ]
    return []


def _ranges(inputs: Mapping[str, Any]) -> list[ipaddress.IPv4Network]:
    secondary = [each.get("ipCidrRange") for each in inputs.get("secondaryIpRanges") or []]
    return [ipaddress.IPv4Network(each) for each in (inputs.get("ipCidrRange"), *secondary) if each]


def _mount(inputs: Mapping[str, Any], existing: list[Resource]) -> list[str]:
    zones = {
        each.id: each.inputs.get("availabilityZone") for each in existing if "Subnet" in each.kind
    }
    zone = zones.get(str(inputs.get("subnetId")))
    for each in _of(existing, "aws:efs/mountTarget:MountTarget", "fileSystemId", inputs):
        if zone and zones.get(str(each.inputs.get("subnetId"))) == zone:
            return ["MountTargetConflict: mount target already exists in this AZ"]
    return []


def _of(
    existing: list[Resource], kind: str, field: str, inputs: Mapping[str, Any]
) -> list[Resource]:
    return [
        each
        for each in existing
        if each.kind == kind and each.inputs.get(field) == inputs.get(field)
    ]


def _control(inputs: Mapping[str, Any], existing: list[Resource]) -> list[str]:
    """EKS creates no control plane in a few zones, and lists the accepted ones."""
    expected = (inputs.get("vpcConfig") or {}).get("subnetIds") or ()
    zones = [str(e.inputs.get("availabilityZone")) for e in existing if e.id in expected]
    bad = sorted(zone for zone in zones if zone_id(zone) in _WITHOUT_EKS)
    return [
        f"UnsupportedAvailabilityZoneException: Cannot create cluster '{inputs.get('name')}' because EKS does"
        f" not support creating control plane instances in {zone}, the targeted availability zone. Retry"
        " cluster creation using control plane subnets that span at least two of these availability zones"
        for zone in bad
    ]


_MORE: Mapping[str, Callable[[Mapping[str, Any], list[Resource]], list[str]]] = {
    "aws:ec2/subnet:Subnet": _subnet,
    "aws:efs/mountTarget:MountTarget": _mount,
    "aws:eks/cluster:Cluster": _control,
    "gcp:compute/subnetwork:Subnetwork": _subnetwork,
}


# ── resources that cannot move ────────────────────────────────────────────────────────────────────
def moved(
    kind: str, before: Mapping[str, Any], inputs: Mapping[str, Any], existing: Iterable[Resource]
) -> list[str]:
    """EKS accepts other subnets for a cluster, of the same VPC (user guide, network requirements)."""
    if kind != "aws:eks/cluster:Cluster":
        return []
    homes = {each.id: each.inputs.get("vpcId") for each in existing if each.kind == _SUBNET}
    old, new = (
        {homes.get(one) for one in each["vpcConfig"]["subnetIds"]} - {None}
        for each in (before, inputs)
    )
    if not old or not new or new == old:
        return []
    return ["InvalidParameterException: Provided subnets must belong to the VPC of the cluster"]
