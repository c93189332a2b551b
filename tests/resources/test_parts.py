"""Parts of a platform that stand alone: each from the sections that concern it."""

import pulumi
import pulumi_aws as aws
import pytest

from gpuyard.resources import (
    EksCluster,
    GkeCluster,
    GpuNodePool,
    GpuOperator,
    IdleReclaim,
    Karpenter,
    Observability,
    Platform,
    PlatformRejected,
    Queueing,
    Storage,
    Team,
    Validation,
)
from gpuyard_core.errors import OutputValueMissing
from kit.clouds.answers import calls, outputs
from kit.clouds.given import account_with
from kit.stacks import SYSTEM, cut_pool, platform, pool, team

CONFIG = {"aws:region": "us-east-1", "gcp:region": "us-central1", "gcp:project": "acme-ml"}
P5, A3 = pool(zones=["us-east-1a"]), pool(machine="a3-highgpu-8g", zones=["us-central1-a"])
GROUPS = {"aws": "aws:eks/nodeGroup:NodeGroup", "gcp": "gcp:container/nodePool:NodePool"}


def there(cloud, spec=None, **more):
    """A whole platform on the cluster ml-prod, which exists."""
    pools = [spec or {"aws": P5, "gcp": A3}[cloud]]
    cluster = {"existing": "ml-prod"}
    return platform(pools, cloud=cloud, system=None, cluster=cluster, **more)


@pytest.fixture
def run(pulumi_mocks):
    """Run a program; `raw` is a platform whose existing cluster the account contains."""

    def run(program, raw=None, *, allow_top_level=False, **more):
        account = account_with(raw) if raw else None
        runner = pulumi_mocks.with_settings(
            outputs=outputs, calls=calls(account), allow_top_level=allow_top_level
        )
        return runner.run(program, config=CONFIG, **more)

    return run


def names(graph):
    return [one.name for one in graph if one.custom]


# ── the same objects as in a platform ─────────────────────────────────────────────────────────────
PARTS = {
    "GpuOperator": (GpuOperator, {}, ("gpu_operator",)),
    "IdleReclaim": (IdleReclaim, {}, ()),
    "Observability": (Observability, {}, ()),
    "Queueing": (Queueing, {}, ("queueing", "priorities")),
    "Team": (Team, {"team": "vision"}, ("priorities",)),
    "Validation": (Validation, {}, ("validation",)),
}
WHOLE = platform(
    [pool(), cut_pool()],
    [team(guarantee={"train": 8}, idle={}), team("speech", borrow={"train": 8})],
    priorities={"high": 100},
    validation={"image": "registry.example.org/ml/base:1", "required": False},
    observability={"prometheus": "existing"},
)


@pytest.mark.parametrize("kind", PARTS)
def test_sections_of_a_platform_give_the_objects_of_that_platform(run, kind):
    component, more, own = PARTS[kind]
    given = {
        key: WHOLE[key] for key in ("name", "pools", "teams", "observability", *own) if key in WHOLE
    }
    whole = run(lambda: component("x", {"platform": WHOLE, **more}))
    alone = run(lambda: component("x", {**given, **more}))
    assert names(alone)
    assert {one.urn: one.inputs for one in alone if one.custom} == {
        one.urn: one.inputs for one in whole if one.custom
    }


def test_parts_of_one_name_stand_in_one_program(run):
    lab = {"name": "lab", "pools": [pool()]}

    def program():
        queueing = Queueing("queues", {**lab, "teams": [team(guarantee={"train": 8})]})
        below = pulumi.ResourceOptions(depends_on=[queueing])
        Team("vision", {**lab, "team": team(guarantee={"train": 8})}, below)

    graph = run(program)
    queue = graph.one(name="vision:LocalQueue:vision/default").inputs["spec"]["clusterQueue"]
    assert graph.one(name=f"queues:ClusterQueue:{queue}")


def test_the_name_of_a_platform_is_by_default_that_of_the_component(run):
    graph = run(lambda: Queueing("queues", {"pools": [pool()], "teams": [team()]}))
    assert graph.one(name="queues:ClusterQueue:queues-vision")


def test_a_team_of_several_is_named(run):
    teams = [team(guarantee={"train": 8}), team("speech", borrow={"train": 8})]
    graph = run(lambda: Team("t", {"pools": [pool()], "teams": teams, "team": "speech"}))
    assert graph.one(name="t:Namespace:speech")


