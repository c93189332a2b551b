"""Idle reclaim on a real API server and a real Kueue: warned, suspended, resumed, with its own rights.

The program is run as its schedule says: the command of the rendered CronJob, over the files of the ConfigMaps
as the API server gives them back, with a token of its own account. Prometheus and the clock are the test's.
"""

import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuyard_advisor.job_manifests import ManifestKind, manifest_text
from gpuyard_core.names import IDLE, KEEP_IDLE_LABEL, WORKLOAD_ANNOTATION, system_namespace
from gpuyard_simulate import cluster
from gpuyard_simulate.api import Api, ApiError, connect
from kit.cases.manifests import request
from kit.cluster import idle as idle_lab
from kit.cluster import lab as reality
from kit.cluster.queues import QueueLab, kueue_as_rendered, one_pool, soon
from kit.cluster.workloads import volume
from kit.generated.small_platforms import pod_spec
from kit.stacks import plan_of, shape

pytestmark = [pytest.mark.cluster]

Value = dict[str, Any]
Look = Callable[..., tuple[int, Value, str]]
PLATFORM = "idl"
INSIDE = system_namespace(PLATFORM)
HOME = f"/api/v1/namespaces/{INSIDE}"
AFTER, GRACE = 60, 30
WARNED, LATER, OVER = AFTER + 10, AFTER + 20, AFTER + 10 + GRACE + 1
"""Minutes from now: the first look, one within the grace, and one when it is over."""


