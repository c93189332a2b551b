"""Shapes and quotas: a pool that holds a gang is not enough when no team may have as much."""

import pytest

from kit.fixes import check_fix
from kit.stacks import (
    cut_pool,
    findings,
    ids,
    only,
    plan_of,
    platform,
    pool,
    shape,
    shared_pool,
    team,
)
from proofs import applied

GANG = shape("gang", nodes=2, gpus_per_node=8)


def test_without_teams_there_are_no_queues_to_judge():
    (found,) = plan_of(platform(shapes=[GANG])).shapes
    assert (found.teams, found.guaranteed) == ((), ())


@pytest.mark.parametrize(
    ("guarantee", "borrow", "expected"),
    [
        (16, 0, []),
        (15, 1, ["shape.borrows"]),
        (0, 16, ["shape.borrows"]),
        (15, 0, ["shape.no_quota"]),
        (8, 7, ["shape.no_quota"]),
    ],
)
def test_guarantee_and_borrowing_together_must_hold_the_gang(guarantee, borrow, expected):
    one = team("a", guarantee={"train": guarantee}, borrow={"train": borrow})
    assert ids(platform(teams=[one], shapes=[GANG])) == expected


def test_two_teams_that_are_enough_together_are_not():
    teams = [team("a", guarantee={"train": 8}), team("b", guarantee={"train": 8})]
    assert "shape.no_quota" in ids(platform(teams=teams, shapes=[GANG]))


def test_two_pools_that_are_enough_together_are_not():
    """A gang's pods get one flavor."""
    pools = [pool("p", nodes=2), pool("q", nodes=2)]
    raw = platform(pools, [team("a", guarantee={"p": 8, "q": 8})], shapes=[GANG])
    assert "shape.no_quota" in ids(raw)


def test_a_shape_is_planned_where_a_team_can_start_it():
    pools = [pool("p"), pool("q", nodes="0..4")]
    teams = [
        team("a", guarantee={"p": 8, "q": 16}),
        team("b", borrow={"q": 16}),
        team("c", guarantee={"q": 8}),
    ]
    (found,) = plan_of(platform(pools, teams, shapes=[GANG])).shapes
    assert (found.pool, found.scales_from_zero) == ("q", True)
    assert (found.teams, found.guaranteed) == (("a", "b"), ("a",))


def test_a_pool_that_is_asked_for_is_the_only_one_judged():
    pools = [pool("p"), pool("q")]
    raw = platform(pools, [team("a", guarantee={"q": 16})], shapes=[{**GANG, "pool": "p"}])
    finding = only(raw)
    assert finding.problem == (
        "the shape needs 16 nvidia.com/gpu of p at once, which no team can get: no team has a "
        "guarantee or may borrow"
    )
    assert (finding.given, finding.allowed) == ("16 nvidia.com/gpu", "at most 0 nvidia.com/gpu")
    assert (
        finding.fix.message == "guarantee 16 nvidia.com/gpu of p to a team, or let one borrow them"
    )


@pytest.mark.parametrize(
    ("guarantee", "resource"),
    [
        ({"serve/1g.5gb": 1, "serve/2g.10gb": 1}, "nvidia.com/mig-2g.10gb"),
        ({"train": 1}, "nvidia.com/gpu"),
    ],
)
def test_what_a_pod_needs_is_the_smallest_piece_that_a_team_has_quota_of(guarantee, resource):
    one = shape("embed", per_pod={"gpu_memory_gib": 8})
    raw = platform([pool(), cut_pool()], [team("a", guarantee=guarantee)], shapes=[one])
    (found,) = plan_of(raw).shapes
    assert (found.resource, found.teams, found.needs) == (resource, ("a",), "8 GiB of a GPU")


def test_a_quota_of_nothing_is_no_quota():
    raw = platform(teams=[team("a", guarantee={"train": 0})], shapes=[GANG])
    assert "no team has a guarantee" in findings(raw)[0].problem


