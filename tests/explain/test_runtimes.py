"""A TrainJob on a runtime of the platform is explained with the pods of the runtime."""

import pytest

from gpuyard_advisor.explain import Verdict, explain
from gpuyard_advisor.workloads import read_job
from kit.stacks import plan_of, platform, pool, team


@pytest.fixture(scope="module")
def plan():
    raw = platform(
        [pool()],
        [team(guarantee={"train": 32})],
        cloud="aws",
        workloads={"training": ["torch", "mpi"]},
        addons=["jobset", "kubeflow-trainer"],
    )
    return plan_of(raw)


def train_job(plan, runtime, nodes, **trainer):
    metadata = {
        "name": "llm",
        "namespace": plan.teams[0].default_namespace.name,
        "labels": {"kueue.x-k8s.io/queue-name": plan.teams[0].local_queue},
    }
    spec = {
        "runtimeRef": {"name": runtime},
        "trainer": {"numNodes": nodes, "image": "registry.example/train:1", **trainer},
    }
    value = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob"}
    return explain(plan, read_job({**value, "metadata": metadata, "spec": spec}))


@pytest.mark.parametrize("runtime", ["torch-train", "mpi-train"])
def test_the_pods_of_the_runtime_are_counted(plan, runtime):
    found = train_job(plan, runtime, 3)
    assert (found.verdict, found.pods, found.pools) == (Verdict.STARTS, 3, ("train",))
    counted = {key: found.requests[key] for key in ("nvidia.com/gpu", "vpc.amazonaws.com/efa")}
    assert counted == {"nvidia.com/gpu": 24, "vpc.amazonaws.com/efa": 96}
    assert not [each for each in found.cautions if "unknown to gpuyard" in each]


def test_a_train_job_above_the_quota_never_starts(plan):
    found = train_job(plan, "torch-train", 5)
    assert found.verdict is Verdict.NEVER
    assert found.message == (
        "train: 40 nvidia.com/gpu requested, the maximum of team vision is 32 (guaranteed 32, may"
        " borrow 0)"
    )


def test_resources_of_the_train_job_replace_those_of_the_runtime(plan):
    amounts = {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "4"}
    found = train_job(plan, "torch-train", 2, resourcesPerNode={"limits": amounts})
    assert (found.verdict, found.requests["nvidia.com/gpu"]) == (Verdict.STARTS, 8)
    assert "vpc.amazonaws.com/efa" not in found.requests


def test_an_unknown_runtime_is_not_counted(plan):
    found = train_job(plan, "torch-distributed", 2)
    assert "its runtime torch-distributed is unknown to gpuyard" in " ".join(found.cautions)


def test_an_autoscaler_of_a_queued_ray_cluster_needs_an_elastic_job(plan):
    metadata = {
        "name": "r",
        "namespace": plan.teams[0].default_namespace.name,
        "labels": {"kueue.x-k8s.io/queue-name": plan.teams[0].local_queue},
    }
    limits = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}
    container = {"name": "ray", "image": "r:1", "resources": {"limits": limits}}
    head = {"template": {"spec": {"containers": [container]}}}
    value = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata}
    spec = {"enableInTreeAutoscaling": True, "headGroupSpec": head, "workerGroupSpecs": []}
    fixed = explain(plan, read_job({**value, "spec": spec}))
    assert fixed.verdict is Verdict.NEVER
    assert fixed.message == (
        "the API server rejects it: spec.enableInTreeAutoscaling: Kueue queues a Ray cluster with"
        " an autoscaler only if it has the annotation kueue.x-k8s.io/elastic-job: true"
    )
    (change, *_) = fixed.changes
    assert change.message == 'write metadata.annotations[kueue.x-k8s.io/elastic-job]: "true"'
    elastic = {**metadata, "annotations": {"kueue.x-k8s.io/elastic-job": "true"}}
    assert explain(plan, read_job({**value, "metadata": elastic, "spec": spec})).verdict is (
        Verdict.STARTS
    )
