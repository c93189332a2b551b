"""A key of one's own reaches the disks of nodes, and whoever starts them may use it."""

from gpuyard.render.aws.graph import aws_graph
from gpuyard.render.aws.karpenter.nodes import karpenter_objects
from gpuyard.render.cloud.graph import resolve_values
from gpuyard_core.catalogue.cluster.eks import DISK_OPERATIONS
from kit.clouds.aws import graph_of, plan_on_aws
from kit.stacks import pool

GRANT = "disk-key-grant"

KEY = "arn:aws:kms:us-east-1:123456789012:key/0a1b2c3d-0000-4000-8000-000000000000"
KEYED = {"cluster": {"key": KEY}}
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
ROLE = "arn:aws:iam::ACCOUNT:role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"


def keys(graph):
    """Of every disk of every template."""
    disks = (
        disk for t in graph.resources_of_kind(TEMPLATE) for disk in t.inputs["blockDeviceMappings"]
    )
    return {disk["ebs"].get("kmsKeyId") for disk in disks}


def test_disks_of_groups_and_of_the_system_have_it_and_auto_scaling_is_granted_it_before():
    graph = graph_of([pool(image="bottlerocket-nvidia")], **KEYED)
    assert keys(graph) == {KEY}
    grant = graph.resource(GRANT)
    assert resolve_values(grant.inputs, lambda _: "ACCOUNT") == {
        "name": "gpuyard-lab-disks",
        "keyId": KEY,
        "granteePrincipal": ROLE,
        "operations": list(DISK_OPERATIONS),
    }
    groups = graph.resources_of_kind("aws:eks/nodeGroup:NodeGroup")
    assert [each.name for each in groups if GRANT not in each.after] == []


def test_without_one_disks_have_the_accounts_own_key_and_nothing_is_granted():
    graph = graph_of()
    assert keys(graph) == {None}
    assert graph.resources_of_kind("aws:kms/grant:Grant") == []
    assert not [call for call in graph.calls if call.name == "account"]


def test_whose_account_it_is_is_asked_once_beside_buckets():
    graph = graph_of(**KEYED, storage={"datasets": [{"name": "data", "kind": "bucket"}]})
    assert [call.name for call in graph.calls].count("account") == 1


def test_karpenters_nodes_have_it_too_and_its_controller_may_use_it_by_ec2_alone():
    plan = plan_on_aws([pool(nodes="0..4", scaling="karpenter")], **KEYED)
    (class_,) = [each for each in karpenter_objects(plan) if each["kind"] == "EC2NodeClass"]
    assert class_["spec"]["blockDeviceMappings"][0]["ebs"]["kmsKeyID"] == KEY
    policy = aws_graph(plan).resource("karpenter-rights-disks").inputs["policy"].tree
    uses, grants = policy["Statement"]
    assert resolve_values(uses["Condition"], str) == {
        "StringEquals": {"kms:ViaService": "ec2.us-east-1.amazonaws.com"}
    }
    assert "kms:CreateGrant" not in uses["Action"]
    assert (uses["Resource"], grants["Action"]) == (KEY, "kms:CreateGrant")
    assert grants["Condition"]["Bool"] == {"kms:GrantIsForAWSResource": "true"}
    without = aws_graph(plan_on_aws([pool(nodes="0..4", scaling="karpenter")]))
    assert not [each for each in without.resources if each.name == "karpenter-rights-disks"]
