"""The program that sends nodes to be checked again: only those that passed, are idle, and few at once."""

import json
import runpy
import sys
from pathlib import Path

import pytest

from gpuyard.render.programs import SETTINGS_FILE
from gpuyard.render.validation.gate import gate_objects
from gpuyard_agents import agent
from gpuyard_agents.agent import read_settings
from gpuyard_agents.client import RequestRejected, Unreachable
from gpuyard_agents.gate import recurring
from gpuyard_agents.gate.decisions import CheckOutcome, Node, change_for
from gpuyard_agents.gate.reconcile import Settings as GateSettings
from gpuyard_agents.gate.recurring import Settings, reconcile, uses_gpus
from kit.every import every
from kit.stacks import plan_of, platform, pool

ASKED = {
    "image": "x",
    "recurring": {"cron": "0 3 * * 0", "hours": 1},
    "max_unavailable_percent": 50,
}
OBJECTS = gate_objects(plan_of(platform([pool()], cloud="simulated", validation=ASKED)))
TEXTS = {
    o["metadata"]["name"]: o["data"][SETTINGS_FILE]
    for o in OBJECTS
    if SETTINGS_FILE in o.get("data", {})
}
TEXT = TEXTS["gpuyard-lab-again"]
SETTINGS, GATE = (
    read_settings(Settings, TEXT),
    read_settings(GateSettings, TEXTS["gpuyard-lab-gate"]),
)
NAMES = SETTINGS.names
DIGEST = GATE.pools[0].digest
PASSED = {NAMES.checked: DIGEST, NAMES.result: "passed"}
READY = {"conditions": [{"type": "Ready", "status": "True"}]}


def node(name, labels=PASSED, notes=None, status=READY, **metadata):
    labels = {"gpuyard.dev/pool": "train"} | labels
    metadata |= {"name": name, "resourceVersion": "7", "labels": labels, "annotations": notes or {}}
    return {"metadata": metadata, "spec": {}, "status": status}


def pod(where, **counts):
    resources = {"limits": {k.replace("_", "/"): v for k, v in counts.items()}}
    return {"spec": {"nodeName": where, "containers": [{"resources": resources}]}}


ON_GPU = {"nvidia.com_gpu": "8"}


class Cluster:
    """Nodes and pods, and what is asked of them."""

    def __init__(self, nodes, pods=(), refuses=()):
        self.nodes, self.pods, self.refuses = (
            {n["metadata"]["name"]: n for n in nodes},
            pods,
            refuses,
        )
        self.sent = []

    def request_json(self, method, path, body=None, kind="", *, accept=""):
        if method == "GET":
            found = self.pods if path.startswith("/api/v1/pods") else self.nodes.values()
            return {"items": list(found), "metadata": {}}
        assert (method, kind) == ("PATCH", "application/merge-patch+json")
        name = path.rpartition("/")[2]
        if name in self.refuses:
            raise RequestRejected(409, "changed")
        change = json.loads(body)["metadata"]
        metadata = self.nodes[name]["metadata"]
        assert change.pop("resourceVersion") == metadata["resourceVersion"]
        assert change == {"labels": {NAMES.checked: None}, "annotations": {SETTINGS.again: "run-1"}}
        metadata["labels"] = {k: v for k, v in metadata["labels"].items() if k != NAMES.checked}
        metadata["annotations"] = {SETTINGS.again: "run-1"}
        self.sent.append(name)
        return None

    def checked(self, *names):
        for name in names:
            self.nodes[name]["metadata"]["labels"][NAMES.checked] = DIGEST


def looked(cluster):
    return reconcile(cluster, SETTINGS, "run-1", lambda _: None)


def test_what_is_idle_is_sent_and_what_works_waits_until_it_is():
    cluster = Cluster([node("a"), node("b"), node("c"), node("d")], [pod("a", **ON_GPU)])
    assert looked(cluster) == 2
    assert cluster.sent == ["b", "c"], "half of four at once"
    assert looked(cluster) == 2, "whose verdict is awaited takes a place"
    cluster.checked("b", "c")
    assert looked(cluster) == 1
    assert cluster.sent == ["b", "c", "d"], "none twice"
    cluster.checked("d")
    cluster.pods = [pod("a", cpu="1")]
    assert looked(cluster) == 0
    assert cluster.sent[-1] == "a"


