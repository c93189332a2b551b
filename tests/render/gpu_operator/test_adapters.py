"""Adapters of nodes of your own: what the plugin is told is what pods of the pool may ask for."""

import json

import pytest

from gpuyard.plan.queueing.kueue import WITHOUT_QUOTA
from gpuyard.render.gpu_operator.adapters import adapter_objects
from gpuyard.render.platform import platform_objects
from gpuyard.render.supply.images import pulled_images
from gpuyard_advisor.scheduler.nodes import knows_amount_per_node, planned_node_resources
from gpuyard_core.names import RDMA
from gpuyard_simulate.adapters.plugin import ADAPTERS, IMAGE, STARTED, find_running_plugin
from gpuyard_simulate.agents.node import changes
from kit.stacks import plan_of, platform, pool

IB = {"kind": "infiniband", "hcas": ["mlx5_0"], "plugin": "rdma-device-plugin"}
ROCE = {**IB, "kind": "roce"}
LINKS = {"infiniband": "infiniband", "roce": "ether"}


def plan(*fabrics, **more):
    pools = [pool(f"p{n}", **({"fabric": f} if f else {})) for n, f in enumerate(fabrics)]
    return plan_of(platform(pools, **more))


def node(of, pool_of, links):
    """A node of the pool as its owner has labelled it, with adapters of these link types."""
    there = [
        {"vendors": "15b3", "linkTypes": each, "ifNames": f"n{n}"} for n, each in enumerate(links)
    ]
    labels = {**pool_of.labels, "node.kubernetes.io/instance-type": "p5.48xlarge"}
    return {
        "metadata": {"name": "n-0", "labels": labels, "annotations": {ADAPTERS: json.dumps(there)}},
        "status": {},
    }


def running(daemon, uid="1"):
    pod = daemon["spec"]["template"]
    return {"metadata": {"uid": uid}, "spec": pod["spec"], "status": {"phase": "Running"}}


def maps_of(objects):
    return {o["metadata"]["name"]: o["data"] for o in objects if o["kind"] == "ConfigMap"}


def by_kind(objects, kind):
    return [o for o in objects if o["kind"] == kind]


@pytest.mark.parametrize("fabric", [IB, ROCE])
def test_a_node_gives_what_pods_are_told_to_ask_for(fabric):
    planned = plan(fabric)
    objects = adapter_objects(planned)
    (daemon,) = by_kind(objects, "DaemonSet")
    plugin = find_running_plugin(running(daemon), maps_of(objects))
    assert plugin is not None
    (one,) = planned.pools
    link = LINKS[fabric["kind"]]
    found = changes(node(planned, one, [link]), None, lambda: 0, adapters=plugin)
    assert (
        found.allocatable[RDMA]
        == found.capacity[RDMA]
        == str(planned_node_resources(planned, one)[RDMA])
    )
    assert one.nccl.needs.endswith(f"{RDMA}: 1 among the limits of the container")
    assert knows_amount_per_node(planned, RDMA)
    assert RDMA.startswith(WITHOUT_QUOTA)
    other = {"infiniband": "ether", "ether": "infiniband"}[link]
    none = changes(node(planned, one, [other]), None, lambda: 0, adapters=plugin)
    assert none.allocatable[RDMA] == "0"


def test_each_fabric_has_a_plugin_on_its_own_nodes():
    planned = plan(IB, ROCE, None, IB)
    daemons = by_kind(adapter_objects(planned), "DaemonSet")
    placed = [
        [
            {e["key"]: e["values"][0] for e in term["matchExpressions"]}
            for term in each["spec"]["template"]["spec"]["affinity"]["nodeAffinity"][
                "requiredDuringSchedulingIgnoredDuringExecution"
            ]["nodeSelectorTerms"]
        ]
        for each in daemons
    ]
    a, b, _, d = (dict(p.node_selector) for p in planned.pools)
    assert placed == [[a, d], [b]]
    assert len({each["metadata"]["name"] for each in daemons}) == 2


