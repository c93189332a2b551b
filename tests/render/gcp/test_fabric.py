"""Further networks: as many as the machine's fabric needs, each closed to the others and to the outside."""

from ipaddress import ip_network

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import Joined
from render.gcp.made import POOL, gpu_pool, graph_of, inputs_of

HIGH, MEGA, ULTRA, METAL = (
    "a3-highgpu-8g",
    "a3-megagpu-8g",
    "a3-ultragpu-8g",
    "a4x-maxgpu-4g-metal",
)
NETWORK, FIREWALL = "gcp:compute/network:Network", "gcp:compute/firewall:Firewall"


def ultra(name="train", zone="us-central1-b", **rest):
    return gpu_pool(name, **{"machine": ULTRA, "zones": [zone], "capacity": ["spot"], **rest})


def held(machine, **rest):
    return gpu_pool(machine=machine, nodes=4, capacity=[{"reserved": "r", "nodes": 4}], **rest)


def further(graph, name):
    return inputs_of(graph, name)["networkConfig"].get("additionalNodeNetworkConfigs", [])


def names(graph, kind=NETWORK):
    return [each.name for each in graph.resources_of_kind(kind)]


def test_tcpx_has_four_networks_and_tcpxo_eight_with_large_frames():
    for machine, count in ((HIGH, 4), (MEGA, 8)):
        graph = graph_of(gpu_pool(machine=machine))
        assert names(graph) == ["network", *(f"device-{n}" for n in range(count))]
        assert {inputs_of(graph, name)["mtu"] for name in names(graph)} == {8244}
        assert further(graph, "train-on-demand") == [
            {
                "network": UnresolvedOutput(f"device-{n}.name"),
                "subnetwork": UnresolvedOutput(f"device-{n}-subnetwork.name"),
            }
            for n in range(count)
        ]


def test_two_fabrics_share_networks_so_that_a_second_one_changes_no_node():
    alone = graph_of(gpu_pool("a", machine=HIGH))
    both = graph_of(gpu_pool("a", machine=HIGH), gpu_pool("b"))
    assert inputs_of(both, "a-on-demand") == inputs_of(alone, "a-on-demand")
    assert len(further(both, "b-on-demand")) == 8


def test_like_machines_of_one_pool_have_the_networks_of_their_own_fabric():
    graph = graph_of(gpu_pool(machine=[HIGH, MEGA]))
    assert len(further(graph, "train-on-demand")) == 4
    assert len(further(graph, "train-on-demand-a3-megagpu-8g")) == 8


def test_rdma_has_a_network_for_the_host_and_a_subnetwork_for_each_card_of_its_zone():
    graph = graph_of(ultra())
    assert names(graph) == ["network", "host", "rdma-us-central1-b"]
    rdma = inputs_of(graph, "rdma-us-central1-b")
    assert "mtu" not in rdma
    assert rdma["networkProfile"] == Joined(
        "https://www.googleapis.com/compute/beta/projects/",
        UnresolvedOutput("client.project"),
        "/global/networkProfiles/us-central1-b-vpc-roce",
    )
    assert further(graph, "train-spot") == [
        {
            "network": UnresolvedOutput("host.name"),
            "subnetwork": UnresolvedOutput("host-subnetwork.name"),
        },
        *(
            {
                "network": UnresolvedOutput("rdma-us-central1-b.name"),
                "subnetwork": UnresolvedOutput(f"rdma-us-central1-b-{n}-subnetwork.name"),
            }
            for n in range(8)
        ),
    ]


def test_pools_of_one_zone_share_its_rdma_network_and_others_have_their_own():
    graph = graph_of(ultra("a"), ultra("b"), ultra("c", "us-central1-c"))
    assert names(graph) == ["network", "host", "rdma-us-central1-b", "rdma-us-central1-c"]
    assert further(graph, "a-spot") == further(graph, "b-spot")
    assert further(graph, "c-spot")[1]["network"] == UnresolvedOutput("rdma-us-central1-c.name")


def test_nodes_that_may_start_in_several_zones_have_no_rdma_network():
    graph = graph_of(ultra(zones=["us-central1-b", "us-central1-c"]))
    assert names(graph) == ["network"]
    assert further(graph, "train-spot") == []
    assert inputs_of(graph, "cluster")["enableMultiNetworking"] is False


def test_bare_metal_has_the_subnetwork_that_its_network_brings():
    graph = graph_of(held(METAL))
    assert names(graph) == ["network", "host", "rdma-metal-us-central1-a"]
    network = UnresolvedOutput("rdma-metal-us-central1-a.name")
    card = {"network": network, "subnetwork": Joined("default-subnet-1-", network)}
    assert further(graph, "train-reserved-454349")[1:] == [card] * 8


def test_gke_makes_the_networks_of_an_nvlink_rack_itself():
    graph = graph_of(held("a4x-highgpu-4g"))
    (rung,) = (r for r in graph.resources_of_kind(POOL) if r.part == "train")
    assert rung.inputs["networkConfig"]["acceleratorNetworkProfile"] == "auto"
    assert names(graph) == ["network"]
    assert rung.inputs["nodeConfig"]["labels"]["cloud.google.com/gke-networking-dra-driver"]


def test_every_further_network_admits_its_own_addresses_only():
    graph = graph_of(gpu_pool("a"), ultra("b"))
    assert len(graph.resources_of_kind(FIREWALL)) == 9
    for wall in graph.resources_of_kind(FIREWALL):
        part = wall.name.removesuffix("-inside")
        own = inputs_of(graph, f"{part}-subnetwork")["ipCidrRange"]
        assert (wall.inputs["direction"], wall.inputs["sourceRanges"]) == ("INGRESS", [own])
        assert wall.inputs["network"] == UnresolvedOutput(f"{part}.name")


def test_no_address_is_in_two_of_a_nodes_networks():
    graph = graph_of(gpu_pool("a"), ultra("b"))
    found = []
    for each in graph.resources_of_kind("gcp:compute/subnetwork:Subnetwork"):
        found.append(ip_network(each.inputs["ipCidrRange"]))
        found += [ip_network(r["ipCidrRange"]) for r in each.inputs.get("secondaryIpRanges", [])]
    pairs = [(a, b) for i, a in enumerate(found) for b in found[i + 1 :] if a.overlaps(b)]
    assert (len(found), pairs) == (3 + 8 + 1 + 8, [])


def test_where_every_range_is_partly_taken_the_last_one_is_used():
    ranges = {"cidr": "192.168.0.0/20", "pods": "172.31.0.0/17", "services": "10.255.240.0/20"}
    graph = graph_of(cluster={"network": ranges})
    assert inputs_of(graph, "device-0-subnetwork")["ipCidrRange"] == "10.255.0.0/20"
