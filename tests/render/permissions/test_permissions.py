"""The deployer's permissions: all that a cloud asks for while a stack lives, on what is the stack's."""

import contextlib
import re
from functools import cache

import pytest
from testbed.plugins.cloud.account import Account, Failed, Refused
from testbed.plugins.cloud.judging import judged
from testbed.plugins.cloud.shapes import Place

import sizes
from gpuyard.plan import plan_or_raise
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.providers.aws.account import aws_permissions
from gpuyard.render.aws.graph import aws_graph
from gpuyard.render.cloud.graph import CloudCall, CloudGraph, CloudResource, Joined
from gpuyard.render.gcp.graph import gcp_graph
from gpuyard.render.permissions.policies import (
    AccountPlace,
    documents_of,
    required_actions,
    size_of,
    statements_of,
)
from gpuyard.render.permissions.roles import permissions_of
from gpuyard.spec.read import read_stack_file
from gpuyard_core.catalogue.permissions.aws import aws_actions
from gpuyard_core.catalogue.permissions.gcp import GCP_CALLS, gcp_kinds
from kit.clouds.aws import ADMIN, SUBNETS, VPC, plan_on_aws
from kit.clouds.policies import wrong_with, wrong_with_role
from kit.clouds.stored import STORED
from kit.every import every
from kit.stacks import plan_of, platform, pool

GOLDEN = sizes.ROOT / "tests" / "golden_stacks"
MORE = sizes.ROOT / "tests" / "render" / "aws" / "stacks"
FILES = {path.stem: path for path in (*sorted(GOLDEN.glob("*.yaml")), *sorted(MORE.glob("*.yaml")))}
PLACES = {
    "aws": Place(cloud="aws", region="us-east-1"),
    "gcp": Place(cloud="gcp", region="us-central1"),
}
KEY = "arn:aws:kms:us-east-1:123456789012:key/0b9a1b3c-1111-2222-3333-444455556666"
NO_NAT = {"network": {"nat": "none"}}


@cache
def stack(name):
    return plan_or_raise(read_stack_file(FILES[name].read_bytes(), name).spec)


CLUSTERS = {
    "plain": {},
    "no way out": NO_NAT,
    "all endpoints": {"network": {"endpoints": "interface"}},
    "flow logs": {"network": {"flow_logs": True}},
    "given key": {"key": KEY},
    "admins": {"admins": [ADMIN]},
    "given network": {"network": {"id": VPC, "subnets": {"private": SUBNETS}}},
    "existing": {"existing": "old"},
}
MANAGED = {
    "prometheus": "managed",
    "alerts": {"critical": {"sns": "arn:aws:sns:us-east-1:123456789012:gpu"}},
}
OTHERS = {
    "anywhere": {"region": None},
    "karpenter": {"pools": [pool(nodes="0..4", scaling="karpenter")]},
    "metrics": {"observability": MANAGED},
    "ubuntu": {"pools": [pool(machine="p5.48xlarge", image="ubuntu-eks")]},
    "stores": {word: STORED["aws"][word] for word in ("pools", "teams", "cluster", "storage")},
}
ON_GCP = {
    "admins": {"admins": ["group:gpu@example.com"]},
    "existing": {"existing": "old"},
    "no way out": NO_NAT,
}
STACKS = {
    cloud: [name for name, path in FILES.items() if f"cloud: {cloud}\n" in path.read_text("utf-8")]
    for cloud in ("aws", "gcp")
}
AWS = [*STACKS["aws"], *CLUSTERS, *OTHERS]
"""Every golden stack, and every option of a cluster that changes what is made."""
GCP = [*STACKS["gcp"], *ON_GCP, "stores"]


@cache
def aws_plan(name):
    if name in FILES:
        return stack(name)
    return plan_on_aws(**({"cluster": CLUSTERS[name]} if name in CLUSTERS else OTHERS[name]))


@cache
def gcp_plan(name):
    if name in FILES:
        return stack(name)
    if name == "stores":
        return plan_of(STORED["gcp"])
    pools = [pool(machine="a3-megagpu-8g", zones=["us-central1-a"])]
    return plan_of(platform(pools, cloud="gcp", cluster=ON_GCP[name]))


