"""Scheduled interruptions: on EKS, with Karpenter and on GKE, and the replacements."""

from pathlib import Path
from typing import Any

import pytest
from testbed.plugins.cloud import faults
from testbed.plugins.cloud.account import Account
from testbed.plugins.cloud.inside import eks, gke, scaling
from testbed.plugins.cloud.inside.autoscaler import Autoscaler, Settings
from testbed.plugins.cloud.judging import judged
from testbed.plugins.cloud.motion import event_bus, pace, schedule
from testbed.plugins.cloud.motion.interrupting import IMPENDING
from testbed.plugins.cloud.motion.notices import written
from testbed.plugins.cloud.motion.schedule import Interruption
from testbed.plugins.cloud.shapes import Place

from gpuyard.render.gcp.graph import gcp_graph
from gpuyard_core.catalogue.kubernetes.interruptions import NOTICES as TAINTS
from kit.clouds.aws import graph_of
from kit.clouds.clock import Hand
from kit.stacks import plan_of, platform, pool

AWS = Place("aws", region="us-east-1")
GCP = Place("gcp", region="us-central1", project="my-project")
SPOT = pool(nodes="3..4", zones=["us-east-1a"], capacity=["spot"])
SCALED = pool("fleet", nodes="0..4", scaling="karpenter", zones=["us-east-1a"], capacity=["spot"])
ON_GKE = pool(
    machine="a3-highgpu-8g",
    image="cos-gke",
    nodes="2..4",
    zones=["us-central1-a"],
    capacity=["spot"],
)


def on_aws(folder: Path, *stack: Any) -> tuple[Account, Hand]:
    hand = Hand()
    account = Account(folder, "aws", hand)
    assert judged(graph_of([*stack]), AWS, account) == []
    return account, hand


def on_gcp(folder: Path) -> tuple[Account, Hand]:
    hand = Hand()
    account = Account(folder, "gcp", hand)
    assert judged(gcp_graph(plan_of(platform([ON_GKE], cloud="gcp"))), GCP, account) == []
    return account, hand


def names(server: Any, of: str = "train") -> set[str]:
    return {
        name
        for name, each in server.nodes.items()
        if each["metadata"]["labels"].get("gpuyard.dev/pool") == of
    }


def after(account: Account, hand: Hand, seconds: float) -> None:
    hand.at += seconds
    account.settle()


def told(account: Account) -> list[tuple[str, str]]:
    """Content of the queue: the kind of event and the instance."""
    (queue,) = account.all(event_bus.QUEUE)
    return [
        (each["detail-type"], each["resources"][0].rpartition("/")[2])
        for each in account.receive(queue.id)
    ]


def instance(server: Any, name: str) -> str:
    return str(server.nodes[name]["spec"]["providerID"].rpartition("/")[2])


def pod(name: str, node: str, **more: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "a"},
        "spec": {"nodeName": node, **more},
        "status": {"phase": "Running"},
    }


# ── EKS ───────────────────────────────────────────────────────────────────────────────────────────
def test_a_spot_notice_drains_a_node_of_a_group_and_two_minutes_later_another_comes(folder, server):
    account, hand = on_aws(folder, SPOT, SCALED)
    before = names(server)
    assert len(before) == 3
    schedule.write(folder, [Interruption(40, "train-spot", "spot")], begins=hand.at, seed=6)
    server.pods = [pod("job", "x")]
    after(account, hand, 39)
    assert (told(account), server.evicted) == ([], [])

    after(account, hand, 1)
    (warned,) = [name for name in before if server.nodes[name]["spec"].get("unschedulable")]
    lost = instance(server, warned)
    assert told(account) == [("EC2 Spot Instance Interruption Warning", lost)]
    assert told(account) == []
    assert server.evicted == ["job"]

    after(account, hand, 119)
    assert names(server) == before
    after(account, hand, 1)
    now = names(server)
    assert (len(now), before - now) == (3, {warned})
    assert told(account) == [("EC2 Instance State-change Notification", lost)]
    after(account, hand, 1000)
    assert names(server) == now
    assert told(account) == []


def test_what_comes_in_its_place_takes_its_time_and_the_autoscaler_waits_for_it(folder, server):
    account, hand = on_aws(folder, SPOT)
    pace.write(folder, factor=1)
    schedule.write(folder, [Interruption(0, "train-spot", "spot")], begins=hand.at)
    after(account, hand, 120)
    (group,) = [each for each in account.all(eks.GROUP) if "train" in each.id]
    assert (len(names(server)), account.coming(group.id)) == (2, 1)
    after(account, hand, 270)
    assert (len(names(server)), account.coming(group.id)) == (3, 0)


