"""Guarantees, borrowing and lending: what a key means, and every boundary from both sides."""

import pytest

from gpuyard_core.findings import Severity
from gpuyard_core.terminal.text import pluralize
from kit.fixes import check_fix
from kit.stacks import (
    CUT,
    cut_pool,
    findings,
    ids,
    only,
    parts,
    plan_of,
    platform,
    pool,
    shared_pool,
    team,
)

GPU, SHARED = "nvidia.com/gpu", "nvidia.com/gpu.shared"
MIG1, MIG2, MIG3 = "nvidia.com/mig-1g.5gb", "nvidia.com/mig-2g.10gb", "nvidia.com/mig-3g.20gb"
MIXED = {"mig": [{"gpus": "0-3", "3g.20gb": 2}, {"gpus": "4-5", "7g.40gb": 1}]}
UNLIKE = {"mig": [{"gpus": "0-3", "3g.20gb": 2}, {"gpus": "4-7", "7g.40gb": 1}]}


def quotas(pools, **shares):
    """(pool, resource): (nominal, borrow, lend) of one team."""
    found = plan_of(platform(pools, [team(**shares)])).teams[0].quotas
    return {(q.pool, q.resource): (q.nominal, q.borrow, q.lend) for q in found}


@pytest.mark.parametrize(
    ("pools", "guarantee", "expected"),
    [
        ([pool()], {"train": 3}, {("train", GPU): 3}),
        ([pool()], {"train/": 3}, {("train", GPU): 3}),
        ([shared_pool()], {"dev": 2}, {("dev", SHARED): 8}),
        ([shared_pool()], {"dev/shared": 2}, {("dev", SHARED): 2}),
        ([shared_pool()], {"dev/shared": 2, "dev": 1}, {("dev", SHARED): 6}),
        ([pool(sharing={"mps": 8})], {"train": 2}, {("train", SHARED): 16}),
        ([cut_pool()], {"serve/3g.20gb": 5}, {("serve", MIG3): 5}),
        ([cut_pool()], {"serve": 2}, {("serve", MIG1): 4, ("serve", MIG2): 2, ("serve", MIG3): 2}),
        (
            [cut_pool(sharing={**CUT, "time_slicing": 2})],
            {"serve": 1},
            {
                ("serve", MIG1 + ".shared"): 4,
                ("serve", MIG2 + ".shared"): 2,
                ("serve", MIG3 + ".shared"): 2,
            },
        ),
        (
            [cut_pool(sharing={**CUT, "time_slicing": 2})],
            {"serve/3g.20gb.shared": 1},
            {("serve", MIG3 + ".shared"): 1},
        ),
        (
            [cut_pool(sharing=MIXED)],
            {"serve": 2, "serve/3g.20gb": 1},
            {("serve", MIG3): 1, ("serve", GPU): 2},
        ),
        (
            [
                cut_pool(
                    sharing={"mig": [{"gpus": "0-3", "3g.20gb": 2}, {"gpus": "4-7", "3g.20gb": 2}]}
                )
            ],
            {"serve": 1},
            {("serve", MIG3): 2},
        ),
        ([pool(machine="g6f.large")], {"train": 1}, {("train", GPU): 1}),
        ([pool()], {"train": 0}, {("train", GPU): 0}),
        ([pool("b"), pool("a")], {"a": 1, "b": 2}, {("b", GPU): 2, ("a", GPU): 1}),
    ],
)
def test_a_key_counts_whole_gpus_and_a_unit_counts_slices_or_shares(pools, guarantee, expected):
    found = quotas(pools, guarantee=guarantee)
    assert {key: nominal for key, (nominal, _, _) in found.items()} == expected
    assert list(found) == list(expected)


def test_lending_is_unlimited_until_the_file_says_otherwise():
    assert quotas([pool()], guarantee={"train": 4}) == {("train", GPU): (4, 0, None)}
    assert quotas([pool()], guarantee={"train": 4}, lend={}) == {("train", GPU): (4, 0, 0)}
    assert quotas([pool()], guarantee={"train": 4}, lend={"train": 3}) == {
        ("train", GPU): (4, 0, 3)
    }


def test_borrowing_needs_no_guarantee():
    assert quotas([pool()], borrow={"train": 5}) == {("train", GPU): (0, 5, None)}


