"""The whole graph at AWS: golden for four stacks, and nothing that its provider or our rules refuse."""

import json
from functools import cache
from random import Random

import pytest

import sizes
from gpuyard.plan import plan, plan_or_raise
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.aws.graph import aws_graph
from gpuyard.render.cloud.graph import Json, resolve_values
from gpuyard.spec.read import read_stack_file
from gpuyard.spec.region import Region
from gpuyard_core.catalogue.machines import MACHINES, Capacity
from gpuyard_core.catalogue.purchasing import ULTRASERVERS
from gpuyard_lint.rules.run import FindingState
from kit.clouds.aws import (
    ADMIN,
    SUBNETS,
    VPC,
    as_text,
    found_by_rules,
    graph_of,
    refused,
)
from kit.searches import examples
from kit.stacks import platform, pool, spec_of

HERE = sizes.ROOT / "tests" / "render" / "aws"
STACKS = {
    "reserved-training": sizes.ROOT / "tests" / "golden_stacks" / "reserved-training.yaml",
    "given-network": HERE / "stacks" / "given-network.yaml",
    "existing-cluster": HERE / "stacks" / "existing-cluster.yaml",
    "karpenter": HERE / "stacks" / "karpenter.yaml",
}


@cache
def stack(name):
    return plan_or_raise(read_stack_file(STACKS[name].read_bytes(), name).spec)


@pytest.mark.parametrize("name", STACKS)
def test_the_graph_of_a_stack_is_the_golden_one(name, golden):
    golden(HERE / "golden" / f"{name}.json", as_text(aws_graph(stack(name))))


@pytest.mark.parametrize("name", STACKS)
def test_its_provider_refuses_nothing_of_a_stack(name):
    assert refused(aws_graph(stack(name))) == {}


@pytest.mark.parametrize("name", ["given-network", "existing-cluster", "karpenter"])
def test_our_rules_find_nothing_in_a_stack(name):
    graph = aws_graph(stack(name))
    assert found_by_rules(graph, known=True) == set()
    assert {v for _, _, v in found_by_rules(graph, known=False)} <= {FindingState.NOT_EVALUATED}


def conditions(graph):
    """Of all statements of all policies: operator, key and values."""
    for each in graph.resources:
        if not isinstance(each.inputs.get("policy"), Json):
            continue
        for said in json.loads(resolve_values(each.inputs["policy"], lambda late: f"<{late}>"))[
            "Statement"
        ]:
            for operator, held in said.get("Condition", {}).items():
                for key, values in held.items():
                    yield operator, key, [values] if isinstance(values, str) else values


@pytest.mark.parametrize("name", STACKS)
def test_a_condition_has_a_star_only_where_a_star_is_one(name):
    """IAM takes `StringEquals` with a star, which then is no pattern: the right is never there."""
    for operator, key, values in conditions(aws_graph(stack(name))):
        starred = [each for each in values if set(each) & set("*?")]
        assert "Like" in operator or not starred, (operator, key, values)


def node_inputs(graph, name="train-on-demand"):
    return graph.resource(name).inputs, graph.resource(f"{name}-template").inputs


def by_groups(**rest):
    return [pool(scaling="autoscaler", nodes="0..2", **rest)]


def test_nodes_rest_on_the_cluster_that_is_made_for_them():
    graph = graph_of(by_groups(), cluster={"zones": ["us-east-1a", "us-east-1b"]})
    group, _ = node_inputs(graph)
    assert group["clusterName"] == UnresolvedOutput("cluster.name")
    assert group["nodeRoleArn"] == UnresolvedOutput("node-role.arn")
    assert group["subnetIds"] == [UnresolvedOutput(f"private-us-east-1{zone}.id") for zone in "ab"]


def test_every_interface_of_a_node_has_the_groups_of_cluster_and_nodes():
    _, template = node_inputs(graph_of(by_groups()))
    groups = [
        UnresolvedOutput("cluster.vpcConfig.clusterSecurityGroupId"),
        UnresolvedOutput("nodes.id"),
    ]
    faces = template["networkInterfaces"]
    assert len(faces) == 32
    assert [each["securityGroups"] for each in faces] == [groups] * 32


def test_nodes_come_after_the_network_of_pods_and_before_what_needs_nodes():
    graph = graph_of(by_groups())
    waited = set(graph.resource("system").after)
    assert {
        "addon-vpc-cni",
        "node-role-AmazonEKSWorkerNodePolicy",
        "private-another-1-out",
    } < waited
    assert graph.resource("addon-coredns").after == ("system",)