def test_where_no_machine_is_to_be_had_the_group_stays_without_and_the_others_stay(folder, server):
    account, hand = on_aws(folder, SPOT)
    before = names(server)
    faults.write(folder, {"faults": [{"fault": "capacity", "at": "scale", "name": "train"}]})
    listed = [Interruption(0, "train-spot", "spot"), Interruption(200, "train-spot", "spot")]
    schedule.write(folder, listed, begins=hand.at)
    after(account, hand, 120)
    first = names(server)
    assert first < before
    assert len(first) == 2
    (group,) = [each for each in account.all(eks.GROUP) if "train" in each.id]
    missing, says = account.missing(group.id)
    assert missing == 1
    assert "InsufficientInstanceCapacity" in says
    after(account, hand, 200)
    second = names(server)
    assert second < first
    assert account.missing(group.id)[0] == 2

    faults.write(folder, {"faults": []})
    account.scale(group.id, 3)
    assert second < names(server)
    assert len(names(server)) == 3


@pytest.mark.parametrize(
    ("notice", "kind", "stays"),
    [
        ("rebalance", "EC2 Instance Rebalance Recommendation", True),
        ("health", "AWS Health Event", True),
        ("state", "EC2 Instance State-change Notification", False),
        ("reservation", "EC2 Capacity Reservation Instance Interruption Warning", False),
    ],
)
def test_other_notices_are_sent_and_the_machine_ends_where_it_must(
    folder, server, notice, kind, stays
):
    account, hand = on_aws(folder, SPOT, SCALED)
    before = names(server)
    schedule.write(folder, [Interruption(5, "train-spot", notice)], begins=hand.at)
    after(account, hand, 5)
    assert [each for each, _ in told(account)] == [kind]
    after(account, hand, 120)
    assert (names(server) == before) is stays
    assert len(names(server)) == 3


def test_an_event_that_is_not_taken_is_gone_after_five_minutes(folder, server):
    account, hand = on_aws(folder, SPOT, SCALED)
    listed = [Interruption(0, "train-spot", "rebalance"), Interruption(200, "train-spot", "health")]
    schedule.write(folder, listed, begins=hand.at)
    after(account, hand, 0)
    after(account, hand, 200)
    hand.at += 101
    assert [kind for kind, _ in told(account)] == ["AWS Health Event"]


def test_without_a_queue_eks_drains_its_nodes_all_the_same(folder, server):
    account, hand = on_aws(folder, SPOT)
    schedule.write(folder, [Interruption(0, "train-spot", "spot")], begins=hand.at)
    after(account, hand, 0)
    assert sum(bool(each["spec"].get("unschedulable")) for each in server.nodes.values()) == 1


def test_what_was_bought_on_demand_has_no_spot_notice(folder, server):
    account, hand = on_aws(folder, pool(nodes=2, zones=["us-east-1a"]))
    schedule.write(folder, [Interruption(0, "train-on-demand", "spot")], begins=hand.at)
    with pytest.raises(ValueError, match="is not a spot machine, and gets no notice spot"):
        account.settle()


def test_where_no_node_is_at_that_second_nothing_happens(folder, server):
    account, hand = on_aws(folder, pool(nodes="0..4", zones=["us-east-1a"], capacity=["spot"]))
    schedule.write(folder, [Interruption(0, "train-spot", "spot")], begins=hand.at)
    account.settle()
    (group,) = [each for each in account.all(eks.GROUP) if "train" in each.id]
    account.scale(group.id, 2)
    after(account, hand, 500)
    assert len(names(server)) == 2


def test_seconds_are_shorter_by_the_factor_of_the_schedule(folder, server):
    account, hand = on_aws(folder, SPOT)
    before = names(server)
    schedule.write(folder, [Interruption(100, "train-spot", "spot")], begins=hand.at, factor=0.01)
    after(account, hand, 1)
    assert any(each["spec"].get("unschedulable") for each in server.nodes.values())
    after(account, hand, 1.19)
    assert names(server) == before
    after(account, hand, 0.02)
    assert names(server) != before


def test_a_group_that_is_deleted_meanwhile_loses_nothing(folder, server):
    account, hand = on_aws(folder, SPOT)
    schedule.write(folder, [Interruption(0, "train-spot", "spot")], begins=hand.at)
    account.settle()
    (group,) = [each for each in account.all(eks.GROUP) if "train" in each.id]
    account.delete(eks.GROUP, "x", group.id, group.inputs)
    after(account, hand, 120)
    assert names(server) == set()


def test_a_schedule_goes_on_in_another_process(folder, server):
    account, hand = on_aws(folder, SPOT)
    before = names(server)
    schedule.write(folder, [Interruption(0, "train-spot", "spot")], begins=hand.at)
    account.settle()
    later = Account(folder, "aws", Hand(hand.at + 120))
    later.settle()
    (warned,) = before - names(server)
    assert len(names(server)) == 3
    account.settle()
    assert warned not in names(server)


def test_another_schedule_starts_from_the_beginning(folder, server):
    account, hand = on_aws(folder, SPOT)
    for _ in range(2):
        before = names(server)
        schedule.write(folder, [Interruption(0, "train-spot", "spot")], begins=hand.at)
        account.settle()
        after(account, hand, 120)
        assert len(before - names(server)) == 1


def test_the_cluster_autoscaler_lets_the_schedule_go_on(folder, server):
    account, hand = on_aws(folder, SPOT)
    before = names(server)
    schedule.write(folder, [Interruption(0, "train-spot", "spot")], begins=hand.at)

    class Look:
        def call(self, _method: str, path: str, /) -> dict[str, Any]:
            return {"items": list(server.nodes.values()) if path.endswith("/nodes") else []}

    for _ in range(2):
        scaling.step(account, Look(), Autoscaler(Settings()), hand.at)
        hand.at += 120
    assert names(server) != before


