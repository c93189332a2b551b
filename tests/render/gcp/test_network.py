"""The cluster's network: closed to the outside, its own or given, and where the platform is."""

import pytest

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.spelling import fit_name
from gpuyard.render.gcp.place import resource_labels
from render.gcp.made import gpu_pool, graph_of, inputs_of, plan_on_gcp

NETWORK, SUBNETWORK = "gcp:compute/network:Network", "gcp:compute/subnetwork:Subnetwork"


def test_nodes_have_addresses_of_their_own_network_and_reach_google_without_the_internet():
    graph = graph_of(gpu_pool(machine="g2-standard-48"))
    assert [each.name for each in graph.resources_of_kind(NETWORK)] == ["network"]
    subnetwork = inputs_of(graph, "subnetwork")
    assert subnetwork["ipCidrRange"] == "10.0.0.0/16"
    assert subnetwork["privateIpGoogleAccess"] is True
    assert subnetwork["secondaryIpRanges"] == [
        {"rangeName": "pods", "ipCidrRange": "10.16.0.0/13"},
        {"rangeName": "services", "ipCidrRange": "10.8.0.0/20"},
    ]
    assert "logConfig" in subnetwork
    assert "mtu" not in inputs_of(graph, "network")


def test_the_stack_file_says_addresses_and_what_is_written_down():
    ranges = {"cidr": "172.20.0.0/16", "pods": "172.24.0.0/14", "services": "172.21.0.0/20"}
    graph = graph_of(cluster={"network": {**ranges, "flow_logs": False, "nat": "none"}})
    subnetwork = inputs_of(graph, "subnetwork")
    found = [
        subnetwork["ipCidrRange"],
        *(r["ipCidrRange"] for r in subnetwork["secondaryIpRanges"]),
    ]
    assert found == list(ranges.values())
    assert "logConfig" not in subnetwork
    assert {"router", "nat"}.isdisjoint(each.name for each in graph.resources)


def test_nat_is_for_the_nodes_alone_and_has_ports_for_many_pods():
    graph = graph_of()
    nat = inputs_of(graph, "nat")
    assert nat["subnetworks"] == [
        {"name": UnresolvedOutput("subnetwork.selfLink"), "sourceIpRangesToNats": ["ALL_IP_RANGES"]}
    ]
    assert nat["enableDynamicPortAllocation"] is True
    # GCE refuses both together
    assert nat["enableEndpointIndependentMapping"] is False


def test_a_network_that_is_there_is_taken_as_it_is():
    given = {"id": "shared", "subnets": {"private": ["gpu-nodes"]}}
    graph = graph_of(gpu_pool(machine="g2-standard-48"), cluster={"network": given})
    assert graph.resources_of_kind(NETWORK) == []
    assert graph.resources_of_kind(SUBNETWORK) == []
    cluster = inputs_of(graph, "cluster")
    assert (cluster["network"], cluster["subnetwork"]) == ("shared", "gpu-nodes")
    assert cluster["ipAllocationPolicy"] == {
        "stackType": "IPV4",
        "clusterIpv4CidrBlock": "10.16.0.0/13",
        "servicesIpv4CidrBlock": "10.8.0.0/20",
    }


def test_in_a_network_that_is_there_pods_and_services_get_the_ranges_that_are_named():
    given = {
        "id": "shared",
        "subnets": {"private": ["gpu-nodes"]},
        "pods": "192.168.0.0/17",
        "services": "10.9.0.0/20",
    }
    graph = graph_of(cluster={"network": given})
    assert inputs_of(graph, "cluster")["ipAllocationPolicy"] == {
        "stackType": "IPV4",
        "clusterIpv4CidrBlock": "192.168.0.0/17",
        "servicesIpv4CidrBlock": "10.9.0.0/20",
    }
    assert inputs_of(graph, "device-0-subnetwork")["ipCidrRange"] == "172.31.0.0/20"


def test_a_region_that_nobody_says_is_the_providers():
    graph = graph_of(gpu_pool(machine="g2-standard-48", zones=[]))
    assert inputs_of(graph, "subnetwork")["region"] == UnresolvedOutput("client.region")
    assert inputs_of(graph, "cluster")["location"] == UnresolvedOutput("client.region")


def test_a_cluster_of_one_zone_is_a_zonal_one_and_of_several_names_them():
    one = inputs_of(graph_of(cluster={"zones": ["us-central1-a"]}), "cluster")
    assert one["location"] == "us-central1-a"
    assert "nodeLocations" not in one
    two = inputs_of(graph_of(cluster={"zones": ["us-central1-a", "us-central1-b"]}), "cluster")
    assert two["location"] == "us-central1"
    assert two["nodeLocations"] == ["us-central1-a", "us-central1-b"]


# ── names and labels ──────────────────────────────────────────────────────────────────────────────
def test_a_name_that_is_too_long_keeps_its_beginning_and_a_digest():
    assert fit_name("a" * 40, 40) == "a" * 40
    long, other = fit_name("a" * 41, 40), fit_name("a" * 40 + "b", 40)
    assert (len(long), long[:33]) == (40, "a" * 33)
    assert long != other
    assert "--" not in fit_name("train-" * 10, 40)


@pytest.mark.parametrize(
    ("tags", "label"),
    [
        ({"Owner": "ML Platform"}, ("owner", "ml-platform")),
        ({"cost-center": "4711"}, ("cost-center", "4711")),
        ({"4711": "x" * 70}, ("tag-4711", "x" * 63)),
        ({"équipe": "a"}, ("tag--quipe", "a")),
    ],
)
def test_tags_become_labels_in_googles_letters(tags, label):
    key, value = label
    assert resource_labels(plan_on_gcp(tags=tags), "train") == {
        "gpuyard-platform": "lab",
        "gpuyard-pool": "train",
        key: value,
    }