@cache
def allowed_on_aws(name):
    return aws_permissions(aws_plan(name))


def lived(graph, cloud):
    """What the fake was asked for while a graph was made, read, changed and deleted."""
    account = Account()
    judged(graph, PLACES[cloud], account)
    for held in reversed(account.all()):
        for change in (
            lambda held=held: account.update(
                held.kind, held.id, held.id, dict(held.inputs), (), PLACES[cloud]
            ),
            lambda held=held: account.delete(held.kind, held.id, held.id, held.inputs),
        ):
            # What keeps it there was asked all the same.
            with contextlib.suppress(Refused, Failed):
                change()
    return account.asked()


# ── AWS ───────────────────────────────────────────────────────────────────────────────────────────
@every("name", AWS)
def test_a_policy_allows_every_call_that_the_fake_saw(name):
    made = aws_plan(name)
    asked = lived(aws_graph(made), "aws")
    assert asked
    assert asked - set(allowed_on_aws(name).actions) == set()


@every("name", AWS)
def test_every_document_is_a_policy_without_a_wildcard_in_its_actions(name):
    assert [said for each in allowed_on_aws(name).documents for said in wrong_with(each)] == []


@every("name", AWS)
def test_only_what_has_no_resource_at_aws_is_allowed_on_all(name):
    for each in allowed_on_aws(name).statements:
        if each.arns == ("*",):
            tagged = each.condition and set(each.actions) <= aws_actions().tagged_on_create
            assert tagged or set(each.actions) <= aws_actions().without_resource, each


@every("name", AWS)
def test_a_role_is_passed_by_name_and_to_a_service(name):
    passed = [s for s in allowed_on_aws(name).statements if "iam:PassRole" in s.actions]
    wants = any(
        aws_actions().kinds[each.kind].passed_roles for each in aws_graph(aws_plan(name)).resources
    )
    assert bool(passed) is wants
    for each in passed:
        assert each.actions == ("iam:PassRole",)
        assert [key for _, key, _ in each.condition] == ["iam:PassedToService"]
        assert not any(re.search(r"role/\*+$", arn) for arn in each.arns)


def test_policies_are_attached_that_the_graph_attaches_and_no_other():
    attach = [
        s for s in aws_permissions(plan_on_aws()).statements if "iam:AttachRolePolicy" in s.actions
    ]
    (each,) = attach
    allowed = next(values for _, key, values in each.condition if key == "iam:PolicyARN")
    assert "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy" in allowed
    assert not any("*" in value or "Administrator" in value for value in allowed)


def test_what_a_cluster_that_is_there_needs_no_more_is_not_allowed():
    actions = set(aws_permissions(plan_on_aws(cluster={"existing": "old"})).actions)
    assert "eks:DescribeCluster" in actions
    assert not actions & {
        "ec2:CreateVpc",
        "eks:CreateCluster",
        "eks:DeleteCluster",
        "kms:CreateKey",
    }


def test_a_given_key_is_allowed_by_its_name_alone():
    found = required_actions(aws_graph(plan_on_aws(cluster={"key": KEY})), AccountPlace("lab"))
    assert {n.arns for n in found if n.action == "kms:CreateGrant"} == {(KEY,)}


def test_a_network_of_others_is_no_network_with_our_tag():
    plan = plan_on_aws(cluster={"network": {"id": VPC, "subnets": {"private": SUBNETS}}})
    there = [
        n for n in required_actions(aws_graph(plan), AccountPlace("lab")) if n.statement == "Beside"
    ]
    assert ("arn:*:ec2:*:*:vpc/*",) in {n.arns for n in there}


def test_a_placement_group_and_a_reservation_are_launched_into_where_there_is_one():
    def launched(plan):
        return next(s for s in aws_permissions(plan).statements if s.what == "Launch").arns

    plain = plan_on_aws([pool(machine="g6.12xlarge")])
    assert not any(
        "placement-group" in arn or "capacity-reservation" in arn for arn in launched(plain)
    )
    reserved = launched(stack("reserved-training"))
    assert any("capacity-reservation/*" in arn for arn in reserved)
    close = plan_on_aws([pool(machine="p5.48xlarge", capacity=["on-demand"], zones=["us-east-1a"])])
    assert any("placement-group/*" in arn for arn in launched(close))