# ── pools on existing clusters ────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(("cloud", "spec"), [("aws", P5), ("gcp", A3)])
def test_a_pool_on_an_existing_cluster_registers_what_its_nodes_need(run, cloud, spec):
    raw = there(cloud)
    graph = run(lambda: GpuNodePool("train", {"cluster": "ml-prod", "pool": spec}), raw)
    whole = run(lambda: Platform("lab", {"platform": raw}), raw)
    kinds = (f"{cloud}:",)
    assert sorted(one.type for one in graph if one.type.startswith(kinds)) == sorted(
        one.type for one in whole if one.type.startswith(kinds)
    )
    group, same = (
        next(one for one in each if one.type == GROUPS[cloud]) for each in (graph, whole)
    )
    named = "clusterName" if cloud == "aws" else "cluster"
    assert group.inputs[named].endswith("ml-prod")
    assert (
        group.inputs["nodeCount" if cloud == "gcp" else "scalingConfig"]
        == (same.inputs["nodeCount" if cloud == "gcp" else "scalingConfig"])
    )
    assert {one.parent for one in graph if one.custom} == {graph.one(name="train").urn}


def test_two_pools_on_one_cluster_have_names_of_their_own(run):
    def program():
        for name in ("train", "more"):
            GpuNodePool(name, {"cluster": "ml-prod", "pool": pool(name, zones=["us-east-1a"])})

    graph = run(program, there("aws"))
    assert {one.name for one in graph if one.type == "aws:iam/role:Role"} == {
        "train-node-role",
        "more-node-role",
    }


def test_the_cloud_of_a_pool_is_that_of_its_machine_or_the_given_one(run):
    own = {"pool": {**P5, "select": {"gpu": "h100"}}, "cloud": "none"}
    del own["pool"]["zones"]
    graph = run(lambda: GpuNodePool("train", {**own, "cluster": "blue"}))
    assert [one.type for one in graph if one.type.startswith("aws:")] == []


def test_a_pool_joins_a_cluster_of_the_same_program(run):
    def program():
        cluster = aws.eks.Cluster(
            "own",
            role_arn="arn:aws:iam::123456789012:role/own",
            vpc_config={"subnet_ids": ["subnet-1"]},
        )
        GpuNodePool("train", {"cluster": cluster, "pool": P5})
        GpuNodePool("named", {"cluster": cluster.name, "pool": P5})

    graph = run(program, there("aws"), allow_top_level=True, preview=True, unknown_outputs=True)
    groups = [one for one in graph if one.type == GROUPS["aws"]]
    assert {one.name for one in groups} == {"train-on-demand", "named-on-demand"}


@pytest.mark.parametrize(
    ("component", "cloud", "spec"), [(EksCluster, "aws", P5), (GkeCluster, "gcp", A3)]
)
def test_a_pool_joins_a_cluster_that_a_component_creates(run, component, cloud, spec):
    def program():
        cluster = component("lab", {"platform": platform([spec], cloud=cloud)})
        GpuNodePool("more", {"cluster": cluster, "pool": {**spec, "name": "more"}})

    graph = run(program, preview=True, unknown_outputs=True)
    assert graph.one(GROUPS[cloud], "more-on-demand")


# ── storage ───────────────────────────────────────────────────────────────────────────────────────
STORED = {
    "aws": {"datasets": [{"name": "corpus", "kind": "efs"}], "checkpoints": {}},
    "gcp": {"datasets": [{"name": "corpus", "kind": "filestore"}], "checkpoints": {}},
}


@pytest.mark.parametrize("cloud", STORED)
def test_storage_registers_what_only_storage_needs(run, cloud):
    raw = there(cloud, teams=[team()], storage=STORED[cloud])
    given = {key: raw[key] for key in ("cloud", "cluster", "pools", "teams", "storage", "name")}
    graph = run(lambda: Storage("data", given), raw)
    whole = run(lambda: Platform("lab", {"platform": raw}), raw)
    bare = run(lambda: Platform("lab", {"platform": there(cloud, teams=[team()])}), raw)
    clouds = [
        {one.name.removeprefix("lab-cluster-") for one in each if one.type.startswith(f"{cloud}:")}
        for each in (whole, bare)
    ]
    assert {
        one.name.removeprefix("data-") for one in graph if one.type.startswith(f"{cloud}:")
    } == clouds[0] - clouds[1]
    volumes = {"PersistentVolume", "PersistentVolumeClaim"}
    assert sum(one.type.rpartition(":")[2] in volumes for one in graph) == sum(
        one.type.rpartition(":")[2] in volumes for one in whole
    )


def test_nodes_reach_a_file_system_through_the_group_of_the_cluster(run):
    raw = there("aws", teams=[team()], storage=STORED["aws"])
    given = {key: raw[key] for key in ("cloud", "cluster", "pools", "teams", "storage")}
    graph = run(lambda: Storage("data", given), raw)
    rules = [
        one
        for one in graph
        if one.type == "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
    ]
    assert [one.name for one in rules] == ["data-from-nodes-access-data-corpus"]
    assert rules[0].inputs["referencedSecurityGroupId"].startswith("sg-")


