"""The components on the strict mock monitor: what they register, under what, waiting for what."""

import pulumi
import pytest

from gpuyard.plan.fact_ages import AGE_WARNINGS
from gpuyard.render.platform import object_groups
from gpuyard.render.validation.jobs import checked_pools, verdict_object
from gpuyard.resources import Platform, Queueing, Team
from gpuyard.resources.validated_plan import calendar_findings_today
from gpuyard_core.errors import OutputValueMissing
from gpuyard_core.findings import Diagnostic, Severity
from kit.cases.records import objects_of
from kit.components import COMPONENTS, LAB, component, graph_of, token, waits_for
from kit.levels import upstream
from kit.stacks import plan_of, platform, pool, spec_of, team


def whole():
    return component("Platform")


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


def test_a_platform_registers_exactly_the_rendered_objects():
    graph = graph_of("Platform")
    registered = [one.inputs for one in graph if one.custom]
    plan = plan_of(LAB)
    passed = [verdict_object(plan, each) for each in checked_pools(plan)]
    for each in passed:
        each["data"] = {**each["data"], "figures": "{}", "mixed": "{}"}  # nobody looks here
    rendered = objects_of(plan) + passed
    assert sorted(map(named, registered)) == sorted(map(named, rendered))
    by_name = {named(obj): obj for obj in registered}
    assert [by_name[named(obj)] for obj in rendered] == rendered


def test_each_object_is_under_the_component_it_is_for():
    graph = graph_of("Platform")
    homes = {
        "platform": "lab",
        "gpu-operator": "lab-gpu-operator",
        "nodes-train": "lab-train",
        "nodes-serve": "lab-serve",
        "nodes-dev": "lab-dev",
        "queueing": "lab-queueing",
        "admission": "lab",
        "access": "lab",
        "team-vision": "lab-vision",
        "team-speech": "lab-speech",
        "idle": "lab-idle",
        "requeue": "lab",
        "validation": "lab-validation",
        "gate": "lab-validation",
    }
    groups = object_groups(plan_of(LAB))
    assert [name for name, _ in groups] == list(homes)
    for name, objects in groups:
        for obj in objects:
            one = graph.one(name=f"{homes[name]}:{named(obj)}")
            assert graph.ancestors(one)[0].name == homes[name]


def test_everything_is_below_the_platform():
    graph = graph_of("Platform")
    top = graph.one(token("Platform"), "lab")
    assert graph.children(None) == [top]
    assert {one.type for one in graph.children(top) if not one.custom} == {
        token("GpuNodePool"),
        token("GpuOperator"),
        token("IdleReclaim"),
        token("Queueing"),
        token("Team"),
        token("Validation"),
    }


def test_a_preview_with_unknown_outputs_registers_the_same(pulumi_mocks):
    pulumi_mocks.assert_same_when_unknown(whole)


def test_every_object_is_valid_under_the_real_definitions(pulumi_mocks):
    strict = pulumi_mocks.with_settings(crds=upstream("crds"), require_checks=True)
    graph = strict.run(whole)
    assert graph.unchecked == []


@pytest.mark.parametrize("kind", COMPONENTS)
def test_the_type_token_is_the_class_name(kind):
    graph = graph_of(kind)
    assert graph.children(None)[0].type == token(kind)


@pytest.mark.parametrize("kind", [kind for kind in COMPONENTS if kind != "Platform"])
def test_a_component_alone_makes_what_it_makes_in_a_platform(kind):
    alone = graph_of(kind)
    objects = {named(one.inputs): one.inputs for one in alone if one.custom}
    inside = {named(one.inputs): one.inputs for one in graph_of("Platform") if one.custom}
    assert objects
    assert {name: inside[name] for name in objects} == objects


@pytest.mark.parametrize("kind", COMPONENTS)
@pytest.mark.parametrize("give", [spec_of, plan_of], ids=["model", "plan"])
def test_a_mapping_a_model_and_a_plan_make_the_same(pulumi_mocks, kind, give):
    from_mapping = graph_of(kind)
    assert facts(pulumi_mocks.run(lambda: component(kind, give(LAB)))) == facts(from_mapping)


# ── outputs and state ─────────────────────────────────────────────────────────────────────────────