def test_what_nobody_is_guaranteed_stays_unassigned():
    plan = plan_of(
        platform(
            [pool(nodes="1..4")],
            [team("a", guarantee={"train": 10}), team("b", guarantee={"train": 5})],
        )
    )
    assert [(q.pool, q.resource, q.nominal) for q in plan.queueing.unassigned] == [
        ("train", GPU, 17)
    ]


def two(first, second, pools=None, **shapes):
    return platform(pools or [pool()], [team("a", **first), team("b", **second)], **shapes)


TEAM0, TEAM1 = ("teams", 0), ("teams", 1)

REFUSED = [
    (
        "quota.unknown_pool",
        platform(teams=[team(guarantee={"tran": 1})]),
        (*TEAM0, "guarantee", "tran"),
        "no pool has this name",
        "tran",
        "train",
        "write train",
        {"train": 1},
    ),
    (
        "quota.unknown_pool",
        platform(teams=[team(borrow={"tran/3g.20gb": 1})]),
        (*TEAM0, "borrow", "tran/3g.20gb"),
        "no pool has this name",
        "tran",
        "train",
        "write train/3g.20gb",
        {"train/3g.20gb": 1},
    ),
    (
        "quota.unknown_pool",
        platform(teams=[team(lend={"??": 1}, guarantee={"train": 1})]),
        (*TEAM0, "lend", "??"),
        "no pool has this name",
        "??",
        "train",
        "remove it, or add the pool",
        None,
    ),
    (
        "quota.unit",
        platform(teams=[team(guarantee={"train/3g.40gb": 1})]),
        (*TEAM0, "guarantee", "train/3g.40gb"),
        "nodes of train advertise no `3g.40gb`",
        "train/3g.40gb",
        "train",
        "write train",
        {"train": 1},
    ),
    (
        "quota.unit",
        platform([cut_pool()], [team(guarantee={"serve/3g.40gb": 1})]),
        (*TEAM0, "guarantee", "serve/3g.40gb"),
        "nodes of serve advertise no `3g.40gb`",
        "serve/3g.40gb",
        "serve/1g.5gb, serve/2g.10gb, serve/3g.20gb",
        "write serve/3g.20gb",
        {"serve/3g.20gb": 1},
    ),
    (
        "quota.unit",
        platform([cut_pool(sharing=UNLIKE)], [team(guarantee={"serve": 1})]),
        (*TEAM0, "guarantee", "serve"),
        "the GPUs of serve have different MIG layouts, so a number of whole GPUs is ambiguous",
        "serve",
        "serve/3g.20gb, serve/7g.40gb",
        "write serve/3g.20gb",
        {"serve/3g.20gb": 1},
    ),
    (
        "quota.unit",
        platform([shared_pool()], [team(guarantee={"dev/gpu": 1})]),
        (*TEAM0, "guarantee", "dev/gpu"),
        "nodes of dev advertise no `gpu`",
        "dev/gpu",
        "dev/shared",
        "write dev/shared",
        {"dev/shared": 1},
    ),
    (
        "quota.over_capacity",
        platform(teams=[team(guarantee={"train": 33})]),
        (*TEAM0, "guarantee", "train"),
        "train has 32 nvidia.com/gpu with all 4 nodes (8 a node)",
        "33 nvidia.com/gpu",
        "32 nvidia.com/gpu",
        "guarantee 32, or let train have 5 nodes",
        32,
    ),
    (
        "quota.over_capacity",
        two({"guarantee": {"train": 30}}, {"guarantee": {"train": 3}}),
        (*TEAM1, "guarantee", "train"),
        "train has 32 nvidia.com/gpu with all 4 nodes (8 a node), of which other guarantees use 30",
        "3 nvidia.com/gpu",
        "2 nvidia.com/gpu",
        "guarantee 2, or let train have 5 nodes",
        2,
    ),
    (
        "quota.over_capacity",
        platform([pool(nodes=0)], [team(guarantee={"train": 1})]),
        (*TEAM0, "guarantee", "train"),
        "train has 0 nvidia.com/gpu with all 0 nodes (8 a node)",
        "1 nvidia.com/gpu",
        "0 nvidia.com/gpu",
        "guarantee 0, or let train have 1 nodes",
        0,
    ),
    (
        "quota.over_capacity",
        platform(teams=[team(guarantee={"train": 80_001})]),
        (*TEAM0, "guarantee", "train"),
        "train has 32 nvidia.com/gpu with all 4 nodes (8 a node)",
        "80001 nvidia.com/gpu",
        "32 nvidia.com/gpu",
        "guarantee 32",
        32,
    ),
    (
        "quota.over_capacity",
        platform(teams=[team(guarantee={"train": 80_000})]),
        (*TEAM0, "guarantee", "train"),
        "train has 32 nvidia.com/gpu with all 4 nodes (8 a node)",
        "80000 nvidia.com/gpu",
        "32 nvidia.com/gpu",
        "guarantee 32, or let train have 10000 nodes",
        32,
    ),
    (
        "quota.over_capacity",
        platform([cut_pool()], [team(guarantee={"serve/3g.20gb": 6, "serve": 3})]),
        (*TEAM0, "guarantee", "serve"),
        (
            "serve has 8 nvidia.com/mig-3g.20gb with its only node (8 a node), of which other "
            "guarantees use 6"
        ),
        "3 nvidia.com/mig-3g.20gb (serve: 3 whole GPUs with 1 each)",
        "2 nvidia.com/mig-3g.20gb",
        "guarantee 2, or let serve have 2 nodes",
        2,
    ),
    (
        "quota.over_capacity",
        platform([shared_pool()], [team(guarantee={"dev/shared": 3, "dev": 4})]),
        (*TEAM0, "guarantee", "dev"),
        (
            "dev has 16 nvidia.com/gpu.shared with its only node (16 a node), of which other "
            "guarantees use 3"
        ),
        "16 nvidia.com/gpu.shared (dev: 4 whole GPUs with 4 each)",
        "13 nvidia.com/gpu.shared",
        "guarantee 3, or let dev have 2 nodes",
        3,
    ),
    (
        "lend.over_guarantee",
        platform(teams=[team(guarantee={"train": 4}, lend={"train": 5})]),
        (*TEAM0, "lend", "train"),
        "the team is guaranteed 4 nvidia.com/gpu of train: it cannot lend more",
        "5 nvidia.com/gpu",
        "0 to 4",
        "lend 4",
        4,
    ),
    (
        "lend.over_guarantee",
        platform(
            [cut_pool()], [team(guarantee={"serve": 2}, lend={"serve": 1, "serve/3g.20gb": 2})]
        ),
        (*TEAM0, "lend", "serve/3g.20gb"),
        (
            "the team is guaranteed 2 nvidia.com/mig-3g.20gb of serve and already lends 1 of them: "
            "it cannot lend more"
        ),
        "2 nvidia.com/mig-3g.20gb",
        "0 to 1",
        "lend 1",
        1,
    ),
    (
        "borrow.never",
        two({"guarantee": {"train": 8}}, {"guarantee": {"train": 8}, "borrow": {"train": 25}}),
        (*TEAM1, "borrow", "train"),
        (
            "at most 24 nvidia.com/gpu of train are lent by other teams or unassigned: the rest of "
            "the limit has no effect"
        ),
        "25 nvidia.com/gpu",
        "0 to 24",
        "borrow 24",
        24,
    ),
    (
        "borrow.never",
        two({"guarantee": {"train": 30}, "lend": {"train": 1}}, {"borrow": {"train": 4}}),
        (*TEAM1, "borrow", "train"),
        (
            "at most 3 nvidia.com/gpu of train are lent by other teams or unassigned: the rest of "
            "the limit has no effect"
        ),
        "4 nvidia.com/gpu",
        "0 to 3",
        "borrow 3",
        3,
    ),
    (
        "borrow.never",
        platform([shared_pool()], [team(borrow={"dev/shared": 10, "dev": 2})]),
        (*TEAM0, "borrow", "dev"),
        (
            "at most 16 nvidia.com/gpu.shared of dev are lent by other teams or unassigned, and the "
            "team already borrows 10 of them: the rest of the limit has no effect"
        ),
        "8 nvidia.com/gpu.shared (dev: 2 whole GPUs with 4 each)",
        "0 to 6",
        "borrow 1",
        1,
    ),
]


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: f"{row[0]} {'.'.join(map(str, row[2]))}")
def test_a_claim_that_cannot_be_is_refused_with_its_numbers(row):
    kind, raw, path, problem, given, allowed, says, value = row
    finding = only(raw)
    assert parts(finding) == (kind, path, problem, given, allowed)
    assert (finding.fix.message, finding.fix.value) == (says, value)
    check_fix(raw, finding)


