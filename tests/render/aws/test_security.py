"""The security group of nodes: nothing from outside, and everything among themselves, both ways."""

from gpuyard.plan.records.late import Late
from kit.clouds.aws import graph_of

IN = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
OUT = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
NODES = Late("nodes.id")


def rules(graph, kind):
    return [each.inputs for each in graph.of(kind) if each.inputs["securityGroupId"] == NODES]


def test_no_range_of_addresses_comes_in():
    for graph in (graph_of(), graph_of(cluster={"existing": "blue"})):
        coming = rules(graph, IN)
        assert coming
        assert not any("cidrIpv4" in rule or "cidrIpv6" in rule for rule in coming)


def test_nodes_reach_each_other_with_every_protocol_in_both_directions():
    graph = graph_of()
    for kind in (IN, OUT):
        itself = [r for r in rules(graph, kind) if r.get("referencedSecurityGroupId") == NODES]
        assert [r["ipProtocol"] for r in itself] == ["-1"]
        assert not {"fromPort", "toPort"} & set(itself[0])


def test_the_control_plane_reaches_nodes():
    graph = graph_of()
    group = Late("cluster.vpcConfig.clusterSecurityGroupId")
    assert group in [rule["referencedSecurityGroupId"] for rule in rules(graph, IN)]


def test_no_rule_stands_inside_a_group_where_it_would_fight_those_beside_it():
    for each in graph_of(cluster={"network": {"nat": "none"}}).of(
        "aws:ec2/securityGroup:SecurityGroup"
    ):
        assert not {"ingress", "egress"} & set(each.inputs)
