"""Nodes that go under gangs, on a real Kueue: each gang stops whole, queues again and ends complete.

The program that does it runs where its pod runs, with the rights that are rendered. Who says that a node goes
is the test: as Karpenter does it, as EKS drains, as a kubelet whose machine shuts down. Or a fake cloud by
its schedule, and then the machine goes too, and another comes.
"""

import itertools
import os
import random
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from testbed.plugins.cloud.motion.notices import PREEMPTION, SPOT

from cluster.conftest import NAME as CLUSTER
from gpuyard.render.kueue.requeue import requeue_objects
from gpuyard_core.names import INTERRUPTED_LABEL, requeue_name, system_namespace
from gpuyard_simulate import cluster, state
from gpuyard_simulate.api import Api, ApiError
from kit.clouds.taken import Machine
from kit.cluster import lab as reality
from kit.cluster.lab import KUEUE, Value, condition
from kit.cluster.queues import DURATION, QueueLab, kueue_as_rendered, soon
from kit.stacks import Raw, platform, pool, team

pytestmark = [pytest.mark.cluster]

NAME = "gone"
NOTICES = int(os.environ.get("GPUYARD_NOTICES", "6").partition(":")[0])
SEED = int(os.environ.get("GPUYARD_NOTICES", "6:0").partition(":")[2] or 0)
GANGS = {"two": 2, "three": 3}
"""Pods of eight GPUs of each gang: five of the seven nodes, so that there is room for who loses one."""
MOMENT_SECONDS = 12.0
"""Within so long comes the next notice: a gang whose pod was put out runs again after ten."""
CHECKPOINTS = "s3://flock/checkpoints/run-7"
HALF_SECONDS = 30.0
"""No gang runs with a part of its pods for so long; Kueue's own patience is minutes, by the platform 5."""


def goes(**changes: Any) -> Raw:
    """Seven spot nodes and one team."""
    spot = pool(NAME, nodes=7, capacity=["spot"], **changes)
    return platform([spot], [team(f"{NAME}-t", guarantee={NAME: 56})], name=NAME, cloud="simulated")


# ── how nodes go ──────────────────────────────────────────────────────────────────────────────────
def noticed(api: Api, node: str, key: str) -> None:
    taint = {"key": key, "effect": "NoSchedule"}
    _tainted(api, node, lambda taints: [*taints, taint])


def _tainted(api: Api, node: str, change: Callable[[list[Value]], list[Value]]) -> None:
    path = f"/api/v1/nodes/{node}"
    taints = (api.get(path) or {})["spec"].get("taints") or []
    api.patch(path, {"spec": {"taints": change(taints)}})


def drained(api: Api, pods: list[Value]) -> None:
    """As `kubectl drain` and every controller: by evictions, of which a finished pod needs none."""
    for pod in pods:
        metadata = {k: pod["metadata"][k] for k in ("name", "namespace")}
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/eviction"
        with ignored(404):
            api.call("POST", path, body)


def by_karpenter(api: Api, node: str, pods: list[Value]) -> None:
    noticed(api, node, "karpenter.sh/disrupted")
    drained(api, pods)


def by_notice_alone(api: Api, node: str, _: list[Value]) -> None:
    """GKE's taint; its kubelet ends pods later."""
    noticed(api, node, "cloud.google.com/impending-node-termination")


def by_eks(api: Api, node: str, pods: list[Value]) -> None:
    """A node group cordons, and drains then."""
    api.patch(f"/api/v1/nodes/{node}", {"spec": {"unschedulable": True}})
    drained(api, pods)


def by_kubelet(api: Api, node: str, pods: list[Value]) -> None:
    """A graceful shutdown: the pods have failed, for their node ended them."""
    noticed(api, node, "cloud.google.com/impending-node-termination")
    for pod in pods:
        metadata = pod["metadata"]
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        put_out = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "TerminationByKubelet",
            "lastTransitionTime": now,
        }
        status = {"phase": "Failed", "reason": "Terminated", "conditions": [put_out]}
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/status"
        with ignored(404):
            api.patch(path, {"status": status})


