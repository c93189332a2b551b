"""Scaling policies: limits, thresholds, stabilisation and warm nodes."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuyard.spec.sections import KeepWarmWindow
from gpuyard_advisor.replay.scaling import (
    SCALING_POLICIES,
    WEEK_SECONDS,
    NodeAutoscalerPolicy,
    PoolObservation,
    ThresholdPolicy,
    Thresholds,
    WarmNodes,
    WarmPolicy,
    recommend_nodes,
)
from kit.searches import examples

POLICIES = {**SCALING_POLICIES, "stack": NodeAutoscalerPolicy}


def seen(at: float = 0.0, **given) -> PoolObservation:
    values = {
        "pool": "train",
        "nodes": 2,
        "booting": 0,
        "min_nodes": 0,
        "max_nodes": 10,
        "needed_nodes": 2,
        "pending_jobs": 0,
        "oldest_wait_seconds": 0.0,
        "utilisation": 0.5,
    }
    return PoolObservation(seconds=at, **values | given)


@st.composite
def observations(draw, at: float = 0.0):
    low = draw(st.integers(0, 5))
    pending = draw(st.integers(0, 30))
    nodes = draw(st.integers(0, 20))
    return seen(
        at,
        nodes=nodes,
        booting=draw(st.integers(0, 5)),
        min_nodes=low,
        max_nodes=low + draw(st.integers(0, 15)),
        needed_nodes=draw(st.integers(0, 40)),
        pending_jobs=pending,
        oldest_wait_seconds=draw(st.floats(0, 4000)) if pending else 0.0,
        utilisation=draw(st.floats(0, 1)) if nodes else 0.0,
    )


@pytest.mark.parametrize("name", POLICIES)
@given(st.data())
@settings(max_examples=examples(25))
def test_a_policy_stays_within_the_limits_of_the_pool(name, data):
    policy = POLICIES[name]()
    at = 0.0
    for _ in range(12):
        at += data.draw(st.floats(0, 500))
        one = data.draw(observations(at))
        assert one.min_nodes <= policy.desired_nodes(one) <= one.max_nodes


@pytest.mark.parametrize("name", POLICIES)
@given(observations(), st.integers(0, 20), st.floats(0, 4000), st.floats(0, 1))
@settings(max_examples=examples(25))
def test_more_load_never_gives_fewer_nodes(name, one, jobs, wait, use):
    more = seen(
        nodes=one.nodes,
        booting=one.booting,
        min_nodes=one.min_nodes,
        max_nodes=one.max_nodes,
        needed_nodes=one.needed_nodes + jobs,
        pending_jobs=one.pending_jobs + jobs,
        oldest_wait_seconds=one.oldest_wait_seconds + (wait if one.pending_jobs + jobs else 0),
        utilisation=max(one.utilisation, use) if one.nodes else 0.0,
    )
    assert POLICIES[name]().desired_nodes(more) >= POLICIES[name]().desired_nodes(one)


@pytest.mark.parametrize("name", POLICIES)
@given(st.integers(1, 10), st.integers(0, 3), st.floats(0.05, 1))
@settings(max_examples=examples(25))
def test_constant_load_changes_the_nodes_in_one_direction_only(name, needed, pending, per_node):
    policy = POLICIES[name]()
    nodes, history = 2, []
    for step in range(240):
        use = min(1.0, needed * per_node / nodes) if nodes else 0.0
        one = seen(
            step * policy.interval_seconds,
            nodes=nodes,
            max_nodes=30,
            needed_nodes=needed,
            pending_jobs=pending if needed > nodes else 0,
            oldest_wait_seconds=step * policy.interval_seconds if needed > nodes else 0.0,
            utilisation=use,
        )
        # only nodes without pods are removed
        nodes = max(policy.desired_nodes(one), min(nodes, needed))
        history.append(nodes)
    steps = [after - before for before, after in itertools.pairwise(history)]
    assert not (min(steps) < 0 < max(steps)), history


def test_each_threshold_scales_up_to_the_needed_nodes_beyond_its_value():
    queue = Thresholds(queue_jobs=10)
    wait = Thresholds(wait_seconds=300)
    both = {"needed_nodes": 7, "utilisation": 1.0}
    assert recommend_nodes(queue, seen(pending_jobs=10, **both)) == 2
    assert recommend_nodes(queue, seen(pending_jobs=11, **both)) == 7
    assert recommend_nodes(wait, seen(pending_jobs=1, oldest_wait_seconds=300, **both)) == 2
    assert recommend_nodes(wait, seen(pending_jobs=1, oldest_wait_seconds=301, **both)) == 7


def test_high_utilisation_adds_nodes_before_a_job_waits():
    high = Thresholds(high_utilisation=0.8)
    assert recommend_nodes(high, seen(nodes=8, needed_nodes=8, utilisation=0.8)) == 8
    assert recommend_nodes(high, seen(nodes=8, needed_nodes=8, utilisation=0.9)) == 9
    assert recommend_nodes(high, seen(nodes=8, needed_nodes=8, utilisation=1.0)) == 10


def test_low_utilisation_removes_empty_nodes_only_while_no_job_waits():
    low = {"nodes": 8, "needed_nodes": 2, "utilisation": 0.25}
    assert recommend_nodes(Thresholds(), seen(**low)) == 2
    assert recommend_nodes(Thresholds(), seen(**low, pending_jobs=1)) == 8
    assert recommend_nodes(Thresholds(), seen(**low | {"utilisation": 0.3})) == 8


def test_the_first_job_of_a_pool_without_nodes_gets_its_nodes():
    empty = seen(nodes=0, needed_nodes=3, pending_jobs=1, utilisation=0.0)
    assert recommend_nodes(Thresholds(queue_jobs=10), empty) == 3


def test_scaling_waits_for_a_minute_up_and_five_minutes_down():
    policy = SCALING_POLICIES["any"]()
    many = {"pending_jobs": 20, "needed_nodes": 6, "utilisation": 1.0}
    none = {"nodes": 6, "needed_nodes": 1, "utilisation": 0.1}
    assert policy.desired_nodes(seen(0)) == 2
    assert [policy.desired_nodes(seen(at, **many)) for at in (30, 75, 89, 90)] == [2, 2, 2, 6]
    assert [policy.desired_nodes(seen(at, **none)) for at in (100, 200, 399, 400)] == [6, 6, 6, 1]


def test_a_short_peak_does_not_scale_a_stabilised_policy():
    peak = {"pending_jobs": 20, "needed_nodes": 6, "utilisation": 1.0}
    wanted = {}
    for name in ("any", "any, not stabilised"):
        policy = SCALING_POLICIES[name]()
        policy.desired_nodes(seen(0))
        wanted[name] = [policy.desired_nodes(seen(10, **peak)), policy.desired_nodes(seen(40))]
    assert wanted == {"any": [2, 2], "any, not stabilised": [6, 2]}


def test_pools_are_stabilised_separately():
    policy = ThresholdPolicy(Thresholds(queue_jobs=1))
    many = {"pending_jobs": 5, "needed_nodes": 6}
    policy.desired_nodes(seen(0, **many))
    assert policy.desired_nodes(seen(70, pool="other", **many)) == 2
    assert policy.desired_nodes(seen(70, **many)) == 6


def test_the_stack_policy_starts_nodes_at_once_and_removes_them_after_ten_minutes():
    policy = NodeAutoscalerPolicy()
    assert policy.desired_nodes(seen(0, needed_nodes=5)) == 5
    idle = {"nodes": 5, "needed_nodes": 0, "utilisation": 0.0}
    assert [policy.desired_nodes(seen(at, **idle)) for at in (60, 659, 660)] == [5, 5, 0]


def test_the_stack_policy_keeps_the_nodes_of_its_keep_warm_windows():
    window = KeepWarmWindow(cron="0 8 * * 1-5", hours=10, nodes=3)
    policy = NodeAutoscalerPolicy({"train": WarmNodes((window,))}, empty_seconds=0)
    idle = {"nodes": 0, "needed_nodes": 0, "utilisation": 0.0}
    hours = (7.9, 8, 17.9, 18, 24 + 8, 5 * 24 + 9, 7 * 24 + 9)
    wanted = [policy.desired_nodes(seen(hour * 3600, **idle)) for hour in hours]
    assert wanted == [0, 3, 3, 0, 3, 0, 3]


def test_a_window_that_ends_in_the_next_week_is_continued_at_its_start():
    window = KeepWarmWindow(cron="0 20 * * 0", hours=8, nodes=2)
    nodes = WarmNodes((window,))
    assert [nodes.at(hour * 3600) for hour in (0, 3.9, 4, 6 * 24 + 20)] == [2, 2, 0, 2]
    assert nodes.at(WEEK_SECONDS + 3600) == 2


def test_a_warm_share_is_kept_in_its_window_and_without_one_always():
    idle = {"nodes": 0, "needed_nodes": 0, "utilisation": 0.0}
    work = WarmPolicy(NodeAutoscalerPolicy(), share=0.25, cron="0 8 * * *", hours=1)
    assert [work.desired_nodes(seen(h * 3600, **idle)) for h in (7, 8, 9)] == [0, 3, 0]
    always = WarmPolicy(NodeAutoscalerPolicy(), share=0.25)
    assert always.desired_nodes(seen(0, **idle)) == 3
