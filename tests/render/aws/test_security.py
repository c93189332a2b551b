"""The security group of nodes: nothing from outside, and everything among themselves, both ways."""

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.aws.graph import aws_graph
from gpuyard.render.aws.karpenter.nodes import karpenter_objects
from kit.clouds import aws
from kit.clouds.aws import SUBNETS, VPC, plan_on_aws
from kit.stacks import pool

IN = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
OUT = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
NODES = UnresolvedOutput("nodes.id")


def rules(graph, kind):
    return [
        each.inputs
        for each in graph.resources_of_kind(kind)
        if each.inputs["securityGroupId"] == NODES
    ]


def test_no_range_of_addresses_comes_in():
    for graph in (aws.graph_of(), aws.graph_of(cluster={"existing": "blue"})):
        coming = rules(graph, IN)
        assert coming
        assert not any("cidrIpv4" in rule or "cidrIpv6" in rule for rule in coming)


def test_nodes_reach_each_other_with_every_protocol_in_both_directions():
    graph = aws.graph_of()
    for kind in (IN, OUT):
        itself = [r for r in rules(graph, kind) if r.get("referencedSecurityGroupId") == NODES]
        assert [r["ipProtocol"] for r in itself] == ["-1"]
        assert not {"fromPort", "toPort"} & set(itself[0])


def test_the_control_plane_reaches_nodes():
    graph = aws.graph_of()
    group = UnresolvedOutput("cluster.vpcConfig.clusterSecurityGroupId")
    assert group in [rule["referencedSecurityGroupId"] for rule in rules(graph, IN)]


def test_no_rule_stands_inside_a_group_where_it_would_fight_those_beside_it():
    for each in aws.graph_of(cluster={"network": {"nat": "none"}}).resources_of_kind(
        "aws:ec2/securityGroup:SecurityGroup"
    ):
        assert not {"ingress", "egress"} & set(each.inputs)


def test_nodes_also_have_the_existing_groups_of_the_stack_file():
    network = {
        "id": VPC,
        "subnets": {"private": SUBNETS},
        "security_groups": ["sg-0123456789abcdef0"],
    }
    plan = plan_on_aws([pool(), pool("more", scaling="karpenter")], cluster={"network": network})
    graph = aws_graph(plan)
    ours = [
        UnresolvedOutput("cluster.vpcConfig.clusterSecurityGroupId"),
        UnresolvedOutput("nodes.id"),
    ]
    for template in graph.resources_of_kind("aws:ec2/launchTemplate:LaunchTemplate"):
        inputs = template.inputs
        interfaces = inputs.get("networkInterfaces") or [
            {"securityGroups": inputs["vpcSecurityGroupIds"]}
        ]
        for each in interfaces:
            assert each["securityGroups"] == [*ours, "sg-0123456789abcdef0"]
    (node_class,) = [each for each in karpenter_objects(plan) if each["kind"] == "EC2NodeClass"]
    terms = [*ours, "sg-0123456789abcdef0"]
    assert node_class["spec"]["securityGroupSelectorTerms"] == [{"id": each} for each in terms]