def test_a_platform_says_what_became_of_the_spec():
    graph = graph_of("Platform")
    outputs = graph.one(token("Platform")).registered_outputs
    assert sorted(outputs) == ["bill", "digest", "notes", "pools", "teams", "validation"]
    assert outputs["pools"]["serve"] == {
        "machine": "p4d.24xlarge",
        "nodes": "1",
        "sharing": "mig",
        "resources": {
            "nvidia.com/mig-1g.5gb": 16,
            "nvidia.com/mig-2g.10gb": 8,
            "nvidia.com/mig-3g.20gb": 8,
        },
        "driver": plan_of(LAB).software["driver"],
    }
    assert outputs["teams"]["speech"] == {
        "namespaces": ["speech"],
        "queue": "default",
        "guarantee": {"dev nvidia.com/gpu.shared": 4},
    }
    assert sorted(outputs["bill"]) == [
        "expectedUsdPerHour",
        "maximumUsdPerHour",
        "minimumUsdPerHour",
        "simulated",
        "unknown",
    ]


@pytest.mark.parametrize(
    ("kind", "outputs"),
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
            {"namespaces": ["vision"], "localQueue": "default", "clusterQueue": "lab-vision"},
        ),
    ],
)
@pytest.mark.parametrize("unknown", [False, True])
def test_outputs_are_known_already_at_the_first_preview(pulumi_mocks, kind, outputs, unknown):
    graph = pulumi_mocks.run(lambda: component(kind), unknown_outputs=unknown)
    assert graph.one(token(kind)).registered_outputs == outputs


def test_what_uses_a_teams_namespace_waits_for_it(pulumi_mocks):
    def program():
        made = Team("lab", {"platform": LAB, "team": "vision"})
        pulumi.CustomResource("test:index:User", "user", {"namespaces": made.namespaces})

    graph = pulumi_mocks.with_settings(allow_top_level=True).run(program)
    assert graph.one("test:index:User").property_dependencies["namespaces"] == (
        graph.one(name="lab:Namespace:vision").urn,
    )


def test_the_state_says_what_was_given_in_the_names_of_every_language():
    graph = graph_of("Platform")
    state = graph.one(token("Platform")).inputs
    assert list(state) == ["platform"]
    assert state["platform"]["budget"] == {"maxUsdPerHour": 5000}
    assert state["platform"]["pools"][2] == {
        "name": "dev",
        "machine": "g6.12xlarge",
        "nodes": "1",
        "sharing": {"time_slicing": 4},
    }


