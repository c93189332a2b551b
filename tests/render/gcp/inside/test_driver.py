"""Google's driver installer: which nodes get it, what it runs, and that fake nodes judge it as GKE does."""

import itertools
import shutil
import subprocess

import pytest
from testbed.plugins.cloud.inside import gke

from gpuyard.render.platform import cloud_objects
from gpuyard.render.supply.images import pulled_images
from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_core.catalogue.software.images import ComponentOwner, SoftwarePart, images_of
from gpuyard_simulate.agents import cloud_node
from gpuyard_simulate.agents.cloud_node import agent_in
from kit.every import every
from kit.stacks import plan_of, platform
from render.gcp.made import gpu_pool, plan_on_gcp

H100, GB200 = "a3-megagpu-8g", "a4x-highgpu-4g"
NAME = "nvidia-driver-installer"


def pool_of(machine=H100, image="cos", name="train"):
    held = {"nodes": 4, "capacity": [{"reserved": "r", "nodes": 4}]} if machine == GB200 else {}
    return gpu_pool(name, machine=machine, image=image, **held)


def installers(*pools, **rest):
    found = cloud_objects(plan_on_gcp(*pools, **rest))
    return {each["metadata"]["name"]: each for each in found if each["kind"] == "DaemonSet"}


def pod_of(daemon_set):
    return daemon_set["spec"]["template"]["spec"]


# ── for whom ──────────────────────────────────────────────────────────────────────────────────────
@every(
    "pools, names",
    [
        ([pool_of()], {NAME}),
        ([pool_of(GB200)], {f"{NAME}-latest"}),
        ([pool_of(), pool_of(GB200, name="rack")], {NAME, f"{NAME}-latest"}),
        ([pool_of(), pool_of(name="more")], {NAME}),
        ([pool_of(image="cos-gke")], set()),
        ([pool_of(image="ubuntu-gke")], set()),
    ],
)
def test_it_is_there_where_a_pool_waits_for_it(pools, names):
    assert set(installers(*pools)) == names


@pytest.mark.parametrize("cloud", ["aws", "simulated", "none"])
def test_no_other_cloud_has_it(cloud):
    found = cloud_objects(plan_of(platform(cloud=cloud)))
    assert [each for each in found if NAME in each["metadata"]["name"]] == []


def test_a_cluster_that_exists_may_have_it():
    assert installers(pool_of(), cluster={"existing": "blue"}) == {}


def brought(image, machine):
    """Whether nodes of a pool as we ask GKE for it find a driver, with all that we put into the cluster."""
    plan = plan_on_gcp(pool_of(machine, image))
    (pool,) = plan.pools
    owner = pool.node_software.owners[SoftwarePart.DRIVER.value]
    labels = node_labels(image, machine)
    daemons = [pod_of(each) for each in installers(pool_of(machine, image)).values()]
    node = fake(labels, [pod for pod in daemons if matches(pod, labels)])
    return owner in {ComponentOwner.GKE.value, ComponentOwner.OPERATOR.value} or node.has_driver


def node_labels(image, machine):
    (plan,) = plan_on_gcp(pool_of(machine, image)).pools
    owner = plan.node_software.owners[SoftwarePart.DRIVER.value]
    told = "DEFAULT" if owner == ComponentOwner.GKE.value else "INSTALLATION_DISABLED"
    gpu = {"type": "x", "count": 4, "gpuDriverInstallationConfig": {"gpuDriverVersion": told}}
    kind = "UBUNTU_CONTAINERD" if image == "ubuntu-gke" else "COS_CONTAINERD"
    config = {"machineType": machine, "imageType": kind, "guestAccelerators": [gpu]}
    cluster = gke.Resource("gcp:container/cluster:Cluster", "c", {"name": "lab"}, {})
    inputs = {"name": "p", "cluster": "c", "nodeConfig": config}
    state = {**inputs, "nodeCount": 1, "location": "us-central1-a", "project": "lab-1"}
    (node,) = gke.nodes(gke.Resource(gke.POOL, "p", inputs, state), [cluster])
    return node.labels


def matches(pod, labels):
    (term,) = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    holds = {
        "Exists": lambda key, _: key in labels,
        "DoesNotExist": lambda key, _: key not in labels,
        "In": lambda key, values: labels.get(key) in values,
        "NotIn": lambda key, values: labels.get(key) not in values,
    }
    return all(
        holds[each["operator"]](each["key"], each.get("values"))
        for each in term["matchExpressions"]
    )


def fake(labels, pods):
    """A node that a fake GKE made without a driver, on which these pods run."""
    agents = {agent_in({"spec": pod, "status": {"phase": "Running"}}) for pod in pods}
    notes = {cloud_node.KUBELET: '{"capacity": {}, "allocatable": {}}', cloud_node.DRIVER: "none"}
    node = {"metadata": {"name": "n", "labels": labels, "annotations": notes}}
    found = cloud_node.cloud_node(node, frozenset(agents))
    assert found is not None
    return found


WAYS = [
    (image.name, machine)
    for image, machine in itertools.product(images_of("gcp"), (H100, GB200))
    if MACHINES[machine].arch in image.variants
]


