"""Tags and labels: the fakes reject what AWS and Google Cloud reject, for any resource."""

from testbed.plugins.cloud.rules import of_service
from testbed.plugins.kubernetes.values import UNKNOWN

from gpuyard.plan import plan_or_raise
from gpuyard.render.aws.graph import aws_graph
from gpuyard.render.gcp.graph import gcp_graph
from gpuyard_core.catalogue.cluster.tags import AWS_TAGS, GCP_TAGS
from kit.clouds.aws import ADMIN, plan_on_aws
from kit.every import every
from kit.stacks import platform, pool, spec_of

ROLE, VPC, GKE = "aws:iam/role:Role", "aws:ec2/vpc:Vpc", "gcp:container/cluster:Cluster"
TEMPLATE, POOL = "aws:ec2/launchTemplate:LaunchTemplate", "gcp:container/nodePool:NodePool"
MANY = {f"key-{n}": "x" for n in range(51)}
TRUST = {"assumeRolePolicy": UNKNOWN}


def said(kind, inputs):
    return [each for each in of_service(kind, inputs) if "tag" in each or "label" in each]


@every(
    ("kind", "inputs", "words"),
    [
        (ROLE, {**TRUST, "tags": MANY}, "51 tags; 50 at most"),
        (ROLE, {**TRUST, "tags": {"AWS:x": "y"}}, "tag AWS:x begins with aws:"),
        (ROLE, {**TRUST, "tags": {"owner": "a<b>|"}}, "tag 'a<b>|' has characters beside"),
        (ROLE, {**TRUST, "tags": {"a|b": "c"}}, "tag 'a|b' has characters beside"),
        (VPC, {"tags": {"k" * 129: "x"}}, "a tag's key has 129 characters; 1 to 128"),
        (VPC, {"tags": {"k": "x" * 257}}, "a tag's value has 257 characters; 256 at most"),
        (TEMPLATE, {"tagSpecifications": [{"tags": {"aws:x": "y"}}]}, "tag aws:x begins with"),
        (GKE, {"resourceLabels": {f"k{n}": "x" for n in range(64)}}, "64 labels and goog-pulumi"),
        (GKE, {"resourceLabels": {"Owner": "x"}}, "label 'Owner' is no key"),
        (POOL, {"nodeConfig": {"resourceLabels": {"-t-": "x"}}}, "label '-t-' is no key"),
        (POOL, {"nodeConfig": {"resourceLabels": {"t": "A b"}}}, "label t is 'A b'"),
    ],
)
def test_what_the_cloud_refuses_as_a_tag_its_fake_refuses(kind, inputs, words):
    (only,) = said(kind, inputs)
    assert words in only


@every(
    ("kind", "inputs"),
    [
        (ROLE, {**TRUST, "tags": {"équipe:a/b": "a_b.c:d/e=f+g-h@i 1", "late": UNKNOWN}}),
        (VPC, {"tags": {"owner": "a<b>|", "k" * 128: "x" * 256}}),
        (VPC, {"tags": UNKNOWN}),
        (GKE, {"resourceLabels": {f"k{n}": "" for n in range(63)}}),
        (GKE, {"resourceLabels": {"late": UNKNOWN, "k" * 63: "9-_"}}),
    ],
)
def test_what_the_cloud_takes_as_a_tag_its_fake_takes(kind, inputs):
    assert said(kind, inputs) == []


def test_a_graph_with_as_many_tags_as_a_stack_file_may_have_is_taken():
    room = {
        cloud: {f"t-{n}": "x" for n in range(t.maximum - t.reserved_by_gpuyard)}
        for cloud, t in {"aws": AWS_TAGS, "gcp": GCP_TAGS}.items()
    }
    cluster = {"zones": ["us-east-1a", "us-east-1b"], "admins": [ADMIN]}
    graphs = [
        aws_graph(plan_on_aws(cluster=cluster, tags=room["aws"])),
        gcp_graph(
            plan_or_raise(
                spec_of(platform([pool(machine="a2-highgpu-8g")], cloud="gcp", tags=room["gcp"]))
            )
        ),
    ]
    for graph in graphs:
        for each in graph.resources:
            assert said(each.kind, each.inputs) == [], each.name
