"""The pod template of a workload: for every fabric as a file, and accepted by admission."""

from pathlib import Path

import pytest

import sizes
from gpuyard.plan import plan as judged
from gpuyard.render.admission.team_parameters import parameters_of
from gpuyard.render.text import yaml_text
from gpuyard.render.workloads.fabrics import missing_fabric
from gpuyard.render.workloads.pods import MainContainer, Purpose, pod_template
from gpuyard.render.workloads.resources import node_resources, shape_resources
from gpuyard.spec.read import read_stack_file
from gpuyard_core.admission.requirements import denials
from gpuyard_lint.kubernetes import resource
from gpuyard_lint.rules.adm import workload
from kit.stacks import plan_of, platform, pool, shape, team

HERE = Path(__file__).parent
MAIN = MainContainer(image="registry.example/train:1.2.3", command=("torchrun", "train.py"))
ZONE = {"zones": ["us-central1-a"], "capacity": [{"reserved": "r-1", "nodes": 4}]}
RACK = {"zones": ["us-central1-a"], "capacity": [{"reserved": "racks", "nodes": 18}]}
OPEN = {"admission": {"enforce": "warn"}}
CHECKPOINTS = {"storage": {"checkpoints": {"bucket": "weights", "retention_days": 30}}}
FABRICS = {
    "EFA": ("aws", {}, {}),
    "GPUDirect-TCPX": ("gcp", {"machine": "a3-highgpu-8g", **ZONE}, OPEN),
    "GPUDirect-TCPXO": ("gcp", {"machine": "a3-megagpu-8g", **ZONE}, OPEN),
    "GPUDirect-RDMA": ("gcp", {"machine": "a3-ultragpu-8g", **ZONE}, {}),
    "infiniband": (
        "none",
        {"fabric": {"kind": "infiniband", "hcas": ["mlx5_0"], "plugin": "rdma-device-plugin"}},
        {},
    ),
    "roce": (
        "none",
        {"fabric": {"kind": "roce", "hcas": ["mlx5_0"], "plugin": "rdma-device-plugin"}},
        {},
    ),
    "ethernet": ("none", {"machine": "p4d.24xlarge", "fabric": {"kind": "ethernet"}}, {}),
}
STACKS = sorted((sizes.ROOT / "tests" / "golden_stacks").glob("*.yaml"))


def on(cloud, rest, more, **of_team):
    raw = platform(
        [pool(**rest)],
        [team(guarantee={"train": 32}, **of_team)],
        cloud=cloud,
        shapes=[shape(nodes=2, gpus_per_node=8)],
        **more,
    )
    return plan_of(raw)


def template(plan, purpose=Purpose.TRAINING, **rest):
    return pod_template(
        plan, plan.teams, shape_resources(plan, plan.shapes[0]), MAIN, purpose, **rest
    )


@pytest.mark.parametrize("fabric", FABRICS)
def test_training_pods_of_each_fabric(fabric, golden):
    cloud, rest, more = FABRICS[fabric]
    privileged = {"pod_security": "privileged"} if more else {}
    plan = on(cloud, rest, {**more, **(CHECKPOINTS if cloud != "none" else {})}, **privileged)
    assert plan.pool("train").nccl.fabric == fabric
    golden(HERE / "golden" / f"{fabric}.yaml", yaml_text(template(plan, job_name="llm")))


@pytest.mark.parametrize(
    ("fabric", "level", "more", "why"),
    [
        ("EFA", "restricted", {}, ""),
        ("GPUDirect-RDMA", "restricted", {}, ""),
        (
            "GPUDirect-TCPX",
            "baseline",
            OPEN,
            (
                "the receive daemon adds NET_ADMIN and mounts /sys and /proc/sys of the node, which"
                " Pod Security level baseline rejects"
            ),
        ),
        (
            "GPUDirect-TCPXO",
            "privileged",
            {},
            (
                "the receive daemon adds NET_ADMIN and mounts /sys, /proc/sys and"
                " /dev/aperture_devices of the node, which GPU-ADM-03 rejects"
            ),
        ),
    ],
)
def test_pods_without_what_admission_rejects_use_tcp(fabric, level, more, why):
    cloud, rest, _ = FABRICS[fabric]
    plan = on(cloud, rest, more, pod_security=level)
    assert missing_fabric(plan, plan.teams, shape_resources(plan, plan.shapes[0])) == why
    pod = template(plan)["spec"]
    daemons = [each["name"] for each in pod.get("initContainers", ())]
    assert daemons == ([] if why or fabric == "EFA" else ["gib"])


def test_huge_pages_only_where_all_nodes_run_from_the_start():
    asked = [
        template(on("aws", rest, {}))["spec"]["containers"][0]["resources"]["limits"]
        for rest in ({"nodes": 4}, {"nodes": "0..4"})
    ]
    assert [each.get("hugepages-2Mi") for each in asked] == ["5120Mi", None]
    assert [each["vpc.amazonaws.com/efa"] for each in asked] == ["32", "32"]


