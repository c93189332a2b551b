"""Jobs for the tour: submit them, and report the decisions of the queue and the scheduler."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpuyard_simulate.api import Api, Unreachable

TOUR = "gpuyard.dev/tour"
"""Label of every job of the demo, to find and remove them."""
GPU = "nvidia.com/gpu"


@dataclass(frozen=True, slots=True)
class Gang:
    """A job whose pods must run together."""

    team: str
    name: str
    pods: int
    gpus: int
    spread: bool = False
    """No two of its pods on one node."""

    @property
    def total(self) -> int:
        """GPUs of all its pods."""
        return self.pods * self.gpus

    def __str__(self) -> str:
        return f"{self.team}/{self.name} ({self.pods} × {self.gpus} GPUs)"


@dataclass(frozen=True, slots=True)
class State:
    """State of a job: the queue's decision, and its pods."""

    admitted: bool
    evicted: bool
    running: int
    pods: int
    reason: str
    """Why it waits, as the queue or the scheduler reports it."""


def submit(api: Api, gang: Gang) -> None:
    """Create the job in its team's namespace; its LocalQueue there is the default one."""
    api.call("POST", f"/apis/batch/v1/namespaces/{gang.team}/jobs", _manifest(gang))


def remove(api: Api, gang: Gang) -> None:
    """Delete the job with its pods, and wait until both are gone."""
    path = f"/apis/batch/v1/namespaces/{gang.team}/jobs/{gang.name}"
    api.call("DELETE", path, {"propagationPolicy": "Foreground"})
    wait(lambda: api.get(path) is None and not _pods(api, gang), f"{gang} to be gone")


def remove_all(api: Api) -> None:
    """Delete what an earlier demo may have left."""
    listed = api.call("GET", f"/apis/batch/v1/jobs?labelSelector={TOUR}")
    for job in listed["items"]:
        meta = job["metadata"]
        remove(api, Gang(meta["namespace"], meta["name"], 1, 1))


def look(api: Api, gang: Gang) -> State:
    """The current state of the job."""
    pods = _pods(api, gang)
    conditions = {
        c["type"]: c for c in _workload(api, gang).get("status", {}).get("conditions", [])
    }
    admitted = conditions.get("Admitted", {}).get("status") == "True"
    waiting = [p for p in pods if p.get("status", {}).get("phase") == "Pending"]
    return State(
        admitted=admitted,
        evicted=conditions.get("Evicted", {}).get("status") == "True",
        running=sum(p.get("status", {}).get("phase") == "Running" for p in pods),
        pods=len(pods),
        reason=_scheduler_says(waiting)
        if admitted
        else conditions.get("QuotaReserved", {}).get("message", ""),
    )


def nodes_of(api: Api, gang: Gang) -> list[str]:
    """Where its pods are."""
    return sorted(
        str(pod["spec"]["nodeName"]) for pod in _pods(api, gang) if "nodeName" in pod["spec"]
    )


def wait(done: Callable[[], bool], what: str, seconds: float = 300) -> None:
    """Wait for something in the live cluster; TimeoutError names what did not happen."""
    deadline = time.monotonic() + seconds
    while not _so_far(done):
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds:.0f} s for {what}")
        time.sleep(0.2)


def _so_far(done: Callable[[], bool]) -> bool:
    """Whether it is done; false when the server is too busy to answer."""
    try:
        return done()
    except Unreachable:
        return False


def _pods(api: Api, gang: Gang) -> list[dict[str, Any]]:
    selector = f"batch.kubernetes.io/job-name={gang.name}"
    return list(
        api.call("GET", f"/api/v1/namespaces/{gang.team}/pods?labelSelector={selector}")["items"]
    )


def _workload(api: Api, gang: Gang) -> dict[str, Any]:
    """Kueue's own record of the job."""
    listed = api.call("GET", f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{gang.team}/workloads")
    for item in listed["items"]:
        owners = item["metadata"].get("ownerReferences", [])
        if any(o["kind"] == "Job" and o["name"] == gang.name for o in owners):
            return dict(item)
    return {}


def _scheduler_says(pods: list[dict[str, Any]]) -> str:
    for pod in pods:
        for condition in pod.get("status", {}).get("conditions", []):
            if condition["type"] == "PodScheduled" and condition["status"] == "False":
                return str(condition.get("message", ""))
    return ""


def _manifest(gang: Gang) -> dict[str, Any]:
    # CPU and memory as any real job has them; queues do not count these.
    resources = {GPU: str(gang.gpus), "cpu": str(4 * gang.gpus), "memory": f"{16 * gang.gpus}Gi"}
    labels = {TOUR: "yes"}
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "containers": [
            {
                "name": "work",
                "image": "example.invalid/work",
                "resources": {"requests": resources, "limits": resources},
            }
        ],
    }
    if gang.spread:
        apart = {
            "topologyKey": "kubernetes.io/hostname",
            "labelSelector": {"matchLabels": {"job": gang.name}},
        }
        spec["affinity"] = {
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}
        }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": gang.name, "labels": labels},
        "spec": {
            "parallelism": gang.pods,
            "completions": gang.pods,
            "suspend": True,
            "template": {"metadata": {"labels": {**labels, "job": gang.name}}, "spec": spec},
        },
    }