@every("image, machine", WAYS)
def test_every_image_of_gke_ends_with_a_driver(image, machine):
    assert brought(image, machine)


@every("image, machine", [("cos", H100), ("cos", GB200), ("cos-gke", H100), ("ubuntu-gke", H100)])
def test_one_installer_at_most_runs_on_a_node(image, machine):
    both = installers(pool_of(), pool_of(GB200, name="rack")).values()
    labels = node_labels(image, machine)
    runs = [each["metadata"]["name"] for each in both if matches(pod_of(each), labels)]
    wanted = {("cos", H100): [NAME], ("cos", GB200): [f"{NAME}-latest"]}
    assert runs == wanted.get((image, machine), [])


# ── what it is ────────────────────────────────────────────────────────────────────────────────────
def test_it_is_googles_own_but_for_where_it_runs():
    """Whoever applied Google's by hand has the same name and selector: that one goes on as ours."""
    found = installers(pool_of())[NAME]
    assert found["spec"]["selector"] == {"matchLabels": {"k8s-app": NAME}}
    assert found["metadata"]["namespace"] == "kube-system"
    assert found["metadata"]["annotations"] == {"pulumi.com/skipAwait": "true"}
    pod = pod_of(found)
    assert (pod["hostNetwork"], pod["hostPID"]) == (True, True)
    assert pod["tolerations"] == [{"operator": "Exists"}]
    assert pod["priorityClassName"] == "system-node-critical"
    (installer,) = pod["initContainers"]
    assert (installer["image"], installer["imagePullPolicy"]) == (
        "cos-nvidia-installer:fixed",
        "Never",
    )
    assert installer["securityContext"] == {"privileged": True}
    assert {each["name"]: each["value"] for each in installer["env"]} == {
        "NVIDIA_INSTALL_DIR_HOST": "/home/kubernetes/bin/nvidia",
        "NVIDIA_INSTALL_DIR_CONTAINER": "/usr/local/nvidia",
        "VULKAN_ICD_DIR_HOST": "/home/kubernetes/bin/nvidia/vulkan/icd.d",
        "VULKAN_ICD_DIR_CONTAINER": "/etc/vulkan/icd.d",
        "COS_TOOLS_DIR_HOST": "/var/lib/cos-tools",
        "COS_TOOLS_DIR_CONTAINER": "/build/cos-tools",
        "ROOT_MOUNT_DIR": "/root",
    }
    lies = {each["name"]: each["hostPath"]["path"] for each in pod["volumes"]}
    assert [(lies[each["name"]], each["mountPath"]) for each in installer["volumeMounts"]] == [
        ("/dev", "/dev"),
        ("/home/kubernetes/bin/nvidia/vulkan/icd.d", "/etc/vulkan/icd.d"),
        ("/home/kubernetes/bin/nvidia", "/usr/local/nvidia"),
        ("/", "/root"),
        ("/var/lib/cos-tools", "/build/cos-tools"),
    ]


@every(
    "machine, loaded, fails, ran, code",
    [
        (H100, False, False, ["install"], 0),
        (H100, True, False, [], 0),
        (H100, False, True, ["install"], 1),
        (
            GB200,
            False,
            False,
            ["install --version=latest", "755 /root/home/kubernetes/bin/nvidia"],
            0,
        ),
        (GB200, False, True, ["install --version=latest"], 1),
        (GB200, True, False, [], 0),
    ],
)
def test_its_script_installs_once_and_fails_where_the_installer_does(
    tmp_path_factory, machine, loaded, fails, ran, code
):
    bash = shutil.which("bash")
    assert bash is not None
    folder = tmp_path_factory.mktemp("node")
    tools = {
        "lsmod": "echo nvidia_uvm" if loaded else "echo loop",
        "cos-gpu-installer": f'echo "$*" >> {folder}/ran; exit {int(fails)}',
        "chmod": f'echo "$*" >> {folder}/ran',
    }
    for name, does in tools.items():
        (folder / name).write_text(f"#!{bash}\n{does}\n")
        (folder / name).chmod(0o755)
    (found,) = installers(pool_of(machine)).values()
    *_, script = pod_of(found)["initContainers"][0]["command"]
    script = script.replace("/cos-gpu-installer", "cos-gpu-installer")
    path = {"PATH": f"{folder}:/usr/bin:/bin"}
    done = subprocess.run([bash, "-c", script], env=path, check=False, capture_output=True)
    assert done.returncode == code, done.stderr
    written = folder / "ran"
    assert (written.read_text().splitlines() if written.exists() else []) == ran


@pytest.mark.parametrize(
    ("mirror", "registry"),
    [({}, "gke.gcr.io/pause"), ({"mirror": {"images": "all.example/x"}}, "all.example/x/pause")],
)
def test_only_what_is_pulled_is_listed_and_may_come_from_a_mirror(mirror, registry):
    plan = plan_on_gcp(pool_of(), **mirror)
    (image,) = [
        each for each in pulled_images(plan) if each.component == "Google's driver installer"
    ]
    assert (image.repository, image.tag) == (registry, "3.8")
    assert image.digest.startswith("sha256:880e63f94b14")
    (found,) = installers(pool_of(), **mirror).values()
    (pause,) = pod_of(found)["containers"]
    assert pause["image"] == image.reference
