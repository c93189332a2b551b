"""The components on the strict mock monitor: what they register, under what, waiting for what."""

import pulumi
import pytest

from builders import cut_pool, plan_of, platform, pool, shared_pool, spec_of, team
from gpuyard.render.platform import object_groups, platform_objects
from gpuyard.resources import GpuNodePool, Platform, PlatformRefused, Queueing, Team
from gpuyard.resources.component import RefusedOptions
from gpuyard.testing import UNKNOWN
from levels import upstream

LAB = platform(
    cloud="simulated",
    pools=[
        pool(zones=["a", "b"], labels={"rack": "r1"}),
        cut_pool(),
        shared_pool(),
    ],
    teams=[
        team("vision", guarantee={"train": 8, "serve/3g.20gb": 4}, groups=["seers"]),
        team("speech", guarantee={"dev/shared": 4}, borrow={"train": 8}, weight=2),
    ],
    budget={"worst_usd_per_hour": 5000},
)
COMPONENTS = {
    "GpuNodePool": lambda opts=None: GpuNodePool("lab", {"platform": LAB, "pool": "train"}, opts),
    "Platform": lambda opts=None: Platform("lab", {"platform": LAB}, opts),
    "Queueing": lambda opts=None: Queueing("lab", {"platform": LAB}, opts),
    "Team": lambda opts=None: Team("lab", {"platform": LAB, "team": "vision"}, opts),
}


def whole():
    return Platform("lab", {"platform": LAB})


def token(component):
    return f"gpuyard:index:{component}"


def named(obj):
    place = "/".join(filter(None, [obj["metadata"].get("namespace"), obj["metadata"]["name"]]))
    return f"{obj['kind']}:{place}"


def facts(graph):
    """Everything that a deployment would see, in no order."""
    return {
        one.urn: (one.parent, one.inputs, sorted(one.dependencies), one.registered_outputs)
        for one in graph
    }


# ── what is registered ────────────────────────────────────────────────────────────────────────────


def test_a_platform_registers_exactly_the_rendered_objects(pulumi_mocks):
    graph = pulumi_mocks.run(whole)
    registered = [one.inputs for one in graph if one.custom]
    rendered = platform_objects(plan_of(LAB))
    assert sorted(map(named, registered)) == sorted(map(named, rendered))
    by_name = {named(obj): obj for obj in registered}
    assert [by_name[named(obj)] for obj in rendered] == rendered


def test_each_object_is_under_the_component_it_is_for(pulumi_mocks):
    graph = pulumi_mocks.run(whole)
    homes = {
        "platform": "lab",
        "gpu-operator": "lab",
        "nodes-train": "lab-train",
        "nodes-serve": "lab-serve",
        "nodes-dev": "lab-dev",
        "queueing": "lab-queueing",
        "team-vision": "lab-vision",
        "team-speech": "lab-speech",
    }
    groups = object_groups(plan_of(LAB))
    assert [name for name, _ in groups] == list(homes)
    for name, objects in groups:
        for obj in objects:
            one = graph.one(name=f"{homes[name]}:{named(obj)}")
            assert graph.ancestors(one)[0].name == homes[name]


def test_everything_is_below_the_platform(pulumi_mocks):
    graph = pulumi_mocks.run(whole)
    top = graph.one(token("Platform"), "lab")
    assert graph.children(None) == [top]
    assert {one.type for one in graph.children(top) if not one.custom} == {
        token("GpuNodePool"),
        token("Queueing"),
        token("Team"),
    }


def test_a_preview_with_unknown_outputs_registers_the_same(pulumi_mocks):
    pulumi_mocks.assert_same_when_unknown(whole)


def test_every_object_is_valid_under_the_real_definitions(pulumi_mocks):
    strict = pulumi_mocks.but(crds=upstream("crds"), require_checks=True)
    graph = strict.run(whole)
    assert graph.unchecked == []


@pytest.mark.parametrize("component", COMPONENTS)
def test_the_type_token_is_the_class_name(pulumi_mocks, component):
    graph = pulumi_mocks.run(COMPONENTS[component])
    assert graph.children(None)[0].type == token(component)


@pytest.mark.parametrize("component", ["GpuNodePool", "Queueing", "Team"])
def test_a_component_alone_makes_what_it_makes_in_a_platform(pulumi_mocks, component):
    alone = pulumi_mocks.run(COMPONENTS[component])
    objects = {named(one.inputs): one.inputs for one in alone if one.custom}
    inside = {named(one.inputs): one.inputs for one in pulumi_mocks.run(whole) if one.custom}
    assert objects
    assert {name: inside[name] for name in objects} == objects


