"""The rendered queues mean what `explain` takes them to mean: each of its assumptions, on the objects."""

import pytest

from gpuyard.plan.queueing import kueue
from gpuyard.render.kueue.configuration import kueue_configuration
from gpuyard.render.platform import platform_objects
from gpuyard_advisor.explain.messages import nodes
from gpuyard_advisor.scheduler.requests import GANGS
from gpuyard_core import names
from kit.cases.explain import local


def objects(kind, **rest):
    return [o for o in platform_objects(local(**rest)) if o["kind"] == kind]


def queue_specs(**rest):
    found = [o["spec"] for o in objects("ClusterQueue", **rest)]
    assert len(found) == 3
    return found


@pytest.mark.parametrize(
    ("policy", "rendered"),
    [
        ("reclaim", {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}),
        ("never", {"reclaimWithinCohort": "Never", "withinClusterQueue": "Never"}),
    ],
)
def test_who_may_evict_whom(policy, rendered):
    for spec in queue_specs(queueing={"engine": "kueue", "preemption": policy}):
        assert spec["preemption"] == rendered, "borrowWithinCohort stays at Never"


@pytest.mark.parametrize(
    ("said", "borrowing"),
    [(None, "TryNextFlavor"), ("guarantee", "TryNextFlavor"), ("order", "MayStopSearch")],
)
def test_the_search_for_a_pool_is_the_one_that_is_modelled(said, borrowing):
    queueing = {"engine": "kueue"} | ({"pool_choice": said} if said else {})
    for spec in queue_specs(queueing=queueing):
        assert spec["flavorFungibility"] == {
            "whenCanBorrow": borrowing,
            "whenCanPreempt": "TryNextFlavor",
        }
        assert "admissionChecksStrategy" not in spec
        assert spec["queueingStrategy"] == "BestEffortFIFO"


def test_every_queue_is_a_child_of_one_cohort_and_every_amount_has_a_limit():
    for spec in queue_specs():
        assert spec["cohortName"] == "lab"
        for group in spec["resourceGroups"]:
            for flavor in group["flavors"]:
                assert all("borrowingLimit" in r for r in flavor["resources"])


def test_cohorts_only_hold_what_is_nobodys():
    for cohort in objects("Cohort"):
        for group in cohort["spec"].get("resourceGroups", []):
            for flavor in group["flavors"]:
                assert all(set(r) == {"name", "nominalQuota"} for r in flavor["resources"])


def test_flavors_are_tried_in_the_order_of_the_pools():
    plan = local()
    order = [p.stable_name for p in plan.pools]
    for team in plan.teams:
        for group in team.resource_groups:
            assert sorted(group.flavors, key=order.index) == list(group.flavors)


def test_a_flavor_tolerates_its_own_taints_and_has_the_labels_that_pods_get():
    plan = local()
    for flavor in objects("ResourceFlavor"):
        pool = next(p for p in plan.pools if p.stable_name == flavor["metadata"]["name"])
        assert flavor["spec"]["nodeLabels"] == dict(pool.node_selector)
        tolerated = {(t["key"], t["value"], t["effect"]) for t in flavor["spec"]["tolerations"]}
        assert tolerated >= {(t.key, t.value, t.effect) for t in pool.taints}
        assert all(t["operator"] == "Equal" for t in flavor["spec"]["tolerations"])


def test_a_team_has_all_its_queues_and_they_lead_to_one():
    teams = [{"name": "vision", "borrow": {"train": 1}, "queues": {"default": 1, "night": 0.5}}]

    def queues(**rest):
        found = objects("LocalQueue", teams=teams, **rest)
        return {o["metadata"]["name"]: o["spec"] for o in found}

    plain = {"clusterQueue": "lab-vision"}
    assert queues() == {"default": plain, "night": plain}
    assert queues(queueing={"usage_half_life_hours": 24}) == {
        "default": {**plain, "fairSharing": {"weight": "1"}},
        "night": {**plain, "fairSharing": {"weight": "0.5"}},
    }