NEAR_MISSES = [
    platform([pool(nodes="0..4")]) | {"teams": []},
    two({"borrow": {"train": 32}}, {"borrow": {"train": 32}}),
    platform(teams=[team(guarantee={"train": 32})]),
    two({"guarantee": {"train": 30}}, {"guarantee": {"train": 2}}),
    platform([cut_pool()], [team(guarantee={"serve/3g.20gb": 6, "serve": 2})]),
    platform(teams=[team(guarantee={"train": 4}, lend={"train": 4})]),
    platform([cut_pool()], [team(guarantee={"serve": 2}, lend={"serve": 1, "serve/3g.20gb": 1})]),
    two({"guarantee": {"train": 8}}, {"guarantee": {"train": 8}, "borrow": {"train": 24}}),
    two({"guarantee": {"train": 30}, "lend": {"train": 1}}, {"borrow": {"train": 3}}),
    two({"guarantee": {"train": 30}}, {"borrow": {"train": 32}}),
    platform([shared_pool()], [team(borrow={"dev/shared": 8, "dev": 2})]),
]


@pytest.mark.parametrize("raw", NEAR_MISSES, ids=range(len(NEAR_MISSES)))
def test_a_claim_at_its_limit_is_planned(raw):
    assert findings(raw) == []


def test_what_a_team_is_not_guaranteed_it_cannot_lend():
    finding = only(platform(teams=[team(borrow={"train": 1}, lend={"train": 1})]))
    assert (finding.id, finding.allowed, finding.fix.value) == ("lend.over_guarantee", "0 to 0", 0)


