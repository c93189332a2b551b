"""What `aws ec2 describe-…` and its like answer of a fake account: as much as finds a resource again."""

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
"""As EC2 calls them where it tells of tags."""
_RULES = {
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": True,
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": False,
}
_TAGGED = {
    "aws:efs/fileSystem:FileSystem": "elasticfilesystem:file-system",
    "aws:fsx/lustreFileSystem:LustreFileSystem": "fsx:file-system",
    "aws:kms/key:Key": "kms:key",
}
"""As the tagging API calls them."""
SERVICES = ("ec2", "efs", "fsx", "resourcegroupstaggingapi", "sqs")
"""Those whose calls are all answered here, if at all; of `eks` only one is."""
IDENTITIES = ["eks", "list-pod-identity-associations"]
_CLAIMS = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
Items = list[dict[str, Any]]
Asked = dict[str, list[str]]
"""Filters, and options with more than one word, by name."""


class NotHere(Exception):
    """Nothing that this stand-in knows."""


def described(held: Sequence[Resource], words: Sequence[str]) -> dict[str, Any]:
    """The answer, in the form of EC2's own."""
    if list(words[:2]) == ["sqs", "list-queues"]:
        return _queues(held, _asked(words[2:]))
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
    asked = words[1] if len(words) > 1 else ""
    if asked not in known:
        raise NotHere(f"`aws {' '.join(words)}` is not here")
    name, find = known[asked]
    return {name: find(held, _asked(words[2:]))}


def _queues(held: Sequence[Resource], asked: Asked) -> dict[str, Any]:
    """By the beginning of their names; where there is none, SQS says nothing of a list."""
    (begins,) = asked["--queue-name-prefix"]
    urls = [each.id for each in held if each.kind == "aws:sqs/queue:Queue"]
    found = [url for url in urls if url.rpartition("/")[2].startswith(begins)]
    return {"QueueUrls": found} if found else {}


def _asked(words: Iterable[str]) -> Asked:
    asked: Asked = {}
    option = ""
    for word in words:
        if word.startswith("--"):
            option = word
        elif option == "--filters":
            name, _, values = word.removeprefix("Name=").partition(",Values=")
            asked[name] = values.split(",")
        else:
            asked.setdefault(option, []).append(word)
    return asked


def _wanted(item: dict[str, Any], asked: Asked, names: dict[str, str]) -> bool:
    return all(str(item[names[name]]) in asked[name] for name in names if name in asked)


def _tags(held: Sequence[Resource], asked: Asked) -> Items:
    names = {"resource-type": "ResourceType", "key": "Key", "value": "Value"}
    items = [
        {"Key": key, "ResourceId": each.id, "ResourceType": _TYPES[each.kind], "Value": value}
        for each in held
        if each.kind in _TYPES
        for key, value in (each.state.get("tags") or {}).items()
    ]
    return [item for item in items if _wanted(item, asked, names)]


def _reservations(held: Sequence[Resource], asked: Asked) -> Items:
    wanted = {
        name.removeprefix("tag:"): values for name, values in asked.items() if name[:4] == "tag:"
    }
    return [
        {"CapacityReservationId": each.id, "State": "scheduled"}
        for each in held
        if each.kind == "aws:ec2/capacityBlockReservation:CapacityBlockReservation"
        and all((each.state.get("tags") or {}).get(key) in values for key, values in wanted.items())
    ]


def _identities(held: Sequence[Resource], asked: Asked) -> Items:
    names = {"clusterName": "cluster-name", "namespace": "namespace"}
    names["serviceAccount"] = "service-account"
    return [
        {"associationId": each.id, **{name: each.inputs[name] for name in names}}
        for each in held
        if each.kind == _CLAIMS
        and all([each.inputs[name]] == asked[f"--{names[name]}"] for name in names)
    ]


def _access_points(held: Sequence[Resource], asked: Asked) -> Items:
    return [
        {"AccessPointId": each.id, "Name": (each.state.get("tags") or {}).get("Name")}
        for each in _of_files(held, "aws:efs/accessPoint:AccessPoint", asked["--file-system-id"])
    ]


def _mount_targets(held: Sequence[Resource], asked: Asked) -> Items:
    return [
        {"MountTargetId": each.id, "SubnetId": each.inputs["subnetId"]}
        for each in _of_files(held, "aws:efs/mountTarget:MountTarget", asked["--file-system-id"])
    ]


def _links(held: Sequence[Resource], asked: Asked) -> Items:
    kind = "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation"
    return [
        {"AssociationId": each.id, "DataRepositoryPath": each.inputs["dataRepositoryPath"]}
        for each in _of_files(held, kind, asked["file-system-id"])
    ]


def _of_files(held: Sequence[Resource], kind: str, wanted: Sequence[str]) -> list[Resource]:
    """What belongs to one of these file systems."""
    return [e for e in held if e.kind == kind and e.inputs["fileSystemId"] in wanted]


def _mapped(held: Sequence[Resource], asked: Asked) -> Items:
    (key, values) = asked["--tag-filters"][0].removeprefix("Key=").split(",Values=")
    return [
        {"ResourceARN": each.state["arn"], "Tags": []}
        for each in held
        if _TAGGED.get(each.kind) in asked["--resource-type-filters"]
        and (each.state.get("tags") or {}).get(key) == values
    ]


def _templates(held: Sequence[Resource], asked: Asked) -> Items:
    items = [
        {"LaunchTemplateId": each.id, "LaunchTemplateName": each.state["name"]}
        for each in held
        if each.kind == "aws:ec2/launchTemplate:LaunchTemplate"
    ]
    return [
        item
        for item in items
        if _wanted(item, asked, {"launch-template-name": "LaunchTemplateName"})
    ]


def _tables(held: Sequence[Resource], asked: Asked) -> Items:
    def uses(table: Resource) -> Items:
        return [
            {
                "RouteTableAssociationId": each.id,
                "RouteTableId": table.id,
                "SubnetId": each.inputs["subnetId"],
            }
            for each in held
            if each.kind == "aws:ec2/routeTableAssociation:RouteTableAssociation"
            and each.inputs["routeTableId"] == table.id
        ]

    return [
        {"RouteTableId": each.id, "Associations": uses(each)}
        for each in held
        if each.kind == "aws:ec2/routeTable:RouteTable" and each.id in asked["--route-table-ids"]
    ]


def _rules(held: Sequence[Resource], asked: Asked) -> Items:
    items = [
        {
            "SecurityGroupRuleId": each.id,
            "GroupId": each.inputs["securityGroupId"],
            "IsEgress": _RULES[each.kind],
            "Description": each.inputs.get("description"),
        }
        for each in held
        if each.kind in _RULES
    ]
    return [item for item in items if _wanted(item, asked, {"group-id": "GroupId"})]