@pytest.mark.parametrize("component", COMPONENTS)
@pytest.mark.parametrize("give", [spec_of, plan_of], ids=["model", "plan"])
def test_a_mapping_a_model_and_a_plan_make_the_same(pulumi_mocks, component, give):
    def program(value):
        more = {"GpuNodePool": {"pool": "train"}, "Team": {"team": "vision"}}.get(component, {})
        kind = {"GpuNodePool": GpuNodePool, "Platform": Platform, "Queueing": Queueing}
        return kind.get(component, Team)("lab", {"platform": value, **more})

    from_mapping = pulumi_mocks.run(lambda: program(LAB))
    assert facts(pulumi_mocks.run(lambda: program(give(LAB)))) == facts(from_mapping)


# ── outputs and state ─────────────────────────────────────────────────────────────────────────────


def test_a_platform_says_what_became_of_the_spec(pulumi_mocks):
    graph = pulumi_mocks.run(whole)
    outputs = graph.one(token("Platform")).registered_outputs
    assert sorted(outputs) == ["bill", "digest", "notes", "pools", "teams"]
    assert outputs["pools"]["serve"] == {
        "machine": "p4d.24xlarge",
        "nodes": "1",
        "sharing": "mig",
        "resources": {
            "nvidia.com/mig-1g.5gb": 16,
            "nvidia.com/mig-2g.10gb": 8,
            "nvidia.com/mig-3g.20gb": 8,
        },
    }
    assert outputs["teams"]["speech"] == {
        "namespace": "speech",
        "queue": "default",
        "guarantee": {"dev nvidia.com/gpu.shared": 4},
    }
    assert sorted(outputs["bill"]) == [
        "floorUsdPerHour",
        "simulated",
        "unknown",
        "worstUsdPerHour",
    ]


@pytest.mark.parametrize(
    ("component", "outputs"),
    [
        (
            "GpuNodePool",
            {
                "nodes": ["train-000", "train-001", "train-002", "train-003"],
                "resources": {"nvidia.com/gpu": 8},
            },
        ),
        (
            "Queueing",
            {
                "flavors": {"train": "train", "serve": "serve", "dev": "dev"},
                "queues": {"vision": "lab-vision", "speech": "lab-speech"},
            },
        ),
        (
            "Team",
            {"namespace": "vision", "localQueue": "default", "clusterQueue": "lab-vision"},
        ),
    ],
)
@pytest.mark.parametrize("unknown", [False, True])
def test_outputs_are_known_already_at_the_first_preview(pulumi_mocks, component, outputs, unknown):
    graph = pulumi_mocks.run(COMPONENTS[component], unknown_outputs=unknown)
    assert graph.one(token(component)).registered_outputs == outputs


def test_what_uses_a_teams_namespace_waits_for_it(pulumi_mocks):
    def program():
        made = Team("lab", {"platform": LAB, "team": "vision"})
        pulumi.CustomResource("test:index:User", "user", {"namespace": made.namespace})

    graph = pulumi_mocks.but(allow_top_level=True).run(program)
    assert graph.one("test:index:User").property_dependencies["namespace"] == (
        graph.one(name="lab:Namespace:vision").urn,
    )


def test_the_state_says_what_was_given_in_the_names_of_every_language(pulumi_mocks):
    graph = pulumi_mocks.run(whole)
    state = graph.one(token("Platform")).inputs
    assert list(state) == ["platform"]
    assert state["platform"]["budget"] == {"worstUsdPerHour": 5000}
    assert state["platform"]["pools"][2] == {
        "name": "dev",
        "machine": "g6.12xlarge",
        "nodes": "1",
        "sharing": {"time_slicing": 4},
    }


def test_the_state_of_a_part_holds_that_part_only(pulumi_mocks):
    graph = pulumi_mocks.run(whole)
    assert graph.one(token("GpuNodePool"), "lab-train").inputs == {
        "platform": "lab",
        "pool": {
            "name": "train",
            "machine": "p5.48xlarge",
            "nodes": "4",
            "zones": ["a", "b"],
            "labels": {"rack": "r1"},
        },
    }
    assert graph.one(token("Team"), "lab-speech").inputs["team"] == {
        "name": "speech",
        "guarantee": {"dev/shared": 4},
        "borrow": {"train": 8},
        "weight": 2,
    }
    assert graph.one(token("Queueing")).inputs == {"platform": "lab", "queueing": {}}


