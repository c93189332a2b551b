"""Nodes that join with a delay: the catalogue's times, scaled by the pace of the test bed."""

import json
from pathlib import Path
from typing import Any

import pytest
from testbed.plugins.cloud.account import Account
from testbed.plugins.cloud.inside import eks, gke, scaling
from testbed.plugins.cloud.inside.autoscaler import Autoscaler, Settings
from testbed.plugins.cloud.inside.classes import pools
from testbed.plugins.cloud.inside.node import Node
from testbed.plugins.cloud.judging import judged
from testbed.plugins.cloud.motion import pace
from testbed.plugins.cloud.motion.pace import Pace
from testbed.plugins.cloud.shapes import Place

from gpuyard.render.gcp.graph import gcp_graph
from gpuyard_core.catalogue.cluster.times import GB_PULLED, startup_durations
from gpuyard_core.catalogue.software.images import ComponentOwner
from gpuyard_core.names import EFA, GPU
from gpuyard_simulate.agents.cloud_node import GPUS_FROM
from kit.clouds.api_server import waiting
from kit.clouds.aws import graph_of
from kit.clouds.clock import Hand
from kit.every import every
from kit.stacks import plan_of, platform, pool

AWS = Place("aws", region="us-east-1")
GCP = Place("gcp", region="us-central1", project="my-project")
EMPTY = pool(nodes="0..4", zones=["us-east-1a"])


def node(name: str, where: str, gpus: int, *, driver: bool = True) -> Node:
    return Node(
        name=name,
        group="g",
        provider_id=f"{where}:///zone/{name}",
        labels={},
        taints=(),
        capacity={},
        allocatable={},
        driver=driver,
        gpus=gpus,
    )


def test_without_a_file_all_is_there_at_once_and_a_wrong_one_is_an_error(tmp_path):
    assert pace.read(None) == pace.read(tmp_path) == Pace()
    assert pace.takes(node("a", "aws", 8), Pace()) == pace.Takes()
    pace.write(tmp_path, factor=0.5, pulls_gb=3)
    assert pace.read(tmp_path) == Pace(0.5, 3)
    for wrong, said in (({"speed": 1}, "allowed are"), ({"factor": -1}, "must not be negative")):
        (tmp_path / "pace.json").write_text(json.dumps(wrong))
        with pytest.raises(ValueError, match=said):
            pace.read(tmp_path)


def test_the_default_clock_is_the_machines():
    clock = pace.Clock()
    before = clock.now()
    clock.sleep(0.001)
    assert clock.now() > before


@every(
    ("where", "cloud", "gpus", "brings", "owner"),
    [
        ("aws", "aws", 0, True, None),
        ("aws", "aws", 8, True, ComponentOwner.IMAGE),
        ("aws", "aws", 8, False, ComponentOwner.OPERATOR),
        ("gce", "gcp", 8, True, ComponentOwner.GKE),
        ("gce", "gcp", 1, False, ComponentOwner.DAEMONSET),
    ],
)
def test_a_node_takes_what_the_catalogue_says_of_its_cloud_machine_and_driver(
    where, cloud, gpus, brings, owner
):
    """Each node has its own time within the range, always the same."""
    steps = startup_durations(cloud, gpus, owner)
    found = [pace.takes(node(f"n{n}", where, gpus, driver=brings), Pace(0.1)) for n in range(50)]
    assert len(set(found)) == 50
    assert all(steps[0].least <= each.joins * 10 <= steps[0].most for each in found)
    if owner is None:
        assert {each.counted for each in found} == {0}
    else:
        assert all(steps[1].least <= each.counted * 10 <= steps[1].most for each in found)
    again = pace.takes(node("n7", where, gpus, driver=brings), Pace(0.1))
    assert again == found[7]


def test_what_a_node_pulls_is_put_on_top_for_each_gb_and_only_where_gpus_wait():
    slim, fat = (pace.takes(node("a", "aws", 8), Pace(1, gb)) for gb in (0, 20))
    assert slim.joins == fat.joins
    assert 20 * GB_PULLED.least <= fat.counted - slim.counted <= 20 * GB_PULLED.most
    assert pace.takes(node("a", "aws", 0), Pace(1, 20)).counted == 0


# ── an account at this pace ───────────────────────────────────────────────────────────────────────
def made(folder: Path, factor: float, *stack: Any) -> tuple[Account, Hand]:
    hand = Hand()
    account = Account(folder, "aws", hand)
    pace.write(folder, factor=factor)
    assert judged(graph_of([*stack]), AWS, account) == []
    return account, hand


def trains(server: Any) -> list[dict[str, Any]]:
    named = [each["metadata"]["labels"].get("gpuyard.dev/pool") for each in server.nodes.values()]
    return [e for e, of in zip(server.nodes.values(), named, strict=True) if of == "train"]


