"""The cluster: private, guarded, upgraded when it may be, measured once; or one that is there already."""

import pytest

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import Joined
from render.gcp.made import POOL, gpu_pool, graph_of, inputs_of


def cluster_of(**words):
    return inputs_of(graph_of(cluster=words), "cluster")


def test_nobody_reaches_it_from_outside():
    found = cluster_of()
    assert found["privateClusterConfig"] == {
        "enablePrivateNodes": True,
        "enablePrivateEndpoint": True,
    }
    assert found["masterAuthorizedNetworksConfig"] == {
        "cidrBlocks": [],
        "gcpPublicCidrsAccessEnabled": False,
    }
    assert found["controlPlaneEndpointsConfig"] == {
        "dnsEndpointConfig": {"allowExternalTraffic": False}
    }
    assert found["masterAuth"] == {"clientCertificateConfig": {"issueClientCertificate": False}}


def test_named_networks_and_its_dns_name_can_be_let_in():
    found = cluster_of(endpoint={"public": ["203.0.113.0/28"], "dns": True})
    assert found["privateClusterConfig"]["enablePrivateEndpoint"] is False
    blocks = found["masterAuthorizedNetworksConfig"]["cidrBlocks"]
    assert blocks == [{"cidrBlock": "203.0.113.0/28"}]
    assert found["controlPlaneEndpointsConfig"]["dnsEndpointConfig"]["allowExternalTraffic"] is True


def test_pods_have_identities_and_dataplane_v2():
    found = cluster_of()
    pool = Joined(UnresolvedOutput("client.project"), ".svc.id.goog")
    assert found["workloadIdentityConfig"] == {"workloadPool": pool}
    assert found["datapathProvider"] == "ADVANCED_DATAPATH"
    assert found["minMasterVersion"] == "1.36"


@pytest.mark.parametrize(
    ("machine", "several"), [("a3-megagpu-8g", True), ("g2-standard-48", False)]
)
def test_several_networks_are_turned_on_where_nodes_have_them(machine, several):
    graph = graph_of(gpu_pool(machine=machine))
    assert inputs_of(graph, "cluster")["enableMultiNetworking"] is several


def test_protection_is_said_to_the_engine_and_to_google():
    graph = graph_of()
    assert {r.protect for r in graph.resources if r.name == "cluster" or r.kind == POOL} == {True}
    assert inputs_of(graph, "cluster")["deletionProtection"] is True
    bare = graph_of(cluster={"protect": False})
    assert {r.protect for r in bare.resources} == {False}
    assert inputs_of(bare, "cluster")["deletionProtection"] is False


def test_it_is_upgraded_in_its_window():
    found = cluster_of()
    assert found["releaseChannel"] == {"channel": "REGULAR"}
    assert found["maintenancePolicy"] == {
        "recurringWindow": {
            "startTime": "2024-01-06T02:00:00Z",
            "endTime": "2024-01-06T10:00:00Z",
            "recurrence": "FREQ=WEEKLY;BYDAY=SA,SU",
        }
    }


def test_a_window_may_end_on_the_next_day_and_days_can_be_kept_free_of_upgrades():
    found = cluster_of(
        release_channel="stable",
        maintenance={
            "days": ["fri", "tue"],
            "start": "22:30",
            "hours": 6,
            "freezes": [{"name": "launch", "start": "2026-12-01", "end": "2027-01-04"}],
        },
    )
    assert found["releaseChannel"] == {"channel": "STABLE"}
    assert found["maintenancePolicy"] == {
        "recurringWindow": {
            "startTime": "2024-01-02T22:30:00Z",
            "endTime": "2024-01-03T04:30:00Z",
            "recurrence": "FREQ=WEEKLY;BYDAY=TU,FR",
        },
        "maintenanceExclusions": [
            {
                "exclusionName": "launch",
                "startTime": "2026-12-01T00:00:00Z",
                "endTime": "2027-01-04T00:00:00Z",
                "exclusionOptions": {"scope": "NO_UPGRADES"},
            }
        ],
    }


