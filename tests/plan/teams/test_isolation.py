"""How close teams may come: every kind of sharing, and what both sides ask for."""

import itertools
from dataclasses import replace

import pytest

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import Quota
from gpuyard.plan.teams.isolation import SEPARATION, check_isolation
from kit.every import every
from kit.fixes import check_fix
from kit.stacks import CUT, cut_pool, findings, parts, plan_of, platform, pool, spec_of, team

ISOLATIONS = ("shared", "slice", "node")
SHARINGS = {
    "none": "none",
    "mig": CUT,
    "time-slicing": {"time_slicing": 4},
    "mps": {"mps": 4},
    "mig+time-slicing": {**CUT, "time_slicing": 2},
}
KEYS = {
    "none": "p",
    "mig": "p/3g.20gb",
    "time-slicing": "p/shared",
    "mps": "p/shared",
    "mig+time-slicing": "p/3g.20gb.shared",
}
CLOSE = {"none": "whole GPUs of one node", "mig": "MIG slices of one GPU"}

ALLOWED = {
    # sharing: what two teams may ask for at most, when both use the pool
    "none": {"shared", "slice"},
    "mig": {"shared", "slice"},
    "dra": {"shared", "slice"},
    "time-slicing": {"shared"},
    "mps": {"shared"},
    "mig+time-slicing": {"shared"},
}


def test_every_kind_of_sharing_has_a_row():
    assert set(SEPARATION) == set(ALLOWED)
    assert set(SHARINGS) == set(ALLOWED) - {"dra"}


@pytest.mark.repeats("the others of this file")
@every("sharing", SHARINGS)
@every(("one", "other"), list(itertools.product(ISOLATIONS, repeat=2)))
def test_the_stricter_wish_of_two_holds_for_both(sharing, one, other):
    key = KEYS[sharing]
    teams = [
        team("a", isolation=one, guarantee={key: 1}),
        team("b", isolation=other, borrow={key: 1}),
    ]
    raw = platform([cut_pool("p", sharing=SHARINGS[sharing])], teams)
    found = findings(raw)
    strict = [i for i, wish in enumerate((one, other)) if wish not in ALLOWED[sharing]]
    assert [(f.id, f.path) for f in found] == [
        ("tenancy.isolation", ("teams", i, "isolation")) for i in strict
    ]
    for finding in found:
        check_fix(raw, finding)


@pytest.mark.parametrize("wish", ISOLATIONS)
def test_claimed_gpus_stand_as_close_as_whole_ones(wish):
    """Claims belong to a namespace: teams share nodes, never a device."""
    raw = platform(
        [pool("p")],
        [team("a", isolation=wish, guarantee={"p": 1}), team("b", guarantee={"p": 1})],
    )
    found = [replace(plan_of(platform([pool("p")])).pools[0], sharing="dra")]
    one = Quota(pool="p", resource="nvidia.com/gpu", nominal=1, borrow=0, lend=None)
    draft = Draft(spec_of(raw), pools={"p": found[0]}, quotas={0: (one,), 1: (one,)})
    problems = list(check_isolation(draft))
    assert [f.id for f in problems] == ["tenancy.isolation"] * (wish not in ALLOWED["dra"])
    for finding in problems:
        assert "(claimed GPUs of one node)" in finding.problem


@pytest.mark.parametrize(
    ("sharing", "isolation", "loosest", "fix"),
    [
        ("none", "node", "slice", "give a its own pool instead of p"),
        ("mig", "node", "slice", "give a its own pool instead of p"),
        ("mps", "slice", "shared", "give a its own pool instead of p"),
        ("mig+time-slicing", "node", "shared", "give a its own pool instead of p"),
    ],
)
def test_the_whole_finding(sharing, isolation, loosest, fix):
    key = KEYS[sharing]
    raw = platform(
        [cut_pool("p", sharing=SHARINGS[sharing])],
        [
            team("a", isolation=isolation, guarantee={key: 1}),
            team("c", guarantee={key: 1}),
            team("b", borrow={key: 1}),
        ],
    )
    (finding,) = findings(raw)
    assert parts(finding) == (
        "tenancy.isolation",
        ("teams", 0, "isolation"),
        (
            f"a requires isolation `{isolation}`, but in pool p ({CLOSE.get(sharing, sharing)})"
            " its pods can run next to pods of b, c"
        ),
        isolation,
        f"a pool that no other team uses, or isolation: {loosest}",
    )
    assert finding.fix.message == f"{fix}, or accept isolation: {loosest}"
    assert finding.fix.value == loosest


