"""The process of the fakes: how it starts, and that nothing the cluster says ends it."""

import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpuyard_core.errors import EnvironmentMissing
from gpuyard_simulate.agents import __main__ as program
from gpuyard_simulate.agents import cache, loop
from gpuyard_simulate.api import ApiError, ApiObject, Unreachable
from kit.waiting import SHORTER

NODES = "/api/v1/nodes"
POLICIES = "/apis/nvidia.com/v1/clusterpolicies"


def gpu_node(name: str) -> ApiObject:
    labels = {"node.kubernetes.io/instance-type": "g6.12xlarge"}
    annotations = {"kwok.x-k8s.io/node": "fake"}
    return {"metadata": {"name": name, "labels": labels, "annotations": annotations}, "status": {}}


def policy() -> ApiObject:
    what = {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy"}
    return {**what, "metadata": {"name": "cluster-policy", "uid": "p"}, "spec": {}}


class Ended(BaseException):
    """Ends the endless loop of a test; nothing in the loop may catch it."""


class Cluster:
    """An API server in memory; writing fails as often as it is told to."""

    def __init__(self, *nodes: ApiObject) -> None:
        self.nodes = list(nodes)
        self.failures: list[Exception] = []
        self.written: list[str] = []
        self.applied: list[str] = []
        self.lists = 0
        self.watched: list[str] = []
        self.streams: list[list[tuple[str, ApiObject]]] = []
        self.bodies: list[ApiObject] = []
        self.refuse_event: ApiError | None = None

    def call(self, method: str, path: str, body: Any = None) -> ApiObject:
        if method == "POST":
            if self.refuse_event:
                raise self.refuse_event
            self.bodies.append(body)
            return {}
        self.lists += path == NODES
        found = {NODES: self.nodes, POLICIES: [policy()]}.get(path, [])
        return {"items": found, "metadata": {"resourceVersion": str(self.lists)}}

    def watch(self, path: str, version: str, _where: str = "") -> Iterator[tuple[str, ApiObject]]:
        if path == NODES:
            self.watched.append(version)
            if self.streams:
                yield from self.streams.pop(0)
                return
        threading.Event().wait(60)

    def apply(self, value: ApiObject) -> None:
        self.applied.append(value["kind"])

    def patch(self, path: str, _change: ApiObject) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.written.append(path)


def wait_for(happened: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + SHORTER
    while not happened() and time.monotonic() < deadline:
        time.sleep(0.01)
    return happened()


def run(cluster: Cluster) -> None:
    """The endless loop in a thread that ends with the tests."""
    agents = loop.Agents(cluster)  # type: ignore[arg-type]  a stand-in with the same methods
    threading.Thread(target=agents.run, daemon=True).start()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(cache, "_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(cache, "_NOT_YET_SECONDS", 0.01)


# ── the loop ──


@pytest.mark.parametrize(
    "problem", [ApiError(500, "etcd is slow"), ApiError(409, "conflict"), Unreachable("no server")]
)
def test_a_failed_write_is_logged_and_everything_is_tried_again(
    problem: Exception, capfd: pytest.CaptureFixture[str]
):
    cluster = Cluster(gpu_node("a"))
    cluster.failures = [problem, problem]
    run(cluster)
    assert wait_for(lambda: f"{NODES}/a" in cluster.written)
    assert f"{NODES}/a/status" in cluster.written
    assert wait_for(lambda: cluster.applied == ["RuntimeClass"]), "once for each policy"
    said = capfd.readouterr().err
    assert re.search(r"^\d\d:\d\d:\d\d watching$", said, re.MULTILINE)
    assert said.count(f"again in 0 s: {problem}") == 2


def test_a_watch_that_the_server_closes_is_begun_again_from_the_new_version():
    cluster = Cluster(gpu_node("a"))
    cluster.streams = [[], [("MODIFIED", gpu_node("a"))]]
    run(cluster)
    assert wait_for(lambda: len(cluster.watched) == 3)
    assert cluster.watched == ["1", "2", "3"], "each watch goes on from the list before it"


def test_what_was_missed_between_two_watches_is_found_by_the_list():
    cluster = Cluster(gpu_node("a"))
    cluster.streams = [[("DELETED", gpu_node("a"))]]
    seen: list[str | None] = []
    watched = cache.Watched(cluster, NODES, seen.append)  # type: ignore[arg-type]
    watched.start()
    assert wait_for(lambda: seen == [None, "a", None])
    assert set(watched.all()) == {"a"}


def test_a_policy_that_goes_while_its_status_is_decided_ends_nothing(
    monkeypatch: pytest.MonkeyPatch,
):
    cluster = Cluster(gpu_node("a"))
    agents = loop.Agents(cluster)  # type: ignore[arg-type]
    agents._nodes._objects = {"a": gpu_node("a")}
    answers = [{"cluster-policy": policy()}, {}]
    monkeypatch.setattr(agents._policies, "all", lambda: answers.pop(0) if answers else {})
    agents._work_on({None})
    assert cluster.written == [f"{NODES}/a/status", f"{NODES}/a"]


def test_the_kind_of_the_policy_may_come_later_than_the_fakes():
    class Late(Cluster):
        asked = 0

        def call(self, method: str, path: str, body: Any = None) -> ApiObject:
            if path == POLICIES:
                self.asked += 1
                if self.asked < 3:
                    raise ApiError(404, "the server could not find the requested resource")
            return super().call(method, path, body)

    cluster = Late(gpu_node("a"))
    run(cluster)
    assert wait_for(lambda: f"{POLICIES}/cluster-policy/status" in cluster.written)
    assert cluster.asked == 3


def test_an_event_names_its_node_and_a_refused_one_is_no_secret(
    capfd: pytest.CaptureFixture[str],
):
    cluster = Cluster()
    agents = loop.Agents(cluster)  # type: ignore[arg-type]
    event = loop.node.Event("MigConfigFailed", "too much", "mig-manager")
    agents._report(gpu_node("a"), event)
    (body,) = cluster.bodies
    assert body["involvedObject"] == {"kind": "Node", "name": "a", "uid": "a"}
    assert (body["type"], body["reason"], body["message"]) == (
        "Warning",
        "MigConfigFailed",
        "too much",
    )
    assert re.fullmatch(r"a\.[0-9a-f]{10}", body["metadata"]["name"])
    assert body["firstTimestamp"] == body["lastTimestamp"]
    assert "a: MigConfigFailed: too much" in capfd.readouterr().err
    cluster.refuse_event = ApiError(403, "forbidden")
    with pytest.raises(ApiError, match="403"):
        agents._report(gpu_node("a"), event)


def test_two_messages_about_a_node_are_two_events():
    cluster = Cluster()
    agents = loop.Agents(cluster)  # type: ignore[arg-type]
    for message in ("one", "two", "one"):
        agents._report(gpu_node("a"), loop.node.Event("Failed", message, "x"))
    names = [body["metadata"]["name"] for body in cluster.bodies]
    assert names[0] == names[2] != names[1]


# ── the program ──


def start(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["agents", *arguments])
    return program.main()


def test_without_a_kubeconfig_it_says_how_it_is_used(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit) as ended:
        start(monkeypatch)
    assert ended.value.code == 2
    assert "--kubeconfig" in capsys.readouterr().err


def test_a_kubeconfig_that_is_not_there_ends_with_4_and_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    missing = tmp_path / "none"
    assert start(monkeypatch, "--kubeconfig", str(missing)) == EnvironmentMissing.exit_code
    said = capsys.readouterr().err
    assert said.startswith(f"{missing} is not the kubeconfig of a simulated cluster")
    assert said.count("\n") == 1


class Driver:
    """The driver of claims, which follows the cluster on threads of its own."""

    def __init__(self, api: object, _say: object) -> None:
        assert api == "api of /x/kubeconfig"

    def start(self) -> None:
        pass


@pytest.mark.parametrize(("how", "code"), [(None, 0), (KeyboardInterrupt, 0)])
def test_it_runs_for_the_cluster_it_was_given_until_it_is_ended(
    monkeypatch: pytest.MonkeyPatch, how: type[BaseException] | None, code: int
):
    ran = []

    class Fakes:
        def __init__(self, api: object) -> None:
            ran.append(api)

        def run(self) -> None:
            if how:
                raise how

    monkeypatch.setattr(program, "connect", lambda path: f"api of {path}")
    monkeypatch.setattr(program, "Agents", Fakes)
    monkeypatch.setattr(program, "FakeDraDriver", Driver)
    assert start(monkeypatch, "--kubeconfig", "/x/kubeconfig") == code
    assert ran == ["api of /x/kubeconfig"]


def test_with_the_clusters_name_it_starts_kueue_anew_as_well(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    began = []

    class Restart:
        def __init__(self, api: object, renew: Callable[[], bool], _say: object) -> None:
            self.api, self.renew = api, renew

        def start(self) -> None:
            began.append((self.api, self.renew()))

    class Fakes:
        def __init__(self, _api: object) -> None:
            pass

        def run(self) -> None:
            pass

    monkeypatch.setenv("GPUYARD_SIM_HOME", str(tmp_path))
    monkeypatch.setattr(program, "connect", lambda path: f"api of {path}")
    monkeypatch.setattr(program, "KueueRestart", Restart)
    monkeypatch.setattr(program, "Agents", Fakes)
    monkeypatch.setattr(program, "FakeDraDriver", Driver)
    options = ("--kubeconfig", "/x/kubeconfig", "--cluster", "gone", "--tools", "/tools")
    assert start(monkeypatch, *options) == 0
    assert began == [("api of /x/kubeconfig", False)]
    assert list(tmp_path.iterdir()) == [], "a cluster that is gone is not made by the question"
