"""The program that queues gangs again: which nodes go, and which gangs stop, whoever is killed on the way."""

import json
import runpy
import sys
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from gpuyard.render.kueue.requeue import requeue_objects
from gpuyard.render.programs import SETTINGS_FILE
from gpuyard_agents import agent
from gpuyard_agents.agent import read_settings
from gpuyard_agents.client import RequestRejected
from gpuyard_agents.requeue import __main__ as command
from gpuyard_agents.requeue.decisions import (
    Termination,
    has_lost_any_of,
    has_lost_pod,
    is_lost,
    may_have_lost_pod,
    may_requeue,
    patch,
    termination_of,
)
from gpuyard_agents.requeue.reconcile import Settings, reconcile
from kit.every import every
from kit.stacks import plan_of, platform, pool, team


def told():
    """The settings as a plan has them."""
    pools = [pool(capacity=["spot"], nodes="0..4")]
    plan = plan_of(platform(pools, [team(guarantee={"train": 8})], cloud="aws"))
    found = next(o for o in requeue_objects(plan) if SETTINGS_FILE in o.get("data", {}))
    return found["data"][SETTINGS_FILE]


SETTINGS = read_settings(Settings, told())
SPACE, LABEL = "vision", SETTINGS.interrupted
(FLAVOR,) = SETTINGS.flavors
POOL = {"gpuyard.dev/pool": "train"}
GPU = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
EARLY, ADMITTED, LATE = (f"2026-11-24T00:{minute}:00Z" for minute in ("00", "10", "20"))


def node(name="n0", *taints, labels=POOL, going=False, **spec):
    metadata = {"name": name, "labels": labels} | (
        {"deletionTimestamp": LATE, "finalizers": ["karpenter.sh/termination"]} if going else {}
    )
    return {"metadata": metadata, "spec": {"taints": [GPU, *taints], **spec}}


def closed(since=ADMITTED, name="n0"):
    """As Kubernetes marks a node that was closed."""
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": since}
    return node(name, taint, unschedulable=True)


def noticed(key="karpenter.sh/disrupted"):
    return {"key": key, "effect": "NoSchedule"}


def pod(name, of="job-gang", on="n0", *, phase="Running", out=False, since=ADMITTED, gone=False):
    """`out`: it is put out of its node; `gone`: and is being deleted."""
    metadata = {"name": name, "creationTimestamp": since}
    metadata |= {"annotations": {SETTINGS.workload: of}} if of else {}
    metadata |= {"deletionTimestamp": LATE} if gone else {}
    conditions = [{"type": "Ready", "status": "False"}]
    conditions += [{"type": "DisruptionTarget", "status": "True"}] if out else []
    return {
        "metadata": metadata,
        "spec": {"nodeName": on},
        "status": {"phase": phase, "conditions": conditions},
    }


def workload(
    name="job-gang", *, counts=(2,), kind="batch/v1/Job", active=None, label=False, **since
):
    """Conditions hold since the moment that is given: Admitted=…."""
    version, _, owner = kind.rpartition("/")
    reference = {"apiVersion": version, "kind": owner, "name": name, "uid": f"uid-{name}"}
    held = since or {"QuotaReserved": ADMITTED, "Admitted": ADMITTED}
    conditions = [
        {"type": k, "status": "True" if v else "False", "lastTransitionTime": v or LATE}
        for k, v in held.items()
    ]
    return {
        "metadata": {
            "name": name,
            "namespace": SPACE,
            "uid": f"uid-of-{name}",
            "resourceVersion": "7",
            "generation": 1,
            "labels": {LABEL: "true"} if label else {},
            "ownerReferences": [reference] if owner else [],
        },
        "spec": {
            "podSets": [{"count": each} for each in counts],
            **({} if active is None else {"active": active}),
        },
        "status": {"conditions": conditions},
    }


