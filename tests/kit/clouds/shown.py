"""Output of `aws` and `gcloud` for a fake account, in their format."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from testbed.plugins.cloud.account import Account

from gpuyard.adopting.resource_search import last_part, value_at
from gpuyard.preflight.probes import Probe, ProbeAnswer
from kit.clouds.options import unknown_options

_SGR = {
    "SecurityGroupRuleId": "id",
    "GroupId": "securityGroupId",
    "IpProtocol": "ipProtocol",
    "CidrIpv4": "cidrIpv4",
    "ReferencedGroupInfo.GroupId": "referencedSecurityGroupId",
}
_SHOWN: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    "ec2 describe-vpcs": ("Vpcs", "aws:ec2/vpc:Vpc", {"VpcId": "id", "CidrBlock": "cidrBlock"}),
    "ec2 describe-subnets": (
        "Subnets",
        "aws:ec2/subnet:Subnet",
        {"SubnetId": "id", "CidrBlock": "cidrBlock", "AvailabilityZone": "availabilityZone"},
    ),
    "ec2 describe-internet-gateways": (
        "InternetGateways",
        "aws:ec2/internetGateway:InternetGateway",
        {"InternetGatewayId": "id"},
    ),
    "ec2 describe-route-tables": (
        "RouteTables",
        "aws:ec2/routeTable:RouteTable",
        {"RouteTableId": "id"},
    ),
    "ec2 describe-nat-gateways": (
        "NatGateways",
        "aws:ec2/natGateway:NatGateway",
        {"NatGatewayId": "id", "NatGatewayAddresses.0.AllocationId": "allocationId"},
    ),
    "ec2 describe-vpc-endpoints": (
        "VpcEndpoints",
        "aws:ec2/vpcEndpoint:VpcEndpoint",
        {"VpcEndpointId": "id", "ServiceName": "serviceName"},
    ),
    "ec2 describe-flow-logs": (
        "FlowLogs",
        "aws:ec2/flowLog:FlowLog",
        {"FlowLogId": "id", "DeliverLogsPermissionArn": "iamRoleArn"},
    ),
    "ec2 describe-security-groups": (
        "SecurityGroups",
        "aws:ec2/securityGroup:SecurityGroup",
        {"GroupId": "id", "Description": "description"},
    ),
    "ec2 describe-placement-groups": (
        "PlacementGroups",
        "aws:ec2/placementGroup:PlacementGroup",
        {"GroupName": "id"},
    ),
    "eks describe-cluster": (
        "",
        "aws:eks/cluster:Cluster",
        {
            "cluster.name": "name",
            "cluster.version": "version",
            "cluster.roleArn": "roleArn",
            "cluster.resourcesVpcConfig.subnetIds": "vpcConfig.subnetIds",
            "cluster.resourcesVpcConfig.clusterSecurityGroupId": "vpcConfig.clusterSecurityGroupId",
            "cluster.encryptionConfig.0.provider.keyArn": "encryptionConfig.provider.keyArn",
        },
    ),
    "eks list-nodegroups": ("nodegroups", "aws:eks/nodeGroup:NodeGroup", {"": "nodeGroupName"}),
    "eks describe-nodegroup": (
        "",
        "aws:eks/nodeGroup:NodeGroup",
        {
            "nodegroup.nodegroupName": "nodeGroupName",
            "nodegroup.version": "version",
            "nodegroup.capacityType": "capacityType",
            "nodegroup.instanceTypes": "instanceTypes",
            "nodegroup.subnets": "subnetIds",
            "nodegroup.nodeRole": "nodeRoleArn",
            "nodegroup.launchTemplate.id": "launchTemplate.id",
            "nodegroup.resources.autoScalingGroups.0.name": "resources.0.autoscalingGroups.0.name",
        },
    ),
    "eks list-addons": ("addons", "aws:eks/addon:Addon", {"": "addonName"}),
    "eks list-pod-identity-associations": (
        "associations",
        "aws:eks/podIdentityAssociation:PodIdentityAssociation",
        {"associationId": "id", "namespace": "namespace", "serviceAccount": "serviceAccount"},
    ),
    "iam list-roles": ("Roles", "aws:iam/role:Role", {"RoleName": "name", "Arn": "arn"}),
    "iam list-role-policies": ("PolicyNames", "aws:iam/rolePolicy:RolePolicy", {"": "name"}),
    "iam list-instance-profiles": (
        "InstanceProfiles",
        "aws:iam/instanceProfile:InstanceProfile",
        {"InstanceProfileName": "name"},
    ),
    "amp list-workspaces": (
        "workspaces",
        "aws:amp/workspace:Workspace",
        {"workspaceId": "id", "alias": "alias", "arn": "arn"},
    ),
    "amp list-rule-groups-namespaces": (
        "ruleGroupsNamespaces",
        "aws:amp/ruleGroupNamespace:RuleGroupNamespace",
        {"arn": "arn", "name": "name"},
    ),
    "sqs list-queues": ("QueueUrls", "aws:sqs/queue:Queue", {"": "url"}),
    "events list-rules": ("Rules", "aws:cloudwatch/eventRule:EventRule", {"Name": "name"}),
    "events list-targets-by-rule": (
        "Targets",
        "aws:cloudwatch/eventTarget:EventTarget",
        {"Id": "targetId"},
    ),
    "logs describe-log-groups": (
        "logGroups",
        "aws:cloudwatch/logGroup:LogGroup",
        {"logGroupName": "name"},
    ),
    "s3api list-buckets": ("Buckets", "aws:s3/bucket:Bucket", {"Name": "bucket"}),
    "compute networks list": ("", "gcp:compute/network:Network", {"name": "name"}),
    "compute networks subnets list": (
        "",
        "gcp:compute/subnetwork:Subnetwork",
        {"name": "name", "ipCidrRange": "ipCidrRange"},
    ),
    "compute routers list": ("", "gcp:compute/router:Router", {"name": "name"}),
    "compute routers nats list": ("", "gcp:compute/routerNat:RouterNat", {"name": "name"}),
    "compute firewall-rules list": ("", "gcp:compute/firewall:Firewall", {"name": "name"}),
    "compute resource-policies list": (
        "",
        "gcp:compute/resourcePolicy:ResourcePolicy",
        {"name": "name"},
    ),
    "iam service-accounts list": ("", "gcp:serviceaccount/account:Account", {"email": "email"}),
    "kms keyrings list": ("", "gcp:kms/keyRing:KeyRing", {"name": "id"}),
    "kms keys list": ("", "gcp:kms/cryptoKey:CryptoKey", {"name": "id"}),
    "container clusters list": ("", "gcp:container/cluster:Cluster", {"name": "name"}),
    "container node-pools list": (
        "",
        "gcp:container/nodePool:NodePool",
        {"name": "name", "config.machineType": "nodeConfig.machineType"},
    ),
    "storage buckets list": ("", "gcp:storage/bucket:Bucket", {"name": "name"}),
}
_FILTERS = {
    "attachment.vpc-id": "vpcId",
    "cidr-block": "cidrBlock",
    "group-id": "securityGroupId",
    "resource-id": "vpcId",
    "subnet-id": "subnetId",
    "vpc-id": "vpcId",
}
_OPTIONS = {
    "--nodegroup-name": "nodeGroupName",
    "--rule": "rule",
    "--name": "name",
    "--role-name": "role",
}


def shown(account: Account, questions: Sequence[Probe]) -> dict[str, ProbeAnswer]:
    """The output that the clouds' programs would print."""
    results: dict[str, ProbeAnswer] = {}
    for each in questions:
        program, *words = each.words
        refused = unknown_options(words) if program == "aws" else []
        message = (
            ProbeAnswer(failure_reason=f"Unknown options: {', '.join(refused)}")
            if refused
            else None
        )
        results[each.name] = message or _answer(account, words)
    return results


