"""What else a plan knows of a pool: what autoscalers can learn, room on a node, NUMA, topology, selectors."""

from dataclasses import replace

import pytest

from gpuyard.plan.pools.machines import plan_allocatable
from gpuyard_core.catalogue.kubernetes.autoscalers import TEMPLATE_TAG
from gpuyard_core.catalogue.machines import MACHINES, find_machine
from kit.every import every
from kit.fixes import check_fix
from kit.stacks import CUT, cut_pool, findings, plan_of, platform, pool, shape, shared_pool

ZONES = {"aws": ["us-east-1a"], "gcp": ["us-central1-a"]}


def first(one, cloud="none", **rest):
    return plan_of(platform([one], cloud=cloud, **rest)).pools[0]


# ── what whoever adds nodes can know ───────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("cloud", "one", "by", "overlay", "hidden"),
    [
        ("aws", pool(nodes="0..4", scaling="karpenter"), "cloud", {}, ()),
        ("aws", pool(nodes=4), "none", {}, ()),
        ("aws", shared_pool(nodes="0..4", scaling="karpenter"), "overlay", {"nvidia.com/gpu.shared": 16}, ()),
        ("aws", shared_pool(nodes="0..4", scaling="autoscaler"), "tags", {}, ()),
        ("gcp", pool(machine="a2-highgpu-8g", nodes="0..4"), "cloud", {}, ()),
        (
            "gcp",
            pool(machine="a2-highgpu-8g", nodes="0..4", sharing={"mps": 2}),
            "cloud",
            {},
            ("nvidia.com/gpu.shared",),
        ),
        (
            "gcp",
            pool(machine="a2-highgpu-8g", nodes="0..4", sharing={"mig": [{"gpus": 0, "7g.40gb": 1}]}),
            "cloud",
            {},
            ("nvidia.com/mig-7g.40gb", "nvidia.com/gpu"),
        ),
        ("none", shared_pool(nodes="0..4"), "own", {}, ()),
        ("simulated", shared_pool(nodes="0..4"), "none", {}, ()),
    ],
)  # fmt: skip
def test_what_is_known_of_a_node_that_does_not_run(cloud, one, by, overlay, hidden):
    scale = first(one, cloud).autoscaler_hints
    assert (scale.source, scale.overlay, scale.undiscovered_resources) == (by, overlay, hidden)
    assert scale.from_zero is (hidden == ())
    assert bool(scale.tags) is (by == "tags")


def test_tags_tell_cluster_autoscaler_labels_taints_and_resources():
    found = first(cut_pool(nodes="0..4", scaling="autoscaler"), "aws")
    assert {key.removeprefix(f"{TEMPLATE_TAG}/"): value for key, value in found.autoscaler_hints.tags.items()} == {
        "label/gpuyard.dev/fabric": "efa",
        "label/gpuyard.dev/nvlink": "3",
        "label/gpuyard.dev/nvlink-gpus": "8",
        "label/gpuyard.dev/platform": "lab",
        "label/gpuyard.dev/pool": "serve",
        "label/k8s.amazonaws.com/accelerator": "nvidia-a100-40",
        "label/nvidia.com/device-plugin.config": "serve.9def10",
        "label/nvidia.com/mig.config": "serve.04e903",
        "taint/gpuyard.dev/pool": "serve:NoSchedule",
        "taint/nvidia.com/gpu": "present:NoSchedule",
        "resources/nvidia.com/mig-1g.5gb": "16",
        "resources/nvidia.com/mig-2g.10gb": "8",
        "resources/nvidia.com/mig-3g.20gb": "8",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("cloud", "scaling", "label"),
    [
        ("aws", "autoscaler", "nvidia-h100"),
        ("aws", "karpenter", None),
        ("aws", "fixed", None),
        ("gcp", "autoscaler", None),
        ("none", "autoscaler", None),
    ],
)
def test_cluster_autoscaler_on_ec2_knows_a_gpu_node_that_is_not_ready_yet(cloud, scaling, label):
    machine = "a3-highgpu-8g" if cloud == "gcp" else "p5.48xlarge"
    nodes = 4 if scaling == "fixed" else "0..4"
    found = first(pool(machine=machine, nodes=nodes, scaling=scaling), cloud)
    assert found.labels.get("k8s.amazonaws.com/accelerator") == label


@pytest.mark.parametrize(
    ("machine", "taints"),
    [
        ("a4x-highgpu-4g", ["nvidia.com/gpu=present", "kubernetes.io/arch=arm64"]),
        ("a3-ultragpu-8g", ["nvidia.com/gpu=present"]),
    ],
)
def test_pods_of_arm_nodes_on_gke_tolerate_the_taint_that_gke_puts_on_them(machine, taints):
    held = [{"reserved": "projects/p/reservations/r", "nodes": 4}]
    one = pool(machine=machine, capacity=held, zones=["us-central1-a"])
    plan = plan_of(platform([one], cloud="gcp"))
    assert [f"{t.key}={t.value}" for t in plan.pools[0].taints] == taints
    assert [f"{t.key}={t.value}" for t in plan.queueing.flavors[0].taints] == taints