@every(
    "one",
    [
        node("a", {NAMES.checked: DIGEST, NAMES.result: "memory.remapped_rows"}),
        node("a", {NAMES.result: "passed"}),
        node("a", {}),
        node("a", notes={SETTINGS.again: "run-1"}),
        node("a", status={"conditions": [{"type": "Ready", "status": "Unknown"}]}),
        node("a", status={}),
        node("a", deletionTimestamp="now"),
    ],
)
def test_what_failed_waits_or_goes_is_left_to_others(one):
    cluster = Cluster([one])
    assert (looked(cluster), cluster.sent) == (0, [])


def test_one_that_was_sent_by_an_earlier_run_is_sent_again():
    cluster = Cluster([node("a", notes={SETTINGS.again: "run-0"})])
    assert (looked(cluster), cluster.sent) == (0, ["a"])


def test_a_refused_change_is_tried_again_and_keeps_no_other():
    cluster = Cluster([node("a"), node("b")], refuses=["a"])
    assert (looked(cluster), cluster.sent) == (1, ["b"])


@every(
    "spec, wanted",
    [
        ({"containers": [{"resources": {"requests": {"nvidia.com/gpu": 1}}}]}, True),
        (
            {
                "containers": [{}],
                "initContainers": [{"resources": {"limits": {"nvidia.com/gpu": "1"}}}],
            },
            True,
        ),
        ({"containers": [{"resources": {"limits": {"nvidia.com/gpu": "0"}}}]}, False),
        ({"containers": [{"resources": {"limits": {"cpu": "1"}, "requests": None}}]}, False),
        ({}, False),
    ],
)
def test_a_pod_works_on_gpus_where_it_asks_for_some(spec, wanted):
    assert uses_gpus({"spec": spec}, ["nvidia.com/gpu"]) is wanted


def test_a_node_that_was_sent_keeps_taking_jobs_until_it_fails():
    """The gate closes nothing for want of a verdict: only one that comes for the first time waits."""
    cluster = Cluster([node("a")])
    looked(cluster)
    raw = cluster.nodes["a"]
    judged = lambda said: change_for(Node(raw, GATE.names), GATE.pools[0], said, may_close=True)  # noqa: E731
    assert judged(None) is None
    opened, closed = (
        judged(CheckOutcome(0, "passed: node a")),
        judged(CheckOutcome(1, "failed: x\nfail: gpu.count on node")),
    )
    assert opened.labels == PASSED
    assert "unschedulable" not in opened.spec
    assert closed.spec == {"unschedulable": True}
    assert closed.reason == "NodeFailedCheck"


# ── the command line ──────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def words(tmp_path):
    (tmp_path / "token").write_text("t")
    (tmp_path / "settings.json").write_text(TEXT)
    return [
        "--settings",
        str(tmp_path / "settings.json"),
        "--account",
        str(tmp_path),
        "--run",
        "run-1",
    ]


class Clock:
    """Time that passes in naps."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def ended(words, monkeypatch, looks):
    """Exit code and time, where each look comes to the next of these."""
    left, clock = iter(looks), Clock()

    def one(*_):
        found = next(left)
        if found is None:
            raise Unreachable("nobody")
        return found

    monkeypatch.setattr(agent, "JsonClient", lambda *_: type("S", (), {"close": lambda _: None})())
    monkeypatch.setattr(recurring, "reconcile", one)
    monkeypatch.setattr(recurring, "time", clock)
    return recurring.main(words), clock.now


def test_it_ends_when_no_node_is_left_or_its_time_is_over(words, monkeypatch, capsys):
    assert ended(words, monkeypatch, [3, None, 1, 0]) == (0, 90)
    assert ended(words, monkeypatch, [2] * 200) == (0, 3600)
    assert "time limit reached; nodes that were never idle: 2" in capsys.readouterr().out
    assert ended(words, monkeypatch, [2] * 120 + [None])[0] == 1
    assert "never idle: unknown" in capsys.readouterr().out


@pytest.mark.parametrize(("left", "code"), [(0, 0), (2, 3), (None, 1)])
def test_one_look_says_whether_any_is_left(words, monkeypatch, left, code):
    assert ended([*words, "--once"], monkeypatch, [left])[0] == code


@pytest.mark.parametrize("text", ["", "{}", "[]", json.dumps({"names": {}, "pools": []})])
def test_without_settings_it_cannot_begin(words, text, capsys, monkeypatch):
    Path(words[1]).write_text(text)
    monkeypatch.setattr(sys, "argv", ["again", *words])
    monkeypatch.delitem(sys.modules, "gpuyard_agents.gate.recurring")
    with pytest.raises(SystemExit) as caught:
        runpy.run_module("gpuyard_agents.gate.recurring", run_name="__main__")
    assert caught.value.code == 2
    assert "cannot start" in capsys.readouterr().out