def test_an_account_is_named_in_every_arn_that_has_one():
    for each in aws_permissions(plan_on_aws(), "123456789012").statements:
        assert not [
            arn for arn in each.arns if arn.split(":")[4:5] == ["*"] and "parameter" not in arn
        ]


def test_a_region_decides_the_partition_and_none_leaves_both_open():
    assert "arn:aws-us-gov:" in str(aws_permissions(plan_on_aws(region="us-gov-west-1")).documents)
    assert "arn:*:eks:*:*:cluster/lab" in str(aws_permissions(plan_on_aws(region=None)).documents)


def test_the_same_stack_has_the_same_bytes():
    assert aws_permissions(plan_on_aws()) == aws_permissions(plan_on_aws())


def test_documents_are_cut_where_one_more_statement_would_not_fit():
    statements = statements_of(required_actions(aws_graph(plan_on_aws()), AccountPlace("lab")))
    cut = documents_of(statements, 2500)
    assert [s for d in cut for s in d["Statement"]] == [s.tree for s in statements]
    assert len(cut) > len(documents_of(statements)) > 1
    whole = [d for d in cut if len(d["Statement"]) > 1]
    assert all(size_of(d) <= 2500 for d in whole)


def test_a_question_without_a_resource_is_asked_of_all():
    plan = plan_on_aws(region=None, cluster={})
    asked = {n.action: n for n in required_actions(aws_graph(plan), AccountPlace("lab"))}
    assert asked["ec2:DescribeAvailabilityZones"].arns == ("*",)


def test_a_key_of_the_graph_and_a_list_of_roles_are_found_where_they_stand():
    role = CloudResource(
        kind="aws:iam/role:Role", name="role", inputs={"name": "mine"}, outputs=("arn",)
    )
    key = CloudResource(kind="aws:kms/key:Key", name="key", inputs={}, outputs=("arn",))
    store = CloudResource(
        kind="aws:efs/fileSystem:FileSystem", name="data", inputs={"kmsKeyId": key.get("arn")}
    )
    pods = CloudResource(
        kind="aws:eks/podIdentityAssociation:PodIdentityAssociation",
        name="pods",
        inputs={"clusterName": UnresolvedOutput("role.path"), "roleArn": role.get("arn")},
    )
    target = CloudResource(
        kind="aws:efs/mountTarget:MountTarget",
        name="target",
        inputs={"fileSystemId": store.get("id")},
    )
    who = CloudCall(
        kind="aws:index/getCallerIdentity:getCallerIdentity",
        name="who",
        args={},
        outputs=("accountId",),
    )
    bucket = CloudResource(kind="aws:s3/bucket:Bucket", name="bucket", inputs={})
    ours = {"bucket": Joined("lab-", who.get("accountId"))}
    named = CloudResource(kind="aws:s3/bucket:Bucket", name="named", inputs=ours)
    parts = [
        CloudResource(
            kind="aws:s3/bucketVersioning:BucketVersioning",
            name=f"{each.name}-versions",
            inputs={"bucket": each.get("id")},
        )
        for each in (bucket, named)
    ]
    logs = CloudResource(kind="aws:cloudwatch/logGroup:LogGroup", name="logs", inputs={})
    graph = CloudGraph((role, key, store, pods, target, bucket, named, logs, *parts), (who,))
    found = required_actions(graph, AccountPlace("lab", account="123456789012"))
    assert {n.arns[0] for n in found if n.action == "logs:CreateLogGroup"} == {
        "arn:*:logs:*:123456789012:log-group:*"
    }
    versions = {n.arns for n in found if n.action == "s3:PutBucketVersioning"}
    assert versions == {("arn:*:s3:::*bucket-*",), ("arn:*:s3:::lab-123456789012",)}
    made = [n for n in found if n.action == "ec2:CreateNetworkInterface"]
    assert [(n.statement, n.arns[0].rpartition(":")[2]) for n in made] == [
        ("Beside", "network-interface/*"),
        ("Beside", "subnet/*"),
        ("Keep", "security-group/*"),
    ]
    made_buckets = {n.arns for n in found if n.action == "s3:CreateBucket"}
    assert ("arn:*:s3:::*bucket-*",) in made_buckets
    assert ("arn:*:iam::123456789012:role/mine",) in {
        n.arns for n in found if n.action == "iam:PassRole"
    }
    grants = [n for n in found if n.action == "kms:CreateGrant"]
    assert [n.statement for n in grants] == ["Keep"]
    assert (
        "arn:*:eks:*:123456789012:podidentityassociation/*/*",
        "arn:*:eks:*:123456789012:cluster/*",
    ) in {n.arns for n in found}


