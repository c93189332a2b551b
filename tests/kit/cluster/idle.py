"""A small cluster and a small Prometheus, served over HTTP in this process, for the idle program."""

import copy
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Object = dict[str, Any]

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
NAMESPACE = "vision"
KUEUE = "kueue.x-k8s.io/v1beta2"
GPU = "nvidia.com/gpu"
KEEP = "gpuyard.dev/keep-idle"
WARNED, SUSPENDED = "gpuyard.dev/idle-warned", "gpuyard.dev/idle-suspended"
REPLICAS = "gpuyard.dev/idle-replicas"
ENGINE, UTIL = "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_DEV_GPU_UTIL"
FULL = 60
"""Samples in the window of a GPU that always existed."""


def settings(**changes: Any) -> Object:
    """What gpuyard renders for a platform with one team."""
    team = {
        "name": "vision",
        "label": NAMESPACE,
        "namespace": NAMESPACE,
        "after_minutes": 60,
        "grace_minutes": 30,
        "below_percent": 5.0,
        "dry_run": False,
    }
    own = {key: changes.pop(key) for key in list(changes) if key in team}
    return {
        "platform": "lab",
        "prometheus": "http://127.0.0.1:9",
        "signals": [{"metric": ENGINE, "percent": 100.0}, {"metric": UTIL, "percent": 1.0}],
        "labels": {
            "namespace": "exported_namespace",
            "pod": "exported_pod",
            "device": ["UUID", "GPU_I_ID", "vgpu"],
        },
        "names": {
            "platform": "gpuyard.dev/platform",
            "team": "gpuyard.dev/team",
            "keep": KEEP,
            "warned": WARNED,
            "suspended": SUSPENDED,
            "replicas": REPLICAS,
            "workload": "kueue.x-k8s.io/workload",
            "pod_set": "kueue.x-k8s.io/podset",
        },
        "resources": [GPU, "nvidia.com/mig-3g.20gb"],
        "kinds": {
            "Pod": "pods",
            "batch/Job": "jobs",
            "apps/Deployment": "deployments",
            "apps/StatefulSet": "statefulsets",
            "jobset.x-k8s.io/JobSet": "jobsets",
        },
        "teams": [{**team, **own}],
        **changes,
    }


# ── objects ───────────────────────────────────────────────────────────────────────────────────────