@every(
    "raw, why, surely",
    [
        (node(), None, False),
        (node("n0", noticed()), "it has the taint karpenter.sh/disrupted", True),
        (
            node("n0", noticed("aws-node-termination-handler/spot-itn")),
            "it has the taint aws-node-termination-handler/spot-itn",
            True,
        ),
        (
            node("n0", noticed("cloud.google.com/impending-node-termination"), unschedulable=True),
            "it has the taint cloud.google.com/impending-node-termination",
            True,
        ),
        (
            node("n0", noticed("ToBeDeletedByClusterAutoscaler")),
            "it has the taint ToBeDeletedByClusterAutoscaler",
            True,
        ),
        (node("n0", noticed("DeletionCandidateOfClusterAutoscaler")), None, False),
        (node("n0", noticed("karpenter.sh/disrupted-not")), None, False),
        (node("n0", noticed("node.kubernetes.io/not-ready")), None, False),
        (node(going=True), "it is being deleted", True),
        (node(unschedulable=True), "it is being drained", False),
        ({"metadata": {"name": "n0"}, "spec": {}}, None, False),
    ],
)
def test_a_node_goes_by_a_notice_by_its_deletion_or_by_a_drain(raw, why, surely):
    assert termination_of(raw, SETTINGS.taints) == (
        why and Termination("n0", why, is_certain=surely)
    )


def test_a_closed_node_says_since_when_and_what_its_pool_is_called():
    assert termination_of(closed(), SETTINGS.taints, FLAVOR) == Termination(
        "n0", "it is being drained", is_certain=False, flavor=FLAVOR, cordoned_since=ADMITTED
    )
    for raw in (node("n0", noticed()), node(going=True)):
        found = termination_of(raw, SETTINGS.taints, FLAVOR)
        assert found is not None
        assert (found.flavor, found.cordoned_since) == (FLAVOR, "")


@every(
    "raw, surely, lost",
    [
        (pod("p"), True, True),
        (pod("p", phase="Pending"), True, True),
        (pod("p"), False, False),
        (pod("p", out=True, gone=True), False, True),
        # what a kubelet ends when its machine shuts down
        (pod("p", phase="Failed", out=True), False, True),
        (pod("p", phase="Failed"), True, False),
        (pod("p", phase="Succeeded"), True, False),
        ({"metadata": {}, "spec": {}}, True, True),
    ],
)
def test_a_closed_node_keeps_its_pods_until_they_are_put_out(raw, surely, lost):
    assert is_lost(raw, Termination("n0", "", is_certain=surely)) is lost


@every(
    "raw, pods, stops",
    [
        (workload(), [pod("p")], True),
        (workload(counts=(1, 1)), [pod("p")], True),
        (workload(kind="jobset.x-k8s.io/v1alpha2/JobSet"), [pod("p")], True),
        (workload(active=True), [pod("p"), pod("q", since=EARLY)], True),
        # its job makes a single pod again
        (workload(counts=(1,)), [pod("p")], False),
        # pods that nobody makes again
        (workload(kind="v1/Pod"), [pod("p")], False),
        (workload(kind="apps/v1/StatefulSet"), [pod("p")], False),
        (workload(kind="/"), [pod("p")], False),
        # stopped already, waiting, over
        (workload(active=False), [pod("p")], False),
        (workload(QuotaReserved=ADMITTED), [pod("p")], False),
        (workload(Admitted=""), [pod("p")], False),
        (workload(Admitted=ADMITTED, Finished=LATE), [pod("p")], False),
        # it runs again elsewhere, and the old pod takes its time
        (workload(Admitted=LATE), [pod("p", out=True, gone=True)], False),
    ],
)
def test_a_gang_that_runs_is_stopped_once_for_a_part_that_it_loses(raw, pods, stops):
    assert has_lost_any_of(raw, pods, SETTINGS.kinds) is stops


SURE = Termination("n0", "", is_certain=True, flavor=FLAVOR)
SINCE = Termination("n0", "", is_certain=False, flavor=FLAVOR, cordoned_since=LATE)


def lacking(since=LATE, *, why="WaitForRecovery", ready="False", flavor=FLAVOR, **more):
    """A gang that ran whole and does so no more."""
    found = workload(**more)
    condition = {"type": "PodsReady", "status": ready, "reason": why, "lastTransitionTime": since}
    found["status"]["conditions"].append(condition)
    assigned = [{"name": "main", "flavors": {"cpu": flavor, "nvidia.com/gpu": flavor}}]
    found["status"]["admission"] = {"podSetAssignments": [*assigned, {"name": "none"}]}
    return found


