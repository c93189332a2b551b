"""Objects of a platform that only queues, as Kueue's own definitions want them; and what it has none of."""

import json

import pytest

from gpuyard.plan.queueing.multikueue import FRAMEWORKS
from gpuyard.render.kueue.configuration import kueue_configuration
from gpuyard.render.platform import object_groups, platform_objects
from gpuyard_testing import CrdFolder
from kit.levels import upstream
from kit.stacks import cut_pool, plan_of, platform, pool, team

TWO = [{"name": "west", "secret": "west-key"}, {"name": "east", "secret": "east-key"}]
TEAMS = [team(guarantee={"train": 16}), team("speech", borrow={"train": 8})]


def hub(cloud="simulated", clusters=TWO):
    pools = [pool(), cut_pool()]
    return plan_of(platform(pools, TEAMS, name="hub", cloud=cloud, queueing={"clusters": clusters}))


def of_kind(plan, kind):
    return [o for o in platform_objects(plan) if o["kind"] == kind]


def test_kueue_takes_every_object():
    crds = CrdFolder(upstream("crds/kueue"))
    kinds = ("MultiKueueCluster", "MultiKueueConfig", "AdmissionCheck", "ClusterQueue")
    for kind in kinds:
        made = of_kind(hub(), kind)
        assert made
        assert [crds.violations(o) for o in made] == [[]] * len(made)


def test_a_cluster_is_reached_by_a_secret_that_is_only_named():
    west, east = of_kind(hub(), "MultiKueueCluster")
    assert west["metadata"]["name"] == "hub-west"
    assert west["spec"] == {
        "clusterSource": {"kubeConfig": {"location": "west-key", "locationType": "Secret"}}
    }
    assert east["spec"]["clusterSource"]["kubeConfig"]["location"] == "east-key"
    assert of_kind(hub(), "Secret") == []


def test_the_check_leads_to_the_clusters_in_the_order_of_the_stack_file():
    (config,) = of_kind(hub(), "MultiKueueConfig")
    assert config["spec"] == {"clusters": ["hub-west", "hub-east"], "quotaManagement": "Manual"}
    (check,) = of_kind(hub(), "AdmissionCheck")
    assert check["spec"] == {
        "controllerName": "kueue.x-k8s.io/multikueue",
        "parameters": {
            "apiGroup": "kueue.x-k8s.io",
            "kind": "MultiKueueConfig",
            "name": config["metadata"]["name"],
        },
    }


def test_every_queue_has_the_check_for_all_its_flavors():
    """Kueue makes a queue inactive where the check is for some flavors only."""
    for queue in of_kind(hub(), "ClusterQueue"):
        strategy = queue["spec"]["admissionChecksStrategy"]
        assert strategy == {"admissionChecks": [{"name": "hub-clusters"}]}


def test_what_names_another_stands_after_it():
    kinds = [o["kind"] for o in platform_objects(hub())]
    order = ["MultiKueueCluster", "MultiKueueConfig", "AdmissionCheck", "ClusterQueue"]
    assert [k for k in dict.fromkeys(kinds) if k in order] == order


@pytest.mark.parametrize("cloud", ["simulated", "none", "aws"])
def test_nothing_is_made_for_nodes(cloud):
    plan = hub(cloud)
    names = [name for name, _ in object_groups(plan)]
    assert not [n for n in names if n.startswith(("nodes-", "gpu-operator"))]
    assert {"platform", "queueing", "team-vision"} <= set(names)
    text = json.dumps([o for o in platform_objects(plan) if o["kind"] in {"Node", "ClusterPolicy"}])
    assert text == "[]"


def test_kueue_is_told_who_sends_and_what():
    found = kueue_configuration(hub())
    assert found["integrations"] == {"frameworks": list(FRAMEWORKS)}
    assert found["multiKueue"] == {
        "gcInterval": "1m",
        "origin": "hub",
        "workerLostTimeout": "15m",
        "dispatcherName": "kueue.x-k8s.io/multikueue-dispatcher-all-at-once",
    }


def test_a_platform_that_runs_its_jobs_has_none_of_it():
    plan = plan_of(platform([pool()], TEAMS))
    assert "multiKueue" not in kueue_configuration(plan)
    for kind in ("MultiKueueCluster", "MultiKueueConfig", "AdmissionCheck"):
        assert of_kind(plan, kind) == []
    for queue in of_kind(plan, "ClusterQueue"):
        assert "admissionChecksStrategy" not in queue["spec"]
