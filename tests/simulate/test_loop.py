"""The fakes' loop against an API server that is a dictionary."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gpuyard_core.names import UPGRADE_LABEL
from gpuyard_simulate.agents import cloud_node
from gpuyard_simulate.agents.cache import Watched
from gpuyard_simulate.agents.loop import Agents
from gpuyard_simulate.api import ApiError, Unreachable
from gpuyard_simulate.drivers.upgrading import BROKEN, POD
from kit.waiting import SHORTER

NODES = "/api/v1/nodes"
MAPS = "/api/v1/namespaces/gpu-operator/configmaps"
POLICIES = "/apis/nvidia.com/v1/clusterpolicies"


def named(name: str, **content: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **content.pop("metadata", {})}, **content}


def gpu_node(name: str, fake: str = "fake", **labels: str) -> dict[str, Any]:
    kind = {"node.kubernetes.io/instance-type": "g6.12xlarge", **labels}
    return named(
        name, metadata={"labels": kind, "annotations": {"kwok.x-k8s.io/node": fake}}, status={}
    )


class FakeApi:
    """Lists, patches and events; a watch never says anything."""

    def __init__(self, **lists: list[dict[str, Any]]) -> None:
        self.lists = {
            NODES: lists.get("nodes", []),
            MAPS: lists.get("maps", []),
            POLICIES: lists.get("policies", []),
        }
        self.pods: list[dict[str, Any]] = []
        self.patches: list[tuple[str, dict[str, Any]]] = []
        self.events: list[str] = []
        self.applied: list[dict[str, Any]] = []
        self.refuse: ApiError | None = None

    def call(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        if method == "POST":
            if body["metadata"]["name"] in self.events:
                raise ApiError(409, "exists")
            self.events.append(body["metadata"]["name"])
            return {}
        items = self.pods if "/pods" in path else self.lists[path]
        return {"items": items, "metadata": {"resourceVersion": "1"}}

    def watch(
        self, _path: str, _version: str, _where: str = ""
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        threading.Event().wait(60)
        yield from ()

    def apply(self, manifest: dict[str, Any]) -> None:
        self.applied.append(manifest)

    def patch(self, path: str, change: dict[str, Any]) -> None:
        if self.refuse:
            raise self.refuse
        self.patches.append((path, change))


def agents(api: FakeApi) -> Agents:
    """The loop with its caches filled, not running."""
    made = Agents(api)  # type: ignore[arg-type]  a stand-in with the same four methods
    for watched in (made._nodes, made._maps, made._policies):
        watched._objects = {item["metadata"]["name"]: item for item in api.lists[watched._path]}
    return made


def policy(**spec: Any) -> dict[str, Any]:
    about = {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"uid": "1"}}
    return named("cluster-policy", spec=spec, **about)


def test_devices_are_written_before_labels():
    api = FakeApi(nodes=[gpu_node("a")], policies=[policy()])
    agents(api)._work_on({"a"})
    assert [path for path, _ in api.patches][:2] == [f"{NODES}/a/status", f"{NODES}/a"]
    assert api.patches[0][1]["status"]["allocatable"]["nvidia.com/gpu"] == "4"


def test_a_change_of_the_policy_concerns_every_node_and_the_policy():
    api = FakeApi(nodes=[gpu_node("a"), gpu_node("b")], policies=[policy()])
    agents(api)._work_on({None})
    assert [path for path, _ in api.patches] == [
        f"{NODES}/a/status",
        f"{NODES}/a",
        f"{NODES}/b/status",
        f"{NODES}/b",
        f"{POLICIES}/cluster-policy/status",
    ]


def test_the_policy_is_ready_when_nothing_waits_on_any_node():
    named_map = {"metadata": {"name": "plugin"}, "data": {"whole": "version: v1"}}
    asks = policy(devicePlugin={"config": {"name": "plugin", "default": "whole"}})
    lost = gpu_node("a", **{"nvidia.com/device-plugin.config": "nowhere"})
    api = FakeApi(nodes=[lost, gpu_node("b")], policies=[asks], maps=[named_map])
    loop = agents(api)

    def said() -> str:
        states = [change for path, change in api.patches if path.startswith(POLICIES)]
        return str(states[-1]["status"]["state"])

    loop._work_on({None})
    assert said() == "notReady"
    loop._work_on({"b"})
    assert said() == "notReady"
    lost["metadata"]["labels"]["nvidia.com/device-plugin.config"] = "whole"
    loop._work_on({"a"})
    assert said() == "ready"
    lost["metadata"]["labels"]["nvidia.com/device-plugin.config"] = "nowhere"
    loop._work_on({"a"})
    assert said() == "notReady"
    del loop._nodes._objects["a"]
    loop._work_on({"a"})
    assert said() == "ready"


def test_the_runtime_class_comes_once_with_each_policy_and_goes_with_it():
    api = FakeApi(policies=[policy(operator={"runtimeClass": "nvidia"})])
    loop = agents(api)
    loop._work_on({None})
    loop._work_on({None})
    (made,) = api.applied
    assert (made["kind"], made["metadata"]["name"], made["handler"]) == (
        "RuntimeClass",
        "nvidia",
        "nvidia",
    )
    assert made["metadata"]["ownerReferences"][0]["uid"] == "1"
    loop._policies._objects["cluster-policy"]["metadata"]["uid"] = "2"
    loop._work_on({None})
    assert len(api.applied) == 2


def test_another_driver_is_exchanged_by_the_operator_and_what_fails_is_told():
    states = gpu_node("a", **{UPGRADE_LABEL: "upgrade-done"}), gpu_node("b", fake="no")
    for each in states:
        each["metadata"]["annotations"] |= {POD: "580.159.03", BROKEN: "595.91.07: lost"}
    asks = policy(driver={"version": "595.91.07", "upgradePolicy": {"autoUpgrade": True}})
    api = FakeApi(nodes=[*states], policies=[asks])
    agents(api)._work_on({"a"})
    change = {"metadata": {"labels": {UPGRADE_LABEL: "upgrade-required"}}}
    assert [each for each in api.patches if each[1] == change] == [(f"{NODES}/a", change)]
    states[0]["metadata"]["labels"][UPGRADE_LABEL] = "pod-restart-required"
    states[0]["metadata"]["annotations"][POD] = "595.91.07"
    agents(api)._work_on({"a"})
    assert [name.partition(".")[0] for name in api.events] == ["a"]


def test_a_pod_that_ends_lets_an_exchange_go_on():
    loop = agents(FakeApi(nodes=[gpu_node("a", **{UPGRADE_LABEL: "wait-for-jobs-required"})]))
    loop._pod_changed("vision/one")
    assert "" in loop._wait_for_work()


def test_a_policy_that_has_gone_meanwhile_exchanges_nothing():
    api = FakeApi(nodes=[gpu_node("a")])
    agents(api)._exchange_drivers()
    assert api.patches == []


def test_pods_that_check_nodes_are_handed_on():
    api = FakeApi(nodes=[gpu_node("a"), gpu_node("real", fake="no")])
    loop, taken = agents(api), []
    loop._validator.take = taken.append  # type: ignore[method-assign]  it notes what it is given
    pods = {
        name: {"metadata": {}, "spec": {"nodeName": "a", "containers": []}} for name in ("x", "y")
    }
    loop._pods._objects = pods
    loop._pod_changed("x")
    assert taken == [pods["x"]]
    loop._pod_changed(None)
    assert taken == [pods["x"], pods["x"], pods["y"]]
    found = loop._fake_node("a")
    assert found is not None
    assert loop._fake_node("real") is loop._fake_node("gone") is None


def test_the_gate_looks_when_a_node_or_a_pod_has_changed():
    loop, woken = agents(FakeApi()), []
    loop._gate.wake = lambda pods=None: woken.append(pods)  # type: ignore[method-assign]
    loop._node_changed("a")
    loop._pod_changed(None)
    assert (woken, loop._work.get()) == ([None, {}], "a")


def test_real_nodes_and_gone_ones_are_left_alone():
    api = FakeApi(nodes=[gpu_node("real", fake="no")])
    agents(api)._work_on({"real", "gone"})
    assert api.patches == []


def test_an_event_is_told_once():
    label = {"nvidia.com/device-plugin.config": "nowhere"}
    plugin = {"devicePlugin": {"config": {"name": "plugin"}}}
    api = FakeApi(
        nodes=[gpu_node("a", **label)], maps=[named("plugin", data={})], policies=[policy(**plugin)]
    )
    loop = agents(api)
    loop._work_on({"a"})
    loop._work_on({"a"})
    assert len(api.events) == 1


def test_pods_that_hold_devices_are_counted():
    def pod(phase: str, *limits: dict[str, str]) -> dict[str, Any]:
        return {
            "status": {"phase": phase},
            "spec": {"containers": [{"resources": {"limits": one}} for one in limits]},
        }

    api = FakeApi()
    gpu = {"nvidia.com/gpu": "1"}
    api.pods = [
        pod("Running", {}, gpu),
        pod("Running", {"cpu": "1"}),
        pod("Succeeded", gpu),
        pod("Pending", gpu, gpu),
    ]
    assert agents(api)._gpu_pods("a") == 2


def test_a_node_that_is_gone_by_now_needs_nothing_and_other_refusals_are_told():
    api = FakeApi(nodes=[gpu_node("a")])
    loop = agents(api)
    api.refuse = ApiError(404, "gone")
    loop._work_on({"a"})
    api.refuse = ApiError(409, "conflict")
    with pytest.raises(ApiError, match="409: conflict"):
        loop._work_on({"a"})


def test_many_changes_of_a_node_cost_one_look():
    loop = agents(FakeApi())
    for name in ("a", "b", "a", None):
        loop._work.put(name)
    assert loop._wait_for_work() == {"a", "b", None}


# ── the cache ──


class Script:
    """An API whose watch plays a list of happenings, then blocks."""

    def __init__(self, *happenings: Any) -> None:
        self.happenings = list(happenings)
        self.lists = 0

    def call(self, _method: str, _path: str) -> dict[str, Any]:
        self.lists += 1
        if self.lists == 1:
            raise Unreachable("no server yet")
        return {"items": [named("a", n=1), named("b", n=1)], "metadata": {"resourceVersion": "1"}}

    def watch(
        self, _path: str, _version: str, _where: str = ""
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        while self.happenings:
            happening = self.happenings.pop(0)
            if isinstance(happening, Exception):
                raise happening
            yield happening
        threading.Event().wait(60)


def follow(
    api: Script, enough: Callable[[list[str | None]], bool]
) -> tuple[Watched, list[str | None]]:
    seen: list[str | None] = []
    watched = Watched(api, "/x", seen.append)  # type: ignore[arg-type]
    watched.start()
    deadline = time.monotonic() + SHORTER
    while not enough(seen) and time.monotonic() < deadline:
        time.sleep(0.02)
    return watched, seen


def test_the_cache_follows_additions_changes_and_deletions():
    api = Script(
        ("MODIFIED", named("a", n=2)),
        ("BOOKMARK", named("")),
        ("DELETED", named("b")),
        ("ADDED", named("c", n=1)),
    )
    watched, seen = follow(api, lambda names: "c" in names)
    assert seen == [None, "a", "b", "c"]
    assert {name: item["n"] for name, item in watched.all().items()} == {"a": 2, "c": 1}


@pytest.mark.parametrize(
    "end", [("ERROR", {"code": 410}), ApiError(410, "too old"), Unreachable("gone")], ids=str
)
def test_the_cache_lists_anew_when_a_watch_ends(end: Any):
    watched, seen = follow(Script(end), lambda names: names.count(None) == 2)
    assert seen == [None, None]
    assert set(watched.all()) == {"a", "b"}


# ── pods that the device plugin refuses ───────────────────────────────────────────────────────────
SHARING = """version: v1
sharing: {timeSlicing: {renameByDefault: true, failRequestsGreaterThanOne: %s,
  resources: [{name: nvidia.com/gpu, replicas: 4}]}}