def test_the_state_leaves_defaults_out_and_keeps_what_differs(pulumi_mocks):
    raw = {
        **LAB,
        "queueing": {"engine": "kueue", "fair_sharing": False},
        "shapes": [{"name": "job", "pool": "train", "gpus_per_node": 8}],
    }
    graph = pulumi_mocks.run(lambda: Platform("lab", {"platform": raw}))
    state = graph.one(token("Platform")).inputs["platform"]
    assert state["queueing"] == {"fairSharing": False}
    assert state["shapes"] == [{"name": "job", "pool": "train", "gpusPerNode": 8}]


def test_warnings_are_logged_and_notes_are_an_output(pulumi_mocks):
    raw = platform(cloud="simulated", teams=[team("idle")], validation={"profile": "quick"})
    graph = pulumi_mocks.run(lambda: Platform("lab", {"platform": raw}))
    top = graph.one(token("Platform"))
    warnings = [(log.message.partition(":")[0], log.urn) for log in graph.logs]
    assert warnings == [("teams[0]", top.urn)]
    assert [note.partition(":")[0] for note in top.registered_outputs["notes"]] == [
        "teams[0]",
        "validation",
    ]


# ── order ─────────────────────────────────────────────────────────────────────────────────────────


def waits_for(graph, name):
    by_urn = {one.urn: one for one in graph}
    return {by_urn[urn].name.partition(":")[2] for urn in graph.one(name=name).dependencies}


def test_objects_wait_for_their_namespace(pulumi_mocks):
    graph = pulumi_mocks.run(whole)
    for one in graph:
        if one.custom and (namespace := one.inputs["metadata"].get("namespace")):
            assert f"Namespace:{namespace}" in waits_for(graph, one.name), one.label


def test_queues_wait_for_the_cohort_and_the_flavors_they_name(pulumi_mocks):
    graph = pulumi_mocks.run(whole)
    assert waits_for(graph, "lab-queueing:Cohort:lab") >= {"ResourceFlavor:train"}
    assert waits_for(graph, "lab-queueing:ClusterQueue:lab-speech") == {
        "Cohort:lab",
        "ResourceFlavor:train",
        "ResourceFlavor:dev",
    }


def test_a_team_waits_for_its_own_cluster_queue_only(pulumi_mocks):
    graph = pulumi_mocks.run(whole)
    assert waits_for(graph, "lab-vision:Namespace:vision") == {"ClusterQueue:lab-vision"}
    assert waits_for(graph, "lab-vision:LocalQueue:vision/default") == {
        "ClusterQueue:lab-vision",
        "Namespace:vision",
    }


def test_nodes_wait_for_what_their_agents_read(pulumi_mocks):
    graph = pulumi_mocks.run(whole)
    configs = {
        "ConfigMap:gpu-operator/gpuyard-mig-parted",
        "ConfigMap:gpu-operator/gpuyard-device-plugin",
    }
    assert waits_for(graph, "lab-serve:Node:serve-000") == configs
    assert waits_for(graph, "lab:ClusterPolicy:cluster-policy") == configs


def test_further_cohorts_wait_for_the_root(pulumi_mocks):
    pools = [pool(f"p{n}", machine="g6.12xlarge", nodes=1) for n in range(65)]
    raw = platform(cloud="simulated", pools=pools)
    graph = pulumi_mocks.run(lambda: Queueing("lab", {"platform": raw}))
    assert waits_for(graph, "lab:Cohort:lab-unassigned-1") == {"Cohort:lab", "ResourceFlavor:p64"}


def test_nothing_waits_for_what_comes_later(pulumi_mocks):
    """The opposite order is that of a destroy, so a cycle or a missing edge would show there."""
    seen: set[str] = set()
    for one in pulumi_mocks.run(whole):
        assert set(one.dependencies) <= seen, one.label
        seen.add(one.urn)


@pytest.mark.parametrize("component", COMPONENTS)
def test_what_a_component_waits_for_all_its_objects_wait_for(pulumi_mocks, component):
    def program():
        kueue = pulumi.CustomResource("test:index:Kueue", "kueue", {})
        COMPONENTS[component](pulumi.ResourceOptions(depends_on=kueue))

    graph = pulumi_mocks.but(allow_top_level=True).run(program)
    kueue = graph.one("test:index:Kueue").urn
    late = [one.label for one in graph if one.urn != kueue and kueue not in one.dependencies]
    assert late == []


# ── options ───────────────────────────────────────────────────────────────────────────────────────


def cluster(name="cluster"):
    return pulumi.ProviderResource("kubernetes", name, {})


