"""What a component refuses: before anything is registered, everything at once, and readable."""

import pulumi
import pytest

from gpuyard.resources import (
    EksCluster,
    GkeCluster,
    GpuNodePool,
    Platform,
    PlatformRejected,
    Queueing,
    Team,
)
from kit.components import COMPONENTS, LAB, component, waits_for
from kit.stacks import cut_pool, plan_of, platform, pool, team


def refusal(pulumi_mocks, program):
    """The error, after making sure that nothing was registered before it."""
    names = []

    def watched():
        pulumi.runtime.register_resource_transform(lambda args: names.append(args.name))
        program()

    with pytest.raises(PlatformRejected) as caught:
        pulumi_mocks.run(watched)
    assert names == []
    assert isinstance(caught.value, pulumi.RunError)
    return str(caught.value)


def test_a_refused_platform_registers_nothing_and_says_everything(pulumi_mocks):
    raw = {
        **LAB,
        "pools": [pool(nodes="9..1", speed=3), cut_pool(sharing={"mig": {"1g.5gb": 9}})],
        "teams": [team(weight=0)],
    }
    text = refusal(pulumi_mocks, lambda: Platform("lab", {"platform": raw}))
    assert text.startswith("the platform lab is rejected:\n")
    for place in ("pools[0].nodes", "pools[0].speed", "pools[1].sharing.mig", "teams[0].weight"):
        assert f" {place}: " in text
    assert (
        "pools[0].nodes: the range runs backwards\n  given: '9..1'\n"
        "  allowed: a number of nodes, or LOW..HIGH such as 0..16\n  fix: write 1..9"
    ) in text


@pytest.mark.parametrize("kind", COMPONENTS)
def test_every_component_proves_the_whole_platform(pulumi_mocks, kind):
    raw = {**LAB, "teams": [*LAB["teams"], team("greedy", guarantee={"train": 1000})]}
    text = refusal(pulumi_mocks, lambda: component(kind, raw))
    assert "train" in text
    assert "fix:" in text


@pytest.mark.parametrize("given", [dict, plan_of], ids=["mapping", "plan"])
@pytest.mark.parametrize("kind", ["GpuNodePool", "Platform"])
def test_a_pool_that_nobody_would_scale_is_refused_before_anything_is_made(
    pulumi_mocks, kind, given
):
    pools = [pool(nodes="0..4", scaling="karpenter")]
    raw = platform(pools, cloud="aws", cluster={"existing": "blue"})
    text = refusal(pulumi_mocks, lambda: component(kind, given(raw)))
    assert "pools[0].scaling: gpuyard does not install Karpenter in an existing cluster" in text


@pytest.mark.parametrize(("cloud", "machine"), [("aws", "p5.48xlarge"), ("gcp", "a3-highgpu-8g")])
def test_a_pool_alone_in_a_cloud_says_what_it_lacks(pulumi_mocks, cloud, machine):
    raw = platform(cloud=cloud, pools=[pool(machine=machine)])
    text = refusal(pulumi_mocks, lambda: component("GpuNodePool", raw))
    assert "foundation: `foundation` lacks cluster." in text
    assert "allowed: the output `foundation` of the platform's EksCluster or GkeCluster" in text


@pytest.mark.parametrize(("kind", "cloud"), [(EksCluster, "gcp"), (GkeCluster, "aws")])
def test_a_cluster_is_of_its_own_cloud_alone(pulumi_mocks, kind, cloud):
    machine = {"aws": "p5.48xlarge", "gcp": "a3-highgpu-8g"}[cloud]
    raw = platform(cloud=cloud, pools=[pool(machine=machine)])
    text = refusal(pulumi_mocks, lambda: kind("lab", {"platform": raw}))
    assert f"platform.cloud: {kind.__name__} creates clusters on" in text