"""


def on_node(name: str, shares: Any, node: str = "a", **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "resources": {"limits": {"nvidia.com/gpu.shared": shares}}}
    return named(
        name,
        metadata={"namespace": "vision"},
        spec={"nodeName": node, "containers": [container, {"name": "side"}], **spec},
    )


def sharing(*pods: dict[str, Any], fails: str = "true", fake: str = "fake") -> FakeApi:
    """A node whose plugin shares GPUs, and pods that were sent there."""
    labels = {"nvidia.com/device-plugin.config": "four"}
    api = FakeApi(
        nodes=[gpu_node("a", fake, **labels)],
        maps=[named("plugin", data={"four": SHARING % fails})],
        policies=[policy(devicePlugin={"config": {"name": "plugin"}})],
    )
    found = agents(api)
    found._pods._objects = {f"vision/{p['metadata']['name']}": p for p in pods}
    found._admit(None)
    return api


def test_a_pod_with_several_shares_fails_on_its_node():
    api = sharing(on_node("two", "2"), on_node("one", 1))
    ((path, change),) = api.patches
    assert path == "/api/v1/namespaces/vision/pods/two/status"
    status = change["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "UnexpectedAdmissionError")
    assert status["message"].endswith(
        'request for "nvidia.com/gpu.shared": invalid request: maximum request size for shared'
        " resources is 1; found 2, which is unexpected"
    )
    init = {"name": "i", "resources": {"limits": {"nvidia.com/gpu.shared": 3}}}
    assert len(sharing(on_node("init", 1, initContainers=[init])).patches) == 1


def test_no_pod_fails_where_the_plugin_is_not_told_to_or_nobody_plays_the_node():
    two = on_node("two", 2)
    assert sharing(two, fails="false").patches == []
    assert sharing(two, fake="real").patches == []
    assert sharing(on_node("away", 2, node="b")).patches == []
    api = FakeApi(nodes=[gpu_node("a")])
    found = agents(api)
    found._pods._objects = {"vision/two": two}
    found._admit("vision/two")
    assert api.patches == [], "no operator, no plugin"
    refused = FakeApi(
        nodes=[gpu_node("a")], policies=[policy(devicePlugin={"config": {"name": "x"}})]
    )
    found = agents(refused)
    found._pods._objects = {"vision/two": two}
    found._admit("vision/two")
    found._admit("vision/gone")
    assert refused.patches == [], "a plugin that does not start"


def test_a_refusal_that_cannot_be_written_stops_nothing(capsys: pytest.CaptureFixture[str]):
    api = sharing(on_node("one", 1))
    found = agents(api)
    found._pods._objects = {"vision/two": on_node("two", 2)}
    api.refuse = ApiError(500, "no")
    found._admit(None)
    assert "vision/two is rejected: 500: no" in capsys.readouterr().err


def test_pods_are_known_by_their_namespace_and_read_by_a_selector():
    api = FakeApi()
    api.pods = [on_node("x", 1)]
    asked: list[str] = []
    watched = Watched(api, "/api/v1/pods", asked.append, "spec.nodeName!=")  # type: ignore[arg-type]
    api.watch = lambda *rest: asked.append(rest[-1]) or iter(())  # type: ignore[method-assign]
    watched._list_and_watch()
    assert [*watched.all()] == ["vision/x"]
    assert asked == [None, "spec.nodeName!="]


def test_a_node_is_looked_at_again_when_an_agent_starts_or_ends_on_it():
    made = gpu_node("a")
    notes = {
        cloud_node.KUBELET: '{"capacity": {}, "allocatable": {}}',
        cloud_node.EFA_INTERFACES: "4",
    }
    made["metadata"]["annotations"] |= notes
    found = agents(FakeApi(nodes=[made]))
    plugin = on_node("plugin", 1)
    plugin = {**plugin, "status": {"phase": "Running"}}
    plugin["spec"]["containers"] = [{"name": "p", "image": "eks/aws-efa-k8s-device-plugin:v0.5.20"}]
    for pods, efa in (({"vision/plugin": plugin}, ["4"]), ({}, [])):
        found._pods._objects = pods
        found._pod_changed("vision/plugin")
        assert found._wait_for_work() == {"a"}
        found._work_on({"a"})
        written = [change["status"] for _, change in found._api.patches if "status" in change]
        assert [each["allocatable"]["vpc.amazonaws.com/efa"] for each in written] == efa
        found._api.patches.clear()


def test_a_node_is_looked_at_again_when_its_driver_answers():
    made = gpu_node("a")
    soon = time.time() + 0.2
    made["metadata"]["annotations"] |= {
        cloud_node.KUBELET: '{"capacity": {}, "allocatable": {}}',
        cloud_node.GPUS_FROM: str(soon),
    }
    found = agents(FakeApi(nodes=[made], policies=[policy()]))
    found._work_on({"a"})
    found._work_on({"a"})
    assert found._later == {"a": soon}
    assert found._wait_for_work() == {"a"}  # by the one look of its own
    assert time.time() >= soon
    found._work_on({"a"})
    assert found._later == {}
    given = [change.get("status", {}).get("allocatable") for _, change in found._api.patches]
    assert [each["nvidia.com/gpu"] for each in given if each and "nvidia.com/gpu" in each] == ["4"]
    assert found._work.empty()


def test_a_node_that_reboots_ends_the_pods_that_held_its_gpus():
    mig = (
        "version: v1\nmig-configs: {cut: [{devices: all, mig-enabled: true,"
        " mig-devices: {1g.5gb: 7}}]}"
    )
    manager = {
        "config": {"name": "mig"},
        "env": [{"name": "WITH_REBOOT", "value": "true"}],
    }
    state = {"nvidia.com/mig.config": "cut", "nvidia.com/mig.config.state": "pending"}
    node = gpu_node("a", **{"node.kubernetes.io/instance-type": "p4d.24xlarge", **state})
    node["metadata"].setdefault("annotations", {})["sim.gpuyard.dev/mig-applied"] = "cut"
    api = FakeApi(
        nodes=[node],
        maps=[named("mig", data={"config.yaml": mig})],
        policies=[policy(migManager=manager)],
    )
    limits = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
    metadata = {"namespace": "vision", "name": "holder"}
    pod = {"metadata": metadata, "status": {"phase": "Running"}, "spec": {"containers": [limits]}}
    api.pods = [pod]
    agents(api)._work_on({"a"})
    paths = [path for path, *_ in api.patches]
    assert "/api/v1/namespaces/vision/pods/holder/status" in paths