def ago(minutes: float) -> str:
    """A time before NOW, as Kubernetes writes it."""
    return (NOW - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


def reference(kind: str, name: str, api_version: str, *, controller: bool = True) -> Object:
    uid = f"uid-{kind.lower()}-{name}"
    results = {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid}
    return {**results, "controller": True} if controller else results


def job(name: str) -> Object:
    return reference("Job", name, "batch/v1")


def named(name: str, kind: str, owner: Object | None = None, **metadata: Any) -> Object:
    owners = {"ownerReferences": [owner]} if owner else {}
    uid = f"uid-{kind.lower()}-{name}"
    return {"metadata": {"name": name, "uid": uid, **owners, **metadata}}


def workload(
    name: str, owner: Object | None, since: float | None = 120, **annotations: str
) -> Object:
    """A workload admitted that many minutes ago; None: it waits."""
    marks = {f"gpuyard.dev/idle-{key}": value for key, value in annotations.items()}
    created = named(name, "Workload", owner, annotations=marks, resourceVersion="1")
    conditions = []
    if since is not None:
        conditions = [{"type": "Admitted", "status": "True", "lastTransitionTime": ago(since)}]
    return {**created, "spec": {}, "status": {"conditions": conditions}}


def pod(
    name: str,
    of: str,
    gpus: int = 8,
    owner: Object | None = None,
    since: float = 120,
    phase: str = "Running",
) -> Object:
    """A pod of a workload; its first container holds the GPUs."""
    created = named(
        name,
        "Pod",
        owner,
        labels={"kueue.x-k8s.io/podset": "main"},
        annotations={"kueue.x-k8s.io/workload": of},
    )
    limits = {GPU: str(gpus)} if gpus else {"cpu": "1"}
    return {
        **created,
        "spec": {"containers": [{"name": "c", "resources": {"limits": limits}}]},
        "status": {"phase": phase, "startTime": ago(since)},
    }


def scaled(kind: str, name: str, replicas: int = 1, **metadata: Any) -> Object:
    """A Deployment or StatefulSet."""
    return {**named(name, kind, resourceVersion="1", **metadata), "spec": {"replicas": replicas}}


@dataclass
class World:
    """Content of both servers, and the recorded requests."""

    objects: dict[str, list[Object]] = field(default_factory=dict)
    """By path of the kind in its namespace."""
    space: Object | None = field(
        default_factory=lambda: {
            "metadata": {
                "name": NAMESPACE,
                "labels": {"gpuyard.dev/platform": "lab", "gpuyard.dev/team": NAMESPACE},
            }
        }
    )
    gpus: dict[str, dict[str, list[tuple[float, int]]]] = field(default_factory=dict)
    """By metric and pod: each GPU's maximum, and the number of its samples."""
    events: list[Object] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    fails: dict[str, tuple[int, str]] = field(default_factory=dict)
    """By pattern of a path: how the server fails."""
    queries: list[str] = field(default_factory=list)

    def add(self, api_version: str, plural: str, *objects: Object) -> None:
        root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        path = f"{root}/namespaces/{NAMESPACE}/{plural}"
        self.objects.setdefault(path, []).extend(objects)

    def run_job(
        self,
        name: str = "train",
        gpus: int = 8,
        busy: float | list[float] | None = 0.0,
        **kind: Any,
    ) -> None:
        """A job with one pod; busy: percent of each GPU, None if it is not measured."""
        since = kind.pop("since", 120)
        self.add(KUEUE, "workloads", workload(f"job-{name}", job(name), since, **kind))
        self.add("batch/v1", "jobs", named(name, "Job", labels={}))
        self.add("v1", "pods", pod(f"{name}-0", f"job-{name}", gpus, job(name), since))
        if busy is not None:
            self.measure(f"{name}-0", *(busy if isinstance(busy, list) else [busy] * gpus))

    def measure(self, pod: str, *percent: float, metric: str = ENGINE, seen: int = FULL) -> None:
        """Set the maximum utilization of each GPU of a pod."""
        self.gpus.setdefault(metric, {})[pod] = [(each, seen) for each in percent]

    def one(self, plural: str, number: int = 0) -> Object:
        return next(v for k, v in self.objects.items() if k.endswith(f"/{plural}"))[number]

    def marks(self, plural: str = "workloads", number: int = 0) -> dict[str, str]:
        result = self.one(plural, number)["metadata"].get("annotations", {})
        return {k.removeprefix("gpuyard.dev/"): v for k, v in result.items() if "gpuyard" in k}

    @property
    def patches(self) -> list[str]:
        return [path.rpartition("/")[2] for method, path in self.asked if method == "PATCH"]

    @property
    def said(self) -> list[tuple[str, str]]:
        return [(e["involvedObject"]["name"], e["reason"]) for e in self.events]

    # ── the API server ────────────────────────────────────────────────────────────────────────────

    def answer(self, method: str, target: str, body: bytes, kind: str) -> tuple[int, Object]:
        parts = urlsplit(target)
        self.asked.append((method, parts.path))
        for pattern, (status, message) in self.fails.items():
            if re.search(pattern, f"{method} {parts.path}"):
                return status, {"message": message}
        if parts.path == "/api/v1/query":
            query = parse_qs(body.decode())["query"][0]
            self.queries.append(query)
            return 200, {"status": "success", "data": self._vector(query)}
        if parts.path == f"/api/v1/namespaces/{NAMESPACE}":
            return (200, self.space) if self.space else (404, {"message": "no such namespace"})
        if method == "POST":
            return self._create(json.loads(body))
        if method == "PATCH":
            assert kind == "application/merge-patch+json"
            return self._patch(parts.path, json.loads(body))
        return self._list(parts.path, parse_qs(parts.query))

    def _create(self, event: Object) -> tuple[int, Object]:
        if any(e["metadata"]["name"] == event["metadata"]["name"] for e in self.events):
            return 409, {"message": "exists"}
        self.events.append(event)
        return 201, event

    def _patch(self, path: str, change: Object) -> tuple[int, Object]:
        place, _, name = path.rpartition("/")
        result = next(
            (o for o in self.objects.get(place, ()) if o["metadata"]["name"] == name), None
        )
        if result is None:
            return 404, {"message": "gone"}
        if change["metadata"].pop("resourceVersion") != result["metadata"]["resourceVersion"]:
            return 409, {"message": "changed"}
        merge(result, change)
        result["metadata"]["resourceVersion"] += "1"
        return 200, result

    def _list(self, path: str, query: dict[str, list[str]]) -> tuple[int, Object]:
        if path not in self.objects and not path.endswith(KNOWN):
            return 404, {"message": "no such kind"}
        chosen = query.get("labelSelector", [""])[0]
        results = [o for o in self.objects.get(path, ()) if selected(o, chosen)]
        start, limit = int(query.get("continue", ["0"])[0]), int(query["limit"][0])
        more = {"continue": str(start + limit)} if start + limit < len(results) else {}
        # The real server gives null for no bare objects; here there are none.
        return 200, {
            "items": copy.deepcopy(results[start : start + limit]) or None,
            "metadata": more,
        }

    # ── Prometheus ────────────────────────────────────────────────────────────────────────────────

    def _vector(self, query: str) -> Object:
        form = r'(\w+)\{exported_namespace="([^"]+)",exported_pod=~"([^"]*)"\}'
        chosen = re.search(form, query)
        assert chosen, query
        expected = re.compile(chosen[3].replace(r"\\.", r"\."))
        results = {p: g for p, g in self.gpus.get(chosen[1], {}).items() if expected.fullmatch(p)}
        unit = 100 if chosen[1] == ENGINE else 1
        if query.startswith("max by"):
            values = {p: max(each for each, _ in g) / unit for p, g in results.items()}
        else:
            least = int(query.rpartition(">= ")[2].rstrip(")"))
            counted = {p: sum(seen >= least for _, seen in g) for p, g in results.items()}
            values = {p: n for p, n in counted.items() if n}
        result = [{"metric": {"exported_pod": p}, "value": [0, str(v)]} for p, v in values.items()]
        return {"resultType": "vector", "result": result}


KNOWN = (
    *("/workloads", "/pods", "/jobs", "/replicasets", "/deployments", "/statefulsets"),
    "/jobsets",
)


def merge(result: Object, change: Object) -> None:
    """A JSON merge patch."""
    for key, value in change.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            merge(result.setdefault(key, {}), value)
        else:
            result[key] = value


def selected(obj: Object, selector: str) -> bool:
    key, equals, value = selector.partition("=")
    labels = obj["metadata"].get("labels", {})
    return not key or (labels.get(key) == value if equals else key in labels)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    world: World

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        kind = self.headers.get("Content-Type", "")
        status, result = self.world.answer(self.command, self.path, self.rfile.read(length), kind)
        data = json.dumps(result).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PATCH = _answer  # noqa: N815  the names of http.server

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def served(world: World) -> Iterator[str]:
    """Serve a world; yields its address."""
    handler = type("Bound", (Handler,), {"world": world})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
    ).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
