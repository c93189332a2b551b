"""Volcano: queues from teams and cohorts, the chart's values, and what Kueue would have and Volcano has not."""

import pytest
import yaml
from testbed.plugins.kubernetes.helm import unknown_values

from gpuyard.render.dependencies import dependencies_of
from gpuyard.render.platform import ADDONS, platform_objects, releases
from gpuyard.render.volcano.chart import scheduler_configuration, volcano_values
from gpuyard.render.volcano.queues import volcano_queue_objects
from gpuyard_advisor.explain import explain
from gpuyard_advisor.workloads import read_job
from gpuyard_core.admission.parameters import TeamParameters, read_parameters
from gpuyard_core.admission.requirements import QUEUED
from gpuyard_core.errors import UsageError
from gpuyard_core.names import VOLCANO_QUEUE
from gpuyard_lint.kubernetes import resource
from gpuyard_lint.rules.adm import workload
from kit.levels import upstream
from kit.stacks import cut_pool, findings, plan_of, platform, pool, team

MIG = "nvidia.com/mig-2g.10gb"


def plan(pools=None, teams=None, **more):
    queueing = {"engine": "volcano", **more.pop("queueing", {})}
    teams = teams or [team(guarantee={"train": 16}, borrow={"train": 8})]
    pools = pools or [pool(nodes=4)]
    return plan_of(platform(pools, teams, queueing=queueing, kubernetes="1.36", **more))


def queues(plan):
    return {each["metadata"]["name"]: each["spec"] for each in volcano_queue_objects(plan)}


def test_a_team_deserves_its_guarantee_and_may_use_as_much_as_it_may_borrow():
    found = queues(plan())
    assert found == {
        "lab": {
            "parent": "root",
            "reclaimable": True,
            "deserved": {"nvidia.com/gpu": "32"},
            "capability": {"nvidia.com/gpu": "32"},
        },
        "lab-vision": {
            "parent": "lab",
            "reclaimable": True,
            "deserved": {"nvidia.com/gpu": "16"},
            "capability": {"nvidia.com/gpu": "24"},
        },
    }


def test_what_a_team_does_not_lend_is_reserved_for_it_and_for_the_queues_above():
    mine = team(guarantee={"train": 16}, lend={"train": 4})
    found = queues(plan(teams=[mine]))
    assert found["lab-vision"]["guarantee"] == {"resource": {"nvidia.com/gpu": "12"}}
    assert found["lab"]["guarantee"] == {"resource": {"nvidia.com/gpu": "12"}}


def test_a_resource_without_quota_is_limited_to_none():
    pools = [pool(nodes=4), cut_pool(nodes=1)]
    teams = [team(guarantee={"train": 8}), team("speech", guarantee={"serve/2g.10gb": 1})]
    found = queues(plan(pools, teams))
    vision, speech = (found[name]["capability"] for name in ("lab-vision", "lab-speech"))
    assert (vision["nvidia.com/gpu"], vision[MIG]) == ("8", "0")
    assert (speech["nvidia.com/gpu"], speech[MIG]) == ("0", "1")


def test_no_queue_has_more_than_the_queue_above_it():
    cohorts = [{"name": "lang", "borrow": {"train": 4}, "lend": {"train": 8}}]
    teams = [
        team(guarantee={"train": 8}),
        team("speech", guarantee={"train": 16}, borrow={"train": 8}, cohort="lang"),
    ]
    found = queues(plan(teams=teams, queueing={"cohorts": cohorts}))
    assert list(found) == ["lab", "lab.lang", "lab-vision", "lab-speech"]
    assert found["lab.lang"] == {
        "parent": "lab",
        "reclaimable": True,
        "deserved": {"nvidia.com/gpu": "16"},
        "capability": {"nvidia.com/gpu": "20"},
        "guarantee": {"resource": {"nvidia.com/gpu": "8"}},
    }
    assert found["lab-speech"]["parent"] == "lab.lang"
    assert found["lab-speech"]["capability"] == {"nvidia.com/gpu": "20"}


def test_reclaim_and_preemption_are_on_unless_the_stack_file_says_never():
    reclaims, never = plan(), plan(queueing={"preemption": "never"})
    assert scheduler_configuration(reclaims)["actions"] == (
        "enqueue, allocate, preempt, reclaim, backfill"
    )
    assert scheduler_configuration(never)["actions"] == "enqueue, allocate, backfill"
    assert {each["reclaimable"] for each in queues(never).values()} == {False}
    plugins = scheduler_configuration(reclaims)["tiers"]
    assert plugins[0]["plugins"][1] == {
        "name": "gang",
        "enablePreemptable": False,
        "enableReclaimable": False,
    }
    assert {"name": "capacity", "enableHierarchy": True} in plugins[1]["plugins"]


