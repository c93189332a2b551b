"""Networks: what is made for a cluster, its nodes' way out, and what is found in one that is there."""

import pytest

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import resolve_values
from kit.clouds.aws import SUBNETS, VPC, graph_of
from kit.stacks import pool

SUBNET, ROUTE, NAT = "aws:ec2/subnet:Subnet", "aws:ec2/route:Route", "aws:ec2/natGateway:NatGateway"
ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
TWO_ZONES = ["us-east-1a", "us-east-1b"]


def own(zones=TWO_ZONES, **network):
    return graph_of(cluster={"zones": zones, "network": network})


def names(graph, kind):
    return [each.name for each in graph.resources_of_kind(kind)]


def test_each_zone_has_a_private_subnet_and_a_public_one():
    graph = own()
    assert names(graph, SUBNET) == [
        f"{side}-{zone}" for side in ("private", "public") for zone in TWO_ZONES
    ]
    private = graph.resource("private-us-east-1b").inputs
    assert (private["availabilityZone"], private["cidrBlock"]) == ("us-east-1b", "10.0.32.0/19")
    assert "mapPublicIpOnLaunch" not in private


def test_subnets_have_the_tags_that_load_balancers_and_karpenter_look_for():
    graph = own()
    private = graph.resource("private-us-east-1a").inputs["tags"]
    public = graph.resource("public-us-east-1a").inputs["tags"]
    assert private["kubernetes.io/role/internal-elb"] == public["kubernetes.io/role/elb"] == "1"
    assert private["kubernetes.io/cluster/lab"] == public["kubernetes.io/cluster/lab"] == "owned"
    assert private["karpenter.sh/discovery"] == "lab"
    assert "karpenter.sh/discovery" not in public


def test_one_nat_serves_all_zones_and_another_way_gives_each_its_own():
    one, each = own(), own(nat="per_zone")
    assert names(one, NAT) == ["nat-us-east-1a"]
    assert names(each, NAT) == ["nat-us-east-1a", "nat-us-east-1b"]
    way = "private-us-east-1b-out"
    assert one.resource(way).inputs["natGatewayId"] == UnresolvedOutput("nat-us-east-1a.id")
    assert each.resource(way).inputs["natGatewayId"] == UnresolvedOutput("nat-us-east-1b.id")


LOCAL = "us-east-1-dfw-2a"


@pytest.mark.parametrize("nat", ["one", "per_zone"])
def test_a_local_zone_has_a_private_subnet_for_nodes_and_nothing_of_the_control_plane(nat):
    before, after = own(nat=nat), own(zones=[LOCAL, *TWO_ZONES], nat=nat)
    assert {each.name for each in after.resources} - {each.name for each in before.resources} == {
        f"private-{LOCAL}{part}" for part in ("", "-routes", "-out", "-uses")
    }
    assert after.resource(f"private-{LOCAL}-out").inputs["natGatewayId"] == UnresolvedOutput(
        "nat-us-east-1a.id"
    )
    assert len(before.resources_of_kind("aws:eks/nodeGroup:NodeGroup")) == 2
    for each in before.resources:
        if each.name != "endpoint-s3":  # it serves the route tables of all zones
            assert after.resource(each.name).inputs == each.inputs


def test_beside_a_local_zone_alone_the_cloud_names_two_availability_zones():
    graph = graph_of([pool(zones=[LOCAL])])
    assert graph.resource("cluster").inputs["vpcConfig"]["subnetIds"] == [
        UnresolvedOutput("private-another-1.id"),
        UnresolvedOutput("private-another-2.id"),
    ]


def test_the_control_plane_takes_no_subnet_of_a_local_zone_in_a_network_that_exists():
    network = {"id": VPC, "subnets": {"private": [*SUBNETS, "subnet-0123456789abcdef2"]}}
    graph = graph_of(cluster={"zones": [LOCAL, *TWO_ZONES], "network": network})
    assert graph.resource("cluster").inputs["vpcConfig"]["subnetIds"] == [
        UnresolvedOutput(f"private-{zone}.ids.0") for zone in TWO_ZONES
    ]


def test_a_second_nat_replaces_nothing():
    one, each = ({(r.name, r.kind) for r in g.resources} for g in (own(), own(nat="per_zone")))
    assert one < each


def test_a_further_zone_changes_nothing_of_the_others():
    few = own(zones=["us-east-1a", "us-east-1c"], nat="per_zone")
    more = own(zones=["us-east-1a", "us-east-1c", "us-east-1b"], nat="per_zone")
    for each in few.resources:
        if each.kind in {SUBNET, ROUTE, NAT}:
            assert more.resource(each.name) == each