def test_arm_nodes_elsewhere_have_no_taint_of_their_cloud():
    found = first(pool(machine="g5g.xlarge"), "aws")
    assert [t.key for t in found.taints] == ["nvidia.com/gpu"]


@pytest.mark.parametrize(
    "sharing",
    [CUT, {"time_slicing": 4}, {"mps": 3}, {**CUT, "time_slicing": 2}],
    ids=["mig", "time-slicing", "mps", "both"],
)
def test_where_an_overlay_adds_resources_a_taint_keeps_whole_gpus_away(sharing):
    """Karpenter then counts both kinds on one node; no pod of whole GPUs tolerates the pool's own taint."""
    found = plan_of(
        platform(
            [
                pool(nodes="0..4", scaling="karpenter"),
                cut_pool(nodes="0..4", scaling="karpenter", sharing=sharing),
            ],
            cloud="aws",
        )
    )
    whole, cut = found.pools
    assert cut.autoscaler_hints.overlay
    assert "nvidia.com/gpu" not in cut.autoscaler_hints.overlay
    fences = set(cut.taints) - set(whole.taints)
    assert {(t.key, t.value) for t in fences} == {("gpuyard.dev/pool", "serve")}


# ── room on a node ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("machine", "cpu", "memory"),
    [
        ("p5.48xlarge", 190, 1965),
        ("p4d.24xlarge", 95, 1093),  # addresses for 737 pods: 8 GiB
        ("g6.12xlarge", 47, 171),  # an EFA adapter: its driver takes 10 GiB
        ("g6.xlarge", 3, 13),
        ("g6f.large", 1, 5),
        ("a2-highgpu-8g", 95, 647),
    ],
)
def test_what_is_left_of_a_node_for_pods(machine, cpu, memory):
    room = plan_allocatable(find_machine(machine))
    assert (room.cpu, room.memory_gib) == (cpu, memory)


@every("name", [m.name for m in MACHINES.values() if m.is_gpu_machine])
def test_every_gpu_machine_keeps_something_and_leaves_most(name):
    machine = find_machine(name)
    room = plan_allocatable(machine)
    assert 0 < room.reserved_cpu < machine.vcpus
    assert 0 < room.cpu < machine.vcpus
    assert machine.memory_gib / 2 < room.memory_gib < machine.memory_gib
    assert room.reserved_memory_gib >= (10 if machine.efa_interfaces else 0)
    assert room.memory_gib + room.reserved_memory_gib <= machine.memory_gib + 0.1


def test_room_for_each_gpu_is_an_even_share():
    found = first(pool())
    assert (found.cpu_per_gpu, found.memory_gib_per_gpu) == (190 // 8, 1965 // 8)


# ── NUMA ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("rest", "policy"),
    [
        ({}, "restricted"),
        ({"machine": "p5en.48xlarge"}, "none"),
        ({"machine": "g6.xlarge"}, "restricted"),
        ({"numa": "best-effort"}, "best-effort"),
        ({"numa": "none"}, "none"),
        ({"machine": {"gpu": "H100", "gpus": 8, "cpu": 96, "memory_gib": 1024}}, "none"),
    ],
)
def test_the_topology_policy_of_the_kubelet(rest, policy):
    assert first(pool(**rest)).numa == policy


def test_shapes_of_slices_are_within_one_numa_node():
    raw = platform(
        [cut_pool(numa="single-numa-node")], shapes=[shape(per_pod={"slice": "3g.20gb"})]
    )
    found = [f for f in findings(raw) if f.id == "numa.single_node"]
    assert [f.severity.value for f in found] == ["warning"]


# ── where nodes stand ──────────────────────────────────────────────────────────────────────────────

HOST = "kubernetes.io/hostname"
EC2 = [f"topology.k8s.aws/network-node-layer-{n}" for n in (1, 2, 3)]
GCE = [f"cloud.google.com/gce-topology-{name}" for name in ("block", "subblock", "host")]
ZONE, CLIQUE = "topology.kubernetes.io/zone", "nvidia.com/gpu.clique"


@pytest.mark.parametrize(
    ("cloud", "rest", "levels"),
    [
        ("aws", {}, [*EC2, HOST]),
        ("aws", {"machine": "g5.xlarge"}, [HOST]),
        ("aws", {"machine": "g5.xlarge", "zones": ZONES["aws"]}, [ZONE, HOST]),
        (
            "aws",
            {
                "machine": "p6e-gb200.36xlarge",
                "zones": ZONES["aws"],
                "nodes": 9,
                "capacity": [{"block": "cr-0a", "nodes": 9}],
            },
            [*EC2, CLIQUE, HOST],
        ),
        ("gcp", {"machine": "a3-megagpu-8g"}, [*GCE, HOST]),
        ("gcp", {"machine": "a2-highgpu-8g"}, [HOST]),
        ("none", {"zones": ["room-1"]}, [HOST]),
        ("none", {"machine": "a4x-highgpu-4g"}, [CLIQUE, HOST]),
        ("simulated", {"zones": ["a", "b"]}, [ZONE, HOST]),
        ("simulated", {}, [HOST]),
        ("simulated", {"machine": "a4x-highgpu-4g"}, [HOST]),
    ],
)
def test_labels_say_how_near_nodes_are(cloud, rest, levels):
    assert list(first(pool(**rest), cloud).topology_levels) == levels


