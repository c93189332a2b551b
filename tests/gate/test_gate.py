"""The program that opens and closes nodes: what becomes of each, whatever is killed on the way."""

import json
import runpy
import sys
from copy import deepcopy
from urllib.parse import parse_qs, urlsplit

import pytest

from gpuyard.render.programs import SETTINGS_FILE
from gpuyard.render.validation.gate import gate_objects
from gpuyard_agents import agent, client
from gpuyard_agents.agent import read_settings
from gpuyard_agents.client import RequestRejected, Unreachable
from gpuyard_agents.gate import __main__ as command
from gpuyard_agents.gate import reconcile as looking
from gpuyard_agents.gate.decisions import (
    Change,
    CheckOutcome,
    Node,
    change_for,
    check_outcome,
    max_unavailable_nodes,
)
from gpuyard_agents.gate.reconcile import Settings, reconcile
from kit.cases.figures import FIGURES
from kit.every import every
from kit.stacks import plan_of, platform, pool


def told(gate="taint", **more):
    """The settings as a plan has them."""
    asked = {"image": "x", "gate": gate, **more}
    plan = plan_of(platform([pool()], cloud="simulated", validation=asked))
    found = next(o for o in gate_objects(plan) if SETTINGS_FILE in o.get("data", {}))
    return found["data"][SETTINGS_FILE]


SETTINGS = read_settings(Settings, told())
NAMES, POOL = SETTINGS.names, SETTINGS.pools[0]
LABELLED = read_settings(Settings, told("label")).pools[0]
GPU = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
WAITS = dict(NAMES.taint)
CORDON = {"unschedulable": True}
GOOD = CheckOutcome(0, "passed: node n, pool train: 30 checks ran, 0 against it")
WORDS = "failed: node n\nfail: memory.remapped_rows on gpu 3: no spare; value True, threshold False; needs: {}"
BAD = CheckOutcome(1, WORDS.format("replace"))
NOW, OLD = {NAMES.checked: POOL.digest}, {NAMES.checked: "000000"}
PASSED, FAILED = {NAMES.result: "passed"}, {NAMES.result: "memory.remapped_rows"}
NARROW = {NAMES.result: "pcie.width"}
MINE, SAYS = {NAMES.tainted_since: "true"}, {NAMES.says: BAD.text}


def node(labels=None, notes=None, *, taints=(GPU, WAITS), boot="", name="n", **spec):
    metadata = {"name": name, "uid": name, "resourceVersion": "7"}
    metadata |= {
        "labels": {"gpuyard.dev/pool": "train"} | (labels or {}),
        "annotations": notes or {},
    }
    status = {"nodeInfo": {"bootID": boot}} if boot else {}
    return {"metadata": metadata, "spec": {"taints": list(taints), **spec}, "status": status}


def changed(raw, said=None, *, pool=POOL, may_close=True):
    """The node as it is after the change, and the reason; None where nothing changes."""
    change = change_for(Node(raw, NAMES), pool, said, may_close=may_close)
    if change is None:
        return None
    patch = change.patch(Node(raw, NAMES))
    assert patch["metadata"]["resourceVersion"] == "7"
    after = merged(raw, patch)
    marks = {
        k: v for k, v in after["metadata"]["labels"].items() if k in {NAMES.checked, NAMES.result}
    }
    waits = WAITS in after["spec"]["taints"]
    assert [t for t in after["spec"]["taints"] if t != WAITS] == [GPU]
    return change.reason, marks, waits, bool(after["spec"].get("unschedulable"))


def merged(there, change):
    """As a merge patch does it."""
    found = dict(there)
    for key, value in change.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key) or {}, value) if isinstance(value, dict) else value
    return found