def test_nodes_in_a_cluster_that_is_there_rest_on_what_it_says():
    graph = graph_of(by_groups(), cluster={"existing": "blue"}, system=None)
    group, _ = node_inputs(graph)
    assert group["clusterName"] == UnresolvedOutput("cluster.name")
    assert group["subnetIds"] == [
        UnresolvedOutput(f"cluster.vpcConfig.subnetIds.{n}") for n in (0, 1)
    ]
    assert graph.resource("nodes").inputs["vpcId"] == UnresolvedOutput("cluster.vpcConfig.vpcId")
    assert (
        graph.resources_of_kind("aws:eks/cluster:Cluster")
        == graph.resources_of_kind("aws:eks/addon:Addon")
        == []
    )


def test_nodes_in_a_cluster_that_is_there_go_where_the_stack_file_says():
    given = {"id": VPC, "subnets": {"private": SUBNETS}}
    listed = graph_of(by_groups(), cluster={"existing": "blue", "network": given})
    assert node_inputs(listed)[0]["subnetIds"] == SUBNETS
    zoned = graph_of(by_groups(zones=["us-east-1a"]), cluster={"existing": "blue"})
    assert node_inputs(zoned)[0]["subnetIds"] == [UnresolvedOutput("private-us-east-1a.ids.0")]
    assert zoned.calls[-1].args["filters"][0]["values"] == [
        UnresolvedOutput("cluster.vpcConfig.vpcId")
    ]


# ── everything that may be written ────────────────────────────────────────────────────────────────
NETWORKS = (
    {},
    {"cidr": "10.64.0.0/16", "nat": "per_zone"},
    {"nat": "none", "flow_logs": False},
    {"endpoints": "interface", "services": "192.168.0.0/20"},
    {"id": VPC, "subnets": {"private": SUBNETS}},
)
ZONES = ([], ["us-east-1a", "us-east-1b"], ["us-east-1c", "us-east-1a", "us-east-1f"])
WORDS = (
    {},
    {"endpoint": {"public": ["203.0.113.0/24"]}, "support": "standard"},
    {"logs": {"kinds": ["audit", "authenticator"], "retention_days": 1}},
)
STORAGE = (
    None,
    {"datasets": [{"name": "corpus", "kind": "efs"}]},
    {"datasets": [{"name": "corpus", "kind": "fsx-lustre", "zone": "us-east-1a"}]},
    {"datasets": [{"name": "corpus", "kind": "bucket"}], "checkpoints": {}},
)
SOLD = [m for m in MACHINES.values() if m.cloud == "aws" and m.is_gpu_machine]


def made_up(number):
    """A machine of the catalogue in turn, bought in some way, in a cluster of some words."""
    rng = Random(f"cluster {number}")  # noqa: S311  no secret is made of it
    machine = SOLD[number * 7 % len(SOLD)]
    mode = rng.choice(sorted(machine.sold - {Capacity.SPOT}))
    held = mode in {Capacity.RESERVED, Capacity.BLOCK}
    nodes = 9 if machine.name in ULTRASERVERS else 2
    zones = rng.choice(ZONES)
    one = pool(
        machine=machine.name,
        nodes=f"0..{nodes}",
        capacity=[{mode.value: "cr-0123456789abcdef0", "nodes": nodes}]
        if held
        else ["spot", mode.value],
        scaling="autoscaler",
        zones=(zones or ["us-east-1a"])[:1] if held else [],
    )
    words = {"admins": [ADMIN], "zones": zones, "network": rng.choice(NETWORKS)}
    return platform(
        [one],
        cloud="aws",
        cluster=words | rng.choice(WORDS),
        storage=rng.choice(STORAGE),
        kubernetes=rng.choice(["1.33", "1.34", "1.35", "1.36"]),
        tags={"owner": "ml", "cost-center": "4711"},
    )


@pytest.mark.repeats("tests/render, tests/plan, tests/lint")
def test_the_provider_refuses_and_our_rules_find_nothing_of_what_may_be_written():
    region = Region("us-east-1", "aws:region")
    taken = 0
    for number in range(examples(36)):
        raw = made_up(number)
        found, findings = plan(spec_of(raw), region=region if number % 4 else None)
        assert found or findings, raw
        if found:
            graph = aws_graph(found)
            assert refused(graph) == {}, raw
            assert found_by_rules(graph, known=True) == set(), raw
            taken += 1
    assert taken > examples(36) * 0.8
