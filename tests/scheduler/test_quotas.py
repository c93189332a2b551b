"""Quotas are counted as Kueue counts them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard_advisor.scheduler.quotas import Quotas, is_borrowing, is_within_own_quota
from kit.cases.explain import GPU
from kit.stacks import plan_of, platform, pool, team

KEY = ("train", GPU)


def quotas(*teams, nodes=4):
    return Quotas(plan_of(platform([pool(nodes=nodes)], teams)))


def test_a_team_has_its_guarantee_and_what_it_may_borrow():
    found = quotas(
        team("a", guarantee={"train": 8}, borrow={"train": 16}), team("b", guarantee={"train": 24})
    )
    assert (found.max_usage("a", KEY), found.available("a", KEY)) == (24, 24)
    assert found.root.nominal[KEY] == 32
    found.take("b", {KEY: 24})
    assert (found.max_usage("a", KEY), found.available("a", KEY)) == (24, 8)
    assert (found.team_headroom("a", KEY), found.cohort_headroom("a", KEY)) == (24, 8)


def test_what_is_not_lent_is_nobody_elses():
    found = quotas(
        team("a", guarantee={"train": 24}, lend={"train": 4}), team("b", borrow={"train": 8})
    )
    assert found.queues["a"].local_available(KEY) == 20
    assert found.max_usage("b", KEY) == 8
    found.take("a", {KEY: 24})
    assert found.available("b", KEY) == 8, "nobody's eight"
    found.take("b", {KEY: 8})
    assert found.available("a", KEY) == 0
    found.take("a", {KEY: 24}, -1)
    assert found.available("a", KEY) == 24
    found.take("b", {KEY: 4})
    assert found.available("a", KEY) == 20, "four of it are lent out"


def test_borrowing_begins_beyond_the_guarantee():
    found = quotas(team("a", guarantee={"train": 8}, borrow={"train": 8}))
    found.take("a", {KEY: 8})
    assert not found.borrows("a", KEY)
    assert found.borrows("a", KEY, 1)
    assert not is_borrowing(found.queues["a"])
    found.take("a", {KEY: 1})
    assert is_borrowing(found.queues["a"])


def test_the_share_is_what_is_borrowed_by_weight():
    found = quotas(team("a", borrow={"train": 16}), team("b", borrow={"train": 16}, weight=2.0))
    assert found.share("a") == 0
    found.take("a", {KEY: 8})
    found.take("b", {KEY: 8})
    assert found.share("a") == pytest.approx(1000 * 8 / 32)
    assert found.share("b") == pytest.approx(1000 * 8 / 32 / 2)


def test_what_nobody_has_is_nothing():
    found = quotas(team("a", guarantee={"train": 8}))
    other = ("train", "nvidia.com/other")
    assert (
        found.nominal("a", other),
        found.borrowing_limit("a", other),
        found.queues["a"].local_available(other),
    ) == (
        0,
        0,
        0,
    )
    assert (found.max_usage("a", other), found.available("a", other)) == (0, 0)


@st.composite
def histories(draw):
    """Two teams with limits to lending and borrowing, and what happens to their quota."""
    a, b = draw(st.integers(0, 16)), draw(st.integers(0, 16))
    teams = [
        team(
            "a",
            guarantee={"train": a},
            lend={"train": draw(st.integers(0, a))},
            borrow={"train": 0},
        ),
        team("b", guarantee={"train": b}),
    ]
    steps = draw(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 6)), max_size=8))
    return teams, steps


@given(histories())
def test_taking_and_giving_back_leaves_everything_as_it_was(history):
    teams, steps = history
    found = quotas(*teams)
    before = {t: found.available(t, KEY) for t in "ab"}
    for name, amount in steps:
        found.take(name, {KEY: amount})
        assert found.available(name, KEY) <= found.max_usage(name, KEY)
    for name, amount in steps:
        found.take(name, {KEY: amount}, -1)
    assert {t: found.available(t, KEY) for t in "ab"} == before
    assert found.share("a") == 0


@given(histories())
def test_a_guarantee_that_is_not_lent_out_is_there(history):
    teams, steps = history
    found = quotas(*teams)
    for name, amount in steps:
        if amount <= found.available(name, KEY):
            found.take(name, {KEY: amount})
    assert (
        found.available("a", KEY) >= found.queues["a"].local_available(KEY) - found.used["a"][KEY]
    )


def tree(*teams, cohorts):
    raw = platform([pool()], teams, queueing={"cohorts": list(cohorts)})
    return Quotas(plan_of(raw))


def test_a_cohorts_limit_binds_all_teams_in_it_together():
    found = tree(
        team("a", guarantee={"train": 8}, borrow={"train": 8}, cohort="labs"),
        team("b", guarantee={"train": 4}, borrow={"train": 8}, cohort="labs"),
        team("c", guarantee={"train": 8}, borrow={"train": 8}),
        cohorts=[{"name": "labs", "borrow": {"train": 6}, "lend": {"train": 10}}],
    )
    assert [found.max_usage(t, KEY) for t in "abc"] == [16, 12, 16]
    assert found.most_without_limit("a", KEY) == 18, "twelve of the cohort, and six that it borrows"
    found.take("a", {KEY: 14})
    assert [found.available(t, KEY) for t in "ab"] == [2, 4], "six of the cohort borrowed, but two"
    assert found.cohort_to_reclaim_from("b", KEY).stack_file_name == "labs"
    found.take("b", {KEY: 4})
    assert [found.available(t, KEY) for t in "abc"] == [0, 0, 14]
    assert (found.cohort_to_reclaim_from("c", KEY), found.limiting_cohort("c", KEY)) == (
        found.root,
        None,
    )
    assert found.limiting_cohort("a", KEY).stack_file_name == "labs"
    found.take("c", {KEY: 14})
    assert found.root.used[KEY] == 16 + 14, "two of the labs' twelve are never lent"
    for name, amount in (("a", 14), ("b", 4), ("c", 14)):
        found.take(name, {KEY: amount}, -1)
    assert found.root.used[KEY] == 0
    assert [found.available(t, KEY) for t in "abc"] == [16, 12, 16]


def test_a_guarantee_is_had_back_from_a_cohort_that_lends_all_of_it():
    found = tree(
        team("a", guarantee={"train": 8}, cohort="leaf"),
        team("c", borrow={"train": 32}),
        cohorts=[{"name": "top"}, {"name": "leaf", "parent": "top", "borrow": {}}],
    )
    found.take("c", {KEY: 32})
    assert (found.available("a", KEY), found.max_usage("a", KEY)) == (0, 8)
    assert found.cohort_to_reclaim_from("a", KEY) is found.root


def test_how_far_away_an_amount_comes_from():
    found = tree(
        team("a", guarantee={"train": 4}, borrow={"train": 28}, cohort="leaf"),
        team("b", guarantee={"train": 4}, cohort="leaf"),
        team("c", guarantee={"train": 8}, cohort="top"),
        cohorts=[{"name": "top"}, {"name": "leaf", "parent": "top"}],
    )
    far = {n: found.find_lowest_fitting_subtree("a", KEY, n) for n in (4, 5, 8, 9, 16, 17, 32, 33)}
    assert far == {
        4: (0, True),
        5: (1, True),
        8: (1, True),
        9: (2, True),
        16: (2, True),
        17: (3, False),
        32: (3, False),
        33: (3, False),
    }


def test_a_cohort_shares_by_what_it_borrows_as_a_whole():
    found = tree(
        team("a", guarantee={"train": 8}, borrow={"train": 8}, cohort="labs"),
        team("b", guarantee={"train": 8}, borrow={"train": 8}, cohort="labs"),
        cohorts=[{"name": "labs", "weight": 2}],
    )
    (labs,) = found.root.cohorts
    found.take("a", {KEY: 12})
    assert (is_borrowing(labs), is_borrowing(found.queues["a"])) == (False, True)
    assert found.dominant_resource_share(labs) == 0
    assert is_within_own_quota(labs, frozenset({KEY}))
    found.take("b", {KEY: 12})
    assert found.dominant_resource_share(labs) == pytest.approx(1000 * 8 / 32 / 2)
    assert not is_within_own_quota(labs, frozenset({KEY}))
