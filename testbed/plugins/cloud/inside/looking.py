"""Output of `aws ec2 describe-…` and similar for a fake account: enough to find a resource."""

from collections.abc import Iterable, Sequence
from typing import Any

from testbed.plugins.cloud.service.ties import Resource

_TYPES = {
    "aws:ec2/eip:Eip": "elastic-ip",
    "aws:ec2/flowLog:FlowLog": "vpc-flow-log",
    "aws:ec2/internetGateway:InternetGateway": "internet-gateway",
    "aws:ec2/launchTemplate:LaunchTemplate": "launch-template",
    "aws:ec2/natGateway:NatGateway": "natgateway",
    "aws:ec2/routeTable:RouteTable": "route-table",
    "aws:ec2/securityGroup:SecurityGroup": "security-group",
    "aws:ec2/subnet:Subnet": "subnet",
    "aws:ec2/vpc:Vpc": "vpc",
    "aws:ec2/vpcEndpoint:VpcEndpoint": "vpc-endpoint",
}
"""EC2's names in descriptions of tags."""
_RULES = {
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": True,
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": False,
}
_TAGGED = {
    "aws:amp/workspace:Workspace": "aps:workspace",
    "aws:efs/fileSystem:FileSystem": "elasticfilesystem:file-system",
    "aws:fsx/lustreFileSystem:LustreFileSystem": "fsx:file-system",
    "aws:kms/key:Key": "kms:key",
}
"""Names of the tagging API."""
SERVICES = ("ec2", "efs", "fsx", "resourcegroupstaggingapi", "sqs")
"""Services with known calls; `eks` has only one."""
IDENTITIES = ["eks", "list-pod-identity-associations"]
_CLAIMS = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
Items = list[dict[str, Any]]
Asked = dict[str, list[str]]
"""Filters, and options with more than one word, by name."""


class NotHere(Exception):
    """The stand-in does not know the command."""


def described(blocked: Sequence[Resource], words: Sequence[str]) -> dict[str, Any]:
    """The output, in EC2's format."""
    if list(words[:2]) == ["sqs", "list-queues"]:
        return _queues(blocked, _asked(words[2:]))
    known = {
        "get-resources": ("ResourceTagMappingList", _mapped),
        "list-pod-identity-associations": ("associations", _identities),
        "describe-access-points": ("AccessPoints", _access_points),
        "describe-mount-targets": ("MountTargets", _mount_targets),
        "describe-data-repository-associations": ("Associations", _links),
        "describe-capacity-reservations": ("CapacityReservations", _reservations),
        "describe-tags": ("Tags", _tags),
        "describe-launch-templates": ("LaunchTemplates", _templates),
        "describe-route-tables": ("RouteTables", _tables),
        "describe-security-group-rules": ("SecurityGroupRules", _rules),
    }
    requested = words[1] if len(words) > 1 else ""
    if requested not in known:
        raise NotHere(f"`aws {' '.join(words)}` is not here")
    name, find = known[requested]
    return {name: find(blocked, _asked(words[2:]))}


def _queues(blocked: Sequence[Resource], requested: Asked) -> dict[str, Any]:
    """Queues by name prefix; without a match SQS returns no list."""
    (begins,) = requested["--queue-name-prefix"]
    urls = [each.id for each in blocked if each.kind == "aws:sqs/queue:Queue"]
    results = [url for url in urls if url.rpartition("/")[2].startswith(begins)]
    return {"QueueUrls": results} if results else {}


def _asked(words: Iterable[str]) -> Asked:
    requested: Asked = {}
    option = ""
    for word in words:
        if word.startswith("--"):
            option = word
        elif option == "--filters":
            name, _, values = word.removeprefix("Name=").partition(",Values=")
            requested[name] = values.split(",")
        else:
            requested.setdefault(option, []).append(word)
    return requested


def _wanted(item: dict[str, Any], requested: Asked, names: dict[str, str]) -> bool:
    return all(str(item[names[name]]) in requested[name] for name in names if name in requested)


def _tags(blocked: Sequence[Resource], requested: Asked) -> Items:
    names = {"resource-type": "ResourceType", "key": "Key", "value": "Value"}
    items = [
        {"Key": key, "ResourceId": each.id, "ResourceType": _TYPES[each.kind], "Value": value}
        for each in blocked
        if each.kind in _TYPES
        for key, value in (each.state.get("tags") or {}).items()
    ]
    return [item for item in items if _wanted(item, requested, names)]