def by_schedule_of_eks(api: Api, node: str, _: list[Value]) -> Machine:
    return Machine(api, node, SPOT)


def by_schedule_of_gke(api: Api, node: str, _: list[Value]) -> Machine:
    return Machine(api, node, PREEMPTION)


Way = Callable[[Api, str, list[Value]], Machine | None]
WAYS: tuple[Way, ...] = (by_karpenter, by_notice_alone, by_eks, by_kubelet)
SCHEDULED: tuple[Way, ...] = (by_schedule_of_eks, by_schedule_of_gke)


def comes_back(api: Api, node: str) -> None:
    api.patch(f"/api/v1/nodes/{node}", {"spec": {"unschedulable": None}})
    ours = ("nvidia.com/", "gpuyard.dev/")
    _tainted(api, node, lambda taints: [t for t in taints if t["key"].startswith(ours)])


@contextmanager
def ignored(status: int) -> Iterator[None]:
    """What is gone already needs no end."""
    try:
        yield
    except ApiError as problem:
        if problem.status != status:
            raise


# ── what is seen meanwhile ────────────────────────────────────────────────────────────────────────
@dataclass
class Watch:
    """Looks at all gangs many times a second: how long one runs with a part of its pods, and the quota."""

    lab: QueueLab
    half: dict[str, float] = field(default_factory=dict)
    longest: dict[str, float] = field(default_factory=lambda: dict.fromkeys(GANGS, 0.0))
    most_used: int = 0
    ended: bool = False

    def run(self) -> None:
        while not self.ended:
            for name, pods in GANGS.items():
                running = self.lab.running("t", name)
                now = time.monotonic()
                if not 0 < running < pods:
                    self.half.pop(name, None)
                    continue
                since = self.half.setdefault(name, now)
                self.longest[name] = max(self.longest[name], now - since)
            self.most_used = max(self.most_used, sum(self.lab.used().values()))
            time.sleep(0.1)


@contextmanager
def watched(lab: QueueLab) -> Iterator[Watch]:
    watch = Watch(lab)
    thread = threading.Thread(target=watch.run, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        watch.ended = True
        thread.join(30)


def asked(pods: list[Value]) -> list[Any]:
    """What a pod was told to do: the same after a notice, so that it reads the checkpoints that it wrote."""
    return [(c["name"], c["image"], c["env"][0]) for p in pods for c in p["spec"]["containers"]]


@pytest.fixture(scope="module")
def lab(started: cluster.Outcome) -> Iterator[QueueLab]:
    """The platform with its program, held to its policy as well."""
    raw = goes()
    with kueue_as_rendered(started.status.name, raw) as api, QueueLab(api, raw) as found:
        for value in requeue_objects(found.plan):
            reality.apply(api, value)
        soon(lambda: program_of(api), "the program's pod to run")
        yield found
        for value in requeue_objects(found.plan):
            if value["kind"].startswith("ValidatingAdmissionPolicy"):
                reality.delete(api, reality.path_of(value))


def program_of(api: Api) -> list[Value]:
    path = f"/api/v1/namespaces/{system_namespace(NAME)}/pods"
    pods = api.call("GET", path)["items"]
    return [p for p in pods if p["status"].get("phase") == "Running"]


@dataclass(frozen=True)
class Kind:
    """Of gangs: how one is made, when its own object says that it ended well, and how it goes."""

    make: Callable[[QueueLab, str, int], object]
    completed: Callable[[QueueLab, str, int], bool]
    take: Callable[[QueueLab, str], None]


def _made(lab: QueueLab, name: str, pods: int) -> Value:
    return lab.submit("t", name, pods=pods, spec={"containers": [container()]})


def container() -> Value:
    """Of a whole node, which is told where its checkpoints are."""
    amounts = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "8"}
    return {
        "name": "main",
        "image": "example.invalid/work",
        "env": [{"name": "CHECKPOINTS", "value": CHECKPOINTS}],
        "resources": {"requests": amounts, "limits": amounts},
    }


