"""Nodes of GKE's pools: GPUs, taints, labels and number, from the fields of the pool."""

from typing import Any

import pytest
from testbed.plugins.cloud.inside import gke
from testbed.plugins.cloud.inside.node import Node
from testbed.plugins.cloud.inside.user_data import BadUserData
from testbed.plugins.cloud.service.ties import Resource

from gpuyard.plan import plan as judge
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.sharing.gke_sharing import gke_labels
from gpuyard.render.gcp.graph import gcp_graph
from gpuyard_core.catalogue.gke.sharing import PARTITIONS
from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_simulate.agents.cloud_node import GOOGLE_DRIVER
from kit.every import every
from kit.stacks import plan_of, platform, pool, spec_of

GPU = {"type": "nvidia-h100-80gb", "count": 8}
DEFAULT = {"gpuDriverInstallationConfig": {"gpuDriverVersion": "DEFAULT"}}


@every(
    "gpu, labels, devices, driver",
    [
        (GPU, {}, {"nvidia.com/gpu": 8}, True),
        ({**GPU, **DEFAULT}, {}, {"nvidia.com/gpu": 8}, True),
        ({**GPU, **DEFAULT}, {"gke-no-default-nvidia-gpu-device-plugin": "true"}, None, True),
        (
            {**GPU, "gpuDriverInstallationConfig": {"gpuDriverVersion": "INSTALLATION_DISABLED"}},
            {},
            {},
            False,
        ),
        ({**GPU, "gpuPartitionSize": "1g.10gb"}, {}, {"nvidia.com/gpu": 56}, True),
        ({**GPU, "gpuPartitionSize": "1g.20gb"}, {}, {"nvidia.com/gpu": 32}, True),
        ({**GPU, "gpuPartitionSize": "1g.11gb"}, {}, {}, True),
        (
            {
                **GPU,
                "gpuPartitionSize": "3g.40gb",
                "gpuSharingConfig": {
                    "gpuSharingStrategy": "MPS",
                    "maxSharedClientsPerGpu": 4,
                },
            },
            {},
            {"nvidia.com/gpu": 64},
            True,
        ),
    ],
)
def test_gke_advertises_gpus_by_what_the_pool_says(gpu, labels, devices, driver):
    node = _gke({"machineType": "a3-highgpu-8g", "guestAccelerators": [gpu], "labels": labels})
    assert (node.devices, node.driver) == (devices, driver)
    assert node.driver_version == (GOOGLE_DRIVER if driver else "")
    assert node.taints[-1]["key"] == "nvidia.com/gpu"
    size = gpu.get("gpuPartitionSize")
    assert node.labels.get("cloud.google.com/gke-gpu-partition-size") == size


def test_sizes_are_those_that_the_catalogue_has():
    known = {size: count for sizes in PARTITIONS.values() for size, count in sizes.items()}
    assert known == gke._PARTS


def _gke(config: dict[str, Any], **more: Any) -> Node:
    cluster = Resource(
        "gcp:container/cluster:Cluster", "c", {"name": "lab"}, {"location": "us-central1"}
    )
    inputs = {"name": "p", "cluster": "c", "nodeConfig": config, **more}
    state = {**inputs, "nodeCount": 1, "location": "us-central1-a", "project": "my-project"}
    (node,) = gke.nodes(Resource(gke.POOL, "p", inputs, state), [cluster])
    return node


def test_nodes_of_gke_as_their_pool_says():
    arm = _gke({"machineType": "a4x-highgpu-4g", "spot": True, "imageType": "UBUNTU_CONTAINERD"})
    assert [each["key"] for each in arm.taints] == ["kubernetes.io/arch"]
    assert arm.labels["cloud.google.com/gke-os-distribution"] == "ubuntu"
    assert arm.labels["cloud.google.com/gke-spot"] == "true"
    none = _gke(
        {"machineType": "a4x-highgpu-4g", "taintConfig": {"architectureTaintBehavior": "NONE"}}
    )
    assert none.taints == ()
    own = _gke(
        {
            "machineType": "n2-custom-8-32768",
            "flexStart": True,
            "taints": [{"key": "a", "value": "b", "effect": "NO_EXECUTE"}],
            "linuxNodeConfig": {"hugepagesConfig": {"hugepageSize2m": 1024}},
            "diskSizeGb": 50,
        },
        maxPodsPerNode=32,
    )
    assert own.capacity["cpu"] == "8"
    assert own.capacity["pods"] == "32"
    assert own.capacity["hugepages-2Mi"] == "2Gi"
    assert own.labels["cloud.google.com/gke-provisioning"] == "flex-start"
    assert own.taints == ({"key": "a", "value": "b", "effect": "NoExecute"},)
    disks = {"machineType": "a3-highgpu-8g", "ephemeralStorageLocalSsdConfig": {"localSsdCount": 2}}
    assert _gke(disks).capacity["ephemeral-storage"] == "732421875Ki"
    with pytest.raises(BadUserData, match="machineType"):
        _gke({"machineType": "a9-none"})


