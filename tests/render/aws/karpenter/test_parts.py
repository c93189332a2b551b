"""What Karpenter rests on in AWS: its rights, the profile of its nodes, and its queue."""

import json

import pytest
import yaml

from gpuyard.plan.capacity.scaling import installs_autoscaler, installs_karpenter
from gpuyard.plan.pools.machines import AGENTS_GIB
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.aws.karpenter.charts import karpenter_charts, karpenter_values
from gpuyard.render.cloud.graph import resolve_values
from gpuyard.render.platform import karpenter_nodes
from gpuyard.render.supply.images import pulled_images
from gpuyard_core.catalogue.kubernetes.karpenter import EVENTS
from gpuyard_core.catalogue.reserves import kubelet_gib
from kit.clouds.aws import graph_of, plan_on_aws
from kit.levels import upstream
from kit.stacks import plan_of, platform, pool, shared_pool, spec_of

QUEUE = "interruptions"
RIGHTS = "aws:iam/rolePolicy:RolePolicy"
INLINE_CHARACTERS = 10_240
"""Of all policies inside one role together (IAM user guide, quotas)."""


def ours(name="train", **rest):
    return pool(name, **{"nodes": "0..8", "scaling": "karpenter", **rest})


@pytest.fixture(scope="module", name="graph")
def graph_fixture():
    return graph_of([ours()])


def text_of(graph, name, field="policy"):
    return resolve_values(graph.resource(name).inputs[field], lambda late: f"<{late}>")


def statements(graph, what):
    return json.loads(text_of(graph, f"karpenter-rights-{what}"))["Statement"]


# ── rights ────────────────────────────────────────────────────────────────────────────────────────
def test_what_it_starts_is_tagged_as_the_clusters_and_what_it_ends_is_too(graph):
    tag, pools = "kubernetes.io/cluster/lab", "karpenter.sh/nodepool"
    changes = {
        "ec2:CreateLaunchTemplate": "RequestTag",
        "ec2:CreateTags": "",
        "ec2:TerminateInstances": "ResourceTag",
        "ec2:DeleteLaunchTemplate": "ResourceTag",
    }
    for action, by in changes.items():
        held = [s for s in statements(graph, "nodes") if action in s["Action"]]
        assert held, action
        for each in held:
            equal, like = (each["Condition"][op] for op in ("StringEquals", "StringLike"))
            word = by or ("RequestTag" if f"aws:RequestTag/{tag}" in equal else "ResourceTag")
            assert equal[f"aws:{word}/{tag}"] == "owned"
            assert like[f"aws:{word}/{pools}"] == "*"


def test_instances_are_started_of_anything_and_made_with_tags_alone(graph):
    starts = [s for s in statements(graph, "nodes") if "ec2:RunInstances" in s["Action"]]
    (free,) = [s for s in starts if "Condition" not in s]
    given = {each.rpartition(":")[2] for each in free["Resource"]}
    assert given == {
        *("image/*", "snapshot/*", "security-group/*", "subnet/*"),
        *("capacity-reservation/*", "placement-group/*"),
    }
    assert "instance/*" not in given
    public = [each for each in free["Resource"] if each.endswith(("image/*", "snapshot/*"))]
    assert all(each.startswith("arn:aws:ec2:us-east-1::") for each in public)


def test_of_iam_it_may_pass_the_role_of_its_nodes_and_look(graph):
    """Nodes take a profile that is made with the platform: it makes none, also where IAM is out of reach."""
    (passes,) = statements(graph, "role")
    assert (passes["Action"], passes["Resource"]) == ("iam:PassRole", "<karpenter-node-role.arn>")
    assert "iam:PassedToService" in passes["Condition"]["StringEquals"]
    every = [s for name in ("nodes", "cluster", "discovery") for s in statements(graph, name)]
    actions = {
        a for s in every for a in ([s["Action"]] if isinstance(s["Action"], str) else s["Action"])
    }
    assert {a for a in actions if a.startswith("iam:")} == {
        "iam:GetInstanceProfile",
        "iam:ListInstanceProfiles",
    }


def test_it_looks_in_its_region_and_asks_about_its_cluster(graph):
    looks = next(s for s in statements(graph, "discovery") if "ec2:DescribeImages" in s["Action"])
    assert all(":Describe" in each for each in looks["Action"])
    assert looks["Condition"] == {"StringEquals": {"aws:RequestedRegion": "us-east-1"}}
    cluster, shift = statements(graph, "cluster")
    assert cluster["Resource"] == "arn:aws:eks:us-east-1:*:cluster/lab"
    assert shift["Condition"]["StringLike"] == {
        "arc-zonal-shift:ResourceIdentifier": cluster["Resource"]
    }
    (takes,) = statements(graph, "interruptions")
    assert takes["Resource"] == f"<{QUEUE}.arn>"