def test_a_claim_is_counted_as_its_fix_would_leave_it():
    raw = two(
        {"guarantee": {"train": 100}, "lend": {"train": 40}},
        {"guarantee": {"train": 1}, "borrow": {"train": 40}},
    )
    assert [(f.where, f.fix.value) for f in findings(raw)] == [
        ("teams[0].guarantee.train", 32),
        ("teams[0].lend.train", 32),
        ("teams[1].guarantee.train", 0),
        ("teams[1].borrow.train", 32),
    ]


def test_a_claim_of_whole_gpus_is_cut_to_its_scarcest_slice():
    raw = platform(
        [cut_pool()],
        [
            team("a", guarantee={"serve/3g.20gb": 6, "serve/1g.5gb": 8}),
            team("b", guarantee={"serve": 9, "serve/1g.5gb": 4}),
        ],
    )
    finding = only(raw)
    assert (finding.where, finding.fix.value) == ("teams[1].guarantee.serve", 2)


@pytest.mark.parametrize(
    ("nodes", "guarantee", "need"),
    [("1..4", 8, None), ("1..4", 9, 2), ("0..4", 1, 1), ("0..4", 32, 4), ("4..4", 32, None)],
)
def test_nodes_that_must_start_for_the_guarantees_are_noted(nodes, guarantee, need):
    found = findings(
        platform([pool("x"), pool(nodes=nodes)], [team(guarantee={"train": guarantee})])
    )
    if need is None:
        assert found == []
        return
    start = int(nodes[0])
    later = "starts when jobs request it" if need - start == 1 else "start when jobs request them"
    assert [parts(f) for f in found] == [
        (
            "quota.nodes_to_start",
            ("pools", 1, "nodes"),
            (
                f"the guarantees of train need {pluralize(need, 'node')};"
                f" {start} {'runs' if start == 1 else 'run'} from the start,"
                f" {need - start} {later}"
            ),
            nodes,
            "",
        )
    ]


def test_the_scarcest_resource_says_how_many_nodes_must_start():
    raw = platform(
        [cut_pool(nodes="0..9")], [team(guarantee={"serve/1g.5gb": 17, "serve/3g.20gb": 17})]
    )
    assert "need 3 nodes" in only(raw).problem


def test_simulated_nodes_run_from_the_beginning():
    assert (
        ids(platform([pool(nodes="0..4")], [team(guarantee={"train": 32})], cloud="simulated"))
        == []
    )


def test_a_guarantee_that_grows_cuts_what_others_borrow_and_refuses_nobody():
    def teams(guarantee):
        growing = team("growing", guarantee={"train": guarantee}, borrow={"train": 16})
        return platform([pool()], [growing, team("other", borrow={"train": 24})])

    for guarantee, own, others in ((8, 16, 24), (16, 16, 24), (24, 8, 24)):
        found = plan_of(teams(guarantee))
        assert [q.borrow for t in found.teams for q in t.quotas] == [own, others]
    assert [f.id for f in findings(teams(24))] == ["borrow.never"]
    assert findings(teams(24))[0].severity is Severity.WARNING