@every(
    "raw, said, more, then",
    [
        # one that comes: waits for its verdict, and then is opened or closed
        (node(), None, {}, None),
        (node(), GOOD, {}, ("NodeChecked", NOW | PASSED, False, False)),
        (node(), BAD, {}, ("NodeFailedCheck", NOW | FAILED, True, True)),
        (node(), BAD, {"may_close": False}, ("NodeFailedCheck", NOW | FAILED, True, True)),
        (
            node(),
            CheckOutcome(1, "fail: A/B!"),
            {},
            ("NodeFailedCheck", NOW | {NAMES.result: "failed"}, True, True),
        ),
        # not judged is not passed
        (node(), CheckOutcome(3, "no driver"), {}, ("NodeNotChecked", {}, True, False)),
        (node(notes={NAMES.says: "no driver"}), CheckOutcome(3, "no driver"), {}, None),
        (node(), CheckOutcome(2, ""), {}, ("NodeNotChecked", {}, True, False)),
        # one that passed: its taint may come back with its node group, and goes
        (node(NOW | PASSED), None, {}, ("NodeChecked", NOW | PASSED, False, False)),
        (node(NOW | PASSED, taints=[GPU]), GOOD, {}, None),
        (node(NOW | PASSED, taints=[GPU], **CORDON), None, {}, None),
        # one that works already, held against something new
        (node(OLD | PASSED, taints=[GPU]), None, {}, None),
        (node(OLD | PASSED, taints=[GPU]), GOOD, {}, ("NodeChecked", NOW | PASSED, False, False)),
        (node(OLD | PASSED, taints=[GPU]), BAD, {}, ("NodeFailedCheck", NOW | FAILED, False, True)),
        (
            node(OLD | PASSED, taints=[GPU]),
            BAD,
            {"may_close": False},
            ("NodeFailedCheck", NOW | FAILED, False, False),
        ),
        (
            node(NOW | FAILED, SAYS, taints=[GPU]),
            BAD,
            {},
            ("NodeFailedCheck", NOW | FAILED, False, True),
        ),
        (node(NOW | FAILED, SAYS, taints=[GPU]), BAD, {"may_close": False}, None),
        # one that was mended is opened, and only what was closed by this program
        (node(NOW | FAILED, SAYS | MINE, **CORDON), BAD, {}, None),
        (
            node(NOW | FAILED, SAYS | MINE, **CORDON),
            GOOD,
            {},
            ("NodeChecked", NOW | PASSED, False, False),
        ),
        (node(**CORDON), BAD, {}, ("NodeFailedCheck", NOW | FAILED, True, True)),
        # one fault is mended and another is left: it is called by that, and stays as it was
        *(
            (
                node(NOW | NARROW, SAYS | MINE, taints=[GPU], **CORDON),
                BAD,
                {"may_close": may},
                ("NodeFailedCheck", NOW | FAILED, False, True),
            )
            for may in (True, False)
        ),
        (
            node(NOW | NARROW, SAYS, taints=[GPU]),
            BAD,
            {"may_close": False},
            ("NodeFailedCheck", NOW | FAILED, False, False),
        ),
        (node(NOW | FAILED, SAYS, **CORDON), GOOD, {}, ("NodeChecked", NOW | PASSED, False, True)),
        # started anew: whoever has had it in hand, it is looked at again
        (
            node(NOW | PASSED, {NAMES.boot: "a"}, taints=[GPU], boot="b"),
            GOOD,
            {},
            ("NodeRebooted", PASSED, True, False),
        ),
        (node(NOW | PASSED, {NAMES.boot: "a"}, taints=[GPU], boot="a"), GOOD, {}, None),
        (
            node(NOW | FAILED, {NAMES.boot: "a"} | MINE, boot="b", **CORDON),
            BAD,
            {},
            ("NodeRebooted", FAILED, True, True),
        ),
        # where it is only told, nothing is closed
        (
            node(NOW | PASSED, {NAMES.boot: "a"}, taints=[GPU], boot="b"),
            GOOD,
            {"pool": LABELLED},
            ("NodeRebooted", PASSED, False, False),
        ),
        (
            node(taints=[GPU]),
            BAD,
            {"pool": LABELLED},
            ("NodeFailedCheck", NOW | FAILED, False, False),
        ),
        (node(NOW | FAILED, SAYS, taints=[GPU]), BAD, {"pool": LABELLED}, None),
    ],
)
def test_what_becomes_of_a_node(raw, said, more, then):
    assert changed(raw, said, **more) == then


def test_what_programs_read_of_last_words_is_written_on_no_node():
    raw = node()
    message = FIGURES.read_text(encoding="utf-8")
    change = change_for(Node(raw, NAMES), POOL, CheckOutcome(0, message), may_close=True)
    assert change.annotations[NAMES.says] == message.splitlines()[0]


