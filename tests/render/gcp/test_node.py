"""One node: GPUs, driver, disks, how it boots, and what its kubelet keeps together."""

import pytest

from render.gcp.made import gpu_pool, graph_of, inputs_of


def node(**rest):
    graph = graph_of(gpu_pool(**rest))
    (found,) = (r for r in graph.resources if r.part == "train" and "NodePool" in r.kind)
    return found.inputs["nodeConfig"]


def held(machine, **rest):
    return node(machine=machine, nodes=4, capacity=[{"reserved": "r", "nodes": 4}], **rest)


METAL = "a4x-maxgpu-4g-metal"


@pytest.mark.parametrize(
    ("image", "kind", "driver", "signed"),
    [
        ("cos", "COS_CONTAINERD", "INSTALLATION_DISABLED", True),
        ("cos-gke", "COS_CONTAINERD", "DEFAULT", True),
        ("ubuntu-gke", "UBUNTU_CONTAINERD", "INSTALLATION_DISABLED", False),
    ],
)
def test_one_party_brings_the_driver_and_secure_boot_lets_it(image, kind, driver, signed):
    found = node(image=image)
    assert found["imageType"] == kind
    (gpus,) = found["guestAccelerators"]
    assert (gpus["type"], gpus["count"]) == ("nvidia-h100-mega-80gb", 8)
    assert gpus["gpuDriverInstallationConfig"] == {"gpuDriverVersion": driver}
    assert found["shieldedInstanceConfig"] == {
        "enableSecureBoot": signed,
        "enableIntegrityMonitoring": True,
    }
    assert ("gvnic" in found) is (kind == "COS_CONTAINERD")


def test_gpus_of_a_machine_that_takes_any_are_said_beside_it():
    found = node(machine="n1-standard-16+2xt4")
    assert found["machineType"] == "n1-standard-16"
    assert found["guestAccelerators"][0]["type"] == "nvidia-tesla-t4"
    assert found["guestAccelerators"][0]["count"] == 2


@pytest.mark.parametrize(
    ("sharing", "said"),
    [
        ({}, {}),
        (
            {"time_slicing": 4},
            {
                "gpuSharingConfig": {
                    "gpuSharingStrategy": "TIME_SHARING",
                    "maxSharedClientsPerGpu": 4,
                }
            },
        ),
        (
            {"mps": 8},
            {"gpuSharingConfig": {"gpuSharingStrategy": "MPS", "maxSharedClientsPerGpu": 8}},
        ),
        ({"mig": {"1g.5gb": 7}}, {"gpuPartitionSize": "1g.5gb"}),
        (
            {"mig": {"3g.20gb": 2}, "time_slicing": 2},
            {
                "gpuPartitionSize": "3g.20gb",
                "gpuSharingConfig": {
                    "gpuSharingStrategy": "TIME_SHARING",
                    "maxSharedClientsPerGpu": 2,
                },
            },
        ),
    ],
)
def test_gke_is_told_how_to_cut_and_share_where_its_own_plugin_runs(sharing, said):
    (gpus,) = node(machine="a2-highgpu-8g", image="cos-gke", sharing=sharing)["guestAccelerators"]
    assert gpus == {
        "type": "nvidia-tesla-a100",
        "count": 8,
        "gpuDriverInstallationConfig": {"gpuDriverVersion": "DEFAULT"},
        **said,
    }
    (ours,) = node(machine="a2-highgpu-8g", image="cos", sharing=sharing)["guestAccelerators"]
    assert ours.keys() == {"type", "count", "gpuDriverInstallationConfig"}


def test_taints_are_in_the_spelling_of_the_api_and_none_is_added_twice():
    shared = node(machine="g2-standard-48", sharing={"time_slicing": 4})
    assert shared["taints"] == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"},
        {"key": "gpuyard.dev/pool", "value": "train", "effect": "NO_SCHEDULE"},
        {
            "key": "cloud.google.com/compute-class",
            "value": "pool-train",
            "effect": "NO_SCHEDULE",
        },
    ]
    arm = held("a4x-highgpu-4g")
    assert [taint["key"] for taint in arm["taints"]] == ["nvidia.com/gpu"]
    assert "taintConfig" not in arm  # GKE taints Arm nodes by itself


def test_labels_are_those_of_the_plan():
    found = node(labels={"rack": "7"}, machine="a2-highgpu-1g", sharing={"mig": {"1g.5gb": 7}})
    assert found["labels"] == {
        "cloud.google.com/compute-class": "pool-train",
        "gke-no-default-nvidia-gpu-device-plugin": "true",
        "gpuyard.dev/platform": "lab",
        "gpuyard.dev/pool": "train",
        "nvidia.com/device-plugin.config": "train.86902c",
        "nvidia.com/mig.config": "train.604853",
        "rack": "7",
    }


@pytest.mark.parametrize(
    ("machine", "disk", "local"),
    [
        ("g2-standard-48", "pd-balanced", None),
        ("a2-ultragpu-4g", "pd-balanced", 4),
        ("a3-highgpu-8g", "pd-balanced", 16),
        ("a3-ultragpu-8g", "hyperdisk-balanced", 32),
        ("a3-ultragpu-8g-nolssd", "hyperdisk-balanced", None),
        ("a4x-highgpu-4g", "hyperdisk-balanced", None),
        ("g4-standard-48", "hyperdisk-balanced", None),
    ],
)
def test_disks_are_those_that_the_machine_takes(machine, disk, local):
    found = held(machine)
    assert (found["diskType"], found["diskSizeGb"]) == (disk, 200)
    wanted = {"localSsdCount": local} if local else None
    assert found.get("ephemeralStorageLocalSsdConfig") == wanted


def test_the_stack_file_says_how_large_the_disk_is():
    assert node(disk_gib=500)["diskSizeGb"] == 500


def test_the_kubelet_keeps_together_what_the_pool_asks_for():
    assert node()["kubeletConfig"] == {"insecureKubeletReadonlyPortEnabled": "FALSE"}
    assert node(numa="restricted")["kubeletConfig"] == {
        "insecureKubeletReadonlyPortEnabled": "FALSE",
        "cpuManagerPolicy": "static",
        "topologyManager": {"policy": "restricted", "scope": "container"},
    }


def test_bare_metal_has_huge_pages_and_vouches_for_nothing():
    found = held(METAL)
    assert found["linuxNodeConfig"] == {"hugepagesConfig": {"hugepageSize2m": 4096}}
    assert set(found["shieldedInstanceConfig"].values()) == {False}
    assert "gvnic" not in found
    assert found["labels"]["cloud.google.com/gke-dpv2-unified-cni"] == "cni-migration"


def test_pods_never_act_as_the_node():
    graph = graph_of()
    for name in ("system", "train-on-demand"):
        found = inputs_of(graph, name)["nodeConfig"]
        assert found["workloadMetadataConfig"] == {"mode": "GKE_METADATA"}
        assert found["metadata"] == {"disable-legacy-endpoints": "true"}
        assert found["bootDiskKmsKey"]
