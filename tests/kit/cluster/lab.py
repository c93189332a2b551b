"""What a real Kueue and a real scheduler do with a job, compared with the output of `explain`.

A number determines a small platform and its jobs. The platform's rendered objects are applied, the nodes come
from the fakes of the node agents, and the state for `explain` is read back from the cluster.
"""

import itertools
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.platform import platform_objects
from gpuyard_advisor.explain import Explanation, Verdict, explain
from gpuyard_advisor.explain.running import read_running
from gpuyard_advisor.workloads import read_job
from gpuyard_simulate.api import Api, ApiError, Unreachable
from kit import waiting
from kit.generated.small_platforms import jobs_for, small_platform, tree_platform
from kit.stacks import plan_of

Value = dict[str, Any]
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
PLURALS = {
    "Namespace": "/api/v1/namespaces",
    "Node": "/api/v1/nodes",
    "ConfigMap": "configmaps",
    "LimitRange": "limitranges",
    "NetworkPolicy": "networkpolicies",
    "ResourceQuota": "resourcequotas",
    "Role": "roles",
    "RoleBinding": "rolebindings",
    "ClusterPolicy": "/apis/nvidia.com/v1/clusterpolicies",
    "GPUCluster": "/apis/nvidia.com/v1alpha1/gpuclusters",
    "ComputeDomain": "computedomains",
    "ResourceClaimTemplate": "resourceclaimtemplates",
    "WorkloadPriorityClass": f"{KUEUE}/workloadpriorityclasses",
    "Topology": f"{KUEUE}/topologies",
    "ResourceFlavor": f"{KUEUE}/resourceflavors",
    "ProvisioningRequestConfig": f"{KUEUE}/provisioningrequestconfigs",
    "AdmissionCheck": f"{KUEUE}/admissionchecks",
    "Cohort": f"{KUEUE}/cohorts",
    "ClusterQueue": f"{KUEUE}/clusterqueues",
    "LocalQueue": "localqueues",
    "MutatingAdmissionPolicy": f"{ADMISSION}/mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": f"{ADMISSION}/mutatingadmissionpolicybindings",
    "ValidatingAdmissionPolicy": f"{ADMISSION}/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": f"{ADMISSION}/validatingadmissionpolicybindings",
    "MultiKueueCluster": f"{KUEUE}/multikueueclusters",
    "MultiKueueConfig": f"{KUEUE}/multikueueconfigs",
    "ServiceAccount": "serviceaccounts",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Service": "services",
    "Secret": "secrets",
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses",
    "Prometheus": "prometheuses",
    "Alertmanager": "alertmanagers",
    "ServiceMonitor": "servicemonitors",
    "PodMonitor": "podmonitors",
    "PrometheusRule": "prometheusrules",
    "AlertmanagerConfig": "alertmanagerconfigs",
    "Job": "jobs",
    "Pod": "pods",
    "DaemonSet": "daemonsets",
    "Deployment": "deployments",
    "StatefulSet": "statefulsets",
    "CronJob": "cronjobs",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "HorizontalPodAutoscaler": "horizontalpodautoscalers",
    "JobSet": "jobsets",
    "ClusterTrainingRuntime": "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes",
    "TrainJob": "trainjobs",
    "PyTorchJob": "pytorchjobs",
    "MPIJob": "mpijobs",
    "LeaderWorkerSet": "leaderworkersets",
    "RayCluster": "rayclusters",
    "RayJob": "rayjobs",
    "RayService": "rayservices",
    "ScaledObject": "scaledobjects",
    "TriggerAuthentication": "triggerauthentications",
}
QUIET = 3.0
"""Seconds without any change after which nothing more is expected. A pod without a verdict then shares that
of its siblings: Kueue sets equivalent workloads aside together and writes the reason into one of them."""
MOST_SLACK = 2.0
"""With `stutter` a part that is chosen twice pauses for six seconds; waits for quiescence include that."""
BUSY = 300.0
"""Seconds in which an overloaded server may still answer."""
EXISTS = 409
SELDOM = 0.4
"""Seconds between polls of slow operations: each poll is work for the server."""
MADE_ELSEWHERE = {"kueue-manager-config"}
"""Kueue's configuration: the same for all platforms of one run."""