@every(
    "needs, told",
    [
        (
            "replace",
            "To do: run kubectl drain n, then have the cloud replace it. Validation repeats",
        ),
        ("reset", "To do: reset its GPUs. Validation"),
        ("reboot", "To do: reboot it. Validation"),
        ("look", "To do: fix the failures listed here. Validation"),
    ],
)
def test_what_is_to_be_done_follows_what_the_driver_asks_for(needs, told):
    change = change_for(
        Node(node(), NAMES), POOL, CheckOutcome(1, WORDS.format(needs)), may_close=True
    )
    assert isinstance(change, Change)
    assert told in change.message
    assert "value True, threshold False" in change.message


def test_what_stays_open_says_why():
    raw = node(OLD | PASSED, taints=[GPU])
    change = change_for(Node(raw, NAMES), POOL, BAD, may_close=False)
    assert (
        "The node is not cordoned: its pool has reached the maximum of cordoned nodes."
        in change.message
    )
    change = change_for(Node(raw, NAMES), LABELLED, BAD, may_close=True)
    assert "stays open" not in change.message


@every("nodes, percent, most", [(0, 20, 1), (4, 20, 1), (9, 20, 1), (10, 20, 2), (3, 100, 3)])
def test_one_may_always_be_closed_and_no_fleet_is_emptied(nodes, percent, most):
    assert max_unavailable_nodes([Node(node(), NAMES)] * nodes, percent) == most


def ended(code=0, message="m", *, at="state"):
    return {at: {"terminated": {"exitCode": code, "message": message}}}


@every(
    "status, said",
    [
        ({}, None),
        ({"containerStatuses": [{"state": {"running": {}}}]}, None),
        ({"containerStatuses": [ended(1)]}, CheckOutcome(1, "m")),
        (
            {"containerStatuses": [ended(at="lastState") | {"state": {"waiting": {}}}]},
            CheckOutcome(0, "m"),
        ),
        ({"containerStatuses": [ended(1) | ended(0, at="lastState")]}, CheckOutcome(1, "m")),
        ({"containerStatuses": [{"state": {"terminated": {}, "x": 1}}]}, None),
        (
            {"containerStatuses": [{"state": {"terminated": {"reason": "Error"}}}]},
            CheckOutcome(-1, ""),
        ),
    ],
)
def test_the_last_words_of_a_pod_are_its_containers(status, said):
    assert check_outcome({"status": status}) == said


# ── a cluster ─────────────────────────────────────────────────────────────────────────────────────


class Dead(Exception):
    """The program was killed."""


class Cluster:
    """Nodes, pods and events of an API server, which kills whoever asks for the n-th time."""

    def __init__(self, nodes, said, *, dies=0, late=False):
        self.nodes = {each["metadata"]["name"]: each for each in deepcopy(nodes)}
        self.pods = [pod_on(name, each) for name, each in said.items()]
        self.events, self.asked = {}, []
        self.dies, self.late = dies, late
        self.stale = False

    def request_json(self, method, path, body=None, kind="", *, accept=""):
        self.asked.append(f"{method} {urlsplit(path).path}")
        if len(self.asked) == self.dies and not self.late:
            raise Dead
        answer = self._answer(method, path, json.loads(body or "{}"))
        if len(self.asked) == self.dies:
            raise Dead
        return answer

    def _answer(self, method, path, body):
        where = urlsplit(path)
        if method == "GET":
            asked = parse_qs(where.query)
            found = self.pods if where.path.endswith("pods") else list(self.nodes.values())
            wanted = [each.split("=") for each in asked["labelSelector"][0].split(",")]
            found = [
                x for x in found if all(x["metadata"]["labels"].get(k) == v for k, v in wanted)
            ]
            begin, most = int(asked.get("continue", ["0"])[0]), int(asked["limit"][0])
            more = str(begin + most) if len(found) > begin + most else ""
            return {"items": found[begin : begin + most] or None, "metadata": {"continue": more}}
        if method == "POST":
            name = body["metadata"]["name"]
            if name in self.events:
                raise RequestRejected(409, "exists")
            self.events[name] = body
            return body
        name = where.path.rpartition("/")[2]
        there = self.nodes[name]
        version = body["metadata"].pop("resourceVersion")
        if self.stale or version != there["metadata"]["resourceVersion"]:
            raise RequestRejected(409, "changed")
        self.nodes[name] = merged(there, body)
        self.nodes[name]["metadata"]["resourceVersion"] = str(int(version) + 1)
        return self.nodes[name]

    def states(self):
        return {
            name: (
                Node(each, NAMES).labels.get(NAMES.result),
                Node(each, NAMES).is_pending,
                bool(each["spec"].get("unschedulable")),
            )
            for name, each in self.nodes.items()
        }