@every(
    "raw, node, says",
    [
        (lacking(), SURE, True),
        (lacking(ADMITTED), SURE, True),
        (lacking(), SINCE, True),
        (lacking("2026-11-24T00:22:00Z"), SINCE, True),
        # longer after its node was closed, before it, and who knows when
        (lacking("2026-11-24T00:22:01Z"), SINCE, False),
        (lacking("2026-11-24T00:19:59Z"), SINCE, False),
        (lacking(), Termination("n0", "", is_certain=False, flavor=FLAVOR), False),
        # it starts, it is whole, and what it lacked before it was stopped
        (lacking(why="WaitForStart"), SURE, False),
        (lacking(ready="True", why="Recovered"), SURE, False),
        (lacking(EARLY), SURE, False),
        (workload(), SURE, False),
        # on other nodes
        (lacking(flavor="other"), SURE, False),
        # one pod, stopped already, made by nobody
        (lacking(counts=(1,)), SURE, False),
        (lacking(active=False), SURE, False),
        (lacking(kind="v1/Pod"), SURE, False),
    ],
)
def test_a_gang_whose_pod_was_gone_before_the_look_is_known_by_what_it_lacks(raw, node, says):
    assert has_lost_pod(raw, node, SETTINGS.kinds) is says


def test_of_a_node_that_was_closed_long_ago_nothing_is_asked():
    at = datetime.fromisoformat(LATE)
    assert may_have_lost_pod(SURE, at)
    assert may_have_lost_pod(SINCE, at + timedelta(minutes=10))
    assert not may_have_lost_pod(SINCE, at + timedelta(minutes=10, seconds=1))
    assert not may_have_lost_pod(Termination("n0", "", is_certain=False), at)


@every(
    "raw, again",
    [
        (workload(active=False, QuotaReserved=ADMITTED), False),
        (workload(active=False, QuotaReserved="", Evicted=LATE), True),
        (workload(active=True, QuotaReserved=ADMITTED), None),
        (workload(active=False, Finished=LATE), None),
    ],
)
def test_it_queues_again_when_all_its_pods_were_told_to_end(raw, again):
    assert may_requeue(raw) is again


def test_only_the_version_that_was_judged_is_changed():
    version = {"resourceVersion": "7", "labels": {LABEL: None}}
    assert patch(workload(), LABEL, None, active=None) == {"metadata": version}
    assert patch(workload(), LABEL, None, active=True)["spec"] == {"active": True}


# ── a cluster ─────────────────────────────────────────────────────────────────────────────────────


class Dead(Exception):
    """The program was killed."""


class Cluster:
    """An API server, and a Kueue that stops what is not active at once; kills whoever asks the n-th time."""

    def __init__(self, nodes, pods, workloads, *, dies=0, late=False):
        self.nodes, self.pods = deepcopy(nodes), deepcopy(pods)
        self.workloads = {each["metadata"]["name"]: deepcopy(each) for each in workloads}
        self.events, self.asked, self.fails = {}, [], {}
        self.dies, self.late = dies, late

    def request_json(self, method, path, body=None, kind="", *, accept=""):
        where = urlsplit(path)
        self.asked.append((method, where.path))
        if len(self.asked) == self.dies and not self.late:
            raise Dead
        for (verb, part), status in self.fails.items():
            if verb == method and part in where.path:
                raise RequestRejected(status, "no")
        answer = self._answer(method, where, json.loads(body or "{}"))
        if len(self.asked) == self.dies:
            raise Dead
        return answer

    def _answer(self, method, where, body):
        last = where.path.rpartition("/")[2]
        if method == "POST":
            if body["metadata"]["name"] in self.events:
                raise RequestRejected(409, "exists")
            return self.events.setdefault(body["metadata"]["name"], body)
        if method == "PATCH":
            return self._patched(self.workloads[last], body)
        if last in self.workloads:
            return self.workloads[last]
        if last not in {"nodes", "pods", "workloads"}:
            raise RequestRejected(404, "gone")
        return {"items": self._chosen(last, parse_qs(where.query)) or None, "metadata": {}}

    def _chosen(self, what, query):
        if what == "pods":
            (at,) = query["fieldSelector"]
            return [p for p in self.pods if at == f"spec.nodeName={p['spec']['nodeName']}"]
        found = self.nodes if what == "nodes" else self.workloads.values()
        if "labelSelector" not in query:
            return list(found)
        key, _, value = query["labelSelector"][0].partition("=")
        return [each for each in found if each["metadata"]["labels"].get(key) == value]

    def _patched(self, there, body):
        metadata = there["metadata"]
        if body["metadata"]["resourceVersion"] != metadata["resourceVersion"]:
            raise RequestRejected(409, "changed")
        ((key, value),) = body["metadata"]["labels"].items()
        metadata["labels"] = {key: value} if value else {}
        metadata["generation"] += any(
            there["spec"].get(k) != v for k, v in body.get("spec", {}).items()
        )
        there["spec"] |= body.get("spec", {})
        metadata["resourceVersion"] = str(int(metadata["resourceVersion"]) + 1)
        if body.get("spec", {}).get("active") is False:
            there["status"]["conditions"] = []
            self.pods = [p for p in self.pods if of(p) != metadata["name"]]
        return there

    def states(self):
        return {
            name: (each["spec"].get("active"), each["metadata"]["labels"].get(LABEL))
            for name, each in self.workloads.items()
        }

    def told(self):
        return sorted((e["reason"], e["involvedObject"]["name"]) for e in self.events.values())


