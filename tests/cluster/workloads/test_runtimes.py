"""The training runtimes of a platform on real Kubeflow Trainer, JobSet and Kueue."""

from collections.abc import Iterator

import pytest

from gpuyard.render.workloads.runtimes import runtime_objects
from gpuyard_simulate import cluster
from kit.cluster import lab as reality
from kit.cluster.lab import Value, condition
from kit.cluster.queues import soon
from kit.cluster.workloads import WorkloadLab, metadata, workload_lab
from kit.stacks import Raw, platform, pool, team

pytestmark = [pytest.mark.cluster]

NAME = "runtimes"


def stack() -> Raw:
    return platform(
        [pool(NAME, nodes=3, topology=True)],
        [team(f"{NAME}-t", guarantee={NAME: 24})],
        name=NAME,
        cloud="simulated",
        workloads={"training": ["torch", "deepspeed", "jax", "mpi"]},
        addons=["jobset", "kubeflow-trainer"],
    )


@pytest.fixture(scope="module")
def lab(
    started: cluster.Outcome, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkloadLab]:
    folder = tmp_path_factory.mktemp("controllers")
    with workload_lab(started, stack(), folder, "jobset", "kubeflow-trainer") as found:
        for each in runtime_objects(found.plan):
            reality.apply(found.api, each)
        yield found


def train_job(lab: WorkloadLab, framework: str, nodes: int = 2) -> Value:
    trainer = {"numNodes": nodes, "image": "example.invalid/train", "command": ["train"]}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": metadata(lab, "t", framework),
        "spec": {"runtimeRef": {"name": f"{framework}-{NAME}"}, "trainer": trainer},
    }


@pytest.mark.parametrize("framework", ["torch", "deepspeed", "jax", "mpi"])
def test_a_train_job_of_each_framework_runs_as_a_gang_of_whole_nodes(
    lab: WorkloadLab, framework: str
) -> None:
    job = lab.start(train_job(lab, framework))
    pods = lab.runs(job, 2)
    assert len({pod["spec"]["nodeName"] for pod in pods}) == 2
    (workload,) = lab.workloads_of(job)
    assert sum(each["count"] for each in workload["spec"]["podSets"]) == 2
    for pod in pods:
        (container,) = pod["spec"]["containers"]
        assert container["resources"]["limits"]["nvidia.com/gpu"] == "8"
    lab.end(job)


def test_an_evicted_pod_restarts_the_gang_and_counts_as_no_restart(lab: WorkloadLab) -> None:
    job = lab.start(train_job(lab, "torch"))
    before = lab.runs(job, 2)
    node = f"/api/v1/nodes/{before[0]['spec']['nodeName']}"
    taints = lab.api.call("GET", node)["spec"].get("taints") or []
    gone = {"key": "example.com/gone", "effect": "NoExecute"}
    lab.api.patch(node, {"spec": {"taints": [*taints, gone]}})
    lab.runs(job, 2, without=uids(before))
    lab.api.patch(node, {"spec": {"taints": taints}})
    jobset = lab.read({**job, "kind": "JobSet", "apiVersion": "jobset.x-k8s.io/v1alpha2"})
    assert jobset["status"]["restarts"] == 1
    assert jobset["status"].get("restartsCountTowardsMax", 0) == 0
    failed = lab.running_pods(job)
    lab.ends(failed[0], 1)
    lab.runs(job, 2, without=uids(failed))
    jobset = lab.read({**job, "kind": "JobSet", "apiVersion": "jobset.x-k8s.io/v1alpha2"})
    assert jobset["status"]["restartsCountTowardsMax"] == 1
    for pod in lab.running_pods(job):
        lab.ends(pod, 0)
    soon(lambda: condition(lab.read(job), "Complete").get("status") == "True", "its end")
    lab.end(job)


def uids(pods: list[Value]) -> frozenset[str]:
    return frozenset(pod["metadata"]["uid"] for pod in pods)