def test_the_stores_of_a_cluster_go_to_a_team_as_they_come(run):
    raw = there("aws", teams=[team()], storage=STORED["aws"])
    given = {key: raw[key] for key in ("cloud", "cluster", "pools", "storage", "name")}

    def program():
        stores = Storage("data", {**given, "teams": raw["teams"]}).stores
        Team("vision", {**given, "team": team("other"), "stores": stores})

    graph = run(program, raw)
    assert graph.one(name="vision:PersistentVolume:lab.other.corpus")


# ── refusals ──────────────────────────────────────────────────────────────────────────────────────
LAB = {"pools": [pool()]}
UNKNOWN = "no pool has this name\n  given: trian\n  allowed: train\n  fix: write train"


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (
            lambda: Queueing("x", {}),
            "Queueing is rejected:\nerror args.missing pools: `pools` is missing\n  fix: add `pools`",
        ),
        (
            lambda: GpuNodePool("x", {"cluster": "blue", "pool": pool(nodes="4..1")}),
            (
                "GpuNodePool x is rejected:\nerror spec.range_reversed pool.nodes: the range runs "
                "backwards\n  given: '4..1'\n  allowed: a number of nodes, or LOW..HIGH such as 0..16"
                "\n  fix: write 1..4"
            ),
        ),
        (
            lambda: GpuNodePool("x", {"pool": P5}),
            (
                "GpuNodePool x is rejected:\nerror args.missing cluster: `cluster` is missing: on aws a "
                "component that stands alone uses an existing cluster\n  allowed: the name of a "
                "cluster, or its resource\n  fix: add `cluster`, or create a Platform, which contains "
                "its cluster"
            ),
        ),
        (
            lambda: Team("x", {**LAB, "team": team(guarantee={"trian": 8})}),
            f"Team x is rejected:\nerror quota.unknown_pool team.guarantee.trian: {UNKNOWN}",
        ),
        (
            lambda: Team(
                "x",
                {
                    **LAB,
                    "team": team(borrow={"train": 8}),
                    "teams": [team("b", borrow={"train": 8}), team("c", guarantee={"trian": 8})],
                },
            ),
            f"Team x is rejected:\nerror quota.unknown_pool teams[1].guarantee.trian: {UNKNOWN}",
        ),
        (
            lambda: Team("x", {**LAB, "team": "a", "teams": [team("b")]}),
            (
                "x is rejected:\nerror args.team team: the platform does not define this team\n  "
                "given: 'a'\n  allowed: b"
            ),
        ),
    ],
)
def test_findings_name_the_arguments_of_the_component(pulumi_mocks, program, text):
    with pytest.raises(PlatformRejected) as caught:
        pulumi_mocks.run(program, config=CONFIG)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (
            lambda: Karpenter(
                "x", {"pools": [pool(nodes="0..2", scaling="karpenter")], "system": SYSTEM}
            ),
            r"x: the bootstrap values of Karpenter's nodes are missing: set .* in `stores`",
        ),
        (
            lambda: Team(
                "x",
                {
                    "cloud": "aws",
                    "cluster": "blue",
                    "pools": [P5],
                    "team": team(borrow={"train": 8}),
                    "storage": STORED["aws"],
                },
            ),
            r"x: the storage locations of vision are missing: set .* in `stores`",
        ),
    ],
)
def test_a_part_says_which_late_values_it_lacks(pulumi_mocks, program, text):
    with pytest.raises(OutputValueMissing, match=text):
        pulumi_mocks.run(program, config=CONFIG)


def test_a_part_warns_about_its_own_sections_alone(run, monkeypatch):
    told = []
    monkeypatch.setattr(pulumi.log, "warn", lambda text, *_: told.append(text))
    machine = pool(machine={"gpu": "H100-80", "gpus": 8, "cpu": 96, "memory_gib": 900})
    run(lambda: Queueing("queues", {"pools": [machine], "teams": [team()]}))
    assert all(each.startswith("queues: ") for each in told)


@pytest.mark.parametrize("install", [True, False])
def test_queues_of_volcano_come_with_its_chart(run, install):
    queueing = {"engine": "volcano", "install": install}
    raw = platform([pool()], [team(guarantee={"train": 8})], queueing=queueing)
    sections = {key: raw[key] for key in ("name", "pools", "teams", "queueing")}
    seen = []

    def program():
        made = Queueing("queues", sections)
        pulumi.Output.all(made.queues, made.flavors).apply(seen.append)

    alone, whole = run(program), run(lambda: Platform("lab", {"platform": raw}))
    assert seen == [[{"vision": "lab-vision"}, {}]]
    for graph in (alone, whole):
        named = {one.name.partition(":")[2] for one in graph if one.custom}
        assert {"Queue:lab", "Queue:lab-vision"} <= named
        assert ("Namespace:volcano-system" in named) is install
        assert not any("ClusterQueue" in name or "ResourceFlavor" in name for name in named)