def pod_on(name, said):
    labels = {NAMES.checks: POOL.checks, NAMES.checked: POOL.digest}
    status = {"containerStatuses": [ended(said.code, said.text)]}
    return {"metadata": {"labels": labels}, "spec": {"nodeName": name}, "status": status}


def fleet(count, *, bad=(), working=True):
    """So many nodes that work, less those that fail what is new."""
    names = [f"n{number}" for number in range(count)]
    marks = (OLD | PASSED, None) if working else (None, None)
    taints = [GPU] if working else [GPU, WAITS]
    said = {name: BAD if number in bad else GOOD for number, name in enumerate(names)}
    return [node(*marks, taints=taints, name=name) for name in names], said


FINE, SHUT = ("passed", False, False), ("memory.remapped_rows", True, True)


def test_nodes_that_come_are_opened_or_stay_closed_and_that_is_told_once():
    cluster = Cluster(*fleet(4, bad=[2], working=False))
    lines = []
    assert reconcile(cluster, SETTINGS, lines.append) == 4
    assert cluster.states() == {"n0": FINE, "n1": FINE, "n2": SHUT, "n3": FINE}
    assert lines[2].startswith(
        "train n2: NodeFailedCheck: failed: node n\nfail: memory.remapped_rows"
    )
    events = [
        (e["involvedObject"]["name"], e["reason"], e["type"]) for e in cluster.events.values()
    ]
    assert events[2] == ("n2", "NodeFailedCheck", "Warning")
    assert {e[2] for e in events[:2]} == {"Normal"}
    asked = len(cluster.asked)
    assert reconcile(cluster, SETTINGS, lines.append) == 0
    assert len(cluster.asked) - asked == 2, "where nothing is to be done, one list of each kind"


def test_a_bad_floor_does_not_empty_a_fleet():
    cluster = Cluster(*fleet(10, bad=range(10)))
    reconcile(cluster, SETTINGS, print)
    assert [state[2] for state in cluster.states().values()] == [True] * 2 + [False] * 8
    assert reconcile(cluster, SETTINGS, print) == 0
    cluster.pods[0] = pod_on("n0", GOOD)
    assert reconcile(cluster, SETTINGS, print) == 1
    reconcile(cluster, SETTINGS, print)
    assert [state[2] for state in cluster.states().values()] == [False] + [True] * 2 + [False] * 7


def test_who_is_killed_at_any_moment_is_followed_by_one_who_ends_it():
    nodes, said = fleet(6, bad=[1, 2, 4])
    nodes[4:] = fleet(6, working=False)[0][4:]
    whole = Cluster(nodes, said)
    reconcile(whole, SETTINGS, print)
    reconcile(whole, SETTINGS, print)
    assert len(whole.asked) > 12
    for late in (False, True):
        for moment in range(1, len(whole.asked) + 1):
            cluster = Cluster(nodes, said, dies=moment, late=late)
            for _ in range(3):
                try:
                    reconcile(cluster, SETTINGS, print)
                except Dead:
                    continue
            assert cluster.states() == whole.states(), (moment, late)
            assert sorted(cluster.events) == sorted(whole.events)


def test_a_node_that_has_changed_meanwhile_is_left_to_the_next_look():
    cluster, lines = Cluster(*fleet(2, working=False)), []
    cluster.stale = True
    reconcile(cluster, SETTINGS, lines.append)
    assert lines == ["train n0: skipped: 409: changed", "train n1: skipped: 409: changed"]
    assert set(cluster.states().values()) == {(None, True, False)}
    cluster.stale = False
    reconcile(cluster, SETTINGS, lines.append)
    assert set(cluster.states().values()) == {FINE}