def of(pod):
    return pod["metadata"].get("annotations", {}).get(SETTINGS.workload)


def yard(**more):
    """Two gangs, one of them on a node that goes; one that waits again; pods that belong to nobody."""
    nodes = [node("n0", noticed()), node("n1"), node("n2", unschedulable=True)]
    nodes.append(node("other", noticed(), labels={}))
    pods = [
        pod("a-0"), pod("a-1", on="n1"), pod("b-0", "job-b", "n1"), pod("b-1", "job-b", "n2"),
        pod("agent", of=""), pod("c", "job-c", "other"), pod("lost", "job-gone"),
    ]  # fmt: skip
    workloads = [workload(), workload("job-b"), workload("job-c")]
    workloads.append(workload("job-d", active=False, label=True, QuotaReserved=""))
    return Cluster(nodes, pods, workloads, **more)


RUNS, STOPPED, AGAIN = (None, None), (False, "true"), (True, None)


def test_a_gang_on_a_node_that_goes_is_stopped_whole_and_queues_again():
    cluster, lines = yard(), []
    assert reconcile(cluster, SETTINGS, lines.append) == 3
    assert cluster.states() == {"job-gang": AGAIN, "job-b": RUNS, "job-c": RUNS, "job-d": AGAIN}
    assert lines[0] == (
        "vision/job-gang: GangInterrupted: Node n0 is being removed (it has the taint karpenter.sh/disrupted):"
        " all pods are stopped at once, and the job queues again as a whole."
    )
    assert cluster.told() == [
        ("GangInterrupted", "job-gang"),
        ("GangRequeued", "job-d"),
        ("GangRequeued", "job-gang"),
    ]
    (first,) = [e for e in cluster.events.values() if e["reason"] == "GangInterrupted"]
    assert (first["type"], first["involvedObject"]["kind"]) == ("Warning", "Job")
    assert first["message"].startswith("Node n0 is being removed")
    assert reconcile(cluster, SETTINGS, lines.append) == 0


def test_a_gang_whose_pod_has_gone_already_is_stopped_as_well():
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    drained, long_ago = closed(now), closed(EARLY)
    for goes, changed in ((node("n0", noticed()), 2), (drained, 2), (long_ago, 0), (node(), 0)):
        cluster, lines = Cluster([goes], [], [lacking(now), workload("job-b")]), []
        assert reconcile(cluster, SETTINGS, lines.append) == changed
        assert cluster.states() == {"job-gang": AGAIN if changed else RUNS, "job-b": RUNS}
        assert not changed or lines[0].startswith(
            "vision/job-gang: GangInterrupted: Node n0 is being removed"
        )


def test_who_is_killed_at_any_moment_is_followed_by_one_who_ends_it():
    whole = yard()
    reconcile(whole, SETTINGS, print)
    assert len(whole.asked) > 10
    for late in (False, True):
        for moment in range(1, len(whole.asked) + 1):
            cluster = yard(dies=moment, late=late)
            for _ in range(3):
                try:
                    reconcile(cluster, SETTINGS, print)
                except Dead:
                    continue
            assert cluster.states() == whole.states(), (moment, late)
            assert set(cluster.told()) == set(whole.told()), (moment, late)


