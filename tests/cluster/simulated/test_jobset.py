"""A JobSet that loses a node, on a real Kueue and a real JobSet: queued again whole, and no restart counted."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from cluster.simulated.test_interruption import (
    JOB,
    WAYS,
    Kind,
    asked,
    comes_back,
    container,
    goes,
    notices,
    program_of,
    quota_in_use,
    running_of,
)
from gpuyard.render.kueue.requeue import requeue_objects
from gpuyard_simulate import cluster
from gpuyard_simulate.api import Api
from kit.cluster import lab as reality
from kit.cluster.karpenter import place
from kit.cluster.lab import Value, condition
from kit.cluster.queues import DURATION, QueueLab, soon
from kit.cluster.workloads import workload_lab

pytestmark = [pytest.mark.cluster]
SET = "flock"
PODS = {"leader": 1, "workers": 2}
"""Two Jobs, one gang."""


def put(api: Api, value: Value) -> bool:
    query = "?fieldManager=test&force=true"
    api.call("PATCH", place(value) + query, value, "application/apply-patch+yaml")
    return True


@pytest.fixture(scope="module")
def lab(started: cluster.Outcome, tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueueLab]:
    """The platform with its program."""
    raw, folder = goes(), tmp_path_factory.mktemp("jobset")
    with workload_lab(started, raw, folder, "jobset") as found:
        api = found.api
        for value in requeue_objects(found.plan):
            reality.apply(api, value)
        soon(lambda: program_of(api), "the program's pod to run")
        yield found
        for value in requeue_objects(found.plan):
            if value["kind"].startswith("ValidatingAdmissionPolicy"):
                reality.delete(api, reality.path_of(value))


def made(space: str, name: str = SET) -> Value:
    """Without a single restart to spend, and Jobs without a failure."""
    template = {
        "metadata": {"labels": {"job": name}},
        "spec": {"restartPolicy": "Never", "containers": [container()]},
    }

    def of(count: int) -> Value:
        spec = {"parallelism": count, "completions": count, "backoffLimit": 0, "template": template}
        return {"spec": spec}

    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": space},
        "spec": {
            "failurePolicy": {"maxRestarts": 0},
            "replicatedJobs": [
                {"name": part, "replicas": 1, "template": of(count)} for part, count in PODS.items()
            ],
        },
    }


def whole(lab: QueueLab, before: set[str]) -> list[Value]:
    """Its pods where all run and none is of those before."""
    pods = [p for p in lab.pods("t", SET) if p["status"].get("phase") == "Running"]
    new = {p["metadata"]["uid"] for p in pods} - before
    return pods if len(new) == len(pods) == sum(PODS.values()) and lab.ready("t", SET) else []


@pytest.mark.parametrize("way", WAYS)
def test_a_jobset_that_loses_a_node_is_queued_again_whole_and_counts_no_restart(
    lab: QueueLab, way: Any
):
    api, value = lab.api, made(lab.namespace("t"))
    put(api, value)
    pods = soon(lambda: whole(lab, set()), "all pods to run")
    node = next(p["spec"]["nodeName"] for p in pods if "workers" in p["metadata"]["name"])
    before = {p["metadata"]["uid"] for p in pods}
    began = time.monotonic()
    way(api, node, [p for p in pods if p["spec"]["nodeName"] == node])
    soon(lambda: not before & running_of(lab, SET), f"all to stop ({way.__name__})")
    stopped = time.monotonic() - began
    after = soon(lambda: whole(lab, before), f"all to run again ({way.__name__})")
    whole_again = time.monotonic() - began
    print(f"\n{way.__name__}: {stopped:.1f} s, whole {whole_again:.1f} s")  # noqa: T201  figures
    assert node not in {p["spec"]["nodeName"] for p in after}
    assert asked(after) == asked(pods)
    comes_back(api, node)
    for pod in after:
        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
        api.patch(path, {"metadata": {"annotations": {DURATION: "10ms"}}})
    lab.expect("t", SET, "finished")
    soon(lambda: completed(lab, SET), "its end")
    assert quota_in_use(lab) == 0
    taken(lab, SET)


def completed(lab: QueueLab, name: str, pods: int = sum(PODS.values())) -> bool:
    """Whether all its pods have succeeded, and without a restart."""
    assert pods == sum(PODS.values())
    found = lab.api.call("GET", place(made(lab.namespace("t"), name)))
    assert found["status"].get("restarts", 0) == 0
    jobs = found["status"].get("replicatedJobsStatus", [])
    assert not any(each["failed"] for each in jobs), jobs
    return bool(condition(found, "Completed").get("status") == "True")


def taken(lab: QueueLab, name: str) -> None:
    reality.delete(lab.api, place(made(lab.namespace("t"), name)))
    soon(lambda: lab.workload("t", name) is None and not lab.pods("t", name), "it to be gone")


JOBSET = Kind(lambda lab, name, _: put(lab.api, made(lab.namespace("t"), name)), completed, taken)


def test_jobsets_and_jobs_at_random_moments_stop_whole_and_end_complete(lab: QueueLab):
    notices(lab, {"two": JOB, "three": JOBSET})