# ── Google ────────────────────────────────────────────────────────────────────────────────────────
@every("name", GCP)
def test_roles_have_every_permission_that_the_fake_saw(name):
    made = gcp_plan(name)
    asked = lived(gcp_graph(made), "gcp")
    assert asked
    assert asked - set(permissions_of(gcp_graph(made), made.name).permissions) == set()


@every("name", GCP)
def test_every_role_is_one_that_google_takes(name):
    for role in permissions_of(gcp_graph(gcp_plan(name)), name).roles:
        assert wrong_with_role(role.tree) == []
        assert re.fullmatch(r"[a-zA-Z0-9_.]{3,64}", role.role_id)


def test_who_deploys_grants_the_roles_of_the_stack_and_no_other():
    found = permissions_of(gcp_graph(gcp_plan("admins")), "lab")
    giving = next(
        role for role in found.roles if "resourcemanager.projects.setIamPolicy" in role.permissions
    )
    (bound,) = [each for each in found.bindings if each.role == giving.role_id]
    assert "hasOnly(['roles/artifactregistry.reader', 'roles/container.admin', " in bound.condition
    deployer = next(role for role in found.roles if role is not giving)
    assert "resourcemanager.projects.setIamPolicy" not in deployer.permissions


def test_a_graph_that_grants_nothing_has_one_role_and_acts_as_nobody():
    network = CloudResource(kind="gcp:compute/network:Network", name="n", inputs={"name": "n"})
    bare = CloudResource(
        kind="gcp:container/nodePool:NodePool", name="p", inputs={"nodeConfig": "late"}
    )
    found = permissions_of(CloudGraph((network, bare)), "lab")
    assert [role.role_id for role in found.roles] == ["gpuyard_lab"]
    assert "iam.serviceAccounts.actAs" not in found.permissions
    assert found.apis == ("compute.googleapis.com", "container.googleapis.com")


# ── the tables ────────────────────────────────────────────────────────────────────────────────────
def test_every_kind_that_a_renderer_names_has_a_row():
    folder = sizes.ROOT / "components" / "gpuyard" / "render"
    text = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (*folder.rglob("*.py"), *folder.rglob("resources.yaml"))
    )
    named = set(re.findall(r'["\s]((?:aws|gcp):[a-zA-Z0-9]+/\w+:\w+)["\s]', text))
    ways = {
        f"aws:vpc/securityGroup{way}Rule:SecurityGroup{way}Rule" for way in ("Ingress", "Egress")
    }
    rows = {*aws_actions().kinds, *aws_actions().calls, *gcp_kinds(), *GCP_CALLS}
    assert (named | ways) - rows == set()


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_every_kind_of_every_stack_has_a_row(cloud):
    rows = {*aws_actions().kinds, *aws_actions().calls, *gcp_kinds(), *GCP_CALLS}
    for name in AWS if cloud == "aws" else GCP:
        graph = aws_graph(aws_plan(name)) if cloud == "aws" else gcp_graph(gcp_plan(name))
        kinds = {each.kind for each in (*graph.resources, *graph.calls)}
        assert kinds <= rows, name


def test_what_is_said_of_an_action_is_said_of_one_that_is_there():
    known = {a for row in aws_actions().kinds.values() for a in row.actions}
    known |= {a for call in aws_actions().calls.values() for a in call.actions}
    assert (
        aws_actions().create_actions | aws_actions().tagged_on_create | aws_actions().adds_tags
    ) - known == set()
    assert aws_actions().without_resource - known == set()
    assert {a for row in aws_actions().kinds.values() for a in row.additional_resources} <= known
    assert not aws_actions().without_resource & aws_actions().create_actions
