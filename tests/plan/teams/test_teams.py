"""Teams: names, isolation, and what a namespace can hold at most."""

import pytest

from kit.fixes import applied, check_fix
from kit.stacks import (
    UNCLAIMED,
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

OWN = "a unique name for each team"
RESERVED = "a namespace with this name belongs to the cluster"
TAKEN = "another team has or had this name"


def guaranteed(name, **rest):
    return team(name, **{"guarantee": {"train": 1}, **rest})


NAMES = [
    ("team.reserved", [guaranteed("default")], 0, RESERVED, "default", "write team-default"),
    (
        "team.reserved",
        [guaranteed("kueue-system")],
        0,
        RESERVED,
        "kueue-system",
        "write team-kueue-system",
    ),
    (
        "team.reserved",
        [guaranteed("a", previous_names=["default"])],
        0,
        RESERVED,
        "a formerly default",
        "remove `previous_names`",
    ),
    (
        "team.reserved",
        [guaranteed("default"), guaranteed("team-default")],
        0,
        RESERVED,
        "default",
        "write default-2",
    ),
    ("team.duplicate", [guaranteed("a"), guaranteed("a")], 1, TAKEN, "a", "write a-2"),
    (
        "team.duplicate",
        [guaranteed("a"), guaranteed("b", previous_names=["a"])],
        1,
        TAKEN,
        "b formerly a",
        "remove `previous_names`",
    ),
    (
        "team.duplicate",
        [guaranteed("a", previous_names=["b"]), guaranteed("b")],
        1,
        TAKEN,
        "b",
        "write b-2",
    ),
    (
        "team.duplicate",
        [guaranteed("a"), guaranteed("a-2"), guaranteed("a")],
        2,
        TAKEN,
        "a",
        "write a-3",
    ),
    (
        "team.duplicate",
        [guaranteed("a"), guaranteed("a", previous_names=["c"])],
        1,
        TAKEN,
        "a formerly c",
        "write a-2",
    ),
    (
        "team.duplicate",
        [guaranteed("a"), guaranteed("a", previous_names=["a"])],
        1,
        TAKEN,
        "a",
        "write a-2 and remove `previous_names`",
    ),
]


NAMES.append(
    (
        "team.duplicate",
        [guaranteed("x", previous_names=["a-2"]), guaranteed("a"), guaranteed("a")],
        2,
        TAKEN,
        "a",
        "write a-3",
    )
)


@pytest.mark.parametrize("row", NAMES, ids=[f"{r[0]}-{i}" for i, r in enumerate(NAMES)])
def test_a_name_that_is_somebody_elses_is_refused(row):
    kind, teams, index, problem, given, fix = row
    raw = platform(teams=teams)
    finding = only(raw)
    assert parts(finding) == (kind, ("teams", index, "name"), problem, given, OWN)
    assert finding.fix.message == fix
    check_fix(raw, finding)


def test_a_renamed_team_keeps_its_namespace_and_queue():
    found = plan_of(platform(teams=[guaranteed("seeing", previous_names=["vision"])])).teams[0]
    assert (found.name, found.default_namespace.name, found.cluster_queue, found.local_queue) == (
        "seeing",
        "vision",
        "lab-vision",
        "default",
    )


def test_a_team_carries_what_the_file_says():
    raw = guaranteed(
        "a", groups=["x", "y"], weight=2.5, isolation="slice", budget_usd_per_month=1e9
    )
    found = plan_of(platform(teams=[raw])).teams[0]
    assert (found.groups, found.weight, found.isolation, found.budget_usd_per_month) == (
        ("x", "y"),
        2.5,
        "slice",
        1e9,
    )


def test_a_namespace_holds_guarantee_and_borrowing_and_what_waits_beside_them():
    """A quota counts pods that Kueue holds by its gate: without room for them none would wait."""
    raw = team(guarantee={"train": 10, "other": 1, "dev/shared": 2}, borrow={"train": 3})
    found = plan_of(platform([pool(nodes=2), pool("other"), shared_pool()], [raw])).teams[0]
    assert found.hard == UNCLAIMED | {
        "requests.nvidia.com/gpu": 14 + 4 * 14,
        "requests.nvidia.com/gpu.shared": 2 + 32,
    }


@pytest.mark.parametrize("enforce", ["warn", "audit"])
def test_where_policies_refuse_nothing_a_namespace_holds_what_may_run(enforce):
    raw = team(guarantee={"train": 4}, borrow={"train": 3})
    held, waits = (
        plan_of(platform([pool()], [raw], admission={"enforce": how})).teams[0]
        for how in (enforce, "deny")
    )
    assert (held.hard["requests.nvidia.com/gpu"], waits.hard["requests.nvidia.com/gpu"]) == (7, 39)
    assert (held.limits.cpu - 8, held.limits.memory_gib - 32) == (
        (waits.limits.cpu - 8) / 2,
        (waits.limits.memory_gib - 32) / 2,
    )


def test_a_namespace_holds_nothing_of_what_its_team_has_no_part_of():
    """What a quota does not name is not counted: a pod past the queue would take all of it."""
    raw = team(guarantee={"train": 4})
    found = plan_of(platform([pool(), cut_pool(), shared_pool()], [raw])).teams[0]
    assert found.hard == UNCLAIMED | {
        "requests.nvidia.com/gpu": 4 + 32,
        "requests.nvidia.com/gpu.shared": 0,
        "requests.nvidia.com/mig-1g.5gb": 0,
        "requests.nvidia.com/mig-2g.10gb": 0,
        "requests.nvidia.com/mig-3g.20gb": 0,
    }


@pytest.mark.parametrize(
    "shares", [{}, {"guarantee": {"train": 0}}, {"borrow": {"train": 0}}, {"lend": {}}]
)
def test_a_team_that_can_never_start_anything_is_warned_of(shares):
    raw = platform(teams=[team(**shares)])
    finding = only(raw)
    assert parts(finding) == (
        "team.nothing",
        ("teams", 0),
        "team vision has no guarantee and may not borrow: none of its jobs can ever start",
        "",
        "",
    )
    assert (finding.fix.message, finding.fix.at) == (
        "let it borrow {train: 1}",
        ("teams", 0, "borrow"),
    )
    assert findings(applied(raw, finding.fix)) == []


@pytest.mark.parametrize(
    ("pools", "other", "own", "borrow"),
    [
        ([shared_pool()], {"guarantee": {"dev/shared": 1}}, {}, {"dev/shared": 1}),
        ([cut_pool(), pool()], {"guarantee": {"serve/1g.5gb": 16}}, {}, {"serve/2g.10gb": 1}),
        ([pool()], {"guarantee": {"train": 32}}, {}, None),
        ([pool()], {"guarantee": {"train": 1}, "isolation": "node"}, {}, None),
        ([pool()], {"guarantee": {"train": 1}}, {"isolation": "node"}, None),
        ([pool(), pool("b")], {"guarantee": {"train": 1}}, {"isolation": "node"}, {"b": 1}),
        ([shared_pool()], {"guarantee": {"dev": 1}}, {"isolation": "slice"}, None),
        ([pool(owners=["a"])], {"guarantee": {"train": 32}}, {}, None),
    ],
)
def test_what_a_team_may_borrow_is_free_and_in_company_that_everybody_accepts(
    pools, other, own, borrow
):
    raw = platform(pools, [team("a", **other), team("b", **own)])
    finding = next(f for f in findings(raw) if f.id == "team.nothing")
    assert finding.fix.value == borrow
    if borrow:
        assert "team.nothing" not in {f.id for f in findings(applied(raw, finding.fix))}
    else:
        assert (finding.fix.message, finding.fix.at) == ("add a guarantee, or let it borrow", None)


def test_a_team_whose_pool_is_refused_is_not_told_that_it_has_nothing():
    assert ids(platform([pool(machine="??")], [team(guarantee={"train": 1})])) == [
        "pool.machine_unknown",
        "checks.waiting",
    ]


@pytest.mark.parametrize(
    ("queueing", "raw", "why"),
    [
        ({}, {"weight": 2}, "it divides borrowed capacity, and vision may not borrow"),
        (
            {},
            {"weight": 0.5, "borrow": {"train": 0}},
            "it divides borrowed capacity, and vision may not borrow",
        ),
        (
            {"fair_sharing": False},
            {"weight": 2, "borrow": {"train": 1}},
            "fair_sharing is off, so jobs borrow in order of arrival",
        ),
        ({"fair_sharing": False}, {"weight": 1, "borrow": {"train": 1}}, None),
        ({}, {"weight": 2, "borrow": {"train": 1}}, None),
    ],
)
def test_a_weight_that_weighs_nothing_is_warned_of(queueing, raw, why):
    found = findings(platform(teams=[guaranteed("vision", **raw)], queueing=queueing))
    expected = [] if why is None else [f"the weight has no effect: {why}"]
    assert [f.problem for f in found] == expected
    assert [f.id for f in found] == ["weight.unused"] * len(expected)