@dataclass
class Yard:
    """The platform, what its Prometheus says, and how its program is run."""

    lab: QueueLab
    gpus: idle_lab.World
    folder: Path
    kubeconfig: Path

    @property
    def api(self) -> Api:
        return self.lab.api

    def get(self, kind: str, name: str, team: str = "a") -> Value:
        """An object of a team, {} when there is none."""
        return self.api.get(self.path(kind, name, team)) or {}

    def label(self, kind: str, name: str) -> None:
        """What a member of the team would do with kubectl."""
        self.change(kind, name, {"metadata": {"labels": {KEEP_IDLE_LABEL: "true"}}})

    def change(self, kind: str, name: str, change: Value) -> None:
        self.api.patch(self.path(kind, name), change)

    def delete(self, kind: str, name: str) -> None:
        if self.get(kind, name):
            self.api.call("DELETE", self.path(kind, name))

    def path(self, kind: str, name: str, team: str = "a") -> str:
        """Where an object of a team is."""
        metadata = {"namespace": self.lab.namespace(team), "name": name}
        version = {"Job": "batch/v1", "Pod": "v1"}.get(kind, "apps/v1")
        return reality.path_of({"apiVersion": version, "kind": kind, "metadata": metadata})

    def pods(self, team: str = "a") -> list[Value]:
        return self.lab.listed(f"/api/v1/namespaces/{self.lab.namespace(team)}/pods")

    def events(self, name: str, team: str = "a") -> list[tuple[str, str]]:
        """What `kubectl describe` would show of us."""
        path = f"/api/v1/namespaces/{self.lab.namespace(team)}/events"
        found = self.lab.listed(f"{path}?fieldSelector=involvedObject.name={name}")
        return [(e["reason"], e["message"]) for e in found if e["source"].get("component") == IDLE]

    def look(self, minutes: float) -> tuple[int, Value, str]:
        """One run that many minutes from now, as the CronJob says: exit code, summary, everything."""
        schedule = self.api.call("GET", f"/apis/batch/v1/namespaces/{INSIDE}/cronjobs/{IDLE}")
        pod = schedule["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        self._mount(pod, container)
        reality.wait(self._quiet, "Kueue to have written all it has to say")
        python, *words = [*container["command"], *container["args"]]
        assert python == "python"
        now = datetime.now(UTC) + timedelta(minutes=minutes)
        ended = subprocess.run(
            [sys.executable, *(self._at(word) for word in words), *self._outside(now)],
            cwd=self._at(container["workingDir"]),
            env={"PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        lines = ended.stdout.splitlines()
        assert lines, ended.stderr
        return ended.returncode, json.loads(lines[-1]), ended.stdout + ended.stderr

    def _quiet(self) -> bool:
        """A workload that changes between a look and its patch is left for the next look, which is right."""
        before = self._workloads()
        if not all(map(judged, before)):
            return False
        time.sleep(1)
        return before == self._workloads()

    def _workloads(self) -> list[Value]:
        spaces = [self.lab.namespace(team) for team in "ab"]
        paths = [f"{reality.KUEUE}/namespaces/{space}/workloads" for space in spaces]
        return [found for path in paths for found in self.lab.listed(path)]

    def _mount(self, pod: Value, container: Value) -> None:
        """The volumes of the pod as folders, read-only."""
        maps = {v["name"]: v["configMap"] for v in pod["volumes"]}
        for mount in container["volumeMounts"]:
            source = maps[mount["name"]]
            data = self.api.call("GET", f"{HOME}/configmaps/{source['name']}")["data"]
            paths = {each["key"]: each["path"] for each in source.get("items", ())}
            where = Path(self._at(mount["mountPath"]))
            if not where.exists():
                where.mkdir(parents=True)
                for name, text in data.items():
                    at = where / paths.get(name, name)
                    at.parent.mkdir(parents=True, exist_ok=True)
                    at.write_text(text, encoding="utf-8")
                where.chmod(0o555)

    def _at(self, word: str) -> str:
        """A path of the container, below the folder of this test."""
        return f"{self.folder}{word}" if word.startswith("/") else word

    def _outside(self, now: datetime) -> list[str]:
        """What stands in for the pod's surroundings: where the server is, who asks, and the time."""
        wish = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        path = f"{HOME}/serviceaccounts/{IDLE}/token"
        (self.folder / "token").write_text(
            self.api.call("POST", path, wish)["status"]["token"], encoding="utf-8"
        )
        found = yaml.safe_load(self.kubeconfig.read_text(encoding="utf-8"))["clusters"][0][
            "cluster"
        ]
        (self.folder / "ca.crt").write_bytes(base64.b64decode(found["certificate-authority-data"]))
        return [
            *("--server", self.api.server, "--account", str(self.folder)),
            *("--now", now.isoformat()),
        ]


def judged(workload: Value) -> bool:
    """Whether Kueue has said of it that it waits, or that it runs and that its pods are ready."""
    if reality.condition(workload, "Admitted").get("status") == "True":
        return bool(reality.condition(workload, "PodsReady").get("status") == "True")
    return bool(reality.condition(workload, "QuotaReserved"))


def platform_at(address: str) -> Value:
    """Two teams: one for which it is meant, one that only rehearses."""
    idle = {"after_minutes": AFTER, "grace_minutes": GRACE}
    return one_pool(
        PLATFORM,
        5,
        shapes=[shape("research", gpus_per_node=1)],
        a={"guarantee": 32, "idle": idle},
        b={"guarantee": 8, "idle": {**idle, "dry_run": True}},
        observability={"prometheus": "existing", "prometheus_address": address},
    )


@contextmanager
def platform_of(status: cluster.Status, folder: Path) -> Iterator[Yard]:
    """The platform on the cluster, beside a Prometheus of this process."""
    gpus, kubeconfig = idle_lab.World(), Path(status.kubeconfig)
    with idle_lab.served(gpus) as address:
        raw = platform_at(address)
        with kueue_as_rendered(status.name, raw), QueueLab(connect(kubeconfig), raw) as lab:
            yard = Yard(lab, gpus, folder, kubeconfig)
            for verb, team in (("patch", "a"), ("list", "b")):
                kind, space = "workloads.kueue.x-k8s.io", lab.namespace(team)
                known = partial(allowed, yard, verb, kind, space)
                reality.wait(known, f"what the account may do in {space} to be known")
            yield yard
            for kind, name in NOTEBOOKS:
                yard.delete(kind, name)


@pytest.fixture(scope="module")
def yard(started: cluster.Outcome, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    with platform_of(started.status, tmp_path_factory.mktemp("idle")) as found:
        yield found


NOTEBOOKS = (("Deployment", "web"), ("StatefulSet", "lab"), ("Pod", "shell"))


def notebook(yard: Yard, kind: str, name: str, gpus: int = 1, replicas: int = 1) -> None:
    """A Deployment, a StatefulSet or a bare pod of team a, in its queue."""
    namespace = yard.lab.namespace("a")
    amounts = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": str(gpus)}
    spec = {**pod_spec(amounts), "restartPolicy": "Always"}
    labels = {"kueue.x-k8s.io/queue-name": "default"}
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    if kind == "Pod":
        made: Value = {"apiVersion": "v1", "spec": spec}
    else:
        # Kueue copies the queue to a Deployment's pods, not to a StatefulSet's, and both must name one.
        template = {"metadata": {"labels": {"app": name, **labels}}, "spec": spec}
        body = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}}
        body |= {"serviceName": name} if kind == "StatefulSet" else {}
        made = {"apiVersion": "apps/v1", "spec": {**body, "template": template}}
    made |= {"kind": kind, "metadata": metadata}
    reality.create(yard.api, reality.path_of(made).rpartition("/")[0], made)


@pytest.fixture(scope="module")
def running(yard: Yard) -> Yard:
    return left_over_night(yard)


def left_over_night(yard: Yard) -> Yard:
    """Jobs and notebooks that nobody uses, some that somebody does, and one that waits for a place."""
    for team, name in (("a", "idle"), ("a", "busy"), ("a", "kept"), ("b", "idle")):
        # The namespace is held to its policy as soon as that has found its parameters.
        soon(partial(yard.lab.submit, team, name, gpus=8), f"{name} to be taken")
    # Whole nodes first: notebooks would otherwise start on one that a job needs.
    reality.wait(
        lambda: len(running_pods(yard)) == 3 and yard.lab.running("b", "idle"), "the jobs to run"
    )
    for kind, name in NOTEBOOKS:
        notebook(yard, kind, name, replicas=2 if kind == "Deployment" else 1)
    yard.lab.submit("a", "again", gpus=1)
    reality.wait(lambda: len(running_pods(yard)) == 8, "everything to run")
    yard.lab.submit("a", "next", gpus=8)
    yard.lab.expect("a", "next", "waits")
    yard.label("Job", "kept")
    for pod in [*yard.pods(), *yard.pods("b")]:
        held = int(pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"])
        percent = [0.0] * held
        if pod["metadata"]["name"].startswith("busy"):
            percent[3] = 90.0
        yard.gpus.measure(pod["metadata"]["name"], *percent)
    return yard


def running_pods(yard: Yard) -> list[Value]:
    found = [p for p in yard.pods() if p["status"].get("phase") == "Running"]
    return [p for p in found if "deletionTimestamp" not in p["metadata"]]


def measured_again(yard: Yard, name: str, percent: float) -> None:
    for pod in yard.pods():
        if pod["metadata"]["name"].startswith(name):
            yard.gpus.measure(pod["metadata"]["name"], percent)


def test_from_the_warning_to_the_suspension_and_back(running: Yard):
    yard = running
    code, line, said = yard.look(WARNED)
    assert (code, line["problems"]) == (0, []), said
    assert line["states"] == {"busy": 1, "idle": 6, "kept": 1}
    assert line["steps"] == {"warn": 5, "would_warn": 1}
    for name in ("idle", "web", "lab", "shell", "again"):
        (warning,) = yard.events(name)
        assert warning[0] == "GpusIdle", name
        assert f"/{name} -n idl-a {KEEP_IDLE_LABEL}=true" in warning[1]
    assert yard.lab.workload("a", "idle")["spec"]["active"] is True
    assert len(running_pods(yard)) == 8, "a warning ends nothing"

    assert yard.look(LATER)[1]["steps"] == {"wait": 5, "would_warn": 1}
    measured_again(yard, "again", 50.0)
    yard.gpus.fails["/query"] = (503, "down")
    code, line, _ = yard.look(OVER)
    assert (code, line["steps"], len(line["problems"])) == (1, {}, 2), "without Prometheus, nobody"
    yard.gpus.fails.clear()

    code, line, said = yard.look(OVER)
    assert code == 0, said
    assert line["steps"] == {"forget": 1, "suspend": 4, "would_suspend": 1}
    assert line["suspended_gpus"] == 8 + 2 + 1 + 1

    reality.wait(lambda: yard.get("Job", "idle")["spec"]["suspend"], "the job to be suspended")
    assert yard.get("Deployment", "web")["spec"]["replicas"] == 0
    assert yard.get("StatefulSet", "lab")["spec"]["replicas"] == 0
    yard.lab.expect("a", "next", "admitted")
    reality.wait(
        lambda: (
            {p["metadata"]["labels"].get("job") for p in running_pods(yard)}
            == {"busy", "kept", "again", "next"}
        ),
        "what was idle to be gone, and nothing else",
    )
    assert yard.lab.running("b", "idle") == 1, "a dry run ends nothing"
    left = {"a": 8 + 8 + 8 + 1, "b": 8}
    reality.wait(lambda: yard.lab.used() == left, "its quota to be free")

    # Whole nodes first again.
    yard.lab.withdraw("a", "next")
    yard.label("Job", "idle")
    assert yard.look(OVER + 5)[1]["steps"]["resume"] == 1
    reality.wait(lambda: yard.lab.running("a", "idle") == 1, "the job to run again")
    yard.label("Deployment", "web")
    assert yard.look(OVER + 10)[1]["steps"]["resume"] == 1
    yard.change("StatefulSet", "lab", {"spec": {"replicas": 1}})
    reality.wait(lambda: len(running_pods(yard)) == 4 + 2 + 1, "the notebooks to run again")
    metadata = yard.lab.workload("a", "idle")["metadata"]
    assert [a for a in metadata.get("annotations", {}) if a.startswith("gpuyard.dev/")] == []
    assert {reason for reason, _ in yard.events("idle")} == {
        *("GpusIdle", "SuspendedIdle", "ResumedIdle"),
    }
    assert {reason for reason, _ in yard.events("again")} == {"GpusIdle", "GpusIdleOver"}
    assert {reason for reason, _ in yard.events("idle", "b")} == {"GpusIdleDryRun"}


def test_a_notebook_of_job_new_is_queued_suspended_when_idle_and_keeps_its_home(yard: Yard):
    made = request(yard.lab.plan, ManifestKind.NOTEBOOK, "idl-a", "research", name="made")
    objects = [*yaml.safe_load_all(manifest_text(yard.lab.plan, made))]
    claim = f"/api/v1/namespaces/{yard.lab.namespace('a')}/persistentvolumeclaims/home-made-0"
    with volume(yard.api, "idl-home", 20):
        for value in objects:
            reality.create(yard.api, reality.path_of(value).rpartition("/")[0], value)
        (pod,) = reality.wait(lambda: notebook_pods(yard), "the notebook to run")
        assert yard.api.call("GET", claim)["status"]["phase"] == "Bound"
        assert pod["metadata"]["annotations"][WORKLOAD_ANNOTATION].startswith("statefulset-made")
        yard.gpus.measure("made-0", 0.0)
        assert "warn" in yard.look(WARNED)[1]["steps"]
        assert "suspend" in yard.look(OVER)[1]["steps"]
        assert yard.get("StatefulSet", "made")["spec"]["replicas"] == 0
        reality.wait(lambda: not notebook_pods(yard), "its pod to be gone")
        assert yard.api.call("GET", claim)["status"]["phase"] == "Bound"
        yard.label("StatefulSet", "made")
        assert "resume" in yard.look(OVER + 5)[1]["steps"]
        (again,) = reality.wait(lambda: notebook_pods(yard), "the notebook to run again")
        assert "home-made-0" in str(again["spec"]["volumes"])
        for value in objects:
            reality.delete(yard.api, reality.path_of(value))
        reality.wait(lambda: not notebook_pods(yard), "its pod to be gone")
        assert yard.api.call("GET", claim)["status"]["phase"] == "Bound", "kept with its data"
        reality.delete(yard.api, claim)


def notebook_pods(yard: Yard) -> list[Value]:
    return [pod for pod in running_pods(yard) if pod["metadata"]["name"] == "made-0"]


# ── rights ────────────────────────────────────────────────────────────────────────────────────────


def allowed(yard: Yard, verb: str, resource: str, namespace: str) -> bool:
    """What the API server says of the account, asked as an administrator."""
    name, _, group = resource.partition(".")
    attributes = {"verb": verb, "resource": name, "group": group, "namespace": namespace}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:{INSIDE}:{IDLE}",
            "groups": ["system:serviceaccounts", "system:authenticated"],
            "resourceAttributes": attributes,
        },
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    return bool(yard.api.call("POST", path, review)["status"]["allowed"])


@pytest.mark.parametrize(
    ("verb", "resource", "namespace", "may"),
    [
        ("patch", "workloads.kueue.x-k8s.io", "idl-a", True),
        ("patch", "workloads.kueue.x-k8s.io", "idl-b", False),
        ("patch", "deployments.apps", "idl-b", False),
        ("list", "workloads.kueue.x-k8s.io", "idl-b", True),
        ("list", "workloads.kueue.x-k8s.io", "", False),
        ("list", "pods", "kube-system", False),
        ("get", "secrets", "idl-a", False),
        ("list", "configmaps", INSIDE, False),
        ("patch", "jobs.batch", "idl-a", False),
        ("delete", "pods", "idl-a", False),
        ("update", "deployments.apps", "idl-a", False),
        ("create", "pods", "idl-a", False),
    ],
)
def test_the_account_may_do_what_it_needs_and_no_more(yard: Yard, verb, resource, namespace, may):
    assert allowed(yard, verb, resource, namespace) is may


NEEDED = (
    "namespaces",
    "events",
    "workloads",
    "deployments",
    "statefulsets",
    "replicasets",
    "pods",
    "jobs",
)


def test_each_right_is_needed(running: Yard):
    """Take one away, and a run says which it lacks."""
    yard = running
    path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/idl-a/roles/{IDLE}"
    rules = yard.api.call("GET", path)["rules"]
    for right in NEEDED:
        less = [{**r, "resources": [n for n in r["resources"] if n != right]} for r in rules]
        yard.api.patch(path, {"rules": [r for r in less if r["resources"]]})
        try:
            reality.wait(partial(lacks, yard, right), f"the run to miss {right}")
        finally:
            yard.api.patch(path, {"rules": rules})
    reality.wait(lambda: not yard.look(WARNED)[1]["problems"], "all rights to be back")


def lacks(yard: Yard, right: str) -> bool:
    """Whether a run is refused this; what was warned is to be warned anew."""
    gone = {"metadata": {"annotations": {"gpuyard.dev/idle-warned": None}}}
    for workload in yard.lab.listed(f"{reality.KUEUE}/namespaces/idl-a/workloads"):
        name = workload["metadata"]["name"]
        yard.api.patch(f"{reality.KUEUE}/namespaces/idl-a/workloads/{name}", gone)
    return any(f"{right}" in each and "403" in each for each in yard.look(WARNED)[1]["problems"])


# ── the pod ───────────────────────────────────────────────────────────────────────────────────────


def test_its_pod_passes_where_only_restricted_pods_do(yard: Yard):
    path = f"/apis/batch/v1/namespaces/{INSIDE}/cronjobs/{IDLE}"
    spec = yard.api.call("GET", path)["spec"]
    assert spec["suspend"] is True, "on simulated nodes nothing could run it"
    pod = spec["jobTemplate"]["spec"]["template"]["spec"]
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "try"}, "spec": pod}
    query = "?dryRun=All&fieldValidation=Strict"
    yard.api.call("POST", f"{HOME}/pods{query}", made)
    bare = {**pod, "containers": [{**pod["containers"][0], "securityContext": {}}]}
    with pytest.raises(ApiError, match="violates PodSecurity"):
        yard.api.call("POST", f"{HOME}/pods{query}", {**made, "spec": bare})


def test_a_platform_where_nobody_asks_has_none_of_it():
    plan = plan_of({**platform_at("http://localhost"), "teams": []})
    assert plan.idle is None
