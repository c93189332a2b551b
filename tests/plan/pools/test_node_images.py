"""Who brings what to a pool's nodes, and what the operator is told when pools differ.

What is refused has its proofs under proofs/image.* and proofs/driver.*.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.plan.pools.gpu_operator import DRIVERS
from gpuyard.plan.pools.node_images import choose_image, incompatible_driver
from gpuyard.plan.sharing.sharing import share_gpus
from gpuyard.spec.sharing import Sharing
from gpuyard_core.catalogue.gpus import GPUS
from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_core.catalogue.software.images import DEPLOY_LABEL, IMAGES, SoftwarePart, images_of
from gpuyard_core.catalogue.software.versions import is_version
from kit.every import every
from kit.stacks import cut_pool, findings, ids, plan_of, platform, pool, shared_pool, spec_of

TURNS = Sharing(time_slicing=4)
PARTS = [part.value for part in SoftwarePart]


def software(raw):
    """By pool: the image, the driver and its own labels."""
    return {
        p.name: (p.node_software.image, p.node_software.driver, dict(p.node_software.labels))
        for p in plan_of(raw).pools
    }


def enabled(raw):
    return [part for part, on in plan_of(raw).operator.enabled.items() if on]


def test_eks_boots_from_the_image_with_the_driver_in_it():
    (train,) = plan_of(platform(cloud="aws")).pools
    assert train.node_software.image == "al2023-nvidia"
    assert train.node_software.variant == "AL2023_x86_64_NVIDIA"
    assert train.node_software.driver == "580.178.04"
    assert train.node_software.owners == {
        "driver": "image",
        "toolkit": "image",
        "devicePlugin": "GPU Operator",
        "migManager": "GPU Operator",
    }


def test_an_arm_machine_gets_the_arm_build():
    (train,) = plan_of(platform([pool(machine="g5g.xlarge")], cloud="aws")).pools
    assert train.node_software.variant == "AL2023_ARM_64_NVIDIA"


@pytest.mark.repeats("tests/render/test_golden.py")
def test_where_pools_are_alike_the_operator_has_it_off_and_no_node_needs_a_label():
    raw = platform([pool(), cut_pool()], cloud="aws")
    assert [s[2] for s in software(raw).values()] == [{}, {}]
    plan = plan_of(raw)
    assert enabled(raw) == ["devicePlugin", "migManager"]
    assert (plan.operator.driver, plan.operator.settings) == (
        None,
        IMAGES["al2023-nvidia"].settings,
    )
    assert not any("gpu.deploy" in key for p in plan.pools for key in p.labels)


def test_where_pools_differ_it_is_on_and_kept_off_by_label():
    raw = platform(
        [pool(), pool("new", machine="g7.12xlarge"), pool("rocket", image="bottlerocket-nvidia")],
        cloud="aws",
    )
    assert enabled(raw) == PARTS
    found = software(raw)
    assert found["new"] == ("ubuntu-eks", "595.91.07", {})
    assert found["train"][2] == {
        "nvidia.com/gpu.deploy.driver": "false",
        "nvidia.com/gpu.deploy.container-toolkit": "false",
    }
    assert found["rocket"][2] == found["train"][2] | {
        "nvidia.com/gpu.deploy.device-plugin": "false",
        "nvidia.com/gpu.deploy.mig-manager": "false",
    }
    plan = plan_of(raw)
    assert plan.operator.driver == "595.91.07"
    for p in plan.pools:
        assert set(p.node_software.labels.items()) <= set(p.labels.items())
        assert list(p.labels) == sorted(p.labels)


def test_gke_boots_from_container_optimized_os_with_the_operators_plugin():
    raw = platform([pool(machine="a2-highgpu-8g")], cloud="gcp")
    assert software(raw) == {
        "train": ("cos", None, {"gke-no-default-nvidia-gpu-device-plugin": "true"})
    }
    assert enabled(raw) == ["toolkit", "devicePlugin", "migManager"]
    assert plan_of(raw).operator.settings == IMAGES["cos"].settings


def test_a_pool_that_gke_serves_itself_keeps_all_of_the_operator_off():
    raw = platform(
        [pool(machine="a2-highgpu-8g"), pool("plain", machine="g2-standard-48", image="cos-gke")],
        cloud="gcp",
    )
    labels = software(raw)["plain"][2]
    assert labels["nvidia.com/gpu.deploy.operands"] == "false"
    alone = platform([pool(machine="g2-standard-48", image="cos-gke")], cloud="gcp")
    assert enabled(alone) == []


def test_nodes_of_ones_own_get_everything_unless_the_host_has_it():
    assert software(platform()) == {"train": ("own", DRIVERS[0], {})}
    assert enabled(platform()) == PARTS
    raw = platform([pool(image="own-driver-toolkit")])
    assert software(raw) == {"train": ("own-driver-toolkit", None, {})}
    assert enabled(raw) == ["devicePlugin", "migManager"]


def test_simulated_nodes_boot_from_nothing():
    raw = platform([pool(image="al2023-nvidia")], cloud="simulated")
    plan = plan_of(raw)
    assert plan.pools[0].node_software is plan.operator is None
    assert ids(raw) == ["section.deferred"]
    assert findings(raw)[0].problem.endswith("simulated nodes boot no image")


def test_one_driver_is_taken_that_serves_every_pool():
    old = pool("old", machine="p3dn.24xlarge")
    assert [s[1] for s in software(platform([old, pool()])).values()] == ["580.178.04"] * 2
    assert [s[1] for s in software(platform([pool()])).values()] == ["595.91.07"]


def test_a_driver_that_is_pinned_is_the_one():
    raw = platform(software={"driver": "580.178.04"})
    assert software(raw)["train"][1] == "580.178.04"


def test_what_is_no_version_is_not_judged_here():
    raw = platform(software={"driver": "newest"})
    assert "software.version" in ids(raw)
    assert not {i for i in ids(raw) if i.startswith("driver.")}
    assert not is_version("driver", "newest")
    assert is_version("driver", "580")


@every("gpu", [pytest.param(g, id=n) for n, g in GPUS.items()])
def test_the_operator_has_a_driver_for_every_gpu_of_the_catalogue(gpu):
    fit = [version for version in DRIVERS if not incompatible_driver(gpu, version)]
    assert fit
    if gpu.first_driver:
        assert incompatible_driver(gpu, gpu.first_driver) is None
        major, *rest = gpu.first_driver.split(".")
        assert incompatible_driver(gpu, ".".join([str(int(major) - 1), *rest])).too_old
    if gpu.last_driver_branch:
        assert incompatible_driver(gpu, f"{gpu.last_driver_branch}.999.99") is None
        assert not incompatible_driver(gpu, f"{gpu.last_driver_branch + 1}.1").too_old


SHARED = [
    pytest.param(machine, gpus.method, id=f"{name} {how}")
    for name, machine in MACHINES.items()
    for how, sharing in [("whole", Sharing()), ("turns", TURNS), ("mps", Sharing(mps=4))]
    if machine.is_gpu_machine and (gpus := share_gpus(sharing, machine, ())[0]) is not None
]
"""Every machine in every way in which its GPUs can be shared without a layout."""


def test_every_machine_with_gpus_is_looked_at():
    assert {each.values[0].name for each in SHARED} == {
        name for name, machine in MACHINES.items() if machine.is_gpu_machine
    }


@every(("machine", "method"), SHARED)
def test_every_machine_has_an_image_on_its_cloud_and_on_ones_own(machine, method):
    for cloud in (machine.cloud, "none"):
        spec = spec_of(platform([pool(machine=machine.name)], cloud=cloud))
        image, problems = choose_image(spec, spec.pools[0], machine, method, ())
        assert problems == []
        assert image in images_of(cloud)


@pytest.mark.parametrize(
    ("made", "image"),
    [
        (pool(machine="g7.12xlarge"), "ubuntu-eks"),
        (pool(machine="p6-b300.48xlarge"), "al2023-nvidia"),
        (pool(machine="p3dn.24xlarge"), "al2023-nvidia"),
        (pool(machine="g6f.large"), "al2023-nvidia"),
        (shared_pool(), "al2023-nvidia"),
        (cut_pool(), "al2023-nvidia"),
    ],
)
def test_the_first_image_that_fits_is_taken(made, image):
    (found,) = software(platform([made], cloud="aws")).values()
    assert found[0] == image


# ── whatever pools stand beside each other ──────────────────────────────────────────────────────────

AWS_POOLS = [
    {"machine": "p5.48xlarge"},
    {"machine": "p5.48xlarge", "image": "bottlerocket-nvidia"},
    {"machine": "g7.12xlarge"},
    {"machine": "g6f.large"},
    {"machine": "g5g.xlarge", "image": "AL2023_ARM_64_NVIDIA"},
    {"machine": "g6.12xlarge", "image": "ubuntu-eks", "sharing": {"time_slicing": 4}},
    {"machine": "p4d.24xlarge", "sharing": {"mig": {"3g.20gb": 2}}},
]
GCP_POOLS = [
    {"machine": "a2-highgpu-8g"},
    {"machine": "a2-highgpu-8g", "sharing": {"mig": {"3g.20gb": 2}}},
    {"machine": "g2-standard-48", "image": "cos-gke"},
    {"machine": "g2-standard-48", "image": "COS_CONTAINERD", "sharing": {"mps": 4}},
]
OWN_POOLS = [
    {"machine": "p5.48xlarge"},
    {"machine": "p5.48xlarge", "image": "own-driver"},
    {"machine": "p3dn.24xlarge", "image": "own-driver-toolkit"},
    {"machine": {"gpu": "A40", "gpus": 4, "cpu": 64, "memory_gib": 512}},
]


@st.composite
def some_pools(draw):
    """A cloud, and pools on it that are sound each for itself and together."""
    cloud, kinds = draw(
        st.sampled_from([("aws", AWS_POOLS), ("gcp", GCP_POOLS), ("none", OWN_POOLS)])
    )
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=5))
    return platform([pool(f"p{n}", **made) for n, made in enumerate(chosen)], cloud=cloud)


@given(some_pools())
def test_each_part_runs_on_a_node_once_from_whoever_the_image_says(raw):
    plan = plan_of(raw)
    for found in plan.pools:
        software = found.node_software
        everything_off = software.labels.get("nvidia.com/gpu.deploy.operands") == "false"
        for part in SoftwarePart:
            runs = (
                plan.operator.enabled[part.value]
                and software.labels.get(DEPLOY_LABEL[part]) != "false"
                and not everything_off
            )
            assert runs == (software.owners[part.value] == "GPU Operator"), (found.name, part)


@given(some_pools())
def test_a_part_is_on_for_the_cluster_only_where_a_pool_needs_it(raw):
    plan = plan_of(raw)
    needed = {
        part
        for found in plan.pools
        for part, owner in found.node_software.owners.items()
        if owner == "GPU Operator"
    }
    assert {part for part, on in plan.operator.enabled.items() if on} == needed
    assert (plan.operator.driver is None) == ("driver" not in needed)


@given(some_pools())
def test_every_gpu_gets_a_driver_that_knows_it(raw):
    for found in plan_of(raw).pools:
        driver = found.node_software.driver
        assert driver is None or incompatible_driver(found.machine.gpu, driver) is None


@given(some_pools(), st.randoms(use_true_random=False))
def test_the_order_of_pools_decides_nothing(raw, random):
    shuffled = {**raw, "pools": random.sample(raw["pools"], len(raw["pools"]))}
    assert software(shuffled) == software(raw)
    assert plan_of(shuffled).operator == plan_of(raw).operator


@given(some_pools())
def test_labels_of_ones_own_stay_beside_them(raw):
    named = {**raw, "pools": [{**p, "labels": {"team": "a"}} for p in raw["pools"]]}
    for before, after in zip(plan_of(raw).pools, plan_of(named).pools, strict=True):
        assert after.labels == dict(sorted({**before.labels, "team": "a"}.items()))
        assert after.node_software == before.node_software


@pytest.mark.parametrize("image", [pytest.param(i, id=n) for n, i in IMAGES.items()])
def test_a_plan_says_of_an_image_what_the_catalogue_says(image):
    machine = {"aws": "g6.12xlarge", "gcp": "g2-standard-48", "none": "g6.12xlarge"}[image.cloud]
    (found,) = plan_of(platform([pool(machine=machine, image=image.name)], cloud=image.cloud)).pools
    said = found.node_software
    assert said.owners == {part.value: owner.value for part, owner in image.owners.items()}
    assert said.variant == image.variants.get("amd64", "")
    assert said.labels == image.node_labels
    if image.driver:
        assert said.driver == image.driver


def test_an_autoscaler_is_told_the_labels_that_a_new_node_will_have():
    raw = platform(
        [pool(nodes="0..4", scaling="autoscaler"), pool("new", machine="g7.12xlarge")], cloud="aws"
    )
    tags = plan_of(raw).pools[0].autoscaler_hints.tags
    name = "k8s.io/cluster-autoscaler/node-template/label/nvidia.com/gpu.deploy.driver"
    assert tags[name] == "false"