@pytest.mark.parametrize("component", COMPONENTS)
@pytest.mark.parametrize(
    "give",
    [
        lambda one: pulumi.ResourceOptions(provider=one),
        lambda one: pulumi.ResourceOptions(providers=[one]),
        lambda one: pulumi.ResourceOptions(providers={"kubernetes": one}),
    ],
    ids=["provider", "list", "mapping"],
)
def test_objects_use_the_provider_of_their_component(pulumi_mocks, component, give):
    graph = pulumi_mocks.run(lambda: COMPONENTS[component](give(cluster())))
    provider = graph.one("pulumi:providers:kubernetes")
    objects = [one for one in graph if one.custom and one is not provider]
    assert {one.provider for one in objects} == {f"{provider.urn}::{provider.id}"}


@pytest.mark.parametrize("component", COMPONENTS)
@pytest.mark.parametrize("form", [list, lambda given: {one.package: one for one in given}])
def test_two_providers_of_one_package_are_refused(pulumi_mocks, component, form):
    def program():
        opts = pulumi.ResourceOptions(provider=cluster("a"), providers=form([cluster("b")]))
        COMPONENTS[component](opts)

    with pytest.raises(RefusedOptions) as caught:
        pulumi_mocks.run(program)
    assert isinstance(caught.value, pulumi.RunError)
    assert str(caught.value) == (
        "lab: opts.provider and opts.providers both give a provider of package kubernetes, "
        "allowed: one provider for each package; fix: keep the one you mean"
    )


def test_providers_of_different_packages_stand_beside_each_other(pulumi_mocks):
    def program():
        aws = pulumi.ProviderResource("aws", "aws", {})
        opts = pulumi.ResourceOptions(provider=cluster(), providers=[aws])
        COMPONENTS["Team"](opts)

    graph = pulumi_mocks.run(program)
    provider = graph.one("pulumi:providers:kubernetes")
    assert graph.one(name="lab:Namespace:vision").provider == f"{provider.urn}::{provider.id}"


def test_protection_reaches_every_object(pulumi_mocks):
    graph = pulumi_mocks.run(lambda: COMPONENTS["Platform"](pulumi.ResourceOptions(protect=True)))
    assert [one.label for one in graph if not one.options.get("protect")] == []


def test_transforms_reach_every_object(pulumi_mocks):
    def annotate(args):
        if args.type_ != "kubernetes:core/v1:Node":
            return None
        props = {**args.props, "metadata": {**args.props["metadata"], "annotations": {"a": "b"}}}
        return pulumi.ResourceTransformResult(props=props, opts=args.opts)

    opts = pulumi.ResourceOptions(transforms=[annotate])
    graph = pulumi_mocks.run(lambda: COMPONENTS["Platform"](opts))
    nodes = graph.of_type("kubernetes:core/v1:Node")
    assert [one.inputs["metadata"]["annotations"] for one in nodes] == [{"a": "b"}] * 6


# ── late values ───────────────────────────────────────────────────────────────────────────────────


def test_a_late_cluster_name_reaches_the_record_of_the_platform(pulumi_mocks):
    def program():
        made = pulumi.CustomResource("test:index:Cluster", "made", {"name": "blue"})
        name = made.urn.apply(lambda _: "blue")
        Platform("lab", {"platform": LAB, "cluster_name": name})

    mocks = pulumi_mocks.but(allow_top_level=True)
    graph, _ = mocks.assert_same_when_unknown(program)
    record = graph.one(name="lab:ConfigMap:gpuyard-system/gpuyard-platform")
    assert record.inputs["data"]["cluster"] == "blue"
    assert graph.one("test:index:Cluster").urn in record.property_dependencies["data"]
    assert graph.one(token("Platform")).inputs["clusterName"] == "blue"


def test_an_unknown_cluster_name_stays_unknown_in_the_record_alone(pulumi_mocks):
    def program():
        made = pulumi.CustomResource("test:index:Cluster", "made", {"name": "blue"})
        Platform("lab", {"platform": LAB, "cluster_name": made.id})

    graph = pulumi_mocks.but(allow_top_level=True).run(program, unknown_outputs=True)
    unknown = [
        one.name for one in graph if one.custom and str(UNKNOWN) in str(one.inputs.get("data"))
    ]
    assert unknown == ["lab:ConfigMap:gpuyard-system/gpuyard-platform"]


# ── refusals ──────────────────────────────────────────────────────────────────────────────────────