@pytest.mark.parametrize(
    ("teams", "fix"),
    [
        ([team("a", guarantee={"train": 8})], "let a borrow train: 8"),
        ([team("a", guarantee={"train": 8}, borrow={"train": 3})], "let a borrow train: 8"),
        (
            [team("a", guarantee={"train": 4}), team("b", guarantee={"train": 9})],
            "let b borrow train: 7",
        ),
        (
            [team("a", guarantee={"train": 8}), team("b", guarantee={"train": 24}, lend={})],
            None,
        ),
        (
            [
                team("a", guarantee={"train": 15}, lend={}),
                team("b", guarantee={"train": 15}, lend={}),
                team("c", guarantee={"train": 2}, lend={}),
            ],
            "write nodes: 1",
        ),
        (
            [
                team("a", guarantee={"train": 7}, lend={}),
                *(team(n, guarantee={"train": 5}, lend={}) for n in "bcdef"),
            ],
            "guarantee 16 nvidia.com/gpu of train to a team, or let one borrow them",
        ),
    ],
)
def test_the_nearest_change_is_what_the_best_team_lacks_else_a_smaller_gang(teams, fix):
    raw = platform(teams=teams, shapes=[GANG])
    found = [f for f in findings(raw) if f.id == "shape.no_quota"]
    assert [f.fix.message for f in found] == ([] if fix is None else [fix])
    for finding in found:
        check_fix(raw, finding)
        if finding.fix.at:
            assert "shape.no_quota" not in ids(applied(raw, finding.fix))


@pytest.mark.parametrize(
    ("pools", "wanted", "key"),
    [
        ([cut_pool()], {"slice": "3g.20gb"}, "serve/3g.20gb"),
        ([shared_pool()], {"shares": 1}, "dev/shared"),
    ],
)
def test_fractions_count_in_their_own_units(pools, wanted, key):
    one = shape("f", nodes=1, per_pod=wanted)
    raw = platform([pool(), *pools], [team("a", guarantee={key: 1})], shapes=[one])
    assert ids(raw) == []
    (found,) = plan_of(raw).shapes
    assert (found.teams, found.guaranteed) == (("a",), ("a",))
    assert (
        ids(platform(pools, [team("a", guarantee={key: 0})], shapes=[one]))[0] == "shape.no_quota"
    )


def test_a_key_nobody_understands_judges_no_shape():
    raw = platform(teams=[team("a", guarantee={"tran": 16})], shapes=[GANG])
    assert ids(raw) == ["quota.unknown_pool"]


def test_a_key_that_its_fix_removes_is_no_quota_either():
    raw = platform(teams=[team("a", guarantee={"??": 16})], shapes=[GANG])
    assert ids(raw) == ["shape.no_quota", "quota.unknown_pool"]


@pytest.mark.parametrize(
    ("preemption", "words"),
    [
        ("reclaim", "which its owner may reclaim"),
        ("never", "so it waits until other teams leave capacity idle"),
    ],
)
def test_a_gang_on_borrowed_capacity_is_told_what_that_means(preemption, words):
    raw = platform(
        teams=[team("a", borrow={"train": 16})],
        shapes=[GANG],
        queueing={"preemption": preemption},
    )
    finding = only(raw)
    assert finding.problem.endswith(f"a can start it only with borrowed capacity, {words}")


def test_a_shape_that_is_refused_itself_is_not_judged_by_quotas():
    raw = platform(
        teams=[team("a", guarantee={"train": 8})],
        shapes=[shape("big", nodes=9, gpus_per_node=8), shape("x", gpus_per_node=1)],
    )
    assert ids(raw) == ["shape.cannot_start"]


def test_a_team_may_borrow_the_very_last_gpu_that_a_gang_lacks():
    raw = platform(
        [pool(nodes=2)],
        [team(guarantee={"train": 8})],
        shapes=[shape(nodes=2, gpus_per_node=8)],
    )
    (finding,) = [f for f in findings(raw) if f.id == "shape.no_quota"]
    assert finding.fix.value == {"train": 8}


def test_what_a_team_borrows_already_leaves_less_to_borrow():
    raw = platform(
        [pool(nodes=4)],
        [
            team("a", guarantee={"train": 8}, borrow={"train": 8}),
            team("b", guarantee={"train": 16}, lend={}),
        ],
        shapes=[shape(nodes=3, gpus_per_node=8)],
    )
    (finding,) = [f for f in findings(raw) if f.id == "shape.no_quota"]
    assert (finding.fix.at, finding.fix.value) == (("shapes", 0, "nodes"), 2)


def test_a_shape_that_no_pool_holds_is_not_judged_by_its_namesake():
    shapes = [shape("x", gpus_per_node=16), shape("x", gpus_per_node=8)]
    raw = platform(teams=[team(guarantee={"train": 8})], shapes=shapes)
    assert ids(raw) == ["shape.cannot_start", "shape.duplicate"]