@pytest.mark.parametrize(
    ("image", "components", "google"),
    [("cos", ["SYSTEM_COMPONENTS"], False), ("cos-gke", ["DCGM", "SYSTEM_COMPONENTS"], True)],
)
def test_gpus_are_measured_by_google_or_by_the_operator_and_never_by_both(
    image, components, google
):
    found = inputs_of(graph_of(gpu_pool(image=image)), "cluster")["monitoringConfig"]
    assert found == {"enableComponents": components, "managedPrometheus": {"enabled": google}}


def test_of_the_control_planes_logs_those_are_kept_that_are_asked_for():
    everything = cluster_of()["loggingConfig"]["enableComponents"]
    control_plane = ["APISERVER", "CONTROLLER_MANAGER", "SCHEDULER"]
    assert everything == [*control_plane, "SYSTEM_COMPONENTS", "WORKLOADS"]
    few = cluster_of(logs={"kinds": ["audit", "scheduler"]})["loggingConfig"]["enableComponents"]
    assert few == ["SCHEDULER", "SYSTEM_COMPONENTS", "WORKLOADS"]


def test_storage_that_is_asked_for_has_its_driver():
    def drivers(**storage):
        graph = graph_of(storage=storage or None)
        addons = inputs_of(graph, "cluster")["addonsConfig"]
        return {name for name, found in addons.items() if found["enabled"]}

    always = {"dnsCacheConfig", "gcePersistentDiskCsiDriverConfig"}
    assert drivers() == always
    assert drivers(checkpoints={}) == always
    for kind, driver in {
        "bucket": "gcsFuseCsiDriverConfig",
        "filestore": "gcpFilestoreCsiDriverConfig",
        "managed-lustre": "lustreCsiDriverConfig",
    }.items():
        assert drivers(datasets=[{"name": "corpus", "kind": kind}]) == {*always, driver}


def test_nodes_come_from_our_pools_alone():
    graph = graph_of()
    found = inputs_of(graph, "cluster")
    assert found["clusterAutoscaling"] == {
        "enabled": False,
        "autoscalingProfile": "OPTIMIZE_UTILIZATION",
    }
    assert found["removeDefaultNodePool"] is True
    assert found["nodeConfig"]["machineType"] == "e2-medium"
    # they replace the cluster when they change, and describe nodes that are long gone
    assert set(graph.resource("cluster").ignores) == {"nodeConfig", "initialNodeCount"}


def test_bare_metal_cannot_prove_how_it_booted_so_that_the_cluster_does_not_ask():
    metal = gpu_pool(
        machine="a4x-maxgpu-4g-metal", nodes=4, capacity=[{"reserved": "r", "nodes": 4}]
    )
    assert inputs_of(graph_of(metal), "cluster")["enableShieldedNodes"] is False
    assert cluster_of()["enableShieldedNodes"] is True


# ── a cluster that is there ───────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("existing", "asked"),
    [
        ("prod", {"name": "prod", "location": "us-central1"}),
        (
            "gke_acme-ml_europe-west4_prod-1",
            {"name": "prod-1", "location": "europe-west4", "project": "acme-ml"},
        ),
    ],
)
def test_a_cluster_that_is_there_is_asked_for_by_its_name_or_context(existing, asked):
    graph = graph_of(gpu_pool(machine="a3-highgpu-8g"), cluster={"existing": existing})
    (call,) = (each for each in graph.calls if each.name == "cluster")
    assert call.args == asked
    assert "cluster" not in {each.name for each in graph.resources}
    assert "network" not in {each.name for each in graph.resources}
    (rung,) = (each for each in graph.resources_of_kind(POOL) if each.part == "train")
    assert rung.inputs["cluster"] == UnresolvedOutput("cluster.name")
    assert rung.inputs["location"] == UnresolvedOutput("cluster.location")
    assert len(rung.inputs["networkConfig"]["additionalNodeNetworkConfigs"]) == 4


def test_a_cluster_that_is_there_has_nodes_for_its_controllers_unless_the_stack_file_says_more():
    graph = graph_of(gpu_pool(), cluster={"existing": "prod"}, system=None)
    assert [each.part for each in graph.resources_of_kind(POOL)] == ["train"]