def _completed(lab: QueueLab, name: str, pods: int) -> bool:
    job = lab.api.call("GET", f"/apis/batch/v1/namespaces/{lab.namespace('t')}/jobs/{name}")
    assert not job["status"].get("failed"), "a pod that is put out is no failure"
    return bool(job["status"].get("succeeded") == pods)


JOB = Kind(_made, _completed, lambda lab, name: lab.withdraw("t", name))
Kinds = Mapping[str, Kind]
JOBS: Kinds = dict.fromkeys(GANGS, JOB)


def submitted(lab: QueueLab, kinds: Kinds) -> None:
    for name, pods in GANGS.items():
        kinds[name].make(lab, name, pods)
    for name, pods in GANGS.items():
        soon(lambda name=name, pods=pods: lab.running("t", name) == pods, f"{name} to run")


def again(lab: QueueLab, name: str, before: set[str]) -> list[Value] | None:
    """The pods of a gang that runs whole, none of them of those before."""
    pods = [p for p in lab.pods("t", name) if p["status"].get("phase") == "Running"]
    new = [p for p in pods if p["metadata"]["uid"] not in before]
    return new if len(new) == len(pods) == GANGS[name] and lab.ready("t", name) else None


@dataclass
class Seen:
    """Seconds."""

    stops: list[float] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    """Of those that lost nothing more meanwhile, since their notice."""
    starting: int = 0
    """Notices to a gang that was not whole yet."""
    meanwhile: int = 0
    """Notices that came before the last one's gang was whole again."""
    half: float = 0.0

    def __str__(self) -> str:
        return (
            f"stopped after {shown(self.stops)}, whole again after {shown(self.starts)};"
            f" {self.starting} came while a gang started, {self.meanwhile} before all were whole;"
            f" a part alone for {self.half:.1f} s at most"
        )


