"""gpuyard's node groups as Cluster Autoscaler sees them, and capacity options of which the first has no machines."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from testbed.plugins.cloud.account import Account
from testbed.plugins.cloud.inside import eks, scaling
from testbed.plugins.cloud.inside.autoscaler import Autoscaler, Settings
from testbed.plugins.cloud.inside.joining import GROUP
from testbed.plugins.cloud.judging import judged
from testbed.plugins.cloud.shapes import Place

from gpuyard.render.scaling.keep_warm import keep_warm_objects
from gpuyard_core.names import EFA, GATE_TAINT, GPU
from gpuyard_simulate.api import ApiError
from kit.clouds.api_server import waiting
from kit.clouds.aws import graph_of
from kit.stacks import plan_of, platform, pool

AWS = Place("aws", region="us-east-1")
LADDER = pool(nodes="0..4", zones=["us-east-1a"], capacity=["spot", "on-demand"])
RUNGS = "100: [train-spot]\n90: [train-on-demand]\n"


class Server:
    """Pending pods, nodes, and the configuration of the priority expander."""

    def __init__(self, *pods: dict[str, Any], told: str | int = RUNGS) -> None:
        self.pods, self.nodes, self.told = list(pods), list[Any](), told

    def call(self, _method: str, path: str, /) -> dict[str, Any]:
        if "configmaps" in path:
            if isinstance(self.told, int):
                raise ApiError(self.told, "no")
            return {"data": {"priorities": self.told}}
        return {"items": self.pods if path.endswith("pods") else self.nodes}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The account's book, created once: a persistent one is written at each change."""
    folder = tmp_path_factory.mktemp("ladder")
    assert judged(graph_of([LADDER]), AWS, Account(folder, "aws")) == []
    return folder


@pytest.fixture
def account(tmp_path: Path, made: Path) -> Account:
    shutil.copy(made / "aws.json", tmp_path)
    fault = {"fault": "capacity", "at": "scale", "name": "spot", "times": 1}
    (tmp_path / "faults.json").write_text(json.dumps({"faults": [fault]}))
    return Account(tmp_path, "aws")


def sizes(account: Account) -> dict[str, int]:
    return {
        each.id.rpartition(":")[2]: each.state["scalingConfig"]["desiredSize"]
        for each in account.all(eks.GROUP)
        if "train" in each.id
    }


def test_a_spot_option_without_machines_falls_back_to_the_next(account):
    """From zero: the autoscaler knows only the machine and the tags that gpuyard writes."""
    server = Server(waiting(**{GPU: "8", EFA: "32", "cpu": "64"}))
    scaler = Autoscaler(Settings(priorities=scaling.priorities(server)))
    assert set(sizes(account).values()) == {0}

    (grown,) = scaling.step(account, server, scaler, 0)
    assert "train-spot" in grown.group
    (spot, demand) = sorted(
        (each for each in account.all(eks.GROUP) if "train" in each.id),
        key=lambda e: "demand" in e.id,
    )
    missing, says = account.missing(spot.id)
    assert missing == 1
    assert "InsufficientInstanceCapacity" in says
    assert "p5.48xlarge" in says

    back, taken = scaling.step(account, server, scaler, 10)
    assert (back.group, back.size, back.why) == (grown.group, 0, says)
    assert "train-on-demand" in taken.group
    assert account.missing(spot.id) == account.missing(demand.id) == (0, "")
    assert {name[-6:]: size for name, size in sizes(account).items()} == {"n-spot": 0, "demand": 1}
    assert scaler.left_alone(grown.group, 300)


def test_a_group_that_has_nodes_is_known_by_one_of_them(account):
    server = Server(waiting(mine="1"))
    scaler = Autoscaler(Settings())
    assert scaling.step(account, server, scaler, 0) == []
    demand = next(each for each in account.all(eks.GROUP) if "demand" in each.id)
    server.nodes.append(
        {
            "metadata": {
                "name": "one",
                "annotations": {GROUP: demand.id},
                "labels": {"gpuyard.dev/pool": "train"},
            },
            "spec": {"taints": [{"key": GATE_TAINT, "effect": "NoSchedule"}]},
            "status": {"allocatable": {"mine": "1", "cpu": "1", "pods": "9"}},
        }
    )
    assert scaling.step(account, server, scaler, 10) == []  # it only waits for its check
    held = waiting(mine="1")
    server.pods.append({**held, "spec": {**held["spec"], "nodeName": "one"}})
    (grown,) = scaling.step(account, server, scaler, 20)
    assert "on-demand" in grown.group
    server.pods[-1]["status"] = {"phase": "Succeeded"}
    server.pods.append({**held, "spec": {**held["spec"], "nodeName": "elsewhere"}})
    assert scaling.step(account, server, Autoscaler(Settings()), 30) == []


