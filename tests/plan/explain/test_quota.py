"""Quotas are counted as Kueue counts them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import plan_of, platform, pool, team
from explain_cases import GPU
from gpuyard.plan.explain.quota import Quotas

KEY = ("train", GPU)


def quotas(*teams, nodes=4):
    return Quotas(plan_of(platform([pool(nodes=nodes)], teams)))


def test_a_team_has_its_guarantee_and_what_it_may_borrow():
    found = quotas(
        team("a", guarantee={"train": 8}, borrow={"train": 16}), team("b", guarantee={"train": 24})
    )
    assert (found.most("a", KEY), found.available("a", KEY)) == (24, 24)
    assert found.whole[KEY] == 32
    found.take("b", {KEY: 24})
    assert (found.most("a", KEY), found.available("a", KEY)) == (24, 8)
    assert (found.room_of_team("a", KEY), found.room_of_cohort("a", KEY)) == (24, 8)


def test_what_is_not_lent_is_nobody_elses():
    found = quotas(
        team("a", guarantee={"train": 24}, lend={"train": 4}), team("b", borrow={"train": 8})
    )
    assert found.kept("a", KEY) == 20
    assert found.most("b", KEY) == 8
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
    assert not found.is_borrowing("a")
    found.take("a", {KEY: 1})
    assert found.is_borrowing("a")


def test_the_share_is_what_is_borrowed_by_weight():
    found = quotas(team("a", borrow={"train": 16}), team("b", borrow={"train": 16}, weight=2.0))
    assert found.share("a") == 0
    found.take("a", {KEY: 8})
    found.take("b", {KEY: 8})
    assert found.share("a") == pytest.approx(8 / 32)
    assert found.share("b") == pytest.approx(8 / 32 / 2)


def test_what_nobody_has_is_nothing():
    found = quotas(team("a", guarantee={"train": 8}))
    other = ("train", "nvidia.com/other")
    assert (found.nominal("a", other), found.limit("a", other), found.kept("a", other)) == (0, 0, 0)
    assert (found.most("a", other), found.available("a", other)) == (0, 0)


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
        assert found.available(name, KEY) <= found.most(name, KEY)
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
    assert found.available("a", KEY) >= found.kept("a", KEY) - found.used["a"][KEY]