def test_one_that_keeps_its_quota_waits_and_one_that_is_over_loses_its_label():
    held = workload(active=False, label=True, QuotaReserved=ADMITTED)
    over = workload("job-b", label=True, active=False, Finished=LATE)
    cluster = Cluster([node()], [], [held, over])
    assert reconcile(cluster, SETTINGS, print) == 1
    assert cluster.states() == {"job-gang": STOPPED, "job-b": (False, None)}
    assert [e["message"] for e in cluster.events.values()] == ["Nothing is left to start."]


@every(
    "fails, changed, says",
    [
        # another has changed it meanwhile
        ({("PATCH", "job-gang"): 409}, 1, "vision/job-gang: skipped: 409: no"),
        # what cannot be told is done all the same
        (
            {("POST", "events"): 403},
            3,
            "vision/job-gang: GangInterrupted: Node n0 is being removed",
        ),
        # a namespace that is not ours any more
        ({("GET", "pods"): 403}, 0, "vision: skipped: 403: no"),
        ({("GET", "workloads"): 500}, 0, "vision: skipped: 500: no"),
    ],
)
def test_what_is_refused_of_one_keeps_no_other_from_its_own(fails, changed, says):
    cluster, lines = yard(), []
    cluster.fails = fails
    assert reconcile(cluster, SETTINGS, lines.append) == changed
    assert any(line.startswith(says) for line in lines), lines


def test_what_kueue_has_changed_meanwhile_is_told_once():
    cluster = yard()
    cluster.fails = {("PATCH", "job-gang"): 409}
    reconcile(cluster, SETTINGS, print)
    cluster.fails = {}
    cluster.workloads["job-gang"]["metadata"]["resourceVersion"] = "9"
    for _ in range(2):
        reconcile(cluster, SETTINGS, print)
    assert cluster.states() == {"job-gang": AGAIN, "job-b": RUNS, "job-c": RUNS, "job-d": AGAIN}
    assert cluster.told() == [
        ("GangInterrupted", "job-gang"),
        ("GangRequeued", "job-d"),
        ("GangRequeued", "job-gang"),
    ]


def test_without_nodes_to_be_read_the_look_has_failed():
    cluster = yard()
    cluster.fails = {("GET", "nodes"): 503}
    with pytest.raises(RequestRejected):
        reconcile(cluster, SETTINGS, print)


def test_where_no_node_goes_one_list_of_nodes_and_one_of_each_namespace_are_asked_for():
    cluster = Cluster([node()], [pod("p")], [workload()])
    assert reconcile(cluster, SETTINGS, print) == 0
    assert len(cluster.asked) == 2


# ── the command line ──────────────────────────────────────────────────────────────────────────────


def test_it_looks_as_the_account_of_its_pod(tmp_path, monkeypatch, capsys):
    (tmp_path / "token").write_text("t\n")
    (tmp_path / "settings.json").write_text(told())

    class Server:
        def __init__(self, url, token, authority):
            self.given = (token, authority)

        def close(self):
            """Nothing to close."""

    monkeypatch.setattr(agent, "JsonClient", Server)

    def look(server, settings, say):
        say(str(server.given))
        return 0

    monkeypatch.setattr(command, "reconcile", look)
    words = ["--settings", str(tmp_path / "settings.json"), "--account", str(tmp_path), "--once"]
    assert command.main(words) == 0
    assert str(tmp_path / "ca.crt") in capsys.readouterr().out


@every("text", ["", "[]", "{}", json.dumps({"every_seconds": 1})])
def test_without_settings_it_cannot_begin(text, tmp_path_factory):
    at = tmp_path_factory.mktemp("told") / "settings.json"
    at.write_text(text)
    with pytest.MonkeyPatch.context() as patched:
        patched.delitem(sys.modules, "gpuyard_agents.requeue.__main__")
        patched.setattr(sys, "argv", ["gpuyard_agents.requeue", "--settings", str(at)])
        with pytest.raises(SystemExit) as caught:
            runpy.run_module("gpuyard_agents.requeue", run_name="__main__")
    assert caught.value.code == 2