def _answer(account: Account, words: list[str]) -> ProbeAnswer:
    if words[:2] == ["projects", "describe"]:
        return ProbeAnswer(value={"projectId": words[2], "projectNumber": "123456789012"})
    if words[:2] == ["ec2", "describe-security-group-rules"]:
        return ProbeAnswer(value={"SecurityGroupRules": _rules(account, words)})
    what = " ".join(words[: next(n for n, word in enumerate(words) if word.startswith("--"))])
    key, kind, fields = _SHOWN[what]
    items = [
        _item(each.id, each.state, fields)
        for each in account.all(kind)
        if _asked(each.state, words)
    ]
    if "describe-cluster" in what or "describe-nodegroup" in what:
        return (
            ProbeAnswer(value=items[0]) if items else ProbeAnswer(error="ResourceNotFoundException")
        )
    return ProbeAnswer(value={key: items} if key else items)


def _rules(account: Account, words: list[str]) -> list[Any]:
    return [
        {**_item(each.id, each.state, _SGR), "IsEgress": way == "Egress"}
        for way in ("Ingress", "Egress")
        for each in account.all(f"aws:vpc/securityGroup{way}Rule:SecurityGroup{way}Rule")
        if _asked(each.state, words)
    ]


def _asked(state: Mapping[str, Any], words: list[str]) -> bool:
    for word in words:
        if word.startswith("Name="):
            name, value = (part.partition("=")[2] for part in word.split(","))
            if name in _FILTERS and state.get(_FILTERS[name]) != value:
                return False
    for option, name in _OPTIONS.items():
        if option in words and last_part(str(state[name])) != words[words.index(option) + 1]:
            return False
    return True


def _item(identity: str, state: Mapping[str, Any], fields: Mapping[str, str]) -> Any:
    if "" in fields:
        return state[fields[""]]
    created: dict[str, Any] = {}
    tags = state.get("tags") or {}
    if tags:
        created["Tags"] = [{"Key": key, "Value": value} for key, value in tags.items()]
    for path, at in fields.items():
        value = identity if at == "id" else value_at(state, at)
        if value is not None:
            _put(created, path.split("."), value)
    return created


def _put(created: Any, steps: list[str], value: Any) -> None:
    for step, following in pairwise(steps):
        inner: Any = [{}] if following == "0" else {}
        created = created[0] if step == "0" else created.setdefault(step, inner)
    created[steps[-1]] = value
