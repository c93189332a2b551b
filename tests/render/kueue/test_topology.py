"""Objects of topologies and admission checks, as Kueue's own definitions want them."""

import pytest

from gpuyard.render.kueue.queueing import queueing_objects
from gpuyard_core.names import KUEUE_GROUP
from gpuyard_testing import CrdFolder
from kit.levels import upstream
from kit.stacks import cut_pool, plan_of, platform, pool, team

ZONES = {"zones": ["a", "b"]}
BOTH = platform(
    [pool(topology=True, provisioning="check-capacity", **ZONES), cut_pool(topology=True)],
    [team(guarantee={"train": 8}), team("b", guarantee={"serve/1g.5gb": 1})],
    cloud="simulated",
)
QUEUED = platform(
    [
        pool(
            machine="a3-megagpu-8g",
            nodes="0..4",
            capacity=["flex-start"],
            provisioning="queued",
            topology=True,
        ),
        pool("late", machine="a3-megagpu-8g", nodes="0..4", provisioning="atomic"),
    ],
    [team(guarantee={"train": 8, "late": 8})],
    cloud="gcp",
)


def rendered(raw):
    objects = queueing_objects(plan_of(raw))
    return {(o["kind"], o["metadata"]["name"]): o for o in objects}


def of_kind(raw, kind):
    return [o for (k, _), o in rendered(raw).items() if k == kind]


@pytest.mark.parametrize("raw", [BOTH, QUEUED], ids=["simulated", "gke"])
def test_kueue_takes_every_object(raw):
    crds = CrdFolder(upstream("crds/kueue"))
    checked = {
        o["kind"]: crds.violations(o)
        for o in queueing_objects(plan_of(raw))
        if o["apiVersion"].startswith(KUEUE_GROUP)
    }
    assert {"Topology", "ResourceFlavor", "AdmissionCheck", "ProvisioningRequestConfig"} <= set(
        checked
    )
    assert all(found == [] for found in checked.values()), checked


@pytest.mark.parametrize("raw", [BOTH, QUEUED], ids=["simulated", "gke"])
def test_everything_that_is_named_stands_before(raw):
    seen = set()
    for obj in queueing_objects(plan_of(raw)):
        spec = obj.get("spec", {})
        if name := spec.get("topologyName"):
            assert ("Topology", name) in seen
        if obj["kind"] == "AdmissionCheck":
            assert ("ProvisioningRequestConfig", spec["parameters"]["name"]) in seen
        for check in spec.get("admissionChecksStrategy", {}).get("admissionChecks", ()):
            assert ("AdmissionCheck", check["name"]) in seen
            assert all(("ResourceFlavor", flavor) in seen for flavor in check["onFlavors"])
        seen.add((obj["kind"], obj["metadata"]["name"]))


def test_a_topology_lists_its_levels_and_flavors_name_it():
    first, second = of_kind(BOTH, "Topology")
    assert [level["nodeLabel"] for level in first["spec"]["levels"]] == [
        "topology.kubernetes.io/zone",
        "kubernetes.io/hostname",
    ]
    train, serve = of_kind(BOTH, "ResourceFlavor")
    assert train["spec"]["topologyName"] == first["metadata"]["name"]
    assert serve["spec"]["topologyName"] == second["metadata"]["name"]


def test_without_the_words_nothing_of_it_is_rendered():
    objects = rendered(platform([pool(**ZONES)], [team(guarantee={"train": 8})]))
    assert not {k for k, _ in objects} & {"Topology", "AdmissionCheck", "ProvisioningRequestConfig"}
    assert "topologyName" not in objects["ResourceFlavor", "train"]["spec"]
    assert "admissionChecksStrategy" not in next(
        o["spec"] for (k, _), o in objects.items() if k == "ClusterQueue"
    )


def test_only_queues_with_such_a_pool_have_the_check_and_only_for_it():
    plan = plan_of(BOTH)
    queues = {o["metadata"]["name"]: o["spec"] for o in of_kind(BOTH, "ClusterQueue")}
    strategy = queues[plan.teams[0].cluster_queue]["admissionChecksStrategy"]
    assert strategy == {
        "admissionChecks": [
            {"name": "lab-check-capacity", "onFlavors": [plan.pool("train").flavor]}
        ]
    }
    assert "admissionChecksStrategy" not in queues[plan.teams[1].cluster_queue]


def test_the_checks_of_a_queue_stand_apart_by_flavor():
    plan = plan_of(QUEUED)
    (queue,) = of_kind(QUEUED, "ClusterQueue")
    assert queue["spec"]["admissionChecksStrategy"]["admissionChecks"] == [
        {"name": "lab-atomic", "onFlavors": ["late"]},
        {"name": "lab-queued", "onFlavors": [plan.pool("train").flavor]},
    ]


def test_gke_marks_its_nodes_and_no_pod_sets_are_merged():
    queued = rendered(QUEUED)["ProvisioningRequestConfig", "lab-queued"]["spec"]
    assert queued == {
        "provisioningClassName": "queued-provisioning.gke.io",
        "retryStrategy": {
            "backoffLimitCount": 3,
            "backoffBaseSeconds": 60,
            "backoffMaxSeconds": 1800,
        },
        "managedResources": ["nvidia.com/gpu"],
        "podSetUpdates": {
            "nodeSelector": [
                {
                    "key": "autoscaling.gke.io/provisioning-request",
                    "valueFromProvisioningClassDetail": "ResizeRequestName",
                }
            ]
        },
    }


def test_claims_leave_the_list_of_resources_out():
    raw = platform(
        [pool(nodes="1..4", scaling="autoscaler", sharing="dra", provisioning="atomic")],
        cloud="aws",
    )
    (config,) = of_kind(raw, "ProvisioningRequestConfig")
    assert "managedResources" not in config["spec"]
    assert config["spec"]["parameters"] == {"ValidUntilSeconds": "900"}


def test_limits_of_a_cohort_stand_at_the_flavor_of_the_pool():
    raw = platform(
        [pool(topology=True, **ZONES)],
        [team(guarantee={"train": 8}, borrow={"train": 8}, cohort="labs")],
        cloud="simulated",
        queueing={"cohorts": [{"name": "labs", "borrow": {"train": 8}}]},
    )
    (cohort,) = [o for o in of_kind(raw, "Cohort") if o["spec"].get("parentName")]
    (flavor,) = cohort["spec"]["resourceGroups"][0]["flavors"]
    assert flavor["name"] == plan_of(raw).pools[0].flavor
    assert flavor["resources"][0]["borrowingLimit"] == "8"
