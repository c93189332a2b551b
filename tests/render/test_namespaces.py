"""Every namespace of a team has the same objects, and one queue behind them."""

import pytest

from gpuyard.render.platform import platform_objects
from gpuyard.render.teams import team_objects
from gpuyard_core.names import EXISTING_ANNOTATION, PROTECT_ANNOTATION
from kit.stacks import plan_of, platform, team

TEAM = team(
    guarantee={"train": 8},
    namespaces=["eyes", {"name": "old", "existing": True}],
    groups=["seers"],
    queues={"default": 1, "fast": 2},
    limits={"cpu": 101, "pods": 50},
)


@pytest.fixture(scope="module")
def plan():
    return plan_of(platform(teams=[TEAM]))


@pytest.fixture(scope="module")
def by_namespace(plan):
    found = {"eyes": {}, "old": {}}
    for obj in team_objects(plan, plan.teams[0]):
        meta = obj["metadata"]
        home = meta["name"] if obj["kind"] == "Namespace" else meta["namespace"]
        found[home][obj["kind"], "" if obj["kind"] == "Namespace" else meta["name"]] = obj
    return found


def test_each_has_the_same_objects(by_namespace):
    assert list(by_namespace["eyes"]) == list(by_namespace["old"])
    assert ("LocalQueue", "fast") in by_namespace["old"]
    assert ("RoleBinding", "gpuyard-members") in by_namespace["old"]


def test_all_say_whose_they_are_and_one_that_it_was_there(by_namespace):
    eyes, old = (by_namespace[name]["Namespace", ""]["metadata"] for name in ("eyes", "old"))
    assert eyes["labels"] == old["labels"]
    assert eyes["labels"]["gpuyard.dev/team"] == "vision"
    assert eyes["annotations"][PROTECT_ANNOTATION] == "true"
    assert EXISTING_ANNOTATION not in eyes["annotations"]
    assert old["annotations"][EXISTING_ANNOTATION] == "true"
    assert PROTECT_ANNOTATION not in old["annotations"]


def test_one_queue_takes_jobs_from_all_of_them_and_from_no_other_platform(plan, by_namespace):
    (queue,) = (one for one in platform_objects(plan) if one["kind"] == "ClusterQueue")
    selector = queue["spec"]["namespaceSelector"]["matchLabels"]
    assert selector == {"gpuyard.dev/platform": "lab", "gpuyard.dev/team": "vision"}
    for objects in by_namespace.values():
        assert objects["LocalQueue", "default"]["spec"]["clusterQueue"] == "lab-vision"
        assert selector.items() <= objects["Namespace", ""]["metadata"]["labels"].items()


def test_gpus_stand_whole_in_each_quota_and_the_rest_is_divided(by_namespace):
    eyes, old = (by_namespace[n]["ResourceQuota", "gpuyard"]["spec"]["hard"] for n in by_namespace)
    assert eyes["requests.nvidia.com/gpu"] == old["requests.nvidia.com/gpu"] == "40"
    assert int(eyes["requests.cpu"]) + int(old["requests.cpu"]) == 101
    assert int(eyes["pods"]) + int(old["pods"]) == 50
