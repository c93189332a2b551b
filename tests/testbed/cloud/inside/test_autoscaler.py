"""The stand-in of Cluster Autoscaler: which group grows, and what happens when nodes do not join."""

from typing import Any

from testbed.plugins.cloud.inside.autoscaler import Autoscaler, Resize, Scalable, Settings

SPOT, DEMAND = "eks-train-spot-1", "eks-train-on-demand-1"
RUNGS = {100: ["^eks-train-spot-"], 90: ["^eks-train-on-demand-"]}


def group(name: str, target: int = 0, running: int | None = None, **more: Any) -> Scalable:
    node = {
        "metadata": {"labels": {"pool": more.pop("pool", "train")}},
        "spec": {"taints": [{"key": "gpu", "value": "present", "effect": "NoSchedule"}]},
        "status": {"allocatable": {"cpu": more.pop("cpu", "8"), "gpu": "8", "pods": "100"}},
    }
    least = target if running is None else running
    return Scalable(name, more.pop("most", 4), target, least, node, **more)


def pod(
    gpus: int = 8, *, tolerates: bool = True, waits: bool = True, **spec: Any
) -> dict[str, Any]:
    reason = "Unschedulable" if waits else "SchedulingGated"
    return {
        "spec": {
            "nodeSelector": {"pool": "train"},
            "tolerations": [{"key": "gpu", "operator": "Exists"}] if tolerates else [],
            "containers": [{"resources": {"requests": {"gpu": str(gpus)}}}],
            **spec,
        },
        "status": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": reason}]},
    }


def scaler(**settings: Any) -> Autoscaler:
    return Autoscaler(Settings(**{"priorities": RUNGS, **settings}))


def test_the_first_option_grows_by_as_many_nodes_as_the_pods_need_and_may_have():
    both = [group(DEMAND), group(SPOT)]
    for pods, size in (([pod()] * 2, 2), ([pod(4)] * 3, 2), ([pod()] * 9, 4)):
        (grown,) = scaler().look(both, pods, 0)
        assert (grown.group, grown.size) == (SPOT, size)
    assert scaler().look([group(SPOT, 4), group(DEMAND)], [pod()], 0)[0].group == DEMAND


def test_a_pod_that_no_node_would_take_and_one_that_does_not_wait_start_none():
    for each in (
        pod(tolerates=False),
        pod(16),
        pod(nodeSelector={"pool": "other"}),
        pod(waits=False),
        pod(nodeName="here"),
        {"spec": {}},
    ):
        assert scaler().look([group(SPOT), group(DEMAND)], [each], 0) == []


def test_nodes_on_their_way_are_room():
    assert scaler().look([group(SPOT, 1, 0), group(DEMAND)], [pod()], 0) == []
    (grown,) = scaler().look([group(SPOT, 1, 0), group(DEMAND)], [pod()] * 2, 0)
    assert (grown.group, grown.size) == (SPOT, 2)


def test_an_option_without_machines_is_reset_and_the_next_is_used():
    one = scaler()
    assert one.look([group(SPOT), group(DEMAND)], [pod()], 0)[0].group == SPOT
    failed = group(SPOT, 1, 0, error="InsufficientInstanceCapacity")
    said = one.look([failed, group(DEMAND)], [pod()], 10)
    assert said == [
        Resize(SPOT, 0, "InsufficientInstanceCapacity"),
        Resize(DEMAND, 1, "1 for pods that wait"),
    ]
    assert one.left_alone(SPOT, 309)
    assert not one.left_alone(SPOT, 310)
    assert not one.left_alone(DEMAND, 10)
    assert one.look([group(SPOT), group(DEMAND, 1)], [], 20) == []


def test_an_option_whose_nodes_do_not_join_without_a_reason_is_waited_for():
    one = scaler(max_node_provision_time=900)
    one.look([group(SPOT), group(DEMAND)], [pod()], 0)
    slow = [group(SPOT, 1, 0), group(DEMAND)]
    for now in (10, 899):
        assert one.look(slow, [pod()], now) == []
    said = one.look(slow, [pod()], 900)
    assert [each.group for each in said] == [SPOT, DEMAND]
    assert said[0].why == "no node came in 900 s"


def test_each_time_after_the_first_it_is_left_alone_for_twice_as_long_and_forgotten_at_last():
    one = scaler(
        initial_node_group_backoff_duration=10,
        max_node_group_backoff_duration=35,
        node_group_backoff_reset_timeout=100,
    )
    failed, now = [group(SPOT, 1, 0, error="no")], 0.0
    for seconds in (10, 20, 35, 35):
        one.look(failed, [], now)
        assert one.left_alone(SPOT, now + seconds - 1)
        assert not one.left_alone(SPOT, now + seconds)
        now += seconds + 1
    one.look(failed, [], now + 100)
    assert not one.left_alone(SPOT, now + 100 + 10)
    again = scaler(initial_node_group_backoff_duration=10)
    again.look(failed, [], 0)
    again.look(failed, [], 5)  # it is still backed off: that counts once
    assert not again.left_alone(SPOT, 15)


def test_without_priorities_it_is_the_least_waste_and_equals_by_chance():
    big = group("big", cpu="96")
    for seed in range(4):
        one = Autoscaler(Settings(), seed)
        assert one.look([big, group("small")], [pod()], 0)[0].group == "small"
    taken = {
        Autoscaler(Settings(), seed).look([group(SPOT), group(DEMAND)], [pod()], 0)[0].group
        for seed in range(8)
    }
    assert taken == {SPOT, DEMAND}


def test_a_group_of_no_pattern_is_taken_only_where_none_has_one():
    other = group("eks-other-1")
    assert scaler().look([other, group(DEMAND)], [pod()], 0)[0].group == DEMAND
    assert scaler().look([other], [pod()], 0)[0].group == "eks-other-1"


# ── down ──────────────────────────────────────────────────────────────────────────────────────────
IDLE = {"idle": True, "least": 1}


def test_a_group_that_nothing_needs_goes_to_its_least_after_ten_minutes_in_one_piece():
    idle, used = group(SPOT, target=3, **IDLE), group(SPOT, target=3, least=1)
    found = scaler()
    assert found.look([idle], [], 0) == found.look([idle], [], 599) == []
    (gone,) = found.look([idle], [], 600)
    assert gone == Resize(SPOT, 1, "no pod on its nodes has requests")
    found = scaler(scale_down_unneeded_time=60)
    for now, each in ((0, idle), (50, used), (70, idle), (120, idle)):
        assert found.look([each], [], now) == [], now
    assert [each.size for each in found.look([idle], [], 130)] == [1]


def test_what_is_coming_small_or_has_just_been_asked_for_stays():
    for stays in (
        group(SPOT, target=1, **IDLE),  # already at its minimum
        group(SPOT, target=3, running=2, **IDLE),  # nodes are on their way
    ):
        found = scaler()
        assert found.look([stays], [], 0) == found.look([stays], [], 700) == []
    found, idle = scaler(), group(SPOT, target=1, idle=True)
    assert found.look([idle], [], 0) == []
    (grown,) = found.look([idle], [pod(), pod()], 700)
    assert (grown.group, grown.size) == (SPOT, 3)