@every(
    "state, count",
    [
        ({"nodeCount": 2}, 6),
        ({"initialNodeCount": 1}, 3),
        ({"initialNodeCount": 0, "autoscaling": {"totalMinNodeCount": 4}}, 4),
        ({"initialNodeCount": 1, "autoscaling": {"minNodeCount": 2}}, 6),
        ({"nodeCount": 2, "queuedProvisioning": {"enabled": True}}, 0),
    ],
)
def test_how_many_nodes_a_pool_has(state, count):
    inputs = {"name": "p", "cluster": "c", "nodeConfig": {"machineType": "e2-standard-4"}, **state}
    cluster = Resource("gcp:container/cluster:Cluster", "c", {"name": "lab"}, {})
    held = {**inputs, "location": "us-central1"}
    assert len(gke.nodes(Resource(gke.POOL, "p", inputs, held), [cluster])) == count


@every(
    "machine, sharing",
    [
        ("a2-highgpu-8g", {}),
        ("a2-highgpu-8g", {"time_slicing": 4}),
        ("g2-standard-48", {"mps": 8}),
        ("a2-highgpu-1g", {"mig": {"1g.5gb": 7}}),
        ("a2-ultragpu-8g", {"mig": {"2g.20gb": 3}, "time_slicing": 2}),
        ("a3-highgpu-8g", {"mig": {"1g.20gb": 4}}),
        ("g4-standard-48", {"mig": {"2g.48gb": 2}}),
    ],
)
def test_nodes_of_our_own_pools_advertise_and_say_what_is_planned(
    machine: str, sharing: dict[str, Any]
):
    one = pool(
        machine=machine, image="cos-gke", sharing=sharing, zones=["us-central1-a"], nodes="0..2"
    )
    plan = plan_of(platform([one], cloud="gcp"))
    (planned,) = plan.pools
    config = next(
        each.inputs["nodeConfig"]
        for each in gcp_graph(plan).of_part("train")
        if each.kind == gke.POOL
    )
    node = _gke({**config, "serviceAccount": "nodes"})
    assert node.devices == {a.resource: a.per_node for a in planned.advertised}
    assert gke_labels(planned).items() <= node.labels.items()
    said = {key for key in node.labels if "sharing" in key or "partition" in key}
    assert said == {key for key in gke_labels(planned) if "clients" not in key}


CUT = sorted(
    each.name
    for each in MACHINES.values()
    if each.cloud == "gcp" and each.gpu and each.gpu.mig and each.gpu_fraction == 1
)


def ways_of(name: str) -> list[dict[str, Any]]:
    """Every partition size of GKE, alone and time-shared, and shared whole GPUs."""
    cuts = [{"mig": {size: count}} for size, count in PARTITIONS.get(_gpu(name), {}).items()]
    return [*cuts, *({**cut, "time_slicing": 3} for cut in cuts), {"time_slicing": 2}, {"mps": 5}]


def _gpu(name: str) -> str:
    machine = MACHINES[name]
    cut = machine.gpu is not None and machine.gpu.mig is not None and not machine.uses_cdmm
    return machine.gpu.mig.gpu if cut else ""


def planned_each(name: str) -> PlatformPlan:
    """A pool for each of them, with a capacity option that the machine has."""
    for capacity in ("spot", {"reserved": "ours", "nodes": 1}):
        pools = [
            pool(
                f"p{number}",
                machine=name,
                nodes=1,
                image="cos-gke",
                sharing=way,
                capacity=[capacity],
                zones=["us-central1-a"],
            )
            for number, way in enumerate(ways_of(name))
        ]
        found, _ = judge(spec_of(platform(pools, [], cloud="gcp")))
        if found is not None:
            return found
    pytest.fail(f"{name} cannot be had")


def test_whatever_machine_size_and_turns_nodes_have_what_is_planned():
    counted = 0
    for name in CUT:
        plan = planned_each(name)
        graph = gcp_graph(plan)
        for one in plan.pools:
            (made,) = [e for e in graph.of_part(one.stable_name) if e.kind == gke.POOL]
            node = _gke({**made.inputs["nodeConfig"], "serviceAccount": "nodes"})
            assert node.devices == {a.resource: a.per_node for a in one.advertised}, one.name
            assert gke_labels(one).items() <= node.labels.items()
            counted += 1
    assert counted > 10 * len(CUT), "most models have more than four sizes"