def test_its_policies_fit_into_one_role(graph):
    named = [
        r.name
        for r in graph.resources_of_kind(RIGHTS)
        if r.inputs["role"] == UnresolvedOutput("karpenter-role.name")
    ]
    assert named == [
        f"karpenter-rights-{what}"
        for what in ("nodes", "role", "cluster", "interruptions", "discovery")
    ]
    assert sum(len(text_of(graph, name)) for name in named) < INLINE_CHARACTERS


def test_its_pods_take_the_role_once_it_has_its_rights(graph):
    identity = graph.resource("karpenter-identity")
    assert (
        identity.inputs["serviceAccount"]
        == karpenter_values(plan_on_aws([ours()]))["serviceAccount"]["name"]
    )
    assert {"karpenter-rights-nodes", "addon-eks-pod-identity-agent"} <= set(identity.after)


def test_its_nodes_have_a_role_of_their_own_and_a_way_in(graph):
    entry, profile = graph.resource("karpenter-nodes-enter"), graph.resource("karpenter-nodes")
    assert entry.inputs["type"] == "EC2_LINUX"
    assert entry.inputs["principalArn"] == UnresolvedOutput("karpenter-node-role.arn")
    assert profile.inputs["role"] == UnresolvedOutput("karpenter-node-role.name")
    attached = [each for each in profile.after if each.startswith("karpenter-node-role-")]
    assert len(attached) == len(profile.after) > 1


# ── interruption ──────────────────────────────────────────────────────────────────────────────────
def test_every_event_goes_into_the_queue(graph):
    for word, (source, what) in EVENTS.items():
        rule, target = graph.resource(f"{QUEUE}-{word}"), graph.resource(f"{QUEUE}-{word}-target")
        pattern = json.loads(text_of(graph, rule.name, "eventPattern"))
        assert pattern == {"source": [source], "detail-type": [what]}
        assert target.inputs["rule"] == UnresolvedOutput(f"{rule.name}.name")
        assert target.inputs["arn"] == UnresolvedOutput(f"{QUEUE}.arn")
    assert len(EVENTS) == 5


