"""Queues of a team, how long a job may take to start, and what a fix proposes."""

import pytest

from gpuyard.plan.queueing.kueue import format_duration
from gpuyard.plan.queueing.queueing_checks import teams_with_compared_queues
from kit.stacks import findings, only, parts, plan_of, platform, pool, team


def test_a_team_has_one_queue_called_default_unless_it_names_some():
    plain, named, other = plan_of(
        platform(
            teams=[
                team("a", guarantee={"train": 1}),
                team("b", guarantee={"train": 1}, queues={"night": 1, "default": 1}),
                team("c", guarantee={"train": 1}, queues={"night": 1, "day": 1}),
            ]
        )
    ).teams
    assert (plain.queues, plain.local_queue, plain.has_default) == (
        {"default": 1.0},
        "default",
        True,
    )
    assert (list(named.queues), named.local_queue) == (["default", "night"], "default")
    assert (other.local_queue, other.has_default) == ("day", False)


@pytest.mark.parametrize(
    ("cloud", "given", "minutes"),
    [
        ("simulated", None, 5),
        ("none", None, 30),
        ("aws", None, 30),
        ("simulated", 60, 60),
        ("aws", 60, 60),
    ],
)
def test_a_job_has_half_an_hour_to_start_and_on_fake_nodes_five_minutes(cloud, given, minutes):
    raw = platform(cloud=cloud, queueing={"start_within_minutes": given} if given else {})
    assert plan_of(raw).queueing.start_minutes == minutes


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (60, "1 minute"),
        (300, "5 minutes"),
        (3600, "1 hour"),
        (5400, "90 minutes"),
        (604_800, "168 hours"),
    ],
)
def test_a_time_is_said_in_hours_when_they_are_whole(seconds, said):
    assert format_duration(seconds) == said


def test_pools_whose_nodes_start_late_are_named():
    pools = [
        pool("a", nodes="0..2"),
        pool("b"),
        pool("c", nodes="1..2"),
        pool("d", nodes="2..2"),
    ]
    finding = only(platform(pools, cloud="aws", queueing={"start_within_minutes": 10}))
    assert parts(finding) == (
        "start.before_nodes",
        ("queueing", "start_within_minutes"),
        (
            "nodes of a, c start when jobs request them, and autoscalers allow a node 15 minutes: a "
            "job whose nodes take longer than 10 is evicted, requeued, and may never start"
        ),
        "10",
        "at least 15, and more for drivers and large images",
    )


def test_a_weight_that_nobody_counts_is_counted_where_nothing_else_is_said_of_queueing():
    teams = [team(guarantee={"train": 1}, queues={"default": 1, "night": 3})]
    (bare,) = findings(platform(teams=teams))
    assert (bare.fix.at, bare.fix.value) == (("queueing",), {"usage_half_life_hours": 168})
    (kept,) = findings(platform(teams=teams, queueing={"preemption": "never"}))
    assert (kept.fix.at, kept.fix.value) == (("queueing", "usage_half_life_hours"), 168)


def test_a_weight_is_not_counted_where_priorities_evict():
    """Counting would remove one finding and bring another."""
    teams = [team(guarantee={"train": 1}, queues={"default": 1, "night": 3})]
    fixes = [only(platform(teams=teams, priorities={"high": value})).fix for value in (100, 0)]
    assert [(f.message, f.value) for f in fixes] == [
        ("write 1", 1.0),
        ("add usage_half_life_hours: 168 to `queueing`", {"usage_half_life_hours": 168}),
    ]


def test_use_and_priorities_that_evict_go_round_in_circles():
    teams = [
        team("a", guarantee={"train": 1}, queues={"default": 1, "night": 1}),
        team("b", guarantee={"train": 1}),
        team("c", guarantee={"train": 1}, queues={"default": 1, "day": 1}),
    ]
    finding = only(
        platform(
            teams=teams,
            priorities={"low": -1, "none": 0, "high": 5},
            queueing={"usage_half_life_hours": 24},
        )
    )
    assert parts(finding) == (
        "queue.use_before_priority",
        ("queueing", "usage_half_life_hours"),
        (
            "between the queues of a, c usage outranks priority: after a job preempts one of lower "
            "priority in a queue that used less, the preempted job is admitted first and preempted "
            "again, until both queues have used the same"
        ),
        "24, and the priorities low, high",
        "usage between queues, or priorities that preempt, not both",
    )


@pytest.mark.parametrize(
    ("queueing", "names"),
    [({"usage_half_life_hours": 24}, ["b"]), ({}, [])],
)
def test_use_is_compared_where_it_is_counted_and_there_are_several_queues(queueing, names):
    teams = [
        team("a", guarantee={"train": 1}),
        team("b", guarantee={"train": 1}, queues={"default": 1, "day": 1}),
    ]
    assert [
        t.name
        for t in teams_with_compared_queues(plan_of(platform(teams=teams, queueing=queueing)))
    ] == names