def test_use_is_counted_in_parts_of_a_gpu_when_the_file_says_so():
    assert "admissionFairSharing" not in kueue_configuration(local())
    assert all("admissionScope" not in spec for spec in queue_specs())
    counting = {"queueing": {"usage_half_life_hours": 24}}
    assert kueue_configuration(local(**counting))["admissionFairSharing"] == {
        "usageHalfLifeTime": "24h",
        "usageSamplingInterval": "5m",
        "resourceWeights": {
            "nvidia.com/gpu": 1.0,
            "nvidia.com/gpu.shared": 0.25,
            "nvidia.com/mig-1g.5gb": 0.1429,
            "nvidia.com/mig-2g.10gb": 0.2857,
            "nvidia.com/mig-3g.20gb": 0.4286,
        },
    }
    mode = {"admissionMode": "UsageBasedAdmissionFairSharing"}
    assert all(spec["admissionScope"] == mode for spec in queue_specs(**counting))


def test_teams_have_one_queue_and_jobs_without_a_label_go_there():
    found = objects("LocalQueue")
    assert [o["metadata"]["name"] for o in found] == [names.LOCAL_QUEUE] * 3 == ["default"] * 3


def test_a_namespace_holds_what_its_team_can_have():
    plan = local()
    quotas = {o["metadata"]["namespace"]: o["spec"]["hard"] for o in objects("ResourceQuota")}
    for team in plan.teams:
        for resource, amount in team.hard.items():
            assert quotas[team.default_namespace.name][resource] == str(amount)


def test_kueue_counts_devices_and_nothing_else_and_knows_these_kinds():
    found = kueue_configuration(local())
    assert found["resources"] == {"excludeResourcePrefixes": list(kueue.WITHOUT_QUOTA)}
    assert found["manageJobsWithoutQueueName"] is False
    frameworks = {
        "batch/job": {"Job", "CronJob"},
        "kubeflow.org/mpijob": {"MPIJob"},
        "pod": {"Pod"},
        "statefulset": {"StatefulSet"},
        "jobset.x-k8s.io/jobset": {"JobSet"},
        "trainer.kubeflow.org/trainjob": {"TrainJob"},
        "ray.io/rayjob": {"RayJob"},
        "ray.io/rayservice": {"RayService"},
        "ray.io/raycluster": {"RayCluster"},
        "workload.codeflare.dev/appwrapper": {"AppWrapper"},
    }
    pod_by_pod = {"deployment", "leaderworkerset.x-k8s.io/leaderworkerset"}
    named = set(found["integrations"]["frameworks"])
    assert named == set(frameworks) | pod_by_pod
    assert set().union(*frameworks.values()) == GANGS


@pytest.mark.parametrize(
    ("minutes", "told"), [(None, "After 5 minutes"), (60, "After 1 hour"), (90, "After 90 minutes")]
)
def test_a_gang_without_nodes_is_evicted_after_a_while(minutes, told):
    plan = local(queueing={"start_within_minutes": minutes} if minutes else {})
    found = kueue_configuration(plan)["waitForPodsReady"]
    assert found == {
        "timeout": f"{minutes or 5}m",
        "recoveryTimeout": f"{minutes or 5}m",
        "blockAdmission": False,
        "requeuingStrategy": {
            "timestamp": "Eviction",
            "backoffBaseSeconds": 60,
            "backoffMaxSeconds": 3600,
        },
    }
    assert nodes.admitted_but_pods_pending(plan) == (
        f"Kueue admits it, its pods stay pending and its quota stays in use. {told} Kueue evicts the whole job"
        " and requeues it 1 minute later, then after twice as long, up to 1 hour."
    )


def test_fair_sharing_uses_both_rules_in_this_order():
    strategies = kueue_configuration(local())["fairSharing"]["preemptionStrategies"]
    assert strategies == ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
    off = {"engine": "kueue", "fair_sharing": False}
    assert "fairSharing" not in kueue_configuration(local(queueing=off))
    assert all("fairSharing" not in spec for spec in queue_specs(queueing=off))