# ── with Karpenter ─────────────────────────────────────────────────────────────────────────────
def test_nodes_of_karpenter_are_known_by_their_pool_and_only_get_an_event(folder, server):
    """Only Karpenter drains such a node; at its end it is gone, without a replacement."""
    account, hand = on_aws(folder, SCALED)
    server.nodes["k1"] = {
        "metadata": {
            "name": "k1",
            "labels": {
                "karpenter.sh/nodepool": "fleet-spot",
                "karpenter.sh/capacity-type": "spot",
                "topology.kubernetes.io/region": "us-east-1",
            },
        },
        "spec": {"providerID": "aws:///us-east-1a/i-0123"},
        "status": {},
    }
    schedule.write(folder, [Interruption(0, "fleet", "spot")], begins=hand.at)
    account.settle()
    assert told(account) == [("EC2 Spot Instance Interruption Warning", "i-0123")]
    assert "unschedulable" not in server.nodes["k1"]["spec"]
    after(account, hand, 120)
    assert "k1" not in server.nodes
    assert told(account) == [("EC2 Instance State-change Notification", "i-0123")]


def test_a_machine_that_its_karpenter_has_let_go_of_is_not_ended_twice(folder, server):
    account, hand = on_aws(folder, SPOT, SCALED)
    schedule.write(folder, [Interruption(0, "train-spot", "spot")], begins=hand.at)
    account.settle()
    assert len(told(account)) == 1
    (warned,) = [n for n in names(server) if server.nodes[n]["spec"].get("unschedulable")]
    del server.nodes[warned]
    after(account, hand, 120)
    assert told(account) == []


# ── GKE ───────────────────────────────────────────────────────────────────────────────────────────
def test_a_preempted_node_is_tainted_ends_pods_after_15_s_and_is_gone_after_30(folder, server):
    account, hand = on_gcp(folder)
    before = names(server)
    schedule.write(folder, [Interruption(10, "train-spot", "preemption")], begins=hand.at, seed=1)
    after(account, hand, 10)
    (warned,) = [
        name
        for name in before
        if any(t["key"] == IMPENDING for t in server.nodes[name]["spec"]["taints"])
    ]
    assert IMPENDING in TAINTS
    assert not server.evicted
    over = {**pod("over", warned), "status": {"phase": "Succeeded"}}
    critical = pod("agent", warned, priorityClassName="system-node-critical")
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    job = pod("job", warned)
    job["status"]["conditions"] = [{"type": "PodScheduled", "status": "True"}, ready]
    server.pods = [job, critical, over]
    after(account, hand, 14)
    assert server.ended == {}
    after(account, hand, 1)
    said = "Pod was terminated in response to imminent node shutdown."
    now = written(hand.at)
    assert server.ended == {
        "job": {
            "phase": "Failed",
            "reason": "Terminated",
            "message": said,
            "conditions": [
                {"type": "PodScheduled", "status": "True"},
                {"type": "Ready", "status": "False", "lastTransitionTime": now},
                {
                    "type": "DisruptionTarget",
                    "status": "True",
                    "reason": "TerminationByKubelet",
                    "message": said,
                    "lastTransitionTime": now,
                },
            ],
        }
    }
    made = server.nodes[warned]
    after(account, hand, 14)
    assert server.nodes[warned] is made
    after(account, hand, 1)
    assert names(server) == before  # a replacement with the same name
    assert server.nodes[warned] is not made
    assert not any(t["key"] == IMPENDING for t in server.nodes[warned]["spec"]["taints"])


def test_on_gke_a_machine_that_is_not_to_be_had_again_is_missing(folder, server):
    account, hand = on_gcp(folder)
    before = names(server)
    faults.write(folder, {"faults": [{"fault": "capacity", "at": "scale", "name": "train"}]})
    schedule.write(folder, [Interruption(0, "train-spot", "preemption")], begins=hand.at)
    after(account, hand, 30)
    assert names(server) < before  # although the pool's minimum is two
    assert len(names(server)) == 1
    (train,) = [each for each in account.all(gke.POOL) if "train" in each.id]
    assert "GCE_STOCKOUT" in account.missing(train.id)[1]
    faults.write(folder, {"faults": []})
    account.scale(train.id, 2)
    assert len(names(server)) == 2


def test_notices_of_one_cloud_are_none_of_the_others(folder, server):
    account, hand = on_gcp(folder)
    schedule.write(folder, [Interruption(0, "train-spot", "spot")], begins=hand.at)
    after(account, hand, 500)
    assert not server.evicted
    assert len(names(server)) == 2


def test_an_account_without_a_control_plane_has_no_node_to_interrupt(tmp_path):
    account = Account(tmp_path, "aws")
    schedule.write(tmp_path, [Interruption(0, "a", "spot")], begins=0)
    account.settle()
    Account(None, "aws").settle()
