"""Priorities: names, values, and what a default does to a guarantee."""

import pytest

from gpuyard_core.findings import Severity
from kit.fixes import check_fix
from kit.stacks import findings, ids, only, plan_of, platform, team


def with_default(name, priorities, **rest):
    return platform(
        teams=[team(guarantee={"train": 1}, priority=name)], priorities=priorities, **rest
    )


def said(raw):
    return [f for f in findings(raw) if f.id != "section.deferred"]


@pytest.mark.parametrize(
    ("name", "priorities", "allowed", "fix"),
    [
        ("hihg", {"high": 1, "low": 0}, "high, low", "write high"),
        ("urgent", {"high": 1}, "high", "remove it, or add it under `priorities`"),
        (
            "high",
            {},
            "a name under `priorities`, which is empty",
            "remove it, or add it under `priorities`",
        ),
    ],
)
def test_a_default_must_be_one_of_the_priorities(name, priorities, allowed, fix):
    raw = with_default(name, priorities)
    (finding,) = said(raw)
    assert (finding.id, finding.severity) == ("team.priority_unknown", Severity.ERROR)
    assert (finding.allowed, finding.fix.message) == (allowed, fix)
    check_fix(raw, finding)


@pytest.mark.parametrize(
    ("value", "preemption", "warned"),
    [(-1, "reclaim", True), (0, "reclaim", False), (1, "reclaim", False), (-1, "never", False)],
)
def test_a_default_below_having_none_evicts_the_team_itself(value, preemption, warned):
    raw = with_default("low", {"low": value}, queueing={"preemption": preemption})
    assert ("priority.below_none" in ids(raw)) == warned


@pytest.mark.parametrize(
    ("priorities", "fix", "value"),
    [
        ({"low": -5, "mid": 3, "high": 9}, "write mid", "mid"),
        ({"low": -5, "zero": 0, "high": 9}, "write zero", "zero"),
        ({"low": -5}, "remove it: without a default, jobs have equal priority", None),
    ],
)
def test_the_nearest_default_that_is_enough_is_proposed(priorities, fix, value):
    (finding,) = said(with_default("low", priorities))
    assert (finding.fix.message, finding.fix.value) == (fix, value)


def test_each_value_that_stands_twice_is_said_where_the_second_stands():
    raw = platform(priorities={"d": 1, "a": 1, "c": 2, "b": 1})
    found = findings(raw)
    assert [(f.id, f.path[1]) for f in found] == [("priority.same", "b"), ("priority.same", "d")]
    assert found[0].problem == "b and a have the same value, so neither has precedence"


def test_without_preemption_priorities_only_order_the_queue():
    finding = only(platform(priorities={"a": 1}, queueing={"preemption": "never"}))
    assert (finding.id, finding.severity) == ("priority.order_only", Severity.INFO)
    assert ids(platform(queueing={"preemption": "never"})) == []


def test_the_plan_says_a_teams_default():
    assert plan_of(with_default("high", {"high": 1})).teams[0].priority == "high"
    assert plan_of(platform(teams=[team(guarantee={"train": 1})])).teams[0].priority is None
