"""Checks of the aws provider across fields, beyond the conflicts of its tables."""

from collections.abc import Iterator, Mapping, Sequence

from testbed.plugins.cloud.rules.looking import Inputs, Rule, at, has, text, unsure


def placement_group(inputs: Inputs) -> Iterator[str]:
    """[tf] Each strategy has its own number field."""
    for name, expected in (("partitionCount", "partition"), ("spreadLevel", "spread")):
        if has(inputs, name) and text(inputs, "strategy") not in {"", expected}:
            yield f"{name} is for strategy {expected}; strategy is {text(inputs, 'strategy')}"


def nat_gateway(inputs: Inputs) -> Iterator[str]:
    """[tf] A private gateway has no public addresses, a public one no count of private ones."""
    private = text(inputs, "connectivityType") == "private"
    refused = (
        ("allocationId", "secondaryAllocationIds")
        if private
        else ("secondaryPrivateIpAddressCount",)
    )
    for name in refused:
        if has(inputs, name):
            kind = "private" if private else "public"
            yield f"{name} is not for connectivityType {kind}"


def route(inputs: Inputs) -> Iterator[str]:
    """[tf] The local route of the VPC always exists."""
    if text(inputs, "gatewayId") == "local":
        yield "gatewayId is local; allowed: another target, for this route can only be imported"


def auto_mode(inputs: Inputs) -> Iterator[str]:
    """[tf] The three switches of Auto Mode must agree."""
    switches = (
        "computeConfig.enabled",
        "kubernetesNetworkConfig.elasticLoadBalancing.enabled",
        "storageConfig.blockStorage.enabled",
    )
    if not unsure(inputs, *switches) and len({bool(at(inputs, each)) for each in switches}) > 1:
        yield f"{', '.join(switches)} are all true or all false"


def lustre(inputs: Inputs) -> Iterator[str]:
    """[tf] Fields that a deployment type or a storage type requires."""
    deployment = text(inputs, "deploymentType")
    if has(inputs, "metadataConfiguration") and deployment not in {"", "PERSISTENT_2"}:
        yield f"metadataConfiguration is for deploymentType PERSISTENT_2; it is {deployment}"
    if text(inputs, "storageType") == "INTELLIGENT_TIERING" and not has(
        inputs, "throughputCapacity"
    ):
        yield "storageType INTELLIGENT_TIERING needs throughputCapacity"


def topic(inputs: Inputs) -> Iterator[str]:
    """[tf] Fields that only a FIFO topic has."""
    for name in ("archivePolicy", "fifoThroughputScope", "contentBasedDeduplication"):
        if at(inputs, name) and at(inputs, "fifoTopic") in (None, False):
            yield f"{name} needs fifoTopic true"


def queue(inputs: Inputs) -> Iterator[str]:
    """[tf] A FIFO queue's name ends in .fifo, and only it removes duplicates."""
    fifo = at(inputs, "fifoQueue") is True
    name = text(inputs, "name")
    if name and fifo != name.endswith(".fifo"):
        yield f"name is {name}; allowed: an end in .fifo with fifoQueue true, else none"
    if (
        at(inputs, "contentBasedDeduplication") is True
        and not fifo
        and not unsure(inputs, "fifoQueue")
    ):
        yield "contentBasedDeduplication needs fifoQueue true"


def subscription(inputs: Inputs) -> Iterator[str]:
    """[tf] A filter scope needs a filter."""
    if has(inputs, "filterPolicyScope") and not has(inputs, "filterPolicy"):
        yield "filterPolicyScope needs filterPolicy"


def one_source(inputs: Inputs) -> Iterator[str]:
    """[tf] A rule of a security group has one source."""
    names = ("cidrIpv4", "cidrIpv6", "prefixListId", "referencedSecurityGroupId")
    if sum(has(inputs, name) for name in names) != 1:
        yield f"give exactly one of {', '.join(names)}"


RULES: Mapping[str, Sequence[Rule]] = {
    "aws:ec2/placementGroup:PlacementGroup": (placement_group,),
    "aws:ec2/natGateway:NatGateway": (nat_gateway,),
    "aws:ec2/route:Route": (route,),
    "aws:eks/cluster:Cluster": (auto_mode,),
    "aws:fsx/lustreFileSystem:LustreFileSystem": (lustre,),
    "aws:sns/topic:Topic": (topic,),
    "aws:sqs/queue:Queue": (queue,),
    "aws:sns/topicSubscription:TopicSubscription": (subscription,),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": (one_source,),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": (one_source,),
}
