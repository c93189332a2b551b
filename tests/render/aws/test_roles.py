"""Roles: each is taken by one service, has what it needs, and no key of its own."""

import json

import pytest

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import resolve_values
from kit.clouds.aws import graph_of
from kit.stacks import pool

ROLE = "aws:iam/role:Role"
ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
INLINE = "aws:iam/rolePolicy:RolePolicy"
LUSTRE = {"datasets": [{"name": "corpus", "kind": "fsx-lustre", "zone": "us-east-1a"}]}
ZONES = {"zones": ["us-east-1a", "us-east-1b"]}


def text(value):
    return resolve_values(value, lambda name: f"arn:{name}")


def policies(graph, role):
    return [
        text(each.inputs["policyArn"]).rpartition("/")[2]
        for each in graph.resources_of_kind(ATTACHMENT)
        if each.inputs["role"] == UnresolvedOutput(f"{role}.name")
    ]


def trust(graph, role):
    (only,) = json.loads(text(graph.resource(role).inputs["assumeRolePolicy"]))["Statement"]
    return only


def test_nodes_may_join_and_pull_images_and_nothing_more():
    assert policies(graph_of(), "node-role") == [
        "AmazonEKSWorkerNodePolicy",
        "AmazonEC2ContainerRegistryPullOnly",
    ]


def test_nodes_of_a_cluster_that_is_there_may_give_pods_their_addresses_too():
    assert "AmazonEKS_CNI_Policy" in policies(graph_of(cluster={"existing": "blue"}), "node-role")


@pytest.mark.parametrize(
    ("role", "service"),
    [
        ("cluster-role", "eks.amazonaws.com"),
        ("node-role", "ec2.amazonaws.com"),
        ("vpc-cni-role", "pods.eks.amazonaws.com"),
        ("aws-fsx-csi-driver-role", "pods.eks.amazonaws.com"),
    ],
)
def test_one_service_takes_a_role(role, service):
    found = trust(graph_of(storage=LUSTRE, cluster=ZONES), role)
    assert found["Principal"] == {"Service": service}
    assert found["Effect"] == "Allow"


def test_a_role_of_pods_is_taken_with_the_tags_of_its_session():
    assert trust(graph_of(), "vpc-cni-role")["Action"] == ["sts:AssumeRole", "sts:TagSession"]
    assert trust(graph_of(), "node-role")["Action"] == "sts:AssumeRole"


def test_no_policy_allows_every_action_of_a_service():
    for each in graph_of(storage=LUSTRE, cluster=ZONES).resources_of_kind(INLINE):
        for one in json.loads(text(each.inputs["policy"]))["Statement"]:
            actions = one["Action"] if isinstance(one["Action"], list) else [one["Action"]]
            assert not [action for action in actions if "*" in action]


def test_there_is_no_user_and_no_key():
    kinds = {each.kind for each in graph_of(storage=LUSTRE, cluster=ZONES).resources}
    assert not [kind for kind in kinds if "accessKey" in kind or "iam/user" in kind]


def test_an_existing_role_gets_no_policies_and_karpenters_nodes_keep_their_own():
    roles = {word: f"arn:aws:iam::123456789012:role/{word}" for word in ("cluster", "nodes")}
    graph = graph_of([pool(), pool("more", scaling="karpenter")], cluster={"roles": roles})
    names = {each.name for each in graph.resources}
    assert not names & {"cluster-role", "node-role"}
    assert "karpenter-node-role" in names
    assert policies(graph, "cluster-role") == policies(graph, "node-role") == []
    assert graph.resource("cluster").inputs["roleArn"] == roles["cluster"]
    groups = graph.resources_of_kind("aws:eks/nodeGroup:NodeGroup")
    assert {each.inputs["nodeRoleArn"] for each in groups} == {roles["nodes"]}
