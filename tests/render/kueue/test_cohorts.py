"""The objects of a cohort tree, and of what is stopped."""

import pytest

from gpuyard.render.platform import platform_objects
from kit.stacks import cut_pool, plan_of, platform, pool, team

GPU = "nvidia.com/gpu"


def by_kind(raw, kind):
    found = [o for o in platform_objects(plan_of(raw)) if o["kind"] == kind]
    return {o["metadata"]["name"]: o["spec"] for o in found}


TREE = platform(
    [pool(), cut_pool()],
    [
        team("a", guarantee={"train": 8}, borrow={"train": 4}, cohort="leaf"),
        team("b", guarantee={"train": 4, "serve/3g.20gb": 2}, cohort="top"),
        team("c", guarantee={"train": 4}),
    ],
    queueing={
        "cohorts": [
            {"name": "leaf", "parent": "top", "borrow": {"train": 4}},
            {"name": "top", "weight": 2, "borrow": {"train": 2}, "lend": {"train": 6}},
        ]
    },
)


def test_a_cohort_has_its_parent_its_weight_and_its_limits():
    cohorts = by_kind(TREE, "Cohort")
    assert list(cohorts) == ["lab", "lab.top", "lab.leaf"]
    serve = ["nvidia.com/mig-1g.5gb", "nvidia.com/mig-2g.10gb", "nvidia.com/mig-3g.20gb"]
    none = {"nominalQuota": "0", "borrowingLimit": "0", "lendingLimit": "0"}
    assert cohorts["lab.top"] == {
        "parentName": "lab",
        "fairSharing": {"weight": "2"},
        "resourceGroups": [
            {
                "coveredResources": [GPU],
                "flavors": [
                    {
                        "name": "train",
                        "resources": [
                            {
                                "name": GPU,
                                "nominalQuota": "0",
                                "borrowingLimit": "2",
                                "lendingLimit": "6",
                            }
                        ],
                    }
                ],
            },
            {
                "coveredResources": serve,
                "flavors": [{"name": "serve", "resources": [{"name": r, **none} for r in serve]}],
            },
        ],
    }
    assert cohorts["lab.leaf"]["parentName"] == "lab.top"
    (group,) = cohorts["lab.leaf"]["resourceGroups"]
    assert group["flavors"][0]["resources"] == [
        {"name": GPU, "nominalQuota": "0", "borrowingLimit": "4"}
    ]


def test_a_queue_is_in_the_cohort_of_its_team():
    queues = by_kind(TREE, "ClusterQueue")
    assert {name: q["cohortName"] for name, q in queues.items()} == {
        "lab-a": "lab.leaf",
        "lab-b": "lab.top",
        "lab-c": "lab",
    }


def test_a_cohort_without_limits_is_no_more_than_its_place():
    raw = platform(
        None,
        [team(guarantee={"train": 8}, cohort="labs")],
        queueing={"cohorts": [{"name": "labs"}], "fair_sharing": False},
    )
    assert by_kind(raw, "Cohort")["lab.labs"] == {"parentName": "lab"}


def test_a_resource_of_a_pool_that_nobody_in_the_cohort_has_is_zero_there():
    half = {"mig": [{"gpus": "0-3", "3g.20gb": 2}]}
    raw = platform(
        [cut_pool("x", sharing=half), pool("y")],
        [team(guarantee={"y": 1, "x/3g.20gb": 1}, cohort="labs")],
        queueing={"cohorts": [{"name": "labs", "lend": {"y": 1}}]},
    )
    (group,) = by_kind(raw, "Cohort")["lab.labs"]["resourceGroups"]
    mig = "nvidia.com/mig-3g.20gb"
    assert group["coveredResources"] == [GPU, mig]
    by_flavor = {
        f["name"]: [r.get("lendingLimit") for r in f["resources"]] for f in group["flavors"]
    }
    assert by_flavor == {"x": ["0", "0"], "y": ["1", None]}


@pytest.mark.parametrize(
    ("stop", "policy"), [("hold", "Hold"), ("drain", "HoldAndDrain"), (None, None)]
)
def test_a_stopped_queue_has_the_policy_that_stops_it(stop, policy):
    one = team(guarantee={"train": 8}, **({"stop_policy": stop} if stop else {}))
    assert by_kind(platform(None, [one]), "ClusterQueue")["lab-vision"].get("stopPolicy") == policy


def test_a_stopped_pool_has_a_taint_that_its_flavor_does_not_tolerate():
    flavors = by_kind(platform([pool(stop_policy="hold"), pool("other")]), "ResourceFlavor")
    brake = {"key": "gpuyard.dev/stop", "value": "hold", "effect": "NoSchedule"}
    assert flavors["train"]["nodeTaints"][-1] == brake
    assert brake["key"] not in str(flavors["train"]["tolerations"])
    assert len(flavors["train"]["nodeTaints"]) == len(flavors["other"]["nodeTaints"]) + 1
    assert "gpuyard.dev/stop" not in str(flavors["other"])