@pytest.mark.parametrize(
    ("method", "opened"), [("PATCH", {FINE, (None, True, False)}), ("POST", {FINE})]
)
def test_what_is_refused_of_one_node_keeps_no_other_from_its_own(method, opened):
    cluster, lines = Cluster(*fleet(3, working=False)), []
    answers = cluster._answer

    def refuses(asked, path, body):
        if asked == method and "n1" in (path + body["metadata"].get("name", "")):
            raise RequestRejected(403, "no")
        return answers(asked, path, body)

    cluster._answer = refuses
    assert reconcile(cluster, SETTINGS, lines.append) == 3
    assert set(cluster.states().values()) == opened
    assert ("train n1: skipped: 403: no" in lines) is (method == "PATCH")


def test_a_node_that_could_not_be_closed_counts_for_nobody():
    cluster = Cluster(*fleet(5, bad=range(5)))
    cluster.stale = True
    reconcile(cluster, SETTINGS, print)
    cluster.stale = False
    reconcile(cluster, SETTINGS, print)
    assert [state[2] for state in cluster.states().values()] == [True] + [False] * 4


def test_a_cluster_that_does_not_answer_ends_the_look():
    cluster = Cluster(*fleet(1))
    cluster._answer = lambda *_: (_ for _ in ()).throw(RequestRejected(500, "busy"))
    with pytest.raises(RequestRejected):
        reconcile(cluster, SETTINGS, print)


def test_a_node_that_goes_is_left_alone():
    nodes, said = fleet(1, working=False)
    nodes[0]["metadata"]["deletionTimestamp"] = "now"
    assert reconcile(Cluster(nodes, said), SETTINGS, print) == 0


def test_one_look_asks_in_pages_and_changes_no_more_than_so_many(monkeypatch):
    monkeypatch.setattr(client, "PAGE", 4)
    monkeypatch.setattr(looking, "MOST_CHANGES", 5)
    cluster = Cluster(*fleet(7, working=False))
    assert (reconcile(cluster, SETTINGS, print), reconcile(cluster, SETTINGS, print)) == (5, 2)
    assert set(cluster.states().values()) == {FINE}


# ── the command line ──────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def account(tmp_path):
    (tmp_path / "token").write_text("t\n")
    (tmp_path / "settings.json").write_text(told())
    return tmp_path


def started(account, *words):
    return ["--settings", str(account / "settings.json"), "--account", str(account), *words]


def test_a_look_is_made_as_the_account_of_its_pod(account, monkeypatch):
    seen = []

    class Server:
        def __init__(self, *given):
            seen.append(given)

        def close(self):
            seen.append("closed")

    monkeypatch.setattr(agent, "JsonClient", Server)
    monkeypatch.setattr(command, "reconcile", lambda _, settings, say: say(settings.namespace) or 0)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    assert command.main(started(account, "--once")) == 0
    assert seen == [("https://[fd00::1]:443", "t", str(account / "ca.crt")), "closed"]


def test_what_goes_wrong_is_said_and_tried_again(account, monkeypatch, capsys):
    naps = []

    def sleep(seconds):
        naps.append(seconds)
        if len(naps) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(agent.time, "sleep", sleep)
    monkeypatch.setattr(
        agent, "JsonClient", lambda *_: (_ for _ in ()).throw(Unreachable("no answer"))
    )
    with pytest.raises(KeyboardInterrupt):
        command.main(started(account))
    assert naps == [15, 15, 15]
    assert capsys.readouterr().out.count("skipped: Unreachable('no answer')") == 3
    assert command.main(started(account, "--once")) == 1


@pytest.mark.parametrize("text", ["", "{}", "[]", json.dumps({"names": {}, "pools": []})])
def test_without_settings_it_cannot_begin(account, text, capsys, monkeypatch):
    (account / "settings.json").write_text(text)
    monkeypatch.delitem(sys.modules, "gpuyard_agents.gate.__main__")
    monkeypatch.setattr(sys, "argv", ["gpuyard_agents.gate", *started(account)])
    with pytest.raises(SystemExit) as caught:
        runpy.run_module("gpuyard_agents.gate", run_name="__main__")
    assert caught.value.code == 2
    assert "cannot start" in capsys.readouterr().out
