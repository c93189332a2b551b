"""User data: the same meanings in the words of each image, and the room that the plan has counted."""

import email
import tomllib
from pathlib import Path

import pytest
import yaml

from gpuyard.plan.pools.machines import AGENTS_CPU, AGENTS_GIB
from gpuyard.render.aws.pools import group_sizes
from gpuyard.render.aws.user_data import kubelet_of, pool_user_data, system_user_data
from gpuyard.render.cloud.graph import resolve_values
from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_core.catalogue.reserves import efa_gib, kernel_gib
from gpuyard_core.manifests.quantities import quantity
from kit.clouds.node_groups import GROUND, aws, graph_of
from kit.every import every
from kit.stacks import plan_of, pool

HERE = Path(__file__).parent
MIRROR = {"images": "registry.example.com/mirror"}
GPU_MACHINES = [m for m in MACHINES.values() if m.cloud == "aws" and m.is_gpu_machine]


def text(raw, name="train-on-demand"):
    """The user data of a group, decoded, with the names of late values in it."""
    data = graph_of(raw).resource(f"{name}-template").inputs["userData"]
    return resolve_values(data.text, lambda late: f"<{late}>")


def node_config(said):
    """The NodeConfig among the parts of a MIME document, and the scripts."""
    parts = [
        (p.get_content_type(), p.get_payload()) for p in email.message_from_string(said).walk()
    ]
    scripts = [text for kind, text in parts if kind == "text/x-shellscript"]
    return yaml.safe_load(dict(parts)["application/node.eks.aws"]), "\n".join(scripts)


CASES = {
    "al2023": {},
    "al2023-mirror": {"mirror": MIRROR},
    "bottlerocket": {"image": "bottlerocket-nvidia"},
    "bottlerocket-time-slicing": {
        "image": "bottlerocket-nvidia",
        "machine": "g6.12xlarge",
        "sharing": {"time_slicing": 4},
        "mirror": MIRROR,
    },
    "bottlerocket-mps": {
        "image": "bottlerocket-nvidia-fips",
        "machine": "g5g.xlarge",
        "sharing": {"mps": 4},
    },
    "ubuntu": {"image": "ubuntu-eks", "mirror": {"images": "registry.example.com"}},
}


@pytest.mark.parametrize("case", CASES)
def test_what_nodes_start_with_is_the_golden_text(case, golden):
    rest = dict(CASES[case])
    beside = {"mirror": rest.pop("mirror")} if "mirror" in rest else {}
    golden(HERE / "golden" / "user_data" / f"{case}.txt", text(aws([pool(**rest)], **beside)))


# ── kubelet and the plan ──────────────────────────────────────────────────────────────────────────
@pytest.mark.repeats("tests/plan and tests/render")
@every("machine", GPU_MACHINES, ids=lambda machine: machine.name)
def test_kubelet_leaves_the_room_that_the_plan_has_counted(machine):
    mode = "on-demand" if "on-demand" in machine.sold else {"block": "cr-0b", "nodes": 9}
    raw = aws(
        [
            pool(
                machine=machine.name,
                nodes=9,
                capacity=[mode],
                zones=["us-east-1a"],
                **image(machine),
            )
        ]
    )
    planned = plan_of(raw).pools[0]
    kubelet = kubelet_of(planned, (machine,))
    kept = quantity(kubelet.reserved["memory"]) + quantity(kubelet.eviction["memory.available"])
    memory = kernel_gib(machine) - efa_gib(machine) - float(kept) / 2**30 - AGENTS_GIB
    assert max(0, int(memory)) == planned.allocatable.memory_gib
    cpu = machine.vcpus - float(quantity(kubelet.reserved["cpu"])) - AGENTS_CPU
    assert max(0, int(cpu)) == planned.allocatable.cpu


def image(machine):
    """RTX PRO 4500 needs a driver that no image of EKS has."""
    return {"image": "ubuntu-eks"} if machine.name.startswith("g7.") else {}


def test_machines_of_several_sizes_reckon_for_themselves():
    raw = aws([pool(machine=["g6.12xlarge", "g6.24xlarge"])])
    config, _ = node_config(text(raw))
    assert "kubeReserved" not in config["spec"]["kubelet"]["config"]
    kubernetes = tomllib.loads(
        text(aws([pool(machine=["g6.12xlarge", "g6.24xlarge"], image="bottlerocket-nvidia")]))
    )["settings"]["kubernetes"]
    assert "kube-reserved" not in kubernetes


