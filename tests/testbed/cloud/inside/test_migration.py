"""Pods on a later rule of a class move to an earlier one with nodes, as gpuyard's classes require."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from testbed.plugins.cloud.account import Account
from testbed.plugins.cloud.inside import gke
from testbed.plugins.cloud.inside.autoscaler import Autoscaler, Settings
from testbed.plugins.cloud.inside.classes import pools
from testbed.plugins.cloud.inside.classes.definition import PATH
from testbed.plugins.cloud.inside.joining import GROUP
from testbed.plugins.cloud.inside.rooms import STAYS
from testbed.plugins.cloud.judging import judged
from testbed.plugins.cloud.service import machines
from testbed.plugins.cloud.service.ties import Resource
from testbed.plugins.cloud.shapes import Place

from gpuyard.render.gcp.graph import gcp_graph
from gpuyard.render.gcp.in_cluster.compute_classes import compute_class_objects
from gpuyard_core.names import GPU
from kit.stacks import plan_of, platform, pool

GCP = Place("gcp", region="us-central1", project="my-project")
LADDER = pool(
    machine="a3-megagpu-8g",
    nodes="0..4",
    zones=["us-central1-a"],
    capacity=["spot", "on-demand"],
    failback=True,
)
PLAN = plan_of(platform([LADDER], cloud="gcp"))
SPOT, DEMAND = "train-spot", "train-on-demand"
TOLERATED = ("nvidia.com/gpu", "cloud.google.com/compute-class")
BUDGETS = "/apis/policy/v1/poddisruptionbudgets"


class Server:
    """Pods of an API server, and the nodes of the account's pools."""

    def __init__(self, account: Account, *pods: dict[str, Any]) -> None:
        self.account, self.pods, self.budgets = account, list(pods), list[Any]()
        self.classes = compute_class_objects(PLAN)
        self.counted = "8"
        self.taints: list[dict[str, str]] = []
        self.ready = "True"

    def call(self, _method: str, path: str, /) -> dict[str, Any]:
        if path == "/api/v1/nodes":
            return {"items": self.nodes()}
        held = {PATH: self.classes, "/api/v1/pods": self.pods, BUDGETS: self.budgets}
        return {"items": held[path]}

    def patch(self, path: str, change: dict[str, Any], /) -> None:
        (one,) = [each for each in self.classes if each["metadata"]["name"] in path]
        one.update(change)

    def gpus(self, one: Resource) -> dict[str, str]:
        """The GPUs that its plugin advertises; on nodes of the better option possibly later."""
        count = "8" if one.inputs["name"] == DEMAND else self.counted
        return {GPU: count} if count else {}

    def closed(self, one: Resource) -> list[dict[str, str]]:
        """Taints of the better option's nodes."""
        return [] if one.inputs["name"] == DEMAND else self.taints

    def ready_of(self, one: Resource) -> str:
        """Whether the kubelet of the better option's nodes reports ready."""
        return "True" if one.inputs["name"] == DEMAND else self.ready

    def nodes(self) -> list[dict[str, Any]]:
        held = self.account.all()
        return [
            {
                "metadata": {
                    "name": each.name,
                    "labels": dict(each.labels),
                    "annotations": {GROUP: one.id},
                },
                "spec": {"taints": [*map(dict, each.taints), *self.closed(one)]},
                "status": {
                    "allocatable": {**each.allocatable, **self.gpus(one)},
                    "conditions": [{"type": "Ready", "status": self.ready_of(one)}],
                },
            }
            for one in held
            if one.kind == gke.POOL and str(one.inputs["name"]).startswith("train")
            for each in gke.nodes(one, held)
        ]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The account's book, created once."""
    folder = tmp_path_factory.mktemp("migration")
    assert judged(gcp_graph(PLAN), GCP, Account(folder, "gcp")) == []
    return folder


@pytest.fixture
def account(tmp_path: Path, made: Path) -> Account:
    """A node of the later option runs, and the better one has none yet."""
    shutil.copy(made / "gcp.json", tmp_path)
    account = Account(tmp_path, "gcp")
    account.scale(held(account, DEMAND).id, 1)
    return account