def refusal(pulumi_mocks, program):
    """The error, after making sure that nothing was registered before it."""
    names = []

    def watched():
        pulumi.runtime.register_resource_transform(lambda args: names.append(args.name))
        program()

    with pytest.raises(PlatformRefused) as caught:
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
    assert text.startswith("the platform lab is refused:\n")
    for place in ("pools[0].nodes", "pools[0].speed", "pools[1].sharing.mig", "teams[0].weight"):
        assert f" {place}: " in text
    assert (
        "pools[0].nodes: the range runs backwards\n  given: '9..1'\n"
        "  allowed: a number of nodes, or LOW..HIGH such as 0..16\n  fix: write 1..9"
    ) in text


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_component_proves_the_whole_platform(pulumi_mocks, component):
    raw = {**LAB, "teams": [*LAB["teams"], team("greedy", guarantee={"train": 1000})]}
    more = {"GpuNodePool": {"pool": "train"}, "Team": {"team": "vision"}}.get(component, {})
    kind = {"GpuNodePool": GpuNodePool, "Platform": Platform, "Queueing": Queueing}
    text = refusal(
        pulumi_mocks, lambda: kind.get(component, Team)("lab", {"platform": raw, **more})
    )
    assert "train" in text
    assert "fix:" in text


@pytest.mark.parametrize("cloud", ["aws", "gcp", "none"])
@pytest.mark.parametrize("component", ["GpuNodePool", "Platform"])
def test_nodes_of_other_clouds_are_refused_before_anything_is_made(pulumi_mocks, cloud, component):
    machine = {"aws": "p5.48xlarge", "gcp": "a3-highgpu-8g"}.get(cloud, "p5.48xlarge")
    raw = platform(cloud=cloud, pools=[pool(machine=machine)])

    def program():
        if component == "Platform":
            Platform("lab", {"platform": raw})
        else:
            GpuNodePool("lab", {"platform": raw, "pool": "train"})

    text = refusal(pulumi_mocks, program)
    assert (
        f"cloud: nodes on {cloud} are checked, planned, priced and rendered; "
        "creating them comes with the cloud pools" in text
    )
    assert "allowed: simulated" in text


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
                "x is refused:\nrefuse args.pool pool: the platform has no such pool\n"
                "  given: 'trian'\n  allowed: train, serve, dev\n  fix: write train"
            ),
        ),
        (
            lambda: Team("x", {"platform": LAB, "team": 7}),
            (
                "x is refused:\nrefuse args.team team: the platform has no such team\n"
                "  given: 7\n  allowed: vision, speech"
            ),
        ),
        (
            lambda: Team("x", {"platform": platform(cloud="simulated"), "team": "vision"}),
            (
                "x is refused:\nrefuse args.team team: the platform has no such team\n"
                "  given: 'vision'\n  allowed: the platform has no team at all"
            ),
        ),
        (
            lambda: Team("x", {"platfrom": LAB}),
            (
                "Team is refused:\n"
                "refuse args.missing platform: `platform` is missing\n  fix: add `platform`\n"
                "refuse args.unknown platfrom: unknown argument\n  given: 'platfrom'\n"
                "  allowed: platform, team\n  fix: write `platform`\n"
                "refuse args.missing team: `team` is missing\n  fix: add `team`"
            ),
        ),
        (
            lambda: Queueing("x", {"platform": LAB, 7: 1}),
            (
                "Queueing is refused:\nrefuse args.unknown 7: unknown argument\n  given: 7\n"
                "  allowed: platform\n  fix: remove it"
            ),
        ),
        (
            lambda: Platform("x", LAB["name"]),
            (
                "Platform is refused:\nrefuse args.form (platform): the arguments of Platform are a "
                'mapping\n  given: str\n  allowed: {"platform": …, "cluster_name": …}'
            ),
        ),
    ],
)
def test_wrong_arguments_are_named(pulumi_mocks, program, text):
    assert refusal(pulumi_mocks, program) == text


@pytest.mark.parametrize("value", [None, 7, "research", [], [LAB]])
def test_a_platform_that_is_no_mapping_is_refused(pulumi_mocks, value):
    text = refusal(pulumi_mocks, lambda: Platform("lab", {"platform": value}))
    assert text.startswith("the platform is refused:\n")
    assert "a mapping" in text


def test_a_value_known_only_later_is_refused_where_it_stands(pulumi_mocks):
    def program():
        pools = [pool(nodes=pulumi.Output.from_input(4)), *LAB["pools"][1:]]
        Platform("lab", {"platform": {**LAB, "pools": pools}})

    text = refusal(pulumi_mocks, program)
    assert text == (
        "the platform is refused:\n"
        "refuse args.late pools[0].nodes: the value is an output, known only after a deployment, "
        "or a secret\n  given: Output\n"
        "  allowed: a plain value: pools, quotas and the bill are proved before anything is made\n"
        "  fix: write the value itself, or read it from the stack's configuration"
    )
