"""The fake DRA driver: what it says of nodes, and what it writes and takes away."""

import pytest

from gpuyard_simulate import crds
from gpuyard_simulate.api import ApiError, path_of
from gpuyard_simulate.claims.driver import FakeDraDriver
from gpuyard_simulate.claims.slices import device_classes, resource_slices

LAYOUT = "sim.gpuyard.dev/mig-layout"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"


def node(machine="p4d.24xlarge", name="n", **annotations):
    return {
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "labels": {"node.kubernetes.io/instance-type": machine},
            "annotations": {"kwok.x-k8s.io/node": "fake", **annotations},
        }
    }


def devices(found):
    return {d["name"]: d for one in found for d in one["spec"]["devices"]}


def test_each_gpu_of_a_node_is_a_device():
    (found,) = resource_slices(node(), domains=True)
    assert found["metadata"]["name"] == "n-gpu.nvidia.com"
    assert found["metadata"]["ownerReferences"][0]["uid"] == "uid-n"
    assert found["spec"]["nodeName"] == found["spec"]["pool"]["name"] == "n"
    assert list(devices([found])) == [f"gpu-{n}" for n in range(8)]
    assert devices([found])["gpu-3"] == {
        "name": "gpu-3",
        "attributes": {
            "type": {"string": "gpu"},
            "uuid": {"string": "GPU-n-3"},
            "productName": {"string": "NVIDIA NVIDIA-A100-SXM4-40GB"},
            "brand": {"string": "Nvidia"},
            "architecture": {"string": "Ampere"},
            "cudaComputeCapability": {"version": "8.0.0"},
        },
        "capacity": {"memory": {"value": "40Gi"}},
    }


def test_a_gpu_that_is_cut_is_its_instances():
    layout = '[{"3g.20gb": 2}, {"1g.5gb": 1}, {}, null, null, null, null, null]'
    found = devices(resource_slices(node(**{LAYOUT: layout}), domains=False))
    cut = {name: d for name, d in found.items() if "-mig-" in name}
    assert list(cut) == ["gpu-0-mig-0", "gpu-0-mig-1", "gpu-1-mig-0"]
    assert len(found) == 3 + 5
    first = cut["gpu-0-mig-0"]
    assert first["attributes"]["type"] == {"string": "mig"}
    assert first["attributes"]["profile"] == {"string": "3g.20gb"}
    assert first["attributes"]["parentUUID"] == {"string": "GPU-n-0"}
    assert first["capacity"] == {"memory": {"value": "20Gi"}}


def test_a_machine_of_a_rack_has_a_channel_where_domains_are_on():
    rack = node("a4x-highgpu-4g")
    assert len(resource_slices(rack, domains=False)) == 1
    _, domain = resource_slices(rack, domains=True)
    assert domain["spec"]["driver"] == "compute-domain.nvidia.com"
    assert list(devices([domain])) == ["channel-0", "daemon-0"]


def tainted(one, *taints):
    return {
        **one,
        "spec": {"taints": [{"value": "x", "effect": "NoSchedule", **t} for t in taints]},
    }


POOL_TAINT, GPU_TAINT = {"key": "gpuyard.dev/pool"}, {"key": "nvidia.com/gpu"}
BEARS = [{"key": "gpuyard.dev/pool", "operator": "Exists", "effect": "NoSchedule"}]


@pytest.mark.parametrize("machine", ["m7i.xlarge", "no-such-machine"])
def test_nothing_is_said_of_nodes_without_gpus(machine):
    assert resource_slices(node(machine), domains=True) == []


def test_classes_are_those_of_the_operator():
    names = [each["metadata"]["name"] for each in device_classes(domains=False)]
    assert names == ["gpu.nvidia.com", "mig.nvidia.com"]
    *_, channel = device_classes(domains=True)
    assert channel["spec"]["selectors"][0]["cel"]["expression"].endswith(".id == 0")


class Server:
    """An API server that keeps what is applied."""

    def __init__(self):
        self.objects, self.applied, self.refuses = {}, 0, 0

    def apply(self, manifest):
        self.applied += 1
        self.objects[path_of(manifest)] = manifest

    def call(self, method, path):
        assert method == "DELETE"
        if self.refuses:
            raise ApiError(self.refuses, "no")
        del self.objects[path]


class Followed:
    """What is watched: nothing is, until a test says what is there."""

    def __init__(self, *items):
        self.items = {each["metadata"]["name"]: each for each in items}
        self.started = 0

    def start(self):
        self.started += 1

    def all(self):
        return self.items


def driver(cluster=True, *nodes, on=True, **more):
    server = Server()
    found = FakeDraDriver(server, print)
    spec = {"draDriver": {"computeDomains": {"enabled": on}}, **more}
    made = [{"metadata": {"name": "gpu-cluster"}, "spec": spec}] if cluster else []
    found._clusters, found._nodes = Followed(*made), Followed(*nodes)
    found._plugins = Followed()
    return found, server


CHART = "registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu:v0.4.1@sha256:0a"


def plugin(*containers, image=CHART, **pod):
    """The DaemonSet of the driver's own chart."""
    made = [{"name": each, "image": image} for each in containers or ("gpus",)]
    return {"metadata": {"name": "p"}, "spec": {"template": {"spec": {"containers": made, **pod}}}}


