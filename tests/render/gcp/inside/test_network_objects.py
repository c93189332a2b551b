"""The names by which pods get interfaces in a node's further networks."""

from gpuyard.render.gcp.in_cluster.driver import network_objects
from render.gcp.made import gpu_pool, graph_of, inputs_of, plan_on_gcp


def names(*pools, kind="Network"):
    objects = network_objects(plan_on_gcp(*pools))
    return [each["metadata"]["name"] for each in objects if each["kind"] == kind]


def ultra(name="train", zone="us-central1-b"):
    return gpu_pool(name, machine="a3-ultragpu-8g", zones=[zone], capacity=["spot"])


def test_pods_name_networks_as_the_examples_of_each_fabric_do():
    assert names(gpu_pool(machine="a3-highgpu-8g")) == ["vpc1", "vpc2", "vpc3", "vpc4"]
    assert names(ultra()) == ["gvnic-1", *(f"rdma-{n}" for n in range(8))]
    assert names(gpu_pool(machine="g2-standard-48")) == []


def test_networks_that_pools_share_are_named_once():
    assert names(gpu_pool("a", machine="a3-highgpu-8g"), gpu_pool("b")) == [
        f"vpc{n}" for n in range(1, 9)
    ]


def test_cards_of_a_second_zone_have_names_of_their_own():
    found = names(ultra("a"), ultra("b", "us-central1-c"))
    assert found[1:9] == [f"rdma-{n}" for n in range(8)]
    assert found[9:] == [f"rdma-{n}-us-central1-c" for n in range(8)]


def test_a_name_leads_to_the_network_that_is_bought():
    pool = ultra()
    found = {
        (each["kind"], each["metadata"]["name"]): each["spec"]
        for each in network_objects(plan_on_gcp(pool))
    }
    assert found["Network", "rdma-7"] == {
        "type": "Device",
        "parametersRef": {
            "group": "networking.gke.io",
            "kind": "GKENetworkParamSet",
            "name": "rdma-7",
        },
    }
    graph = graph_of(pool)
    assert found["GKENetworkParamSet", "rdma-7"] == {
        "vpc": inputs_of(graph, "rdma-us-central1-b")["name"],
        "vpcSubnet": inputs_of(graph, "rdma-us-central1-b-7-subnetwork")["name"],
        "deviceMode": "RDMA",
    }
    assert found["GKENetworkParamSet", "gvnic-1"]["deviceMode"] == "NetDevice"


def test_cards_that_pods_claim_have_no_name():
    metal = gpu_pool(
        machine="a4x-maxgpu-4g-metal", nodes=4, capacity=[{"reserved": "r", "nodes": 4}]
    )
    assert names(metal) == ["gvnic-1"]