def test_a_pod_alone_asks_for_no_adapter():
    plan = on("aws", {}, {})
    pods = node_resources(plan.pool("train"), pods=1)
    pod = pod_template(plan, plan.teams, pods, MAIN)
    assert "vpc.amazonaws.com/efa" not in pod["spec"]["containers"][0]["resources"]["limits"]
    assert "annotations" not in pod["metadata"]


def test_pods_near_each_other_on_a_pool_with_a_topology():
    made = template(on("aws", {"topology": True}, {}))
    near = {"kueue.x-k8s.io/podset-preferred-topology": "topology.k8s.aws/network-node-layer-3"}
    assert made["metadata"]["annotations"] == near


def test_a_service_starts_again_and_writes_no_checkpoints():
    plan = on("aws", {}, CHECKPOINTS)
    pod = template(plan, Purpose.SERVICE)
    assert pod["metadata"]["labels"]["gpuyard.dev/class"] == "inference"
    assert pod["spec"]["restartPolicy"] == "Always"
    assert "env" not in pod["spec"]["containers"][0]


def test_a_template_for_two_teams_fits_the_stricter_one():
    raw = platform(
        [pool()],
        [
            team("a", guarantee={"train": 16}, pod_security="privileged"),
            team("b", guarantee={"train": 16}, pod_security="restricted"),
        ],
        cloud="aws",
    )
    plan = plan_of(raw)
    pod = pod_template(plan, plan.teams, node_resources(plan.pool("train")), MAIN)
    assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
    assert "gpuyard.dev/team" not in pod["metadata"]["labels"]


@pytest.mark.parametrize("path", STACKS, ids=lambda path: path.stem)
def test_admission_accepts_every_shape_of_the_golden_stacks(path):
    plan, _ = judged(read_stack_file(path.read_bytes(), path.stem).spec)
    if plan is None:
        pytest.skip("the stack is invalid on purpose")
    for each in plan.shapes:
        for name in each.teams:
            member, image = plan.team(name), "registry.example/train:1"
            known = parameters_of(plan, member)
            image = (
                f"{known.allowed_image_prefixes[0]}/x:1" if known.allowed_image_prefixes else image
            )
            made = pod_template(
                plan,
                [member],
                shape_resources(plan, each),
                MainContainer(image=image, command=("python", "train.py")),
            )
            job = {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {
                    "name": "job",
                    "namespace": member.default_namespace.name,
                    "labels": {"kueue.x-k8s.io/queue-name": member.local_queue},
                },
                "spec": {"suspend": True, "template": made},
            }
            assert not [d.problem for d in denials(workload(resource(job)), known)]


@pytest.mark.parametrize(
    ("cloud", "rest", "nodes", "gpus", "why"),
    [
        ("aws", {"machine": "g6.xlarge"}, 2, 1, "no fabric between nodes of train is known"),
        (
            "aws",
            {"machine": "p4d.24xlarge"},
            2,
            1,
            "1 of 8 GPUs have no EFA interface of their own",
        ),
        (
            "gcp",
            {"machine": "a3-ultragpu-8g", **ZONE},
            2,
            4,
            "only a pod with all GPUs of its node has the networks of GPUDirect-RDMA",
        ),
        (
            "gcp",
            {"machine": "a4x-highgpu-4g", "nodes": 18, **RACK},
            2,
            4,
            "no network names of GPUDirect-RDMA are known for a4x-highgpu-4g",
        ),
        ("aws", {}, 1, 8, ""),
    ],
)
def test_pods_use_tcp_where_the_fabric_is_not_theirs(cloud, rest, nodes, gpus, why):
    raw = platform(
        [pool(**{"nodes": 4, **rest})],
        [team(guarantee={"train": nodes * gpus})],
        cloud=cloud,
        shapes=[shape(nodes=nodes, gpus_per_node=gpus)],
    )
    plan = plan_of(raw)
    assert missing_fabric(plan, plan.teams, shape_resources(plan, plan.shapes[0])) == why


def test_pods_of_a_privileged_team_may_lock_memory():
    plan = on("aws", {}, {}, pod_security="privileged")
    context = template(plan)["spec"]["containers"][0]["securityContext"]
    assert context["capabilities"] == {"add": ["IPC_LOCK"]}


def test_a_job_without_a_name_has_the_bucket_but_no_path_of_its_own():
    plan = on("aws", {}, CHECKPOINTS)
    names = [each["name"] for each in template(plan)["spec"]["containers"][0]["env"]]
    assert {"CHECKPOINT_BUCKET", "CHECKPOINT_PREFIX"} <= {*names}
    assert "CHECKPOINT_PATH" not in names


def test_pods_that_claim_a_channel_are_in_one_nvlink_domain():
    rack = pool(machine="a4x-highgpu-4g", nodes=18, sharing="dra", topology=True, **RACK)
    raw = platform(
        [rack],
        [team(guarantee={"train": 72})],
        cloud="gcp",
        shapes=[shape(pool="train", nodes=2, gpus_per_node=4)],
    )
    plan = plan_of(raw)
    made = template(plan)
    required = {"kueue.x-k8s.io/podset-required-topology": "nvidia.com/gpu.clique"}
    assert made["metadata"]["annotations"] == required
    assert [each["name"] for each in made["spec"]["resourceClaims"]] == ["gpus", "channel"]
