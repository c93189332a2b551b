"""A PyTorchJob on a real Kueue whose integration the platform enables: one workload, admitted whole.

Its operator runs nowhere here, and its definition takes everything: Kueue alone decides when it starts.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpuyard_simulate import cluster
from gpuyard_simulate.api import connect
from kit.cluster import lab as reality
from kit.cluster.lab import Value, condition
from kit.cluster.queues import QueueLab, kueue_as_rendered, soon
from kit.cluster.workloads import gpu_container, metadata
from kit.stacks import Raw, platform, pool, team

pytestmark = [pytest.mark.cluster]

NAME = "pytorch"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def stack() -> Raw:
    return platform(
        [pool(NAME, nodes=3)],
        [team(f"{NAME}-t", guarantee={NAME: 24})],
        name=NAME,
        cloud="simulated",
        queueing={"integrations": ["pytorchjob"]},
    )


def definition() -> Value:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}}
    spec = {
        "group": "kubeflow.org",
        "scope": "Namespaced",
        "names": {"kind": "PyTorchJob", "plural": "pytorchjobs", "singular": "pytorchjob"},
        "versions": [{**version, "schema": {"openAPIV3Schema": anything}}],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "pytorchjobs.kubeflow.org"},
        "spec": spec,
    }


@pytest.fixture(scope="module")
def lab(started: cluster.Outcome) -> Iterator[QueueLab]:
    """The kind exists before Kueue starts, which looks for a missing one ever more rarely."""
    first = connect(Path(started.status.kubeconfig))
    first.apply(definition())
    soon(lambda: first.get("/apis/kubeflow.org/v1/pytorchjobs"), "the kind to be served")
    with kueue_as_rendered(started.status.name, stack()) as api, QueueLab(api, stack()) as found:
        yield found
        api.call("DELETE", f"{DEFINITIONS}/pytorchjobs.kubeflow.org")


def pytorch_job(lab: QueueLab, name: str, workers: int) -> Value:
    limits: dict[str, Any] = gpu_container("pytorch")
    pod = {"spec": {"containers": [limits]}}
    roles = {
        "Master": {"replicas": 1, "template": pod},
        "Worker": {"replicas": workers, "template": pod},
    }
    policy = {"cleanPodPolicy": "Running"}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": metadata(lab, "t", name),
        "spec": {"runPolicy": policy, "pytorchReplicaSpecs": roles},
    }


def test_a_pytorch_job_is_admitted_whole_or_waits_whole(lab: QueueLab) -> None:
    small, large = (pytorch_job(lab, name, n) for name, n in (("small", 1), ("large", 2)))
    for each in (small, large):
        reality.create(lab.api, reality.path_of(each).rpartition("/")[0], each)

    def workload(job: Value) -> Value:
        found = lab.listed(
            f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{job['metadata']['namespace']}/workloads"
        )
        name = job["metadata"]["name"]
        return next((w for w in found if w["metadata"]["ownerReferences"][0]["name"] == name), {})

    def suspended(job: Value) -> bool:
        spec = lab.api.get(reality.path_of(job))["spec"]
        return bool(spec["runPolicy"]["suspend"])

    soon(lambda: condition(workload(small), "Admitted").get("status") == "True", "its admission")
    counts = {s["name"]: s["count"] for s in workload(small)["spec"]["podSets"]}
    assert counts == {"master": 1, "worker": 1}
    soon(lambda: not suspended(small), "Kueue to start it")
    waiting = soon(lambda: condition(workload(large), "QuotaReserved"), "its answer")
    assert (waiting["status"], suspended(large)) == ("False", True)
    for each in (small, large):
        reality.delete(lab.api, reality.path_of(each), "Background")