def _reservations(blocked: Sequence[Resource], requested: Asked) -> Items:
    expected = {
        name.removeprefix("tag:"): values
        for name, values in requested.items()
        if name[:4] == "tag:"
    }
    return [
        {"CapacityReservationId": each.id, "State": "scheduled"}
        for each in blocked
        if each.kind == "aws:ec2/capacityBlockReservation:CapacityBlockReservation"
        and all(
            (each.state.get("tags") or {}).get(key) in values for key, values in expected.items()
        )
    ]


def _identities(blocked: Sequence[Resource], requested: Asked) -> Items:
    names = {"clusterName": "cluster-name", "namespace": "namespace"}
    names["serviceAccount"] = "service-account"
    return [
        {"associationId": each.id, **{name: each.inputs[name] for name in names}}
        for each in blocked
        if each.kind == _CLAIMS
        and all([each.inputs[name]] == requested[f"--{names[name]}"] for name in names)
    ]


def _access_points(blocked: Sequence[Resource], requested: Asked) -> Items:
    return [
        {"AccessPointId": each.id, "Name": (each.state.get("tags") or {}).get("Name")}
        for each in _of_files(
            blocked, "aws:efs/accessPoint:AccessPoint", requested["--file-system-id"]
        )
    ]


def _mount_targets(blocked: Sequence[Resource], requested: Asked) -> Items:
    return [
        {"MountTargetId": each.id, "SubnetId": each.inputs["subnetId"]}
        for each in _of_files(
            blocked, "aws:efs/mountTarget:MountTarget", requested["--file-system-id"]
        )
    ]


def _links(blocked: Sequence[Resource], requested: Asked) -> Items:
    kind = "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation"
    return [
        {"AssociationId": each.id, "DataRepositoryPath": each.inputs["dataRepositoryPath"]}
        for each in _of_files(blocked, kind, requested["file-system-id"])
    ]


def _of_files(blocked: Sequence[Resource], kind: str, expected: Sequence[str]) -> list[Resource]:
    """The resources of one of these file systems."""
    return [e for e in blocked if e.kind == kind and e.inputs["fileSystemId"] in expected]


def _mapped(blocked: Sequence[Resource], requested: Asked) -> Items:
    (key, values) = requested["--tag-filters"][0].removeprefix("Key=").split(",Values=")
    return [
        {"ResourceARN": each.state["arn"], "Tags": []}
        for each in blocked
        if _TAGGED.get(each.kind) in requested["--resource-type-filters"]
        and (each.state.get("tags") or {}).get(key) == values
    ]


def _templates(blocked: Sequence[Resource], requested: Asked) -> Items:
    items = [
        {"LaunchTemplateId": each.id, "LaunchTemplateName": each.state["name"]}
        for each in blocked
        if each.kind == "aws:ec2/launchTemplate:LaunchTemplate"
    ]
    return [
        item
        for item in items
        if _wanted(item, requested, {"launch-template-name": "LaunchTemplateName"})
    ]


def _tables(blocked: Sequence[Resource], requested: Asked) -> Items:
    def uses(table: Resource) -> Items:
        return [
            {
                "RouteTableAssociationId": each.id,
                "RouteTableId": table.id,
                "SubnetId": each.inputs["subnetId"],
            }
            for each in blocked
            if each.kind == "aws:ec2/routeTableAssociation:RouteTableAssociation"
            and each.inputs["routeTableId"] == table.id
        ]

    return [
        {"RouteTableId": each.id, "Associations": uses(each)}
        for each in blocked
        if each.kind == "aws:ec2/routeTable:RouteTable"
        and each.id in requested["--route-table-ids"]
    ]


def _rules(blocked: Sequence[Resource], requested: Asked) -> Items:
    items = [
        {
            "SecurityGroupRuleId": each.id,
            "GroupId": each.inputs["securityGroupId"],
            "IsEgress": _RULES[each.kind],
            "Description": each.inputs.get("description"),
        }
        for each in blocked
        if each.kind in _RULES
    ]
    return [item for item in items if _wanted(item, requested, {"group-id": "GroupId"})]