def test_who_makes_a_group_waits_until_its_nodes_have_joined(folder, server):
    account, hand = made(folder, 0.01, pool(nodes=2, zones=["us-east-1a"]))
    assert len(trains(server)) == 2
    assert 0.7 < sum(hand.slept) < 2 * 2.7
    assert not any(account.coming(each.id) for each in account.all(eks.GROUP))
    for each in trains(server):  # ready, and the driver is ready later
        answers = float(each["metadata"]["annotations"][GPUS_FROM])
        assert answers - hand.at <= 1.22
    plain = [e for e in server.nodes.values() if e not in trains(server)]
    assert plain
    assert not any(GPUS_FROM in each["metadata"]["annotations"] for each in plain)


def test_without_a_pace_nothing_waits_and_no_driver_is_late(folder, server):
    account, hand = made(folder, 0, pool(nodes=2, zones=["us-east-1a"]))
    account.settle()
    assert hand.slept == []
    assert not any(GPUS_FROM in e["metadata"]["annotations"] for e in server.nodes.values())


def test_an_autoscaler_counts_what_is_on_its_way_and_gives_up_what_never_comes(folder, server):
    """It scales once. Nodes join when they are due, and count as coming until their GPUs are advertised."""
    account, hand = made(folder, 0, EMPTY)
    pace.write(folder, factor=1)
    api = Look(server, waiting(**{GPU: "8", EFA: "32"}))
    scaler = Autoscaler(Settings(initial_node_group_backoff_duration=10_000))
    (grown,) = scaling.step(account, api, scaler, hand.at)
    (group,) = [each for each in account.all(eks.GROUP) if "train" in each.id]
    assert (grown.size, trains(server), account.coming(group.id)) == (1, [], 1)
    hand.at += 69
    assert (scaling.step(account, api, scaler, hand.at), trains(server)) == ([], [])
    hand.at += 270 - 69
    assert scaling.step(account, api, scaler, hand.at) == []
    (there,) = trains(server)
    assert account.coming(group.id) == 0
    assert "nvidia.com/gpu" not in there["status"]["allocatable"]
    assert (
        scaling.step(account, api, scaler, hand.at + 5) == []
    )  # it is starting, and counts as coming


def test_a_group_whose_nodes_take_longer_than_the_autoscaler_waits_is_set_back(folder, server):
    account, hand = made(folder, 0, EMPTY)
    pace.write(folder, factor=20)
    api = Look(server, waiting(**{GPU: "8", EFA: "32"}))
    scaler = Autoscaler(Settings())
    scaling.step(account, api, scaler, hand.at)
    hand.at += 901
    (back,) = scaling.step(account, api, scaler, hand.at)
    assert (back.size, back.why) == (0, "no node came in 901 s")
    hand.at += 20 * 270
    account.settle()
    assert trains(server) == []


def test_what_is_not_wanted_any_more_before_it_came_never_comes(folder, server):
    account, hand = made(folder, 0, EMPTY)
    pace.write(folder, factor=1)
    (group,) = [each for each in account.all(eks.GROUP) if "train" in each.id]
    account.scale(group.id, 2)
    account.scale(group.id, 0)
    hand.at += 1000
    account.settle()
    assert trains(server) == []
    account.scale(group.id, 1)
    assert (trains(server), account.coming(group.id)) == ([], 1)  # requested again


def test_the_clock_of_an_account_goes_on_in_another_process(folder, server):
    account, hand = made(folder, 0, EMPTY)
    pace.write(folder, factor=1)
    (group,) = [each for each in account.all(eks.GROUP) if "train" in each.id]
    account.scale(group.id, 1)
    Account(folder, "aws", Hand(hand.at + 270)).settle()
    assert len(trains(server)) == 1


def test_gkes_autoscaler_waits_for_nodes_on_their_way_as_well(folder, server):
    scaled = pool(machine="a3-highgpu-8g", image="cos-gke", nodes="0..4", zones=["us-central1-a"])
    hand = Hand()
    account = Account(folder, "gcp", hand)
    assert judged(gcp_graph(plan_of(platform([scaled], cloud="gcp"))), GCP, account) == []
    pace.write(folder, factor=1)
    (train,) = [each for each in account.all(gke.POOL) if "train" in each.id]
    account.scale(train.id, 1)
    assert (account.coming(train.id), trains(server)) == (1, [])
    api = Look(server)
    assert pools.step(account, api, Autoscaler(Settings()), hand.at) == []
    hand.at += 270
    assert pools.step(account, api, Autoscaler(Settings()), hand.at) == []
    assert (account.coming(train.id), len(trains(server))) == (0, 1)


class Look:
    """The API of an autoscaler: the nodes of the account's server, and separate pods."""

    def __init__(self, server: Any, *pods: dict[str, Any]) -> None:
        self._server, self._pods = server, list(pods)

    def call(self, _method: str, path: str, /) -> dict[str, Any]:
        if path.endswith("/nodes"):
            return {"items": list(self._server.nodes.values())}
        return {"items": self._pods if path.endswith("/pods") else []}

    def patch(self, _path: str, _change: dict[str, Any], /) -> None:
        raise AssertionError