@dataclass
class Round:
    """New gangs, the nodes that go under them, and who has not come back yet."""

    lab: QueueLab
    seen: Seen
    gone: set[str] = field(default_factory=set)
    machines: list[Machine] = field(default_factory=list)
    """Those that a schedule takes."""
    lost: dict[str, tuple[float, set[str], list[Any]]] = field(default_factory=dict)
    """By gang: when it lost a node, its pods then, and what they were told."""

    def notice(self, way: Way, node: str) -> None:
        """A node of a gang goes in this way, and the gang stops.

        One that Kueue has not seen whole yet may wait for that one pod as for any that starts late.
        """
        lab = self.lab
        (name,) = {n for n, pod in self.live() if pod["spec"]["nodeName"] == node}
        was, ran = lab.pods("t", name), lab.ready("t", name)
        uids = {p["metadata"]["uid"] for p in was if ran or p["spec"].get("nodeName") == node}
        self.seen.meanwhile += bool(self.lost)
        self.gone.add(node)
        self.lost[name] = time.monotonic(), uids, asked(was[:1])
        there = [p for n, p in self.live(gone=True) if p["spec"]["nodeName"] == node]
        if machine := way(lab.api, node, there):
            self.machines.append(machine)
        with program_heard():
            soon(lambda: not uids & running_of(lab, name), f"{name} to stop ({way.__name__})")
        if ran:
            self.seen.stops.append(time.monotonic() - self.lost[name][0])
        else:
            self.seen.starting += 1

    def live(self, *, gone: bool = False) -> list[tuple[str, Value]]:
        """Pods that run, with their gang; those on nodes that have gone when asked for."""
        return [
            (name, pod)
            for name in GANGS
            for pod in self.lab.pods("t", name)
            if pod["status"].get("phase") == "Running"
            and "deletionTimestamp" not in pod["metadata"]
            and (gone or pod["spec"]["nodeName"] not in self.gone)
        ]

    def nodes(self) -> list[str]:
        """Where gangs run."""
        return sorted({pod["spec"]["nodeName"] for _, pod in self.live()})

    def whole(self) -> bool:
        """Whether all are whole again; when each was is noted. The schedules go on meanwhile."""
        for machine in self.machines:
            machine.look()
        for name, (since, before, told) in list(self.lost.items()):
            if pods := again(self.lab, name, before):
                self.seen.starts.append(time.monotonic() - since)
                assert {p["spec"]["nodeName"] for p in pods}.isdisjoint(self.gone)
                assert all(asked([pod]) == told for pod in pods)
                del self.lost[name]
        return not self.lost

    def goes_on(self, seconds: float) -> None:
        """Time goes by."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.whole()
            time.sleep(0.1)


@contextmanager
def program_heard() -> Iterator[None]:
    """Who waits in vain is told what the program said last: its cluster is gone when people read this."""
    try:
        yield
    except TimeoutError as problem:
        log = state.folder_of(CLUSTER).log("agents").read_text(encoding="utf-8").splitlines()
        raise TimeoutError("\n".join([f"{problem}; the cluster's agents:", *log[-8:]])) from None


def test_every_gang_that_loses_a_node_stops_whole_and_ends_complete(lab: QueueLab):
    notices(lab, JOBS)


def notices(lab: QueueLab, kinds: Kinds) -> None:
    """New gangs after every second notice: a Job waits after each pod that is put out, ever longer.

    The second one comes at any moment: while the gang runs, is stopped, waits or starts again.
    """
    rng = random.Random(SEED)  # noqa: S311  moments, not secrets
    seen = Seen()
    ways = rng.sample([*itertools.islice(itertools.cycle((*WAYS, *SCHEDULED)), NOTICES)], NOTICES)
    for few in (ways[each : each + 2] for each in range(0, NOTICES, 2)):
        submitted(lab, kinds)
        now = Round(lab, seen)
        with watched(lab) as watch:
            for way in few:
                now.goes_on(rng.uniform(0, MOMENT_SECONDS))
                now.notice(way, rng.choice(soon(now.nodes, "a gang that runs")))
            soon(now.whole, "all gangs to run again")
        for machine in now.machines:
            machine.comes_again()
        for node in now.gone:
            comes_back(lab.api, node)
        ended(lab, kinds)
        seen.half = max(seen.half, *watch.longest.values())
        assert watch.most_used <= 8 * sum(GANGS.values())
    print(f"\n{NOTICES} notices, seed {SEED}: {seen}")  # noqa: T201  figures of a campaign
    assert len(seen.stops) + seen.starting == NOTICES
    assert seen.half < HALF_SECONDS


def ended(lab: QueueLab, kinds: Kinds) -> None:
    """Each gang ends complete, no pod counts as a failure, and no quota is left in use."""
    for name, pods in GANGS.items():
        for pod in lab.pods("t", name):
            space, own = (pod["metadata"][key] for key in ("namespace", "name"))
            with ignored(404):
                lab.api.patch(
                    f"/api/v1/namespaces/{space}/pods/{own}",
                    {"metadata": {"annotations": {DURATION: "10ms"}}},
                )
        lab.expect("t", name, "finished")
        soon(lambda name=name, pods=pods: kinds[name].completed(lab, name, pods), f"{name}'s end")
        assert INTERRUPTED_LABEL not in (
            (lab.workload("t", name) or {})["metadata"].get("labels") or {}
        )
    lab.comes_to(t=0)
    assert quota_in_use(lab) == 0
    for name in GANGS:
        kinds[name].take(lab, name)


def running_of(lab: QueueLab, name: str) -> set[str]:
    return {
        p["metadata"]["uid"] for p in lab.pods("t", name) if p["status"].get("phase") == "Running"
    }


def quota_in_use(lab: QueueLab) -> int:
    """As Kueue itself counts, once it has written that down."""
    path = f"{KUEUE}/clusterqueues/{lab.plan.teams[0].cluster_queue}"

    def used() -> int:
        flavors = (lab.api.get(path) or {})["status"].get("flavorsUsage") or []
        return sum(int(r["total"]) for f in flavors for r in f["resources"])

    soon(lambda: used() == 0, "no quota to be in use")
    return used()


def shown(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.1f} s (median, {max(seconds):.1f} at most)"


def test_a_closed_node_and_a_single_pod_are_left_alone(lab: QueueLab):
    """A person cordons, and what runs goes on; the job of one pod makes it again, and keeps its quota."""
    api = lab.api
    lab.submit("t", "pair", pods=2)
    lab.submit("t", "one", pods=1)
    soon(lambda: lab.ready("t", "pair") and lab.ready("t", "one"), "both to run")
    before = {name: [p["metadata"]["uid"] for p in lab.pods("t", name)] for name in ("pair", "one")}
    node = lab.pods("t", "pair")[0]["spec"]["nodeName"]
    api.patch(f"/api/v1/nodes/{node}", {"spec": {"unschedulable": True}})
    single = lab.pods("t", "one")[0]
    by_karpenter(api, single["spec"]["nodeName"], [single])
    soon(lambda: again_one(lab, before["one"]), "the single pod to be made again")
    lab.settle()
    assert [p["metadata"]["uid"] for p in lab.pods("t", "pair")] == before["pair"]
    assert lab.evicted("t", "pair") == lab.evicted("t", "one") == ""
    for name in (node, single["spec"]["nodeName"]):
        comes_back(api, name)
    for name in ("pair", "one"):
        lab.withdraw("t", name)


def again_one(lab: QueueLab, before: list[str]) -> bool:
    pods = [p for p in lab.pods("t", "one") if p["status"].get("phase") == "Running"]
    return [p["metadata"]["uid"] for p in pods] not in ([], before)


def test_its_account_may_stop_and_start_a_workload_and_nothing_else(lab: QueueLab):
    """What a role cannot say: which fields of a workload."""
    lab.submit("t", "held", pods=2)
    lab.expect("t", "held", "admitted")
    (workload,) = lab._workloads(lab.namespace("t"), "held")
    metadata, home = workload["metadata"], system_namespace(NAME)
    path = f"{KUEUE}/namespaces/{metadata['namespace']}/workloads/{metadata['name']}"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    account = f"/api/v1/namespaces/{home}/serviceaccounts/{requeue_name(NAME)}/token"
    token = lab.api.call("POST", account, body)["status"]["token"]
    api = Api(lab.api.server, token, lab.api.certificate)
    for change, what in (
        ({"metadata": {"labels": {"gpuyard.dev/team": "x"}}}, "labels"),
        ({"metadata": {"annotations": {"a": "b"}}}, "annotations"),
        ({"metadata": {"finalizers": None}}, "finalizers"),
        ({"metadata": {"ownerReferences": None}}, "owners"),
        ({"spec": {"priority": 100}}, "parts of the spec"),
    ):
        with pytest.raises(ApiError, match=f"must not change other {what} of workloads"):
            api.patch(path, change)
    for method, where in (
        ("DELETE", path),
        ("GET", "/api/v1/pods"),
        ("GET", f"/api/v1/namespaces/{home}/secrets"),
        ("GET", f"/api/v1/namespaces/{metadata['namespace']}/secrets"),
        ("DELETE", f"/api/v1/namespaces/{metadata['namespace']}/pods/x"),
    ):
        with pytest.raises(ApiError) as refused:
            api.call(method, where)
        assert refused.value.status == 403
    api.patch(
        path, {"spec": {"active": False}, "metadata": {"labels": {INTERRUPTED_LABEL: "true"}}}
    )
    soon(
        lambda: INTERRUPTED_LABEL not in (lab.api.get(path) or {})["metadata"].get("labels", {}),
        "its turn",
    )
    soon(
        lambda: condition(lab.api.get(path) or {}, "Requeued").get("reason") == "Reactivated",
        "Kueue to have seen that",
    )
    lab.withdraw("t", "held")
