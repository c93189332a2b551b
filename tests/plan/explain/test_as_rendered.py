"""The rendered queues mean what `explain` takes them to mean: each of its assumptions, on the objects."""

import pytest

from explain_cases import local
from gpuyard.plan import kueue, names
from gpuyard.plan.explain.needs import GANGS
from gpuyard.render.kueue_configuration import kueue_configuration
from gpuyard.render.platform import platform_objects


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


def test_the_search_for_a_pool_is_kueues_default():
    for spec in queue_specs():
        assert "flavorFungibility" not in spec
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


def test_teams_have_one_queue_and_jobs_without_a_label_go_there():
    found = objects("LocalQueue")
    assert [o["metadata"]["name"] for o in found] == [names.LOCAL_QUEUE] * 3 == ["default"] * 3


def test_a_namespace_holds_what_its_team_can_have():
    plan = local()
    quotas = {o["metadata"]["namespace"]: o["spec"]["hard"] for o in objects("ResourceQuota")}
    for team in plan.teams:
        for resource, amount in team.hard.items():
            assert quotas[team.namespace][resource] == str(amount)


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
    }
    pod_by_pod = {"deployment", "leaderworkerset.x-k8s.io/leaderworkerset"}
    not_read = {
        "ray.io/rayjob",
        "ray.io/rayservice",
        "ray.io/raycluster",
        "workload.codeflare.dev/appwrapper",
    }
    named = set(found["integrations"]["frameworks"])
    assert named == set(frameworks) | pod_by_pod | not_read
    assert set().union(*frameworks.values()) == GANGS


def test_a_gang_without_nodes_is_evicted_after_a_while():
    found = kueue_configuration(local())["waitForPodsReady"]
    assert found == {
        "timeout": kueue.GANG_TIMEOUT,
        "recoveryTimeout": kueue.GANG_TIMEOUT,
        "blockAdmission": False,
    }


def test_fair_sharing_uses_both_rules_in_this_order():
    strategies = kueue_configuration(local())["fairSharing"]["preemptionStrategies"]
    assert strategies == ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
    off = {"engine": "kueue", "fair_sharing": False}
    assert "fairSharing" not in kueue_configuration(local(queueing=off))
    assert all("fairSharing" not in spec for spec in queue_specs(queueing=off))