def test_the_queue_is_encrypted_takes_from_events_alone_and_over_tls(graph):
    queue = graph.resource(QUEUE)
    assert queue.inputs["sqsManagedSseEnabled"] is True
    assert queue.inputs["messageRetentionSeconds"] == 300
    sends, refuses = json.loads(text_of(graph, f"{QUEUE}-policy"))["Statement"]
    assert (sends["Effect"], sends["Action"]) == ("Allow", "sqs:SendMessage")
    assert sends["Principal"] == {"Service": ["events.amazonaws.com", "sqs.amazonaws.com"]}
    assert (refuses["Effect"], refuses["Principal"]) == ("Deny", "*")
    assert refuses["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert sends["Resource"] == refuses["Resource"] == f"<{QUEUE}.arn>"


# ── charts ────────────────────────────────────────────────────────────────────────────────────────
PRIVATE = {"network": {"nat": "none"}}


@pytest.mark.parametrize("cluster", [{}, PRIVATE], ids=["a way out", "private"])
def test_every_value_is_one_of_the_charts(cluster):
    own = yaml.safe_load(upstream("values", "karpenter.yaml").read_text(encoding="utf-8"))
    values = karpenter_values(plan_on_aws([ours()], cluster=cluster))
    free = {"nodeSelector", "resources"}

    def stray(given, there, at=""):
        for key, value in given.items():
            if key not in there:
                yield f"{at}{key}"
            elif isinstance(value, dict) and key not in free:
                yield from stray(value, there[key], f"{at}{key}.")

    assert list(stray(values, own)) == []
    assert values["settings"].get("isolatedVPC", False) is bool(cluster)


def test_definitions_come_first_and_both_charts_have_one_version():
    crds, controller = karpenter_charts(plan_on_aws([ours()]))
    assert (crds.name, crds.chart) == (
        "karpenter-crd",
        "oci://public.ecr.aws/karpenter/karpenter-crd",
    )
    assert (controller.name, controller.chart) == (
        "karpenter",
        "oci://public.ecr.aws/karpenter/karpenter",
    )
    assert crds.version == controller.version == "1.14.1"
    assert controller.values["controller"]["image"]["tag"] == controller.version
    assert (crds.values, crds.namespace) == ({}, controller.namespace)


def test_a_version_of_the_stack_file_is_that_of_charts_and_image():
    plan = plan_on_aws([ours()], software={"karpenter-aws": "1.13.0"})
    crds, controller = karpenter_charts(plan)
    assert {crds.version, controller.version} == {"1.13.0"}
    (listed,) = [each for each in pulled_images(plan) if each.component == "Karpenter"]
    assert (listed.repository, listed.tag) == ("public.ecr.aws/karpenter/controller", "1.13.0")
    assert controller.values["controller"]["image"]["digest"] == listed.digest != ""
    assert "Karpenter" not in {each.component for each in pulled_images(plan_on_aws([pool()]))}


def test_another_digest_than_that_of_its_version_is_never_the_charts_own():
    """A chart in a folder may be of any version, and its digest would win over our tag."""
    unknown = plan_on_aws([ours()], software={"karpenter-aws": "1.14.0"})
    (_, controller) = karpenter_charts(unknown)
    image = controller.values["controller"]["image"]
    assert (image["tag"], image["digest"]) == ("1.14.0", "")


def test_charts_and_image_come_from_a_mirror():
    mirror = {"images": "mirror.example/all", "charts": "oci://mirror.example/charts"}
    crds, controller = karpenter_charts(plan_on_aws([ours()], mirror=mirror))
    assert crds.chart == "oci://mirror.example/charts/karpenter-crd"
    assert controller.chart == "oci://mirror.example/charts/karpenter"
    image = controller.values["controller"]["image"]
    assert image["repository"] == "mirror.example/all/karpenter/controller"


def test_gates_of_alpha_features_are_on_where_they_are_used():
    plain, shared = (
        karpenter_values(plan_on_aws([each]))["settings"]
        for each in (ours(), shared_pool(nodes="0..4", scaling="karpenter"))
    )
    assert plain["featureGates"] == {"nodeOverlay": False, "reservedCapacity": False}
    assert shared["featureGates"] == {"nodeOverlay": True, "reservedCapacity": False}
    assert plain["interruptionQueue"] == UnresolvedOutput(f"{QUEUE}.name")
    assert plain["clusterName"] == "lab"


def test_the_gate_of_reservations_is_on_where_a_pool_names_one():
    """With the gate Karpenter leaves open reservations empty."""
    rungs = [{"reserved": "cr-0123456789abcdef0", "nodes": 2}, "on-demand"]
    plan = plan_on_aws([ours(), ours("held", capacity=rungs)])
    assert karpenter_values(plan)["settings"]["featureGates"]["reservedCapacity"] is True


def test_karpenter_subtracts_the_largest_share_of_memory_that_a_kernel_of_its_machines_lacks():
    """A share of 7.5 %, its default, launches no node of p5.48xlarge for a pod of 1894 GiB."""
    small = ours("small", machine=["g6.xlarge", "g6.2xlarge"])

    def share(*pools):
        return karpenter_values(plan_on_aws(pools))["settings"]["vmMemoryOverheadPercent"]

    assert share(ours()) == 0.0342
    assert share(ours(), small) == share(small) == 0.0497
    assert share(ours(), pool("fixed", machine="g6.xlarge")) == 0.0342


def test_a_pool_of_karpenter_holds_no_pod_that_karpenter_would_not_launch_a_node_for():
    small = ours("small", machine="g6.xlarge")
    (alone,) = plan_on_aws([ours()]).pools
    beside, _ = plan_on_aws([ours(), small]).pools
    group = plan_on_aws([pool(), small]).pools[0]
    assert alone.allocatable.memory_gib == group.allocatable.memory_gib == 1965
    expected = 2048 * (1 - 0.0497) - kubelet_gib(beside.machine)
    assert beside.allocatable.memory_gib == int(expected - AGENTS_GIB) == 1943


def test_two_run_on_two_nodes_and_one_on_one():
    for nodes, copies in ((1, 1), (2, 2), ("2..3", 2)):
        system = {"machine": "m7i.xlarge", "nodes": nodes}
        values = karpenter_values(plan_on_aws([ours()], system=system))
        assert values["replicas"] == copies
        assert values["nodeSelector"] == {"gpuyard.dev/pool": "system"}


# ── where it comes ────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("raw", "karpenter", "autoscaler"),
    [
        (platform([ours()], cloud="aws"), True, False),
        (platform([ours(), pool("more", nodes="0..2")], cloud="aws"), True, True),
        (platform([pool(nodes="0..4")], cloud="aws"), False, True),
        (platform([ours()], cloud="simulated"), False, False),
        (platform([ours()], cloud="aws", cluster={"existing": "blue"}), False, False),
    ],
    ids=["alone", "beside node groups", "node groups", "simulated", "a cluster that exists"],
)
def test_it_comes_where_a_pool_of_a_cluster_of_ours_is_its_own(raw, karpenter, autoscaler):
    raw = {**raw, "system": {"machine": "m7i.xlarge", "nodes": 2}}
    spec = spec_of(raw)
    assert (installs_karpenter(spec), installs_autoscaler(spec)) == (karpenter, autoscaler)
    plan = plan_of(raw)
    assert bool(plan.provider.karpenter_releases(plan)) is bool(karpenter_nodes(plan)) is karpenter


def test_a_graph_without_it_has_none_of_it():
    names = {each.name for each in graph_of([pool(nodes="0..4")]).resources}
    assert not [each for each in names if "karpenter" in each or QUEUE in each]