# ── nodes that exist ───────────────────────────────────────────────────────────────────────────────


def test_selected_nodes_are_told_by_their_own_labels():
    found = plan_of(platform([pool(select={"rack": "a"}, labels={"tier": "gold"})]))
    one = found.pools[0]
    assert one.node_selector == {"rack": "a"}
    assert (one.scaling, one.start_nodes) == ("fixed", 4)
    hardware = {
        "gpuyard.dev/fabric": "efa",
        "gpuyard.dev/nvlink": "4",
        "gpuyard.dev/nvlink-gpus": "8",
    }
    assert one.labels == {**hardware, "nvidia.com/device-plugin.config": "train", "tier": "gold"}
    assert found.queueing.flavors[0].node_labels == {"rack": "a"}


def test_other_nodes_are_told_by_ours():
    assert first(pool(previous_names=["old"])).node_selector == {"gpuyard.dev/pool": "old"}


def test_selected_nodes_are_a_number_not_a_range():
    (finding,) = findings(platform([pool(nodes="0..4", select={"rack": "a"})]))
    assert (finding.id, finding.allowed) == ("pool.fixed_range", "the number of existing nodes")


def test_a_fabric_is_part_of_the_plan():
    found = first(pool(fabric={"kind": "infiniband", "hcas": ["mlx5_0"], "gbps": 3200.0}))
    assert found.fabric.hcas == ("mlx5_0",)


# ── fixes that leave nothing of their kind behind ──────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("cloud", "zones", "says"),
    [
        ("aws", ["us-east-1a", "us-west-2a", "us-west-2b"], "keep us-east-1a"),
        ("gcp", ["us-east-1a", "us-east-1a"], "remove `zones`, or correct them"),
        ("none", ["rack 1", "rack-2", "rack 3"], "keep rack-2"),
    ],
)
def test_zones_that_are_none_go_together(cloud, zones, says):
    machine = "a2-highgpu-8g" if cloud == "gcp" else "p5.48xlarge"
    raw = platform([pool(machine=machine, zones=zones)], cloud=cloud)
    found = [f for f in findings(raw) if f.id == "pool.zone"]
    assert len(found) == 2
    for finding in found:
        assert finding.fix.message == says
        check_fix(raw, finding)


def test_a_machine_without_a_gpu_that_has_no_like_is_not_taken_away():
    raw = platform([pool(machine="m7i.xlarge", capacity=["flex-start"])], cloud="aws")
    (finding,) = [f for f in findings(raw) if f.id == "pool.no_gpu"]
    assert (finding.fix.message, finding.fix.at) == ("write a machine with GPUs", None)


def test_what_a_kubelet_keeps_of_a_large_machine_is_known_to_a_tenth_of_a_gib():
    assert plan_allocatable(find_machine("p5.48xlarge")).reserved_memory_gib == 82.3
    assert plan_allocatable(find_machine("g6.xlarge")).reserved_memory_gib == 2.8


def test_a_machine_too_small_for_its_own_agents_has_no_room_and_no_debts():
    small = replace(find_machine("g6.xlarge"), vcpus=0, memory_gib=1)
    assert (plan_allocatable(small).cpu, plan_allocatable(small).memory_gib) == (0, 0)


def test_karpenter_may_count_a_machine_that_is_cut_as_a_whole():
    cut = cut_pool(nodes="0..2", scaling="karpenter")
    assert "scaling.miscounts" not in [f.id for f in findings(platform([cut], cloud="aws"))]


def test_how_many_gpus_are_left_whole_is_said_where_karpenter_miscounts():
    mixed = [{"gpus": "0-3", "1g.5gb": 7}, {"gpus": "4-5", "3g.20gb": 2}]
    cut = cut_pool(nodes="0..2", scaling="karpenter", sharing={"mig": mixed})
    (finding,) = [f for f in findings(platform([cut], cloud="aws")) if f.id == "scaling.miscounts"]
    assert finding.problem.startswith(
        "Karpenter counts 8 whole GPUs in p4d.24xlarge, but 2 are not partitioned,"
    )


def test_a_wide_shape_of_another_pool_is_no_matter_of_this_one():
    narrow = pool("a", machine="g6.12xlarge", numa="single-numa-node")
    wide = shape(pool="b", gpus_per_node=8)
    said = findings(platform([narrow, pool("b")], cloud="aws", shapes=[wide]))
    assert [f.id for f in said if f.path[:2] == ("pools", 0) and f.id.startswith("numa")] == []