@pytest.mark.parametrize(
    "lost", ["taint/", "label/gpuyard.dev/pool", f"resources/{EFA}", f"resources/{GPU}"]
)
def test_a_tag_that_is_lost_or_wrong_is_seen_at_zero(account, lost):
    """Without the pool's label or the number of EFA no node starts; the machine type has its GPUs."""
    for each in account.all("aws:autoscaling/tag:Tag"):
        if lost in each.inputs["tag"]["key"]:
            account.meddle(each.kind, each.id, None)
    pod = waiting(**{GPU: "8", EFA: "32"})
    pod["spec"]["tolerations"] = [] if lost == "taint/" else pod["spec"]["tolerations"]
    said = scaling.step(account, Server(pod), Autoscaler(Settings()), 0)
    starts = lost in {"taint/", f"resources/{GPU}"}
    assert bool(said) == starts


def test_the_expander_needs_no_configuration_and_another_error_is_raised():
    assert scaling.priorities(Server(told=404)) == {}
    with pytest.raises(ApiError):
        scaling.priorities(Server(told=403))


def test_a_group_goes_when_nothing_but_what_is_on_every_node_is_left_on_it(account):
    """A finished job keeps no node; the group goes to its minimum at the cloud."""
    demand = next(each for each in account.all(eks.GROUP) if "demand" in each.id)
    account.scale(demand.id, 2)
    job = {**waiting(mine="1"), "metadata": {"ownerReferences": [{"kind": "Job"}]}}
    job["spec"]["nodeName"] = "two"
    daemon = {**job, "metadata": {"ownerReferences": [{"kind": "DaemonSet"}]}}
    server = Server(job, daemon)
    server.nodes = [
        {
            "metadata": {"name": name, "annotations": {GROUP: demand.id}, "labels": {}},
            "spec": {},
            "status": {"allocatable": {"mine": "1"}},
        }
        for name in ("one", "two")
    ]
    scaler = Autoscaler(Settings())
    assert [scaling.step(account, server, scaler, now) for now in (0, 900)] == [[], []]
    server.pods[0] = {**job, "status": {"phase": "Succeeded"}}
    assert scaling.step(account, server, scaler, 1000) == []
    (gone,) = scaling.step(account, server, scaler, 1600)
    assert ("on-demand" in gone.group, gone.size) == (True, 0)
    assert sizes(account)[demand.id.rpartition(":")[2]] == 0


def _keeping(count: int) -> list[dict[str, Any]]:
    """The pods of a keep-warm window, as pending pods of the API server."""
    window = {"cron": "0 7 * * 1-5", "hours": 10, "nodes": count}
    (cron,) = keep_warm_objects(plan_of(platform([{**LADDER, "keep_warm": [window]}], cloud="aws")))
    template = cron["spec"]["jobTemplate"]["spec"]["template"]
    metadata = {"namespace": "gpuyard-lab", **template["metadata"]}
    status = waiting()["status"]
    return [{"metadata": metadata, "spec": template["spec"], "status": status}] * count


def test_a_window_has_a_node_for_each_of_its_pods_and_they_keep_it(account):
    """Without requests: all of them would fit on one node, and none would keep its own."""
    (account.folder / "faults.json").unlink()
    server = Server(*_keeping(3))
    scaler = Autoscaler(Settings(priorities=scaling.priorities(server)))
    (grown,) = scaling.step(account, server, scaler, 0)
    assert ("train-spot" in grown.group, grown.size) == (True, 3)
    spot = next(each for each in account.all(eks.GROUP) if "spot" in each.id)
    labels = {"gpuyard.dev/pool": "train"}
    server.nodes = [
        {
            "metadata": {"name": f"n{each}", "annotations": {GROUP: spot.id}, "labels": labels},
            "spec": {"taints": []},
            "status": {"allocatable": {"cpu": "9", GPU: "8", "pods": "9"}},
        }
        for each in range(3)
    ]
    for number, each in enumerate(server.pods):
        server.pods[number] = {**each, "spec": {**each["spec"], "nodeName": f"n{number}"}}
    # a gang of two uses two of them, and no fourth starts
    server.pods += [waiting(**{GPU: "8"})] * 2
    assert [scaling.step(account, server, scaler, now) for now in (20, 2000)] == [[], []]
    server.pods.clear()
    assert scaling.step(account, server, scaler, 2020) == []
    (gone,) = scaling.step(account, server, scaler, 2620)
    assert gone.size == 0
