"""Platforms on a simulated cluster with controllers of workloads, and workloads of their kinds."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from gpuyard_core.names import GPU, QUEUE_LABEL
from gpuyard_simulate import cluster
from gpuyard_simulate.api import Api
from kit.cluster import lab as reality
from kit.cluster.lab import KUEUE, Value, condition
from kit.cluster.queues import DURATION, QueueLab, kueue_as_rendered, soon
from kit.levels import require_level
from testbed import controllers

TRAINING = ("jobset", "kubeflow-trainer", "lws", "kuberay")
PODS_OF: Mapping[str, str] = {
    "TrainJob": "jobset.sigs.k8s.io/jobset-name",
    "JobSet": "jobset.sigs.k8s.io/jobset-name",
    "LeaderWorkerSet": "leaderworkerset.sigs.k8s.io/name",
    "RayCluster": "ray.io/cluster",
}
"""The label of the pods of a workload; its value is the name of the workload."""
EXIT_CODE = "sim.gpuyard.dev/exit-code"


def require_controllers(*names: str) -> None:
    """Skip, or fail where they are required, without the programs."""
    families = controllers.missing(names)
    require_level("cluster", not families, f"`scripts/tools {families}` builds its controllers")


class WorkloadLab(QueueLab):
    """One platform, and workloads of these kinds in it. They are deleted at the end."""

    def __init__(self, api: Any, raw: Mapping[str, Any]) -> None:
        super().__init__(api, raw)
        self._started: list[Value] = []

    def __exit__(self, *_: object) -> None:
        self.clear()
        super().__exit__(*_)

    def clear(self) -> None:
        """Delete all workloads with their pods."""
        for value in [*self._started]:
            self.end(value)

    def start(self, value: Value) -> Value:
        """Create a workload; returns it."""
        reality.create(self.api, reality.path_of(value).rpartition("/")[0], value)
        self._started.append(value)
        return value

    def end(self, value: Value) -> None:
        """Delete a workload with its pods."""
        reality.delete(self.api, reality.path_of(value), "Foreground")
        soon(lambda: self.is_gone(value), f"{value['metadata']['name']} to be gone")
        self._started.remove(value)

    def is_gone(self, value: Value) -> bool:
        return not (self.read(value) or self.pods_of(value) or self.workloads_of(value))

    def read(self, value: Value) -> Value:
        """The workload as it is now; empty when it does not exist."""
        return self.api.get(reality.path_of(value)) or {}

    def pods_of(self, value: Value) -> list[Value]:
        """Its pods that are not being deleted."""
        name, space = value["metadata"]["name"], value["metadata"]["namespace"]
        query = f"?labelSelector={PODS_OF[value['kind']].replace('/', '%2F')}%3D{name}"
        found = self.listed(f"/api/v1/namespaces/{space}/pods{query}")
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def running_pods(self, value: Value) -> list[Value]:
        return [pod for pod in self.pods_of(value) if pod["status"].get("phase") == "Running"]

    def runs(
        self, value: Value, pods: int, *, without: frozenset[str] = frozenset()
    ) -> list[Value]:
        """Wait until so many pods run, and no other exists; none of them may have one of these uids."""

        def whole() -> list[Value]:
            running = self.running_pods(value)
            new = {pod["metadata"]["uid"] for pod in running} - without
            return running if len(new) == len(self.pods_of(value)) == pods else []

        found: list[Value] = soon(whole, f"{pods} pods of {value['metadata']['name']} to run")
        return found

    def workloads_of(self, value: Value) -> list[Value]:
        """Its Workloads of Kueue."""
        found = self.listed(f"{KUEUE}/namespaces/{value['metadata']['namespace']}/workloads")
        owner = (value["kind"], value["metadata"]["name"])
        return [
            each
            for each in found
            if owner
            in {(o["kind"], o["name"]) for o in each["metadata"].get("ownerReferences", ())}
        ]

    def is_ready(self, value: Value) -> bool:
        """Whether Kueue knows that all of its pods are ready."""
        found = self.workloads_of(value)
        return bool(found) and all(
            condition(each, "PodsReady").get("status") == "True" for each in found
        )

    def waits(self, value: Value) -> str:
        """Wait until Kueue has set its only workload aside; returns the reason. No pod exists."""

        def reason() -> str:
            found = [condition(each, "QuotaReserved") for each in self.workloads_of(value)]
            return "; ".join(c.get("message", "") for c in found if c.get("status") == "False")

        message: str = soon(reason, f"{value['metadata']['name']} to wait")
        assert self.pods_of(value) == []
        return message

    def ends(self, pod: Value, exit_code: int) -> None:
        """A pod ends now."""
        space, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        notes = {DURATION: "1ms", EXIT_CODE: str(exit_code)}
        self.api.patch(
            f"/api/v1/namespaces/{space}/pods/{name}", {"metadata": {"annotations": notes}}
        )

    def completes(self, value: Value) -> None:
        """Let its pods end with 0, and wait until it is complete."""

        def ended() -> bool:
            for pod in self.running_pods(value):
                self.ends(pod, 0)
            return bool(condition(self.read(value), "Complete").get("status") == "True")

        soon(ended, f"the end of {value['metadata']['name']}")


@contextmanager
def workload_lab(
    started: cluster.Outcome,
    raw: Mapping[str, Any],
    folder: Path,
    *names: str,
    prometheus: str = "",
) -> Iterator[WorkloadLab]:
    """A platform on the cluster, beside these controllers.

    Their kinds exist before Kueue starts: it looks for a missing kind ever more rarely.
    """
    require_controllers(*names)
    kubeconfig = Path(started.status.kubeconfig)
    with ExitStack() as stack:
        run = controllers.controllers(kubeconfig, folder, *names, prometheus=prometheus)
        stack.enter_context(run)
        api = stack.enter_context(kueue_as_rendered(started.status.name, raw))
        yield stack.enter_context(WorkloadLab(api, raw))


def gpu_container(name: str = "main", gpus: int = 8, **rest: Any) -> Value:
    amounts = {"cpu": "1", "memory": "1Gi", **({GPU: str(gpus)} if gpus else {})}
    resources = {"requests": amounts, "limits": amounts}
    return {"name": name, "image": "example.invalid/work", "resources": resources, **rest}


def metadata(lab: QueueLab, team: str, name: str, queue: str = "") -> Value:
    """Of a workload of a team, in its queue."""
    found = lab.plan.team(f"{lab.plan.name}-{team}")
    labels = {QUEUE_LABEL: queue or found.local_queue}
    return {"name": name, "namespace": lab.namespace(team), "labels": labels}


@contextmanager
def volume(api: Api, name: str, gib: int) -> Iterator[None]:
    """A volume for one claim, such as the home of a notebook: nothing provisions one here."""
    spec = {
        "capacity": {"storage": f"{gib}Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/home"},
    }
    metadata = {"name": name}
    value = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec}
    api.call("POST", "/api/v1/persistentvolumes", value)
    try:
        yield
    finally:
        reality.delete(api, f"/api/v1/persistentvolumes/{name}")


def uids(pods: list[Value]) -> frozenset[str]:
    return frozenset(pod["metadata"]["uid"] for pod in pods)