# ── the cluster ───────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class Seen:
    """The result of a job in the cluster."""

    what: str
    """refused, waits (no quota), stuck (admitted, pods without a node), runs."""
    pools: tuple[str, ...] = ()
    running: int = 0
    evicted: tuple[str, ...] = ()
    says: str = ""


def path_of(value: Value, name: str | None = None) -> str:
    plural = PLURALS[value["kind"]]
    if not plural.startswith("/"):
        version = value["apiVersion"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        plural = f"{root}/namespaces/{value['metadata']['namespace']}/{plural}"
    return f"{plural}/{name or value['metadata']['name']}"


def apply(api: Api, value: Value) -> None:
    query = "?fieldManager=test&force=true"
    patiently(
        lambda: api.call("PATCH", path_of(value) + query, value, "application/apply-patch+yaml")
    )


def delete(api: Api, path: str, how: str = "Background") -> None:
    """Delete an object; a missing one is not an error."""
    try:
        patiently(lambda: api.call("DELETE", path, {"propagationPolicy": how}))
    except ApiError as problem:
        if problem.status != 404:
            raise


def create(api: Api, path: str, value: Value) -> None:
    """Create it once, with retries while a server or a webhook does not answer yet."""
    tries = itertools.count()

    def act() -> None:
        first = not next(tries)
        try:
            api.call("POST", path, value)
        except ApiError as problem:
            if first or problem.status != EXISTS:
                raise  # an earlier try may have created it, and its response was lost

    patiently(act)


def patiently(act: Callable[[], Any]) -> Any:
    """Retry an idempotent request while the server is too busy."""
    deadline = time.monotonic() + BUSY
    while True:
        try:
            return act()
        except (ApiError, Unreachable) as problem:
            if not may_pass(problem) or time.monotonic() > deadline:
                raise
            time.sleep(1)


def may_pass(problem: Exception) -> bool:
    """Whether an error is temporary: no answer, or a server or webhook is not available now."""
    return isinstance(problem, Unreachable) or (
        isinstance(problem, ApiError) and problem.is_retryable
    )


def slack() -> float:
    """The factor by which things may take longer while this machine does other work.

    The load average lags behind, so each parallel test worker counts as well.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    return max(float(workers), os.getloadavg()[0] / (os.cpu_count() or 1))


def at_rest(seconds: float) -> float:
    """So many seconds without a change on an idle machine: on a busy one parts pause for longer."""
    return seconds * min(slack(), MOST_SLACK)


def wait(look: Callable[[], Any], what: str, seconds: float = waiting.PATIENCE) -> Any:
    """Wait for a condition; an overloaded server counts as not yet."""
    deadline = time.monotonic() + seconds
    pause = 0.05
    trouble = ""
    while True:
        try:
            if result := look():
                return result
            trouble = ""
        except (ApiError, Unreachable) as problem:
            if not may_pass(problem):
                raise
            trouble = f"; last seen: {problem}"
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds:.0f} s for {what}{trouble}")
        time.sleep(pause)
        pause = min(1.3 * pause, SELDOM)


def kept_off(node: Value) -> bool:
    """Whether a node still has its initial taint: its controller removes it a moment after the node is ready."""
    taints = node.get("spec", {}).get("taints") or []
    return any(taint["key"].startswith("node.kubernetes.io/") for taint in taints)


def namespaces_of(plan: PlatformPlan) -> set[str]:
    """Those of all teams."""
    return {space.name for team in plan.teams for space in team.namespaces}


class Lab:
    """One platform on the cluster, from creation to removal."""

    def __init__(self, api: Api, plan: PlatformPlan) -> None:
        self.api = api
        self.plan = plan
        self.objects = [
            o
            for o in platform_objects(plan)
            if o["metadata"]["name"] not in MADE_ELSEWHERE
            and not o["kind"].startswith("ValidatingAdmissionPolicy")
        ]

    def __enter__(self) -> Self:
        self.make()
        wait(self._nodes_ready, "nodes with their devices")
        wait(self._queues_active, "active queues")
        wait(self._quotas_known, "namespaces whose quotas and accounts are known")
        return self

    def make(self) -> None:
        """Create its objects, without waiting for controllers."""
        operator = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gpu-operator"}}
        apply(self.api, operator)
        for name in self.made:  # an earlier run of the same platform may still be terminating
            path = f"/api/v1/namespaces/{name}"
            wait(lambda path=path: self.api.get(path) is None, f"no {path}")
        # a change to a terminating object is lost with it; a starting Kueue removes its finalizer late
        for value in self.objects:
            wait(lambda value=value: not self._goes(value), f"an end of {path_of(value)}")
            apply(self.api, value)

    def __exit__(self, *_: object) -> None:
        for value in reversed(self.objects):
            if value["kind"] not in {"Namespace", "ClusterPolicy"}:
                delete(self.api, path_of(value))
        for name in self.made:
            delete(self.api, f"/api/v1/namespaces/{name}")

    @property
    def made(self) -> list[str]:
        """Namespaces of teams that did not exist before."""
        return [s.name for t in self.plan.teams for s in t.namespaces if not s.existing]

    def _goes(self, value: Value) -> bool:
        result = self.api.get(path_of(value)) or {}
        return "deletionTimestamp" in result.get("metadata", {})

    def _nodes_ready(self) -> bool:
        for pool in self.plan.pools:
            query = f"?labelSelector=gpuyard.dev/pool%3D{pool.stable_name}"
            nodes = self.api.call("GET", f"/api/v1/nodes{query}")["items"]
            expected = {a.resource: str(a.per_node) for a in pool.advertised if pool.dra is None}
            for node in nodes:
                has = node.get("status", {}).get("allocatable", {})
                ready = [
                    c["status"]
                    for c in node.get("status", {}).get("conditions", [])
                    if c["type"] == "Ready"
                ]
                devices = {k: v for k, v in has.items() if k.startswith("nvidia.com/")}
                if devices != expected or ready != ["True"] or "cpu" not in has or kept_off(node):
                    return False
            if len(nodes) != sum(self._is_node_of(pool.stable_name, o) for o in self.objects):
                return False
        return True

    @staticmethod
    def _is_node_of(pool: str, value: Value) -> bool:
        return value["kind"] == "Node" and value["metadata"]["labels"]["gpuyard.dev/pool"] == pool

    def _queues_active(self) -> bool:
        for team in self.plan.teams:
            queue = self.api.get(f"{KUEUE}/clusterqueues/{team.cluster_queue}") or {}
            if condition(queue, "Active").get("status") != "True":
                return False
            local = (
                f"{KUEUE}/namespaces/{team.default_namespace.name}/localqueues/{team.local_queue}"
            )
            if condition(self.api.get(local) or {}, "Active").get("status") != "True":
                return False
        return True

    def _quotas_known(self) -> bool:
        """Whether pods can be created in every namespace.

        Until a quota is calculated and known to the API server, everything it counts is rejected; and a pod needs
        the service account that the cluster creates in a new namespace.
        """
        for name in sorted(namespaces_of(self.plan)):
            space = f"/api/v1/namespaces/{name}"
            if self.api.get(f"{space}/serviceaccounts/default") is None:
                return False
            quota = self.api.get(f"{space}/resourcequotas/gpuyard")
            if quota and quota.get("status", {}).get("hard") != quota["spec"]["hard"]:
                return False
            probe = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe"}}
            try:
                self.api.call("POST", f"{space}/configmaps?dryRun=All", probe)
            except ApiError as problem:
                if "exceeded quota" not in str(problem):  # that is counted as well
                    return False
        return True

    def listed(self, path: str) -> list[Value]:
        return list(self.api.call("GET", path)["items"])

    def dump(self) -> list[Value]:
        """The output of `kubectl get pods,workloads,nodes -o json`."""
        nodes = [{**item, "kind": "Node"} for item in self.listed("/api/v1/nodes")]
        return [*nodes, *self.pods_and_workloads()]

    def pods_and_workloads(self) -> list[Value]:
        """Pods and workloads of this platform."""
        ours = namespaces_of(self.plan)
        results = [
            {**item, "kind": kind}
            for kind, path in (("Pod", "/api/v1/pods"), ("Workload", f"{KUEUE}/workloads"))
            for item in self.listed(path)
        ]
        return [f for f in results if f["metadata"]["namespace"] in ours]

    def explained(self, job: Value) -> Explanation:
        state, problems = read_running(self.plan, self.dump())
        assert not problems, problems
        read = read_job(job)
        assert read is not None
        return explain(self.plan, read, state)

    def submitted(self, job: Value) -> Seen:
        """Create it, and watch until the state is stable."""
        before = self._reservations()
        try:
            create(self.api, path_of(job).rpartition("/")[0], job)
        except ApiError as problem:
            return Seen("refused", says=str(problem))
        changed, picture = time.monotonic(), self._versions()

        def settled() -> Seen | None:
            nonlocal changed, picture
            if (now := self._versions()) != picture:
                changed, picture = time.monotonic(), now
            return self._settled(job, patient=time.monotonic() - changed < at_rest(QUIET))

        seen = wait(settled, f"{job['metadata']['name']} to settle")
        evicted = {title for title, *_ in before - self._reservations()}
        return Seen(seen.what, seen.pools, seen.running, tuple(sorted(evicted)), seen.says)

    def _versions(self) -> list[tuple[str, str]]:
        """The versions of pods and workloads of this platform, to detect changes."""
        return [
            (f["metadata"]["uid"], f["metadata"]["resourceVersion"])
            for f in self.pods_and_workloads()
        ]

    def remove(self, namespace: str, name: str) -> None:
        """Remove a job of any kind, and its pods."""
        ways = (
            f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}",
            f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}",
            f"/api/v1/namespaces/{namespace}/pods/{name}",
        )
        for path in ways:
            if self.api.get(path) is not None:
                delete(self.api, path, "Foreground")
                wait(lambda p=path: self.api.get(p) is None, f"{name} to be gone")

        def gone() -> bool:
            remaining = [*self._pods(namespace, name), *self._workloads(namespace, name)]
            return not remaining

        wait(gone, f"the pods of {name} to be gone")

    def _admitted(self) -> list[Value]:
        ours = namespaces_of(self.plan)
        return [
            w
            for w in self.listed(f"{KUEUE}/workloads")
            if w["metadata"]["namespace"] in ours and w.get("status", {}).get("admission")
        ]

    def _reservations(self) -> set[tuple[str, str, str]]:
        """Workloads with quota, and since when: an evicted one may already have it again, in another pool."""
        return {
            (
                self._title(w),
                str(w["metadata"]["name"]),
                str(condition(w, "QuotaReserved").get("lastTransitionTime")),
            )
            for w in self._admitted()
        }

    def _title(self, result: Value) -> str:
        """`team namespace/job`; a pod of a Deployment counts as its Deployment."""
        owner = result["metadata"].get("ownerReferences", [{"name": "?"}])[0]
        name = owner["name"] if owner.get("kind") == "Job" else owner["name"].split("-")[0]
        return f"{result['metadata']['namespace']}/{name}"

    def _pods(self, namespace: str, name: str) -> list[Value]:
        query = f"?labelSelector=job%3D{name}"
        return self.listed(f"/api/v1/namespaces/{namespace}/pods{query}")

    def _workloads(self, namespace: str, name: str) -> list[Value]:
        return [
            w
            for w in self.listed(f"{KUEUE}/namespaces/{namespace}/workloads")
            if self._title(w) == f"{namespace}/{name}"
        ]

    def _settled(self, job: Value, *, patient: bool) -> Seen | None:
        namespace, name = job["metadata"]["namespace"], job["metadata"]["name"]
        spec = job["spec"]
        gang = job["kind"] != "Deployment"
        pods_wanted = spec.get("replicas", spec.get("parallelism", 1))
        pods_wanted = min(pods_wanted, spec.get("completions", pods_wanted))
        workloads = self._workloads(namespace, name)
        unmade = 0 if gang else self._unmade(namespace, name)
        if len(workloads) < (1 if gang else pods_wanted - unmade):
            return None
        verdicts = [self._of_workload(w) for w in workloads]
        if not patient and any(verdicts):
            verdicts = ["as its sibling" if v is None else v for v in verdicts]
        if any(v is None for v in verdicts):
            return None
        waiting = [str(v) for v in verdicts if v] + ["not made: ResourceQuota"] * unmade
        pods = self._pods(namespace, name)
        expected = (0 if waiting else pods_wanted) if gang else pods_wanted - len(waiting)
        placed = [p for p in pods if p["status"].get("phase") == "Running"]
        stuck = [p for p in pods if "Unschedulable" in str(p["status"].get("conditions"))]
        if gang and not patient and (why := self._refused_pods(namespace, name)):
            return Seen("stuck", says=why)
        if len(placed) + len(stuck) != expected or ((stuck or waiting) and patient):
            return None  # the capacity of evicted jobs may just be becoming free
        pools = {p["spec"].get("nodeSelector", {}).get("gpuyard.dev/pool", "?") for p in placed}
        shown = tuple(sorted(pools))
        if waiting:
            return Seen("waits", shown, len(placed), says=waiting[0])
        what = "stuck" if stuck else "runs"
        message = str(stuck[0]["status"].get("conditions")) if stuck else ""
        return Seen(what, shown, len(placed), says=message)

    def _unmade(self, namespace: str, name: str) -> int:
        """Pods of a Deployment that its namespace's ResourceQuota rejects."""
        path = f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
        result = self.api.get(path) or {}
        if condition(result, "ReplicaFailure").get("status") != "True":
            return 0
        return int(result["spec"]["replicas"]) - len(self._pods(namespace, name))

    def _refused_pods(self, namespace: str, name: str) -> str:
        """Why an admitted Job does not get all of its pods; "" while it may."""
        query = f"?fieldSelector=involvedObject.name%3D{name},reason%3DFailedCreate"
        events = self.listed(f"/api/v1/namespaces/{namespace}/events{query}")
        return next((e["message"] for e in events if "exceeded quota" in e["message"]), "")

    def _of_workload(self, result: Value) -> str | None:
        """Why it waits; "" when admitted; None while Kueue has not decided."""
        if condition(result, "Admitted").get("status") == "True":
            return ""
        reserved = condition(result, "QuotaReserved")
        message = str(reserved.get("message", ""))
        if (
            reserved.get("status") == "False"
            and message
            and "Pending the preemption" not in message
        ):
            return message
        return None


def condition(value: Value, kind: str) -> Value:
    result = value.get("status", {}).get("conditions", [])
    return next((c for c in result if c["type"] == kind), {})


# ── the comparison ────────────────────────────────────────────────────────────────────────────────
def disagreement(message: Explanation, seen: Seen, plan: PlatformPlan) -> str:
    """The difference between the two, "" when they agree."""
    stable = {p.name: p.stable_name for p in plan.pools}
    if message.cautions and any("differ in size" in c for c in message.cautions):
        return ""
    expected = _expected(message, seen)
    if seen.what not in expected:
        return f"said {message.verdict} ({message.message}), seen {seen.what} ({seen.says[:400]})"
    if message.kind == "Deployment" and message.pods_started != seen.running:
        return f"said {message.pods_started} pods, seen {seen.running} ({seen.says[:300]})"
    if seen.what != "runs":
        return ""
    pools = tuple(sorted(stable[p] for p in message.pools))
    namespaces = {t.name: t.default_namespace.name for t in plan.teams}
    removed = {f"{namespaces[p.team]}/{p.name.split('-')[0]}" for p in message.preempts}
    reported, was = (pools, tuple(sorted(removed))), (seen.pools, seen.evicted)
    return "" if reported == was else f"said {reported}, seen {was}"


def _expected(message: Explanation, seen: Seen) -> set[str]:
    if message.meanwhile.startswith("The API server rejects the pod"):
        return {"refused"}
    if (
        message.kind == "Deployment"
        and message.verdict is not Verdict.STARTS
        and seen.what != "refused"
    ):
        return {"waits", "stuck"}  # pod by pod: some may wait for quota and some for a node
    return {
        (Verdict.STARTS, True): {"runs"},
        (Verdict.WAITS, True): {"stuck"},
        (Verdict.WAITS, False): {"waits"},
        (Verdict.NEVER, True): {"stuck"},
        (Verdict.NEVER, False): {"waits", "refused"},
    }[message.verdict, message.admitted]


def compare(
    api: Api, number: int, jobs: int, *, fair: bool, tree: bool = False
) -> Iterator[tuple[Value, Explanation, Seen, str]]:
    """Submit the jobs of a platform one after another; yields explanation, result and difference of each."""
    plan = plan_of((tree_platform if tree else small_platform)(number, fair=fair))
    with Lab(api, plan) as lab:
        for job in jobs_for(plan, number, jobs):
            message = lab.explained(job)
            seen = lab.submitted(job)
            yield job, message, seen, disagreement(message, seen, plan)
            for title in seen.evicted:
                lab.remove(*title.split("/"))
            if seen.what != "runs":
                lab.remove(job["metadata"]["namespace"], job["metadata"]["name"])