def held(account: Account, name: str) -> Resource:
    (one,) = [each for each in account.all(gke.POOL) if each.inputs["name"] == name]
    return one


def sizes(account: Account) -> dict[str, int]:
    return {name: machines.size_of(held(account, name), account.all()) for name in (SPOT, DEMAND)}


def running(account: Account, number: int = 0, pool: str = DEMAND, **rest: Any) -> dict[str, Any]:
    """A pod with a controller, on a node of the later option."""
    node = gke.nodes(held(account, pool), account.all())[number]
    meta = {
        "namespace": "vision",
        "labels": {"app": "serve"},
        "ownerReferences": [{"kind": "ReplicaSet"}],
    }
    return {
        "metadata": {**meta, **rest},
        "spec": {
            "nodeName": node.name,
            "nodeSelector": {"gpuyard.dev/pool": "train"},
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"resources": {"limits": {GPU: "8"}}}],
        },
        "status": {"phase": "Running"},
    }


def acts(server: Server) -> Autoscaler:
    return Autoscaler(Settings(priorities=pools.order(server)))


def steps(
    account: Account, server: Server, scaler: Autoscaler, *times: float
) -> list[list[tuple[str, int]]]:
    return [
        [(each.group, each.size) for each in pools.step(account, server, scaler, now)]
        for now in times
    ]


def test_the_better_node_comes_first_and_then_the_other_one_goes(account):
    server = Server(account, running(account))
    scaler = acts(server)
    assert steps(account, server, scaler, 0, 10, 20) == [[(SPOT, 1)], [(DEMAND, 0)], []]
    assert sizes(account) == {SPOT: 1, DEMAND: 0}


@pytest.mark.parametrize("counted", ["", "0"])
def test_a_better_node_whose_gpus_are_not_counted_yet_is_waited_for(account, counted):
    server = Server(account, running(account))
    server.counted = counted
    scaler = acts(server)
    assert steps(account, server, scaler, 0, 10, 20) == [[(SPOT, 1)], [], []]
    server.counted = "8"
    assert steps(account, server, scaler, 30) == [[(DEMAND, 0)]]


@pytest.mark.parametrize(
    "words",
    [
        {"ready": "Unknown"},
        {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]},
    ],
    ids=["kubelet", "taint"],
)
def test_a_better_node_that_is_not_ready_yet_is_waited_for(account, words):
    pod = running(account)
    pod["spec"]["tolerations"] = [{"key": key, "operator": "Exists"} for key in TOLERATED]
    server = Server(account, pod)
    vars(server).update(words)
    scaler = acts(server)
    assert steps(account, server, scaler, 0, 10, 20) == [[(SPOT, 1)], [], []]
    vars(server).update(ready="True", taints=[])
    assert steps(account, server, scaler, 30) == [[(DEMAND, 0)]]


def test_a_pod_that_waits_has_room_on_a_node_whose_gpus_are_not_counted_yet(account):
    waits = running(account)
    waits["status"] = {"conditions": [{"type": "PodScheduled", "reason": "Unschedulable"}]}
    del waits["spec"]["nodeName"]
    account.scale(held(account, DEMAND).id, 0)
    server = Server(account, waits)
    server.counted = ""
    assert steps(account, server, acts(server), 0, 10, 20) == [[(SPOT, 1)], [], []]


def test_what_runs_by_the_first_rule_stays(account):
    account.scale(held(account, DEMAND).id, 0)
    account.scale(held(account, SPOT).id, 2)
    server = Server(account, running(account, pool=SPOT))
    assert steps(account, server, acts(server), 0) == [[]]


def test_nothing_moves_where_no_class_says_so(account):
    server = Server(account, running(account))
    for each in server.classes:
        each["spec"]["activeMigration"] = {"optimizeRulePriority": False}
    assert steps(account, server, acts(server), 0, 10) == [[], []]