def test_the_state_of_a_part_holds_that_part_only():
    graph = graph_of("Platform")
    assert graph.one(token("GpuNodePool"), "lab-train").inputs == {
        "platform": "lab",
        "pool": {
            "name": "train",
            "machine": "p5.48xlarge",
            "nodes": "4",
            "zones": ["a", "b"],
            "labels": {"rack": "r1"},
            "capacity": ["spot"],
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


@pytest.mark.parametrize(
    ("day", "says"),
    [
        ("2026-11-21", []),
        ("2027-04-29", ["ends on 2027-06-28, in 60 days"]),
        ("2027-06-28", ["ended on 2027-06-28"]),
    ],
)
def test_a_date_warns_at_most(monkeypatch, day, says):
    monkeypatch.setenv("GPUYARD_TODAY", day)
    found = [f for f in calendar_findings_today(plan_of(platform())) if f.id not in AGE_WARNINGS]
    assert [f.severity for f in found] == [Severity.WARNING] * len(says)
    assert all(words in f.problem for f, words in zip(found, says, strict=True))


def test_a_deployment_warns_about_old_facts(monkeypatch):
    monkeypatch.setenv("GPUYARD_TODAY", "2026-12-01")
    found = calendar_findings_today(plan_of(platform()))
    assert [f.id for f in found] == ["prices.old", "bulletins.old", "pins.old"]
    assert {f.severity for f in found} == {Severity.WARNING}


def test_a_note_of_the_calendar_stays_one():
    raw = platform([pool(machine="a2-highgpu-8g")], cloud="gcp", kubernetes="1.37")
    assert [f.severity for f in calendar_findings_today(plan_of(raw))] == [Severity.INFO]


def test_the_calendar_is_logged_and_changes_nothing_that_is_registered(pulumi_mocks, monkeypatch):
    before = facts(graph_of("Platform"))
    ended = Diagnostic(
        id="kubernetes.support", severity=Severity.ERROR, path=("kubernetes",), problem="ended"
    )
    monkeypatch.setattr("gpuyard.resources.validated_plan.calendar_findings", lambda *_: [ended])
    graph = pulumi_mocks.run(whole)
    assert [log.message for log in graph.logs if "ended" in log.message] == ["kubernetes: ended"]
    assert {log.severity for log in graph.logs} == {"warning"}
    assert facts(graph) == before


def test_warnings_are_logged_and_notes_are_an_output(pulumi_mocks):
    raw = platform(cloud="simulated", teams=[team("idle")], validation={"required": False})
    graph = pulumi_mocks.run(lambda: Platform("lab", {"platform": raw}))
    top = graph.one(token("Platform"))
    warnings = [(log.message.partition(":")[0], log.urn) for log in graph.logs]
    assert warnings == [("teams[0]", top.urn)]
    assert [note.partition(":")[0] for note in top.registered_outputs["notes"]] == [
        "teams[0]",
        "validation",
    ]


# ── order ─────────────────────────────────────────────────────────────────────────────────────────


def test_objects_wait_for_their_namespace():
    graph = graph_of("Platform")
    inside = [
        (one, one.inputs["metadata"]["namespace"])
        for one in graph
        if one.custom
        and one.inputs["metadata"].get("namespace", "default") not in {"default", "kueue-system"}
    ]  # kueue-system is made with Kueue itself, default with the cluster
    assert {namespace for _, namespace in inside} == {
        "gpu-operator",
        "gpuyard-lab",
        "speech",
        "vision",
    }
    for one, namespace in inside:
        assert f"Namespace:{namespace}" in waits_for(graph, one.name), one.label


def test_queues_wait_for_the_cohort_and_the_flavors_they_name():
    graph = graph_of("Platform")
    assert waits_for(graph, "lab-queueing:Cohort:lab") >= {"ResourceFlavor:train"}
    found = waits_for(graph, "lab-queueing:ClusterQueue:lab-speech")
    nodes = {each for each in found if each.startswith("Node:")}
    assert found - nodes == {"Cohort:lab", "ResourceFlavor:train", "ResourceFlavor:dev"}
    assert len(nodes) == 6, "what is counted is what nodes have been cut into"


def test_what_a_queue_is_checked_and_placed_by_is_made_before_it_and_goes_after(pulumi_mocks):
    raw = platform(
        [pool(topology=True, zones=["a", "b"], provisioning="check-capacity")],
        [team(guarantee={"train": 8})],
        cloud="simulated",
    )
    plan = plan_of(raw)
    flavor, topology = plan.pools[0].flavor, plan.queueing.topologies[0].name
    graph = pulumi_mocks.run(lambda: Queueing("lab-queueing", {"platform": raw}))
    assert waits_for(graph, f"lab-queueing:ResourceFlavor:{flavor}") == {f"Topology:{topology}"}
    check = "lab-check-capacity"
    assert waits_for(graph, f"lab-queueing:AdmissionCheck:{check}") == {
        f"ProvisioningRequestConfig:{check}"
    }
    queue = plan.teams[0].cluster_queue
    assert waits_for(graph, f"lab-queueing:ClusterQueue:{queue}") == {
        "Cohort:lab",
        f"ResourceFlavor:{flavor}",
        f"AdmissionCheck:{check}",
    }


def test_a_team_waits_for_its_own_cluster_queue_and_for_what_it_is_held_to():
    graph = graph_of("Platform")
    first = {"ClusterQueue:lab-vision"} | {
        f"ValidatingAdmissionPolicy{what}:gpuyard-lab{which}"
        for what in ("", "Binding")
        for which in ("", "-belongings", "-departures", "-growth", "-reservations")
    }
    first |= {
        f"MutatingAdmissionPolicy{what}:gpuyard-lab-workload-classes" for what in ("", "Binding")
    }
    kinds = ("LimitRange", "NetworkPolicy", "ResourceQuota")
    limits = {"Namespace:vision", *(f"{kind}:vision/gpuyard" for kind in kinds)}
    assert waits_for(graph, "lab-vision:Namespace:vision") == first
    assert waits_for(graph, "lab-vision:LocalQueue:vision/default") == first | limits
    assert waits_for(graph, "lab-vision:RoleBinding:vision/gpuyard-members") == {
        *(first | limits),
        "Role:vision/gpuyard-members",
    }


def test_a_binding_waits_for_its_policy():
    graph = graph_of("Platform")
    binding = "lab:ValidatingAdmissionPolicyBinding:gpuyard-lab"
    assert waits_for(graph, binding) == {"ValidatingAdmissionPolicy:gpuyard-lab"}


def test_nodes_wait_for_what_their_agents_read():
    graph = graph_of("Platform")
    configs = {
        "ConfigMap:gpu-operator/gpuyard-mig-parted",
        "ConfigMap:gpu-operator/gpuyard-device-plugin",
    }
    assert waits_for(graph, "lab-serve:Node:serve-000") == configs
    assert waits_for(graph, "lab-gpu-operator:ClusterPolicy:cluster-policy") == configs


def test_further_cohorts_wait_for_the_root(pulumi_mocks):
    pools = [pool(f"p{n}", machine="g6.12xlarge", nodes=1) for n in range(65)]
    raw = platform(cloud="simulated", pools=pools)
    graph = pulumi_mocks.run(lambda: Queueing("lab", {"platform": raw}))
    assert waits_for(graph, "lab:Cohort:lab-unassigned-1") == {"Cohort:lab", "ResourceFlavor:p64"}


def test_nothing_waits_for_what_comes_later():
    """The opposite order is that of a destroy, so a cycle or a missing edge would show there."""
    seen: set[str] = set()
    for one in graph_of("Platform"):
        assert set(one.dependencies) <= seen, one.label
        seen.add(one.urn)


@pytest.mark.parametrize("kind", COMPONENTS)
def test_what_a_component_waits_for_all_its_objects_wait_for(pulumi_mocks, kind):
    def program():
        kueue = pulumi.CustomResource("test:index:Kueue", "kueue", {})
        component(kind, opts=pulumi.ResourceOptions(depends_on=kueue))

    graph = pulumi_mocks.with_settings(allow_top_level=True).run(program)
    kueue = graph.one("test:index:Kueue").urn
    late = [one.label for one in graph if one.urn != kueue and kueue not in one.dependencies]
    assert late == []


# ── a platform that only queues ───────────────────────────────────────────────────────────────────
HUB = platform(
    cloud="simulated",
    teams=[team(guarantee={"train": 8})],
    queueing={"clusters": [{"name": "west", "secret": "w"}, {"name": "east", "secret": "e"}]},
)


def test_a_platform_that_sends_its_jobs_away_registers_no_node(pulumi_mocks):
    graph = pulumi_mocks.run(lambda: component("Platform", HUB))
    registered = [one.inputs for one in graph if one.custom]
    assert sorted(map(named, registered)) == sorted(map(named, objects_of(plan_of(HUB))))
    assert not [one for one in graph if one.type == token("GpuNodePool")]
    assert {o["kind"] for o in registered}.isdisjoint({"Node", "ClusterPolicy", "Secret"})


def test_a_queue_waits_for_its_check_and_that_for_the_clusters(pulumi_mocks):
    graph = pulumi_mocks.run(lambda: component("Platform", HUB))
    assert waits_for(graph, "lab-queueing:MultiKueueConfig:lab") == {
        "MultiKueueCluster:lab-west",
        "MultiKueueCluster:lab-east",
    }
    assert waits_for(graph, "lab-queueing:AdmissionCheck:lab-clusters") == {"MultiKueueConfig:lab"}
    queue = waits_for(graph, "lab-queueing:ClusterQueue:lab-vision")
    assert "AdmissionCheck:lab-clusters" in queue


# ── namespaces of a team ──────────────────────────────────────────────────────────────────────────
def joined():
    raw = platform(
        teams=[team(guarantee={"train": 8}, namespaces=["eyes", {"name": "old", "existing": True}])]
    )
    Team("vision", {"platform": raw, "team": "vision"})


def test_a_namespace_that_is_there_gets_our_fields_and_is_neither_made_nor_deleted(pulumi_mocks):
    graph = pulumi_mocks.run(joined)
    types = {one.inputs["metadata"]["name"]: one.type for one in graph if one.custom}
    assert types["eyes"] == "kubernetes:core/v1:Namespace"
    assert types["old"] == "kubernetes:core/v1:NamespacePatch"


def test_each_object_waits_for_those_of_its_own_namespace(pulumi_mocks):
    graph = pulumi_mocks.run(joined)
    objects = {one.urn: one for one in graph if one.custom}
    queues = [one for one in objects.values() if one.type.endswith("LocalQueue")]
    assert len(queues) == 2
    for queue in queues:
        home = queue.inputs["metadata"]["namespace"]
        needs = [objects[urn].inputs["metadata"] for urn in queue.dependencies]
        assert len(needs) == 4
        assert {one.get("namespace", one["name"]) for one in needs} == {home}


def test_a_team_says_all_its_namespaces(pulumi_mocks):
    graph = pulumi_mocks.run(joined)
    (component,) = (one for one in graph if one.type == "gpuyard:index:Team")
    assert component.registered_outputs == {
        "namespaces": ["eyes", "old"],
        "localQueue": "default",
        "clusterQueue": "lab-vision",
    }


# ── storage of a team ─────────────────────────────────────────────────────────────────────────────
STORES = {"datasets": [{"name": "corpus", "kind": "efs", "writers": ["vision"]}]}


def on_aws(**more):
    raw = platform([pool()], [team()], cloud="aws", storage=STORES)
    Team("vision", {"platform": raw, "team": "vision", **more})


def test_a_team_has_the_volumes_of_its_storage(pulumi_mocks):
    handle = "fs-0123456789abcdef0::fsap-0123456789abcdef0"

    def run():
        on_aws(stores={"data-corpus.handle": pulumi.Output.from_input(handle)})

    graph = pulumi_mocks.run(run)
    volume = graph.one(name="vision:PersistentVolume:lab.vision.corpus")
    assert volume.inputs["spec"]["csi"]["volumeHandle"] == handle
    claim = graph.one(name="vision:PersistentVolumeClaim:vision/corpus")
    assert claim.inputs["spec"]["accessModes"] == ["ReadWriteMany"]
    assert "Namespace:vision" in waits_for(graph, "vision:PersistentVolumeClaim:vision/corpus")


def test_a_team_whose_storage_nobody_can_find_is_refused(pulumi_mocks):
    with pytest.raises(OutputValueMissing) as caught:
        pulumi_mocks.run(on_aws)
    assert str(caught.value) == (
        "vision: the storage locations of vision are missing: set data-corpus.handle in `stores`"
    )


def test_a_claim_of_a_class_is_made_on_a_cluster_of_ones_own(pulumi_mocks):
    data = [{"name": "corpus", "kind": "class", "class_name": "fast"}]
    raw = platform(teams=[team()], storage={"datasets": data})
    graph = pulumi_mocks.run(lambda: Team("vision", {"platform": raw, "team": "vision"}))
    claim = graph.one(name="vision:PersistentVolumeClaim:vision/corpus")
    assert claim.inputs["spec"]["storageClassName"] == "fast"
    assert claim.options["retainOnDelete"] is True


def test_a_claim_is_replaced_with_its_volume(pulumi_mocks):
    """A bound volume is deleted after its claim, and a volume that lost its claim binds to no other."""
    graph = pulumi_mocks.run(lambda: on_aws(stores={"data-corpus.handle": "fs-0123456789abcdef0"}))
    volume = graph.one(name="vision:PersistentVolume:lab.vision.corpus")
    claim = graph.one(name="vision:PersistentVolumeClaim:vision/corpus")
    assert volume.options["deleteBeforeReplace"] is True
    assert volume.options["replaceOnChanges"] == ["spec.accessModes"]
    assert claim.options["deleteBeforeReplace"] is True
    assert claim.options["replaceWith"] == [volume.urn]
    assert volume.urn in claim.dependencies
