"""Pools whose GPUs GKE's device plugin partitions and shares, in a running cluster."""

from typing import Any

import pytest

from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.plan.sharing.gke_sharing import gke_labels
from gpuyard_core.names import GPU
from gpuyard_simulate.api import Api, ApiError
from kit import waiting
from kit.cluster.lab import condition, create, delete

Value = dict[str, Any]
CUT = {"name": "parts", "machine": "a2-highgpu-1g", "sharing": {"mig": {"1g.5gb": 7}}}
SHARED = {"name": "turns", "machine": "g2-standard-24", "sharing": {"time_slicing": 4}}
TEAMS = (
    {"name": "chat", "guarantee": {"parts/1g.5gb": 7}},
    {"name": "labs", "guarantee": {"turns/shared": 8}},
)
"""Each has one meaning of nvidia.com/gpu."""


def with_pools(platform: Value) -> None:
    """A node with a GPU in seven slices, and one whose two GPUs have four shares each."""
    place = {"nodes": 1, "zones": ["us-central1-a"], "image": "cos-gke"}
    platform["pools"] += [{**each, **place} for each in (CUT, SHARED)]
    platform["teams"] += [dict(each) for each in TEAMS]


def are_used_as_planned(api: Api, plan: PlatformPlan) -> None:
    """Nodes match the plan, as many pods run as there are slices, and a container gets one share."""
    for each in (CUT, SHARED):
        _comes_as_planned(api, plan.pool(str(each["name"])))
    _the_eighth_of_seven_waits(api)
    _nobody_has_two_turns(api)


def _comes_as_planned(api: Api, pool: PoolPlan) -> None:
    path = f"/api/v1/nodes?labelSelector=gpuyard.dev/pool%3D{pool.name}"
    expected = {each.resource: str(each.per_node) for each in pool.advertised}

    def devices() -> list[Value]:
        results = [each["status"]["allocatable"] for each in api.call("GET", path)["items"]]
        return [{k: v for k, v in each.items() if k.startswith("nvidia.com/")} for each in results]

    waiting.until(devices, lambda found: found == [expected], what=f"a node of {pool.name}")
    (node,) = api.call("GET", path)["items"]
    assert gke_labels(pool).items() <= node["metadata"]["labels"].items()


def _the_eighth_of_seven_waits(api: Api) -> None:
    names = [f"part-{number}" for number in range(8)]
    for name in names:
        create(api, _jobs("chat"), _job(name))
    waiting.until(lambda: len(_running(api, "chat")) == 7, what="seven slices to be used")
    (late,) = waiting.until(lambda: _refused(api), lambda found: len(found) == 1)
    assert GPU in late, late
    delete(api, f"{_jobs('chat')}/{_running(api, 'chat').pop()}", "Foreground")
    waiting.until(lambda: not _refused(api) and len(_running(api, "chat")) == 7)
    for name in _running(api, "chat"):
        delete(api, f"{_jobs('chat')}/{name}", "Foreground")


def _nobody_has_two_turns(api: Api) -> None:
    with pytest.raises(ApiError, match="GPU-SHR-05"):
        create(api, _jobs("labs"), _job("greedy", 2))
    create(api, _jobs("labs"), _job("modest"))
    waiting.until(lambda: _running(api, "labs") == {"modest"})
    delete(api, f"{_jobs('labs')}/modest", "Foreground")


def _running(api: Api, team: str) -> set[str]:
    """Jobs of a team with a running pod."""
    result = api.call("GET", f"/api/v1/namespaces/{team}/pods")["items"]
    return {
        each["metadata"]["labels"]["batch.kubernetes.io/job-name"]
        for each in result
        if each.get("status", {}).get("phase") == "Running"
        and "deletionTimestamp" not in each["metadata"]
    }


def _refused(api: Api) -> list[str]:
    """Kueue's reason for each waiting job."""
    result = api.call("GET", "/apis/kueue.x-k8s.io/v1beta2/namespaces/chat/workloads")["items"]
    reported = [condition(each, "QuotaReserved") for each in result]
    return [str(each["message"]) for each in reported if each.get("status") == "False"]


def _jobs(team: str) -> str:
    return f"/apis/batch/v1/namespaces/{team}/jobs"


def _job(name: str, gpus: int = 1) -> Value:
    limits = {GPU: str(gpus), "cpu": "1", "memory": "2Gi"}
    container = {"name": "work", "image": "example.invalid/work", "resources": {"limits": limits}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"suspend": True, "template": template},
    }