@pytest.mark.parametrize(
    ("mine", "others", "fix"),
    [
        (
            {"guarantee": {"p": 9}},
            16,
            "give a its own pool (owners: [a], nodes: 2), p keeps 2",
        ),
        (
            {"guarantee": {"p": 8}},
            24,
            "give a its own pool (owners: [a], nodes: 1), p keeps 3",
        ),
        ({"guarantee": {"p": 9}}, 17, "give a its own pool instead of p"),
        ({"borrow": {"p": 8}}, 24, "remove p from the borrow limits of a"),
    ],
)
def test_a_pool_of_its_own_is_proposed_with_the_nodes_it_takes(mine, others, fix):
    raw = platform(
        [pool("p")], [team("a", isolation="node", **mine), team("b", guarantee={"p": others})]
    )
    (finding,) = findings(raw)
    assert finding.fix.message == f"{fix}, or accept isolation: slice"


def test_lowering_isolation_is_proposed_once_for_all_pools():
    raw = platform(
        [pool("p"), pool("q", sharing={"mps": 2})],
        [
            team("a", isolation="node", guarantee={"p": 1, "q": 1}),
            team("b", guarantee={"p": 1, "q": 1}),
        ],
    )
    found = findings(raw)
    assert [f.fix.value for f in found] == ["shared", "shared"]
    assert [f.allowed.rpartition(" ")[2] for f in found] == ["slice", "shared"]
    for finding in found:
        check_fix(raw, finding)


@pytest.mark.parametrize("owners", [["a"], ["a", "a"]])
def test_an_owned_pool_is_a_node_of_ones_own(owners):
    raw = platform(
        [pool("p", owners=owners), pool("q")],
        [
            team("a", isolation="node", guarantee={"p": 32}),
            team("b", guarantee={"q": 1}),
        ],
    )
    assert findings(raw) == []
    assert plan_of(raw).pools[0].owners == ("a",)


def test_owners_share_their_pool_with_each_other():
    raw = platform(
        [pool("p", owners=["a", "b"])],
        [team("a", isolation="node", guarantee={"p": 16}), team("b", guarantee={"p": 16})],
    )
    assert [f.id for f in findings(raw)] == ["tenancy.isolation"]


@pytest.mark.parametrize(
    "others",
    [[], [team("b", guarantee={"p": 0}, borrow={"q": 1})], [team("b", guarantee={"q": 1})]],
)
def test_a_pool_of_its_own_is_isolation_enough(others):
    raw = platform(
        [pool("p"), pool("q")], [team("a", isolation="node", guarantee={"p": 1}), *others]
    )
    assert findings(raw) == []


def test_a_pool_a_team_has_nothing_of_does_not_disturb_it():
    raw = platform(
        [pool("p"), pool("q")],
        [team("a", isolation="node", guarantee={"p": 0, "q": 1}), team("b", guarantee={"p": 1})],
    )
    assert findings(raw) == []


def test_each_pool_that_is_too_close_is_named_once():
    raw = platform(
        [pool("p"), pool("q")],
        [
            team("a", isolation="node", guarantee={"p": 1}, borrow={"p": 1, "q": 1}),
            team("b", guarantee={"p": 1, "q": 1}),
        ],
    )
    assert [f.problem.split("pool ")[1][0] for f in findings(raw)] == ["p", "q"]