@every("numa", ["none", "best-effort", "restricted", "single-numa-node"])
def test_each_image_is_told_the_plans_numa_policy(numa):
    policies = set()
    for image_name in ("al2023-nvidia", "bottlerocket-nvidia", "ubuntu-eks"):
        said = text(aws([pool(machine="g6.12xlarge", image=image_name, numa=numa)]))
        if image_name == "al2023-nvidia":
            config = node_config(said)[0]["spec"]["kubelet"]["config"]
            found = config.get("topologyManagerPolicy"), config.get("cpuManagerPolicy")
        elif image_name == "bottlerocket-nvidia":
            config = tomllib.loads(said)["settings"]["kubernetes"]
            found = config.get("topology-manager-policy"), config.get("cpu-manager-policy")
        else:
            words = dict(w.partition("=")[::2] for w in said.replace("'", " ").split() if "=" in w)
            found = words.get("--topology-manager-policy"), words.get("--cpu-manager-policy")
        policies.add(found)
    static = "static" if numa in {"restricted", "single-numa-node"} else None
    assert policies == {(None if numa == "none" else numa, static)}


# ── disks, sharing, mirror ────────────────────────────────────────────────────────────────────────
def test_the_disks_of_the_instance_are_one_for_images_and_pods():
    config, script = node_config(text(aws()))
    assert config["spec"]["instance"] == {"localStorage": {"strategy": "RAID0"}}
    assert "mdadm" not in script
    commands = tomllib.loads(text(aws([pool(image="bottlerocket-nvidia")])))["settings"]
    first, second = commands["bootstrap-commands"]["local-disks"]["commands"]
    assert first == ["apiclient", "ephemeral-storage", "init"]
    assert second[3:] == ["--dirs", "/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods"]


LOCKED = "[Service]\\nLimitMEMLOCK=infinity\\n' >/etc/systemd/system/containerd.service.d/"


@every(("machine", "locks"), [("p5.48xlarge", True), ("g6.8xlarge", True), ("g6.xlarge", False)])
def test_pods_lock_memory_where_a_fabric_of_the_machine_wants_it(machine, locks):
    assert bool(MACHINES[machine].efa_interfaces) == locks
    for mirror in ({}, {"mirror": MIRROR}):
        _, script = node_config(text(aws([pool(machine=machine)], **mirror)))
        assert (LOCKED in script) == locks
        said = text(aws([pool(machine=machine, image="ubuntu-eks")], **mirror))
        assert (LOCKED in said) == locks
        assert not locks or said.index(LOCKED) < said.index("/etc/eks/bootstrap.sh")
    # it does so by itself
    assert "MEMLOCK" not in text(aws([pool(machine=machine, image="bottlerocket-nvidia")]))


@pytest.mark.parametrize("name", ["al2023-nvidia", "bottlerocket-nvidia", "ubuntu-eks"])
def test_an_instance_without_disks_is_told_of_none(name):
    said = text(aws([pool(machine="g5g.xlarge", image=name)]))
    assert not any(word in said for word in ("localStorage", 'ephemeral-storage", "init', "mdadm"))


def test_what_bottlerockets_own_plugin_advertises_is_what_the_plan_counts():
    said = tomllib.loads(
        text(
            aws(
                [
                    pool(
                        machine="g6.12xlarge",
                        image="bottlerocket-nvidia",
                        sharing={"time_slicing": 4},
                    )
                ]
            )
        )
    )["settings"]["kubelet-device-plugins"]["nvidia"]
    assert said == {
        "device-sharing-strategy": "time-slicing",
        "time-slicing": {
            "replicas": 4,
            "rename-by-default": True,
            "fail-requests-greater-than-one": True,
        },
    }


def test_whole_gpus_need_no_setting_of_bottlerockets_plugin():
    said = tomllib.loads(text(aws([pool(image="bottlerocket-nvidia")])))
    assert "kubelet-device-plugins" not in said["settings"]


def test_the_systems_nodes_are_told_of_a_mirror_and_else_nothing():
    assert system_user_data(plan_of(aws())) is None
    script = resolve_values(system_user_data(plan_of(aws(mirror=MIRROR))).text, str)
    assert '[host."https://registry.example.com/v2/mirror"]' in script
    assert "application/node.eks.aws" not in script


def test_user_data_is_small_enough_for_ec2_and_the_same_each_time():
    raw = aws([pool(image="ubuntu-eks", labels={f"lab.example/{n}": "x" * 40 for n in range(40)})])
    assert len(text(raw).encode()) < 16 * 1024
    assert text(raw) == text(raw)


def test_a_group_of_each_rung_has_the_same_user_data():
    planned = plan_of(aws([pool(capacity=["spot", "on-demand"])]))
    one = planned.pools[0]
    assert len(group_sizes(one)) == 2
    data = pool_user_data(planned, one, (one.machine,), "AL2023_x86_64_NVIDIA", GROUND)
    graph = graph_of(planned)
    assert graph.resource("train-spot-template").inputs["userData"] == data
    assert graph.resource("train-on-demand-template").inputs["userData"] == data