@pytest.mark.parametrize("cloud", ["aws", "none"])
def test_queues_and_teams_work_on_any_cluster(pulumi_mocks, cloud):
    raw = platform(cloud=cloud, teams=[team(guarantee={"train": 8})])

    def program():
        queueing = Queueing("lab", {"platform": raw})
        Team("v", {"platform": raw, "team": "vision"}, pulumi.ResourceOptions(depends_on=queueing))

    graph = pulumi_mocks.run(program)
    assert "ClusterQueue:lab-vision" in waits_for(graph, "v:LocalQueue:vision/default")


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (
            lambda: GpuNodePool("x", {"platform": LAB, "pool": "trian"}),
            (
                "x is rejected:\nerror args.pool pool: the platform does not define this pool\n  "
                "given: 'trian'\n  allowed: train, serve, dev\n  fix: write train"
            ),
        ),
        (
            lambda: Team("x", {"platform": LAB, "team": 7}),
            (
                "x is rejected:\nerror args.team team: the platform does not define this team\n  "
                "given: 7\n  allowed: vision, speech"
            ),
        ),
        (
            lambda: Team("x", {"platform": platform(cloud="simulated"), "team": "vision"}),
            (
                "x is rejected:\nerror args.team team: the platform does not define this team\n  "
                "given: 'vision'\n  allowed: the platform defines no team"
            ),
        ),
        (
            lambda: Team("x", {"platfrom": LAB}),
            (
                "Team is rejected:\n"
                "error args.unknown platfrom: unknown argument\n  given: 'platfrom'\n"
                "  allowed: team, pools, name, cloud, kubernetes, cluster, teams, software, mirror, "
                "tags, apply, observability, priorities, storage, stores, platform\n  fix: write `platform`\n"
                "error args.missing pools: `pools` is missing\n  fix: add `pools`\n"
                "error args.missing team: `team` is missing\n  fix: add `team`"
            ),
        ),
        (
            lambda: Queueing("x", {"platform": LAB, 7: 1}),
            (
                "Queueing is rejected:\nerror args.unknown 7: unknown argument\n  given: 7\n"
                "  allowed: platform\n  fix: remove it"
            ),
        ),
        (
            lambda: Platform("x", LAB["name"]),
            (
                "Platform is rejected:\nerror args.form (platform): the arguments of Platform must "
                'be a mapping\n  given: str\n  allowed: {"platform": …, "cluster_name": …}'
            ),
        ),
    ],
)
def test_wrong_arguments_are_named(pulumi_mocks, program, text):
    assert refusal(pulumi_mocks, program) == text


@pytest.mark.parametrize("value", [None, 7, "research", [], [LAB]])
def test_a_platform_that_is_no_mapping_is_refused(pulumi_mocks, value):
    text = refusal(pulumi_mocks, lambda: Platform("lab", {"platform": value}))
    assert text.startswith("the platform is rejected:\n")
    assert "a mapping" in text


def test_a_value_known_only_later_is_refused_where_it_stands(pulumi_mocks):
    def program():
        pools = [pool(nodes=pulumi.Output.from_input(4)), *LAB["pools"][1:]]
        Platform("lab", {"platform": {**LAB, "pools": pools}})

    text = refusal(pulumi_mocks, program)
    assert text == (
        "the platform is rejected:\nerror args.late pools[0].nodes: the value is an output, known "
        "only after a deployment, or a secret\n  given: Output\n  allowed: a plain value: gpuyard "
        "validates pools, quotas and cost before the deployment; outputs are allowed in "
        "cluster.existing, cluster.network.id, cluster.network.subnets.private.*, "
        "cluster.network.subnets.public.*, cluster.network.security_groups.*, cluster.key, "
        "cluster.admins.*, cluster.roles.cluster, cluster.roles.nodes, storage.datasets.*.bucket, "
        "storage.datasets.*.file_system, "
        "storage.checkpoints.bucket\n  fix: set the value itself, or read it from the stack's "
        "configuration"
    )