def test_the_driver_s_own_chart_answers_claims_without_the_operator_and_makes_no_class():
    rack = node("a4x-highgpu-4g")
    for containers, slices in (
        (("gpus",), ["n-gpu.nvidia.com"]),
        (("compute-domains", "gpus"), ["n-compute-domain.nvidia.com", "n-gpu.nvidia.com"]),
    ):
        one, server = driver(False, rack)
        one._plugins = Followed(plugin(*containers))
        one.publish()
        assert (sorted(of_nodes(server)), len(server.objects)) == (slices, len(slices))
        one._plugins.items.clear()
        one.publish()
        assert server.objects == {}


def test_another_daemon_set_answers_no_claims():
    one, server = driver(False, node())
    one._plugins = Followed(plugin(image="registry.example/dra-driver-nvidia-gpu-exporter:1"))
    one.publish()
    assert (server.objects, one._nodes.started) == ({}, 0)


def test_the_plugin_runs_where_its_selector_and_its_tolerations_let_it():
    chosen = node(name="chosen")
    chosen["metadata"]["labels"]["nvidia.com/gpu.deploy.operands"] = "false"
    fenced = tainted(node(name="fenced"), POOL_TAINT)
    fenced["metadata"]["labels"]["nvidia.com/gpu.deploy.operands"] = "false"
    one, server = driver(False, chosen, node(name="counted"), fenced)
    selector = {"nodeSelector": {"nvidia.com/gpu.deploy.operands": "false"}}
    one._plugins = Followed(plugin(**selector))
    one.publish()
    assert of_nodes(server) == ["chosen-gpu.nvidia.com"]
    one._plugins = Followed(plugin(**selector, tolerations=BEARS))
    one.publish()
    assert sorted(of_nodes(server)) == ["chosen-gpu.nvidia.com", "fenced-gpu.nvidia.com"]
    one._plugins = Followed(plugin(**selector))
    one.publish()
    assert len(of_nodes(server)) == 2, "a pod that runs is ended by no taint of this kind"


def test_what_nodes_have_is_written_once():
    one, server = driver(True, node(), {"metadata": {"name": "real"}})
    one.publish()
    assert sorted(p.rpartition("/")[2] for p in server.objects if p.startswith(SLICES)) == [
        "n-gpu.nvidia.com"
    ]
    assert len(server.objects) == 4 + 1
    before = server.applied
    one.publish()
    assert (server.applied, one._nodes.started) == (before, 1)
    one._nodes.items["n"] = node(**{LAYOUT: '[{"3g.20gb": 2}' + ", null" * 7 + "]"})
    one.publish()
    assert server.applied == before + 1


def test_without_the_object_of_the_operator_nobody_answers_claims():
    one, server = driver(False, node())
    one.publish()
    assert (server.objects, one._nodes.started) == ({}, 0)
    one, server = driver(True, node(), on=False)
    one.publish()
    assert len(server.objects) == 2 + 1
    one._clusters.items.clear()
    one.publish()
    assert server.objects == {}


def of_nodes(server):
    return [path.rpartition("/")[2] for path in server.objects if path.startswith(SLICES)]


def test_a_node_whose_taint_it_does_not_bear_has_nothing_to_claim():
    fenced = tainted(node(), POOL_TAINT, GPU_TAINT)
    one, server = driver(True, fenced)
    one.publish()
    assert of_nodes(server) == []
    bears = [*BEARS, {"key": "nvidia.com/gpu", "operator": "Exists"}]
    one, server = driver(True, fenced, daemonsets={"tolerations": bears})
    one.publish()
    assert of_nodes(server) == ["n-gpu.nvidia.com"]


def test_a_taint_that_comes_later_takes_no_device_away():
    one, server = driver(True, tainted(node(), GPU_TAINT))
    one.publish()
    one._nodes.items["n"] = tainted(node(), GPU_TAINT, POOL_TAINT)
    one.publish()
    assert of_nodes(server) == ["n-gpu.nvidia.com"]


def test_a_label_keeps_it_off_as_all_that_the_operator_starts():
    kept = node()
    kept["metadata"]["labels"]["nvidia.com/gpu.deploy.operands"] = "false"
    one, server = driver(True, kept)
    one.publish()
    assert of_nodes(server) == []


def test_what_went_with_its_node_is_gone_already():
    one, server = driver(True, node())
    one.publish()
    one._nodes.items.clear()
    server.refuses = 404
    one.publish()
    assert f"{SLICES}/n-gpu.nvidia.com" not in one._there
    one._clusters.items.clear()
    server.refuses = 500
    with pytest.raises(ApiError):
        one.publish()


def test_kinds_of_claims_are_served_with_or_without_the_operators_own(tmp_path, monkeypatch):
    class Tools:
        share = tmp_path

    monkeypatch.delenv("GPUYARD_UPSTREAM", raising=False)
    found = crds.dra_crds(Tools())
    assert [(c["metadata"]["name"], c["spec"]["scope"]) for c in found] == [
        ("gpuclusters.nvidia.com", "Cluster"),
        ("computedomains.resource.nvidia.com", "Namespaced"),
    ]
    assert [c["spec"]["versions"][0]["name"] for c in found] == ["v1alpha1", "v1beta1"]
