"""Training on a real Kueue, JobSet, Kubeflow Trainer, LeaderWorkerSet and KubeRay: gangs, restarts, interruptions."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from gpuyard.names import GPU
from gpuyard.simulate import cluster
from kit.cluster import lab as reality
from kit.cluster.lab import Value, condition
from kit.cluster.queues import soon
from kit.cluster.workloads import TRAINING, WorkloadLab, gpu_container, metadata, workload_lab
from kit.stacks import Raw, platform, pool, team

pytestmark = [pytest.mark.cluster]

NAME = "gangs"
NOTICE = "cloud.google.com/impending-node-termination"
"""The taint of a GKE node that is about to end."""
INTERRUPTIONS = 20
RUNTIME = "torch"


def stack() -> Raw:
    """Four spot nodes of eight GPUs, for one team that may use them all."""
    spot = pool(NAME, nodes=4, capacity=["spot"])
    return platform([spot], [team(f"{NAME}-t", guarantee={NAME: 32})], name=NAME, cloud="simulated")


@pytest.fixture(scope="module")
def lab(
    started: cluster.Outcome, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkloadLab]:
    folder = tmp_path_factory.mktemp("controllers")
    with workload_lab(started, stack(), folder, *TRAINING) as found:
        reality.apply(found.api, runtime())
        yield found


def runtime() -> Value:
    """One that allows three restarts."""
    checkpoints = [{"name": "CHECKPOINT_DIR", "value": "/checkpoints/run-7"}]
    pod = {"restartPolicy": "Never", "containers": [gpu_container("node", 8, env=checkpoints)]}
    job = {
        "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
        "spec": {"backoffLimit": 0, "template": {"spec": pod}},
    }
    spec = {
        "failurePolicy": {"maxRestarts": 3},
        "replicatedJobs": [{"name": "node", "template": job}],
    }
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {
            "name": RUNTIME,
            "labels": {"trainer.kubeflow.org/framework": "torch"},
        },
        "spec": {"mlPolicy": {"numNodes": 1, "torch": {}}, "template": {"spec": spec}},
    }


def train_job(lab: WorkloadLab, name: str, nodes: int = 2) -> Value:
    resources = gpu_container()["resources"]
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": metadata(lab, "t", name),
        "spec": {
            "runtimeRef": {"name": RUNTIME},
            "trainer": {"numNodes": nodes, "numProcPerNode": 8, "resourcesPerNode": resources},
        },
    }


def env_of(pod: Value) -> dict[str, Any]:
    (container,) = pod["spec"]["containers"]
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container["env"]}


def uids(pods: list[Value]) -> frozenset[str]:
    return frozenset(pod["metadata"]["uid"] for pod in pods)


@pytest.mark.always
def test_a_train_job_runs_as_a_gang_and_the_next_one_waits_whole(lab: WorkloadLab):
    first, second = (lab.start(train_job(lab, name, n)) for name, n in (("one", 2), ("two", 3)))
    pods = lab.runs(first, 2)
    (workload,) = lab.workloads_of(first)
    (gang,) = workload["spec"]["podSets"]
    assert gang["count"] == 2
    environment = [env_of(pod) for pod in pods]
    assert [each["PET_NNODES"] for each in environment] == ["2", "2"]
    message = lab.waits(second)
    assert "insufficient unused quota" in message
    lab.end(first)
    lab.runs(second, 3)
    lab.end(second)


@pytest.mark.always
def test_a_failed_pod_restarts_the_whole_train_job_with_its_quota(lab: WorkloadLab):
    job = lab.start(train_job(lab, "fails"))
    before = lab.runs(job, 2)
    (workload,) = lab.workloads_of(job)
    lab.ends(before[0], 1)
    after = lab.runs(job, 2, without=uids(before))
    assert restarts(lab, job) == 1
    (same,) = lab.workloads_of(job)
    assert same["metadata"]["uid"] == workload["metadata"]["uid"]
    assert condition(same, "Evicted") == {}
    for pod in after:
        lab.ends(pod, 0)
    soon(lambda: condition(lab.read(job), "Complete").get("status") == "True", "its end")
    lab.end(job)


def test_a_train_job_survives_interruptions_on_the_same_checkpoint_path(lab: WorkloadLab):
    """Each time a node of the gang is about to end: the agent of the platform stops the gang, and it starts elsewhere."""
    job = lab.start(train_job(lab, "long"))
    pods = lab.runs(job, 2)
    told = env_of(pods[0])
    for _ in range(INTERRUPTIONS):
        soon(lambda: lab.is_ready(job), "Kueue to know that the gang is ready")
        node = pods[0]["spec"]["nodeName"]
        with noticed(lab, node):
            pods = lab.runs(job, 2, without=uids(pods))
        assert node not in {pod["spec"]["nodeName"] for pod in pods}
        assert [env_of(pod) for pod in pods] == [told, told]
    for pod in pods:
        lab.ends(pod, 0)
    soon(lambda: condition(lab.read(job), "Complete").get("status") == "True", "its end")
    assert restarts(lab, job) == 0
    lab.end(job)


@contextmanager
def noticed(lab: WorkloadLab, node: str) -> Iterator[None]:
    """A node that is about to end, and comes back."""
    path = f"/api/v1/nodes/{node}"
    taints = lab.api.call("GET", path)["spec"].get("taints") or []
    notice = {"key": NOTICE, "effect": "NoSchedule"}
    lab.api.patch(path, {"spec": {"taints": [*taints, notice]}})
    yield
    lab.api.patch(path, {"spec": {"taints": taints}})


def restarts(lab: WorkloadLab, job: Value) -> int:
    """Of the JobSet of a TrainJob."""
    jobset = lab.read({**job, "kind": "JobSet", "apiVersion": "jobset.x-k8s.io/v1alpha2"})
    return int(jobset["status"].get("restarts", 0))


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
    lab.end(ray)


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
    lab.end(ray)


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


@pytest.mark.always
def test_each_group_of_a_leader_worker_set_is_a_gang(lab: WorkloadLab):
    """Two groups of two nodes fit; of three, the third waits without a pod."""
    server = lab.start(leader_worker_set(lab, "server", 3))
    soon(lambda: len(lab.workloads_of(server)) == 3, "a workload for each group")
    soon(lambda: len(lab.running_pods(server)) == 4, "two groups to run")
    groups = Counter(
        pod["metadata"]["labels"]["leaderworkerset.sigs.k8s.io/group-index"]
        for pod in lab.running_pods(server)
    )
    assert set(groups.values()) == {2}
    lab.end(server)


def leader_worker_set(lab: WorkloadLab, name: str, groups: int) -> Value:
    worker = {"spec": {"containers": [gpu_container("vllm")]}}
    group = {"size": 2, "restartPolicy": "RecreateGroupOnPodRestart", "workerTemplate": worker}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": metadata(lab, "t", name),
        "spec": {"replicas": groups, "leaderWorkerTemplate": group},
    }


@pytest.mark.always
def test_a_job_set_of_two_jobs_is_one_gang(lab: WorkloadLab):
    first, second = (lab.start(job_set(lab, name)) for name in ("first", "second"))
    lab.runs(first, 3)
    (workload,) = lab.workloads_of(first)
    assert [each["count"] for each in workload["spec"]["podSets"]] == [1, 2]
    assert "insufficient unused quota" in lab.waits(second)
    lab.end(first)
    lab.runs(second, 3)
    lab.end(second)


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