def test_without_nat_there_is_no_way_out_and_every_service_has_an_endpoint():
    graph = own(nat="none")
    assert names(graph, ROUTE) == names(graph, NAT) == []
    assert names(graph, "aws:ec2/internetGateway:InternetGateway") == []
    services = {
        str(resolve_values(e.inputs["serviceName"], str)) for e in graph.resources_of_kind(ENDPOINT)
    }
    assert {
        f"com.amazonaws.us-east-1.{s}" for s in ("s3", "ecr.api", "ecr.dkr", "sts", "sqs")
    } < services
    for each in graph.resources_of_kind(ENDPOINT):
        if each.inputs["vpcEndpointType"] == "Interface":
            assert each.inputs["subnetIds"] == [
                UnresolvedOutput(f"private-{zone}.id") for zone in TWO_ZONES
            ]
            assert each.inputs["privateDnsEnabled"] is True


def test_s3_is_reached_without_nat_in_any_case():
    gateways = {g.name: g.inputs["routeTableIds"] for g in own().resources_of_kind(ENDPOINT)}
    assert gateways == {
        "endpoint-s3": [UnresolvedOutput(f"private-{zone}-routes.id") for zone in TWO_ZONES]
    }
    assert len(own(endpoints="interface").resources_of_kind(ENDPOINT)) > len(gateways)


def test_endpoints_take_https_from_the_network_alone():
    rule = own(nat="none", cidr="10.20.0.0/16").resource("endpoints-from-inside").inputs
    assert (rule["cidrIpv4"], rule["fromPort"], rule["toPort"]) == ("10.20.0.0/16", 443, 443)


def test_flow_logs_are_kept_as_long_as_asked_and_written_by_a_role_of_their_own():
    graph = graph_of(cluster={"zones": TWO_ZONES, "logs": {"retention_days": 100}})
    assert graph.resource("flow-logs").inputs["retentionInDays"] == 120
    assert graph.resource("flow").inputs["iamRoleArn"] == UnresolvedOutput("flow-logs-role.arn")
    assert graph.resource("flow").after == ("flow-logs-role-writes",)
    without = {each.name for each in own(flow_logs=False).resources}
    assert not any(name.startswith("flow") for name in without)


def test_zones_that_nobody_names_are_asked_for():
    graph = graph_of([pool(zones=["us-east-1c"])])
    (call,) = graph.calls
    assert call.args["excludeNames"] == ["us-east-1c"]
    assert "use1-az3" in call.args["excludeZoneIds"]
    second = graph.resource("private-another-1").inputs
    assert second["availabilityZone"] == UnresolvedOutput("zones.names.0")
    none_named = graph_of().resource("private-another-2").inputs
    assert none_named["availabilityZone"] == UnresolvedOutput("zones.names.1")


def test_a_region_that_nobody_names_is_asked_for():
    graph = graph_of(region=None)
    assert {"region", "partition"} < {call.name for call in graph.calls}
    service = graph.resource("endpoint-s3").inputs["serviceName"]
    assert UnresolvedOutput("region.region") in service.parts


@pytest.mark.parametrize(
    ("region", "partition"),
    [("us-east-1", "aws"), ("cn-north-1", "aws-cn"), ("us-gov-west-1", "aws-us-gov")],
)
def test_policies_are_of_the_partition_of_the_region(region, partition):
    policy = (
        graph_of(region=region).resource("node-role-AmazonEKSWorkerNodePolicy").inputs["policyArn"]
    )
    assert (
        resolve_values(policy, str) == f"arn:{partition}:iam::aws:policy/AmazonEKSWorkerNodePolicy"
    )


def test_in_a_network_that_is_there_nothing_of_it_is_made():
    given = {"id": VPC, "subnets": {"private": SUBNETS}}
    graph = graph_of(cluster={"network": given})
    of_ec2 = {r.name for r in graph.resources if r.kind.startswith("aws:ec2/") and not r.part}
    assert of_ec2 == {"nodes"}
    assert graph.resource("cluster").inputs["vpcConfig"]["subnetIds"] == SUBNETS
    assert graph.calls == ()


def test_a_listed_subnet_is_the_one_of_a_zone_that_aws_says():
    given = {"id": VPC, "subnets": {"private": SUBNETS}}
    (call,) = graph_of([pool(zones=["us-east-1a"])], cluster={"network": given}).calls
    assert call.args["filters"] == [
        {"name": "vpc-id", "values": [VPC]},
        {"name": "availability-zone", "values": ["us-east-1a"]},
        {"name": "subnet-id", "values": SUBNETS},
    ]


def test_tags_find_a_subnet_in_each_zone():
    given = {"id": VPC, "tags": {"tier": "private"}}
    graph = graph_of(cluster={"zones": TWO_ZONES, "network": given})
    assert [call.args["filters"][2] for call in graph.calls] == [
        {"name": "tag:tier", "values": ["private"]}
    ] * 2
    assert graph.resource("cluster").inputs["vpcConfig"]["subnetIds"] == [
        UnresolvedOutput(f"private-{zone}.ids.0") for zone in TWO_ZONES
    ]