@pytest.mark.parametrize("topology", [True, False])
def test_every_value_is_one_of_the_charts(topology):
    wide = pool(nodes=4, topology=True) if topology else pool(nodes=4)
    found = volcano_values(plan([wide]))
    own = yaml.safe_load(upstream("values", "volcano.yaml").read_text(encoding="utf-8"))
    assert list(unknown_values(found, own)) == []
    assert found["basic"]["image_tag_version"] == own["basic"]["image_tag_version"] == "v1.15.1"
    assert yaml.safe_load(found["custom"]["scheduler_config_override"])["actions"]


def test_levels_of_a_topology_are_discovered_by_the_labels_of_nodes():
    made = plan([pool(nodes=4, topology=True)])
    (topology,) = made.queueing.topologies
    custom = volcano_values(made)["custom"]
    (discovery,) = custom["controller_config_override"]["networkTopologyDiscovery"]
    levels = [{"nodeLabel": level} for level in topology.levels]
    assert discovery["config"] == {"networkTopologyTypes": {topology.name: levels}}
    assert {"name": "network-topology-aware"} in scheduler_configuration(made)["tiers"][1][
        "plugins"
    ]


def test_a_queue_needs_the_queue_above_it():
    platform_queue, of_team = volcano_queue_objects(plan())
    assert list(dependencies_of(of_team)) == [("Queue", "", platform_queue["metadata"]["name"])]


def test_volcano_replaces_kueue_and_nothing_of_kueue_remains():
    made = plan()
    release = releases(made)["volcano"]
    assert (release.namespace, release.version) == ("volcano-system", "1.15.0")
    assert "kueue" not in releases(made)
    assert not [o["kind"] for o in platform_objects(made) if "kueue" in o.get("apiVersion", "")]
    names = {o["metadata"]["name"] for o in platform_objects(made)}
    assert "gpuyard-lab-volcano" in names
    assert not {"gpuyard-lab-growth", "gpuyard-lab-reservations"} & names
    (addon,) = (addon for addon in ADDONS if addon.name == "volcano")
    assert {image.repository for image in addon.pulled_images(made)} == {
        f"docker.io/volcanosh/vc-{part}"
        for part in ("scheduler", "controller-manager", "webhook-manager")
    }
    existing = plan(queueing={"install": False})
    assert "volcano" not in releases(existing)
    assert queues(existing) == queues(made)


def test_an_older_api_server_gets_no_policy_that_writes_into_pods():
    spec = platform(
        [pool()],
        [team(guarantee={"train": 8})],
        queueing={"engine": "volcano"},
        kubernetes="1.35",
    )
    kinds = {o["kind"] for o in platform_objects(plan_of(spec))}
    assert "MutatingAdmissionPolicy" not in kinds
    assert "volcano.by_author" in {each.id for each in findings(spec)}


def test_explain_refuses_to_answer_for_volcano():
    job = read_job({"kind": "Job", "metadata": {"name": "x"}})
    with pytest.raises(
        UsageError, match="platform lab uses Volcano, and gpuyard models only Kueue"
    ):
        explain(plan(), job)


def violations(parameters: TeamParameters, **value):
    made = workload(resource({"apiVersion": "v1", "kind": "Pod", **value}))
    return [each.problem for each in QUEUED.check(made, parameters)]


def test_files_are_checked_for_the_queue_of_the_team():
    namespace = next(
        o
        for o in platform_objects(plan())
        if o["kind"] == "Namespace" and o["metadata"]["name"] == "vision"
    )
    parameters = read_parameters(namespace["metadata"]["annotations"])
    assert (parameters.volcano_queue, parameters.queues) == ("lab-vision", ())
    gpus = {"containers": [{"name": "a", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}
    assert violations(parameters, metadata={"name": "x"}, spec=gpus) == []
    other = {"name": "x", "annotations": {VOLCANO_QUEUE: "default"}}
    assert violations(parameters, metadata=other, spec=gpus) == ["this Pod names queue 'default'"]
    scheduled = {**gpus, "schedulerName": "other"}
    assert violations(parameters, metadata={"name": "x"}, spec=scheduled) == [
        "this pod requests GPUs but Volcano does not schedule it"
    ]
    plain = {"containers": [{"name": "a"}], "schedulerName": "other"}
    assert violations(parameters, metadata=other, spec=plain) == []
    job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "x"}}
    assert violations(parameters, **job, spec={"queue": "default"}) == [
        "this Job names queue 'default'"
    ]
    assert violations(parameters, **job, spec={"queue": "lab-vision"}) == []
    batch = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": {}}
    assert violations(parameters, **batch) == []


def test_volcano_runs_on_system_nodes():
    system = {"machine": "m7i.xlarge", "nodes": 2}
    nodes = volcano_values(plan(cloud="aws", system=system))["custom"]
    assert nodes["default_ns"] == {"gpuyard.dev/pool": "system"}


def test_a_cohort_that_limits_only_borrowing_reserves_nothing():
    found = queues(
        plan(
            teams=[team(guarantee={"train": 16}, borrow={"train": 8}, cohort="research")],
            queueing={"cohorts": [{"name": "research", "borrow": {"train": 8}}]},
        )
    )
    assert found["lab.research"]["capability"] == {"nvidia.com/gpu": "24"}
    assert "guarantee" not in found["lab.research"]