def test_a_better_option_without_machines_is_reset_and_backed_off(account):
    assert account.folder
    fault = {"fault": "capacity", "at": "scale", "name": SPOT, "times": 1}
    (account.folder / "faults.json").write_text(json.dumps({"faults": [fault]}))
    server = Server(account, running(account))
    scaler = acts(server)
    assert steps(account, server, scaler, 0, 10, 20, 300) == [[(SPOT, 1)], [(SPOT, 0)], [], []]
    assert sizes(account) == {SPOT: 0, DEMAND: 1}
    assert steps(account, server, scaler, 320) == [[(SPOT, 1)]]


@pytest.mark.parametrize(
    "rest",
    [{"annotations": {STAYS: "false"}}, {"ownerReferences": []}],
    ids=["says so", "nobody makes it again"],
)
def test_a_pod_that_blocks_keeps_its_node(account, rest):
    server = Server(account, running(account, **rest))
    assert steps(account, server, acts(server), 0) == [[]]


@pytest.mark.parametrize(
    ("budget", "moved"),
    [
        ({"status": {"disruptionsAllowed": 0}}, False),
        ({}, False),
        ({"status": {"disruptionsAllowed": 1}}, True),
        ({"spec": {"selector": {"matchLabels": {"app": "other"}}}}, True),
        ({"metadata": {"namespace": "nlp"}}, True),
    ],
    ids=str,
)
def test_a_budget_that_lets_none_go_keeps_the_node(account, budget, moved):
    server = Server(account, running(account))
    selector = {"spec": {"selector": {"matchLabels": {"app": "serve"}}}}
    server.budgets = [{"metadata": {"namespace": "vision"}, **selector, **budget}]
    assert steps(account, server, acts(server), 0) == [[(SPOT, 1)] if moved else []]


def test_what_runs_on_every_node_and_what_is_over_moves_nowhere(account):
    daemon = running(account, ownerReferences=[{"kind": "DaemonSet"}])
    over = {**running(account), "status": {"phase": "Succeeded"}}
    server = Server(account, daemon, over)
    assert steps(account, server, acts(server), 0) == [[]]


def test_the_least_of_a_pool_stays(account):
    one = held(account, DEMAND)
    account.meddle(
        gke.POOL, one.id, {"autoscaling": {**one.inputs["autoscaling"], "totalMinNodeCount": 1}}
    )
    server = Server(account, running(account))
    assert steps(account, server, acts(server), 0) == [[]]


def test_pods_that_wait_come_first(account):
    account.scale(held(account, DEMAND).id, 1)
    pod = running(account)
    waits = {
        **running(account),
        "status": {"conditions": [{"type": "PodScheduled", "reason": "Unschedulable"}]},
    }
    waits["spec"] = {key: value for key, value in waits["spec"].items() if key != "nodeName"}
    server = Server(account, pod, waits)
    scaler = acts(server)
    assert steps(account, server, scaler, 0) == [[(SPOT, 1)]]
    waits["spec"]["nodeName"] = gke.nodes(held(account, SPOT), account.all())[0].name
    assert steps(account, server, scaler, 10) == [[(SPOT, 2)]]


def test_of_several_nodes_one_goes_at_a_time_and_the_last_first(account):
    account.scale(held(account, DEMAND).id, 2)
    server = Server(account, running(account, 0), running(account, 1))
    scaler = acts(server)
    assert steps(account, server, scaler, 0, 10) == [[(SPOT, 1)], [(DEMAND, 1)]]
    server.pods[1]["spec"]["nodeName"] = gke.nodes(held(account, SPOT), account.all())[0].name
    assert steps(account, server, scaler, 20, 30) == [[(SPOT, 2)], [(DEMAND, 0)]]


def test_nodes_that_match_no_rule_are_left_for_any(account):
    server = Server(account, running(account))
    (one,) = server.classes
    one["spec"]["priorities"] = [{"nodepools": [SPOT, "elsewhere"]}]
    assert steps(account, server, acts(server), 0) == [[(SPOT, 1)]]
