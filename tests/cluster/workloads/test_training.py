"""Training on a real Kueue, JobSet, Kubeflow Trainer, LeaderWorkerSet and KubeRay: gangs, restarts, interruptions."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuyard.render.workloads.runtimes import runtime_objects
from gpuyard_core.manifests.quantities import quantity
from gpuyard_core.names import EFA, GPU, POOL_LABEL
from gpuyard_simulate import cluster
from kit.cluster import lab as reality
from kit.cluster.lab import Value, condition
from kit.cluster.queues import soon
from kit.cluster.workloads import TRAINING, WorkloadLab, gpu_container, metadata, uids, workload_lab
from kit.stacks import Raw, plan_of, platform, pool, team

pytestmark = [pytest.mark.cluster]

NAME = "gangs"
NOTICE = "cloud.google.com/impending-node-termination"
"""The taint of a GKE node that is about to end."""
INTERRUPTIONS = 20
RUNTIME = f"torch-{NAME}"
CHECKPOINTS = "/checkpoints/run-7"
GOLDEN = Path(__file__).parents[2] / "render" / "workloads" / "golden"
DEVICES = (GPU, EFA, "hugepages-")
FABRICS = [
    "EFA",
    "GPUDirect-TCPX",
    "GPUDirect-TCPXO",
    "GPUDirect-RDMA",
    "infiniband",
    "roce",
    "ethernet",
]


def stack() -> Raw:
    """Four spot nodes of eight GPUs, for one team that may use them all."""
    spot = pool(NAME, nodes=4, capacity=["spot"])
    return platform(
        [spot],
        [team(f"{NAME}-t", guarantee={NAME: 32}, pod_security="privileged")],
        name=NAME,
        cloud="simulated",
        admission={"enforce": "warn"},
        workloads={"training": ["torch"]},
        addons=["jobset", "kubeflow-trainer"],
    )


@pytest.fixture(scope="module")
def lab(
    started: cluster.Outcome, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkloadLab]:
    folder = tmp_path_factory.mktemp("controllers")
    with workload_lab(started, stack(), folder, *TRAINING) as found:
        for each in runtime_objects(found.plan):
            reality.apply(found.api, each)
        yield found


@pytest.fixture(autouse=True)
def cleared(lab: WorkloadLab) -> Iterator[None]:
    """No workload of one test is left for the next."""
    yield
    lab.clear()


def train_job(lab: WorkloadLab, name: str, nodes: int = 2, runtime: str = RUNTIME) -> Value:
    """One whose script reads a path, as users write it."""
    env = [{"name": "CHECKPOINT_PATH", "value": CHECKPOINTS}]
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": metadata(lab, "t", name),
        "spec": {
            "runtimeRef": {"name": runtime},
            "trainer": {"numNodes": nodes, "env": env}
            if runtime == RUNTIME
            else {"numNodes": nodes},
        },
    }


def env_of(pod: Value) -> dict[str, Any]:
    """The environment of its only container: values, or where they come from."""
    (container,) = pod["spec"]["containers"]
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container["env"]}


@pytest.mark.always
def test_a_train_job_runs_as_a_gang_and_the_next_one_waits_whole(lab: WorkloadLab):
    first, second = (lab.start(train_job(lab, name, n)) for name, n in (("one", 2), ("two", 3)))
    pods = lab.runs(first, 2)
    (workload,) = lab.workloads_of(first)
    (gang,) = workload["spec"]["podSets"]
    assert gang["count"] == 2
    for environment in (env_of(pod) for pod in pods):
        assert environment["PET_NNODES"] == "2"
        assert environment["PET_NPROC_PER_NODE"] == "auto"
        assert environment["PET_MASTER_ADDR"] == "one-node-0-0.one"
        assert environment["CHECKPOINT_PATH"] == CHECKPOINTS
    message = lab.waits(second)
    assert "insufficient unused quota" in message
    lab.end(first)
    lab.runs(second, 3)


@pytest.mark.always
def test_a_failed_pod_restarts_the_whole_train_job_with_its_quota(lab: WorkloadLab):
    job = lab.start(train_job(lab, "fails"))
    before = lab.runs(job, 2)
    (workload,) = lab.workloads_of(job)
    lab.ends(before[0], 1)
    lab.runs(job, 2, without=uids(before))
    assert jobset_of(lab, job)["status"]["restarts"] == 1
    (same,) = lab.workloads_of(job)
    assert same["metadata"]["uid"] == workload["metadata"]["uid"]
    assert condition(same, "Evicted") == {}
    lab.completes(job)


def test_a_train_job_survives_interruptions_on_the_same_checkpoint_path(lab: WorkloadLab):
    """Each time a node of the gang is about to end: the agent of the platform stops the gang, and it starts elsewhere."""
    job = lab.start(train_job(lab, "long"))
    pods = lab.runs(job, 2)
    told = env_of(pods[0])
    for _ in range(INTERRUPTIONS):
        soon(lambda: lab.is_ready(job), "Kueue to know that the gang is ready")
        # so that its pods are older than the next admission: timestamps are seconds
        time.sleep(1.1)
        pods = lab.runs(job, 2)  # the agent may have stopped the gang a second time
        node = pods[0]["spec"]["nodeName"]
        with noticed(lab, node):
            pods = lab.runs(job, 2, without=uids(pods))
        assert node not in {pod["spec"]["nodeName"] for pod in pods}
        assert [env_of(pod) for pod in pods] == [told, told]
    lab.completes(job)
    assert jobset_of(lab, job)["status"].get("restarts", 0) == 0


@contextmanager
def noticed(lab: WorkloadLab, node: str) -> Iterator[None]:
    """A node that is about to end, and comes back."""
    path = f"/api/v1/nodes/{node}"
    taints = lab.api.call("GET", path)["spec"].get("taints") or []
    notice = {"key": NOTICE, "effect": "NoSchedule"}
    lab.api.patch(path, {"spec": {"taints": [*taints, notice]}})
    yield
    lab.api.patch(path, {"spec": {"taints": taints}})


def jobset_of(lab: WorkloadLab, job: Value) -> Value:
    """The JobSet of a TrainJob."""
    return lab.read({**job, "kind": "JobSet", "apiVersion": "jobset.x-k8s.io/v1alpha2"})


@pytest.mark.parametrize("fabric", FABRICS)
def test_every_pod_of_a_gang_has_what_its_fabric_needs(lab: WorkloadLab, fabric: str):
    """The golden pod templates of all fabrics. Only EFA has devices here: nodes keep those of their machine."""
    template = yaml.safe_load((GOLDEN / f"{fabric}.yaml").read_text())
    (expected,) = template["spec"]["containers"]
    limits = expected["resources"]["limits"]
    devices = {name: limits[name] for name in limits if name.startswith(DEVICES)}
    for each in lab.objects:
        if each["kind"] == "Node":
            advertise(lab, each["metadata"]["name"], devices)
    runtime = runtime_of(fabric.lower(), template, devices)
    reality.apply(lab.api, runtime)
    job = lab.start(train_job(lab, fabric.lower(), runtime=fabric.lower()))
    for pod in lab.runs(job, 2):
        (container,) = pod["spec"]["containers"]
        added = [each for each in container["env"] if each["name"].startswith(("PET_", "JOB_"))]
        kept = [each for each in container["env"] if each not in added]
        assert kept == expected.get("env", [])
        limits = container["resources"]["limits"]
        assert {name: quantity(limits.get(name)) for name in devices} == {
            name: quantity(count) for name, count in devices.items()
        }
        daemons = [each["name"] for each in template["spec"].get("initContainers", ())]
        assert [each["name"] for each in pod["spec"].get("initContainers", ())] == daemons
        notes = template["metadata"].get("annotations", {})
        assert notes.items() <= pod["metadata"]["annotations"].items()
    lab.end(job)
    reality.delete(lab.api, reality.path_of(runtime))


def advertise(lab: WorkloadLab, node: str, devices: Value) -> None:
    found = {"capacity": devices, "allocatable": devices}
    lab.api.patch(f"/api/v1/nodes/{node}/status", {"status": found})


def runtime_of(name: str, template: Value, devices: Value) -> Value:
    """A runtime with this pod template, in the pool of this cluster, whose machines are smaller than some."""
    (rendered,) = runtime_objects(plan_of(stack()))
    (job,) = rendered["spec"]["template"]["spec"]["replicatedJobs"]
    (main,) = template["spec"]["containers"]
    amounts = {**devices, "cpu": "1", "memory": "8Gi"}
    resources = {"requests": amounts, "limits": amounts}
    own = {
        "containers": [{**main, "name": "node", "resources": resources}],
        "nodeSelector": {POOL_LABEL: NAME},
    }
    spec = {key: value for key, value in template["spec"].items() if key != "serviceAccountName"}
    job["template"]["spec"]["template"] = {**template, "spec": {**spec, **own}}
    rendered["metadata"]["name"] = name
    return rendered


@pytest.mark.always
def test_a_ray_cluster_of_three_groups_waits_and_starts_whole(lab: WorkloadLab):
    other = lab.start(train_job(lab, "holds"))
    lab.runs(other, 2)
    ray = lab.start(ray_cluster(lab, "ray", a=1, b=1, c=1))
    assert "insufficient unused quota" in lab.waits(ray)
    assert lab.read(ray)["spec"]["suspend"] is True
    lab.end(other)
    lab.runs(ray, 4)
    (workload,) = lab.workloads_of(ray)
    counts = {each["name"]: each["count"] for each in workload["spec"]["podSets"]}
    assert counts == {"head": 1, "a": 1, "b": 1, "c": 1}


def test_a_ray_cluster_whose_replicas_change_starts_again_with_its_head(lab: WorkloadLab):
    """What Ray's autoscaler does to a queued cluster.

    With more replicas KubeRay 1.5.0 may wait without end for a pod that the suspension deleted.
    """
    ray = lab.start(ray_cluster(lab, "shrinks", a=1, b=2, c=1))
    before = lab.runs(ray, 5)
    groups = [*ray["spec"]["workerGroupSpecs"]]
    groups[1] = {**groups[1], "replicas": 1}
    lab.api.patch(reality.path_of(ray), {"spec": {"workerGroupSpecs": groups}})
    after = lab.runs(ray, 4, without=uids(before))
    assert "head" in {pod["metadata"]["labels"]["ray.io/node-type"] for pod in after}


def ray_cluster(lab: WorkloadLab, name: str, **replicas: int) -> Value:
    """A head without GPUs, and groups of workers with eight GPUs each.

    Kueue gives the head no flavor and with it no toleration, and this cluster has only nodes with GPUs.
    """

    def template(container: Value, **rest: Any) -> Value:
        return {"template": {"spec": {"containers": [container], **rest}}}

    groups = [
        {
            "groupName": group,
            "replicas": count,
            "minReplicas": 0,
            "maxReplicas": 4,
            "rayStartParams": {},
            **template(gpu_container("worker")),
        }
        for group, count in replicas.items()
    ]
    tolerations = [{"key": GPU, "operator": "Exists"}]
    head = {
        "rayStartParams": {"num-gpus": "0"},
        **template(gpu_container("head", 0), tolerations=tolerations),
    }
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": metadata(lab, "t", name),
        "spec": {"rayVersion": "2.52.0", "headGroupSpec": head, "workerGroupSpecs": groups},
    }


def test_each_group_of_a_leader_worker_set_is_a_gang(lab: WorkloadLab):
    """Two groups of two nodes use all GPUs, and a job waits."""
    server = lab.start(leader_worker_set(lab, "server", 2))
    pods = lab.runs(server, 4)
    groups = Counter(
        pod["metadata"]["labels"]["leaderworkerset.sigs.k8s.io/group-index"] for pod in pods
    )
    assert groups == {"0": 2, "1": 2}
    assert len(lab.workloads_of(server)) == 2
    assert "insufficient unused quota" in lab.waits(lab.start(train_job(lab, "later")))


def leader_worker_set(lab: WorkloadLab, name: str, groups: int) -> Value:
    worker = {"spec": {"containers": [gpu_container("vllm")]}}
    group = {"size": 2, "restartPolicy": "RecreateGroupOnPodRestart", "workerTemplate": worker}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": metadata(lab, "t", name),
        "spec": {"replicas": groups, "leaderWorkerTemplate": group},
    }


def test_a_job_set_of_two_jobs_is_one_gang(lab: WorkloadLab):
    first, second = (lab.start(job_set(lab, name)) for name in ("first", "second"))
    lab.runs(first, 3)
    (workload,) = lab.workloads_of(first)
    assert [each["count"] for each in workload["spec"]["podSets"]] == [1, 2]
    assert "insufficient unused quota" in lab.waits(second)
    lab.end(first)
    lab.runs(second, 3)


def job_set(lab: WorkloadLab, name: str) -> Value:
    """A leader and two workers with eight GPUs each."""
    pod = {"restartPolicy": "Never", "containers": [gpu_container()]}

    def job(count: int) -> Value:
        spec = {"parallelism": count, "completions": count, "backoffLimit": 0}
        return {"spec": {**spec, "template": {"spec": pod}}}

    jobs = [
        {"name": part, "replicas": 1, "template": job(count)}
        for part, count in {"leader": 1, "workers": 2}.items()
    ]
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": metadata(lab, "t", name),
        "spec": {"replicatedJobs": jobs},
    }