def test_another_text_starts_the_plugin_anew():
    """It reads its file once; so the pod names another ConfigMap when the text is another."""
    objects = adapter_objects(plan(IB))
    (config,) = by_kind(objects, "ConfigMap")
    (daemon,) = by_kind(objects, "DaemonSet")
    (other,) = by_kind(adapter_objects(plan(ROCE)), "ConfigMap")
    volumes = daemon["spec"]["template"]["spec"]["volumes"]
    assert [v["configMap"]["name"] for v in volumes if "configMap" in v] == [
        config["metadata"]["name"]
    ]
    assert (
        config["metadata"]["name"].rpartition("-")[2]
        != other["metadata"]["name"].rpartition("-")[2]
    )


@pytest.mark.parametrize(
    "fabric",
    [
        None,
        {**IB, "plugin": "network-operator"},
        {"kind": "ethernet"},
    ],
)
def test_nothing_is_handed_out_where_nobody_asked_us_to(fabric):
    planned = plan(fabric)
    assert adapter_objects(planned) == []
    assert RDMA not in planned_node_resources(planned, planned.pools[0])
    assert not knows_amount_per_node(planned, RDMA)
    nccl = planned.pools[0].nccl
    assert nccl is None or RDMA not in nccl.needs


def test_it_is_among_the_objects_and_images_of_the_platform():
    planned = plan(IB, mirror={"images": "mirror.example/gpu"})
    (image,) = [
        each for each in pulled_images(planned) if each.component == "the RDMA device plugin"
    ]
    assert image.repository == f"mirror.example/gpu/mellanox/{IMAGE}"
    assert image.upstream == f"ghcr.io/mellanox/{IMAGE}"
    (daemon,) = by_kind(platform_objects(planned), "DaemonSet")
    (pulled,) = [c["image"] for c in daemon["spec"]["template"]["spec"]["containers"]]
    assert image.digest
    assert pulled == image.reference


def test_beside_anothers_operator_it_stands_in_its_namespace():
    operator = {"install": False, "namespace": "nvidia"}
    spaces = {o["metadata"]["namespace"] for o in adapter_objects(plan(IB, gpu_operator=operator))}
    assert spaces == {"nvidia"}


def test_a_plugin_that_runs_does_not_read_its_file_again():
    planned = plan(IB)
    objects = adapter_objects(planned)
    (daemon,) = by_kind(objects, "DaemonSet")
    maps = maps_of(objects)
    here = node(planned, planned.pools[0], ["infiniband"])
    first = changes(here, None, lambda: 0, adapters=find_running_plugin(running(daemon), maps))
    here["metadata"]["annotations"][STARTED] = first.annotations[STARTED]
    (name,) = maps
    less = {name: {"config.json": maps[name]["config.json"].replace("100", "7")}}
    same = changes(here, None, lambda: 0, adapters=find_running_plugin(running(daemon), less))
    assert same.allocatable[RDMA] == "100"
    again = changes(
        here, None, lambda: 0, adapters=find_running_plugin(running(daemon, uid="2"), less)
    )
    assert again.allocatable[RDMA] == "7"


def test_a_cluster_that_only_hands_jobs_on_has_no_adapters_to_hand_out():
    queueing = {"clusters": [{"name": "west", "secret": "w"}]}
    assert adapter_objects(plan(IB, queueing=queueing)) == []


def test_what_pods_may_ask_for_is_read_in_one_place_by_all():
    """What the plan tells people, what the plugin is told and what the model of a node holds agree."""
    planned = plan(IB, ROCE)
    for config in by_kind(adapter_objects(planned), "ConfigMap"):
        (entry,) = json.loads(config["data"]["config.json"])["configList"]
        assert f"{entry['resourcePrefix']}/{entry['resourceName']}" == RDMA
        for one in planned.pools:
            assert entry["rdmaHcaMax"] == planned_node_resources(planned, one)[RDMA]
            assert entry["rdmaHcaMax"] > one.machine.gpus


def test_the_plugin_may_do_what_it_does_and_asks_for_no_gpu():
    (daemon,) = by_kind(adapter_objects(plan(IB)), "DaemonSet")
    pod = daemon["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["securityContext"] == {"privileged": True}
    assert set(container["resources"]["requests"]) == {"cpu", "memory"}
    assert pod["automountServiceAccountToken"] is False
    mounted = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    held = {each["name"] for each in pod["volumes"]}
    assert set(mounted) == held
    paths = {each["hostPath"]["path"] for each in pod["volumes"] if "hostPath" in each}
    assert paths == {
        "/dev",
        "/var/lib/kubelet/device-plugins",
        "/var/lib/kubelet/plugins_registry",
    }
