"""Dedicated pools: whose claims count, what a node and a queue say, and what is left over."""

import pytest

from gpuyard.render.kueue.queueing import queueing_objects
from kit.fixes import check_fix
from kit.stacks import cut_pool, findings, ids, only, parts, plan_of, platform, pool, team
from proofs import applied

OWNED = pool("vip", owners=["a"])


@pytest.mark.parametrize(
    ("kind", "verb"), [("guarantee", "be guaranteed"), ("borrow", "borrow"), ("lend", "lend")]
)
@pytest.mark.parametrize("key", ["vip", "vip/"])
def test_only_owners_claim_something_of_a_dedicated_pool(kind, verb, key):
    mine = {"guarantee": {"train": 1}, kind: {"train": 1, key: 1}}
    raw = platform([pool(), OWNED], [team("a", guarantee={"vip": 32}), team("b", **mine)])
    finding = only(raw)
    assert parts(finding) == (
        "pool.owner",
        ("teams", 1, kind, key),
        f"vip is dedicated to a: b cannot {verb} any of it",
        key,
        "pools without owners, or with b among them",
    )
    check_fix(raw, finding)


def test_a_refused_claim_takes_nothing_from_the_owners():
    raw = platform([OWNED], [team("b", guarantee={"vip": 8}), team("a", guarantee={"vip": 32})])
    assert "quota.over_capacity" not in ids(raw)


def test_units_that_are_wrong_are_said_before_whose_they_are():
    raw = platform([OWNED], [team("a", guarantee={"vip": 32}), team("b", guarantee={"vip/x": 1})])
    assert "quota.unit" in ids(raw)
    assert "pool.owner" not in ids(raw)


def test_a_dedicated_pool_is_fenced_so_that_only_admitted_pods_go_there():
    raw = platform([pool(), OWNED], [team("a", guarantee={"vip": 32})])
    train, vip = plan_of(raw).pools
    assert [str(t) for t in train.taints] == ["nvidia.com/gpu=present:NoSchedule"]
    assert [str(t) for t in vip.taints] == [
        "nvidia.com/gpu=present:NoSchedule",
        "gpuyard.dev/pool=vip:NoSchedule",
    ]
    assert plan_of(raw).queueing.flavors[1].taints == vip.taints


def test_what_owners_leave_is_in_the_cohort_and_in_no_other_queue():
    raw = platform(
        [pool(), OWNED],
        [
            team("a", guarantee={"vip": 24, "train": 8}, borrow={"vip": 8, "train": 8}),
            team("b", guarantee={"train": 8}, borrow={"train": 16}),
        ],
    )
    objects = queueing_objects(plan_of(raw))
    flavors = {
        o["metadata"]["name"]: [
            f["name"] for g in o["spec"]["resourceGroups"] for f in g["flavors"]
        ]
        for o in objects
        if o["kind"] in {"Cohort", "ClusterQueue"}
    }
    assert flavors == {"lab": ["train", "vip"], "lab-a": ["train", "vip"], "lab-b": ["train"]}


@pytest.mark.parametrize(
    ("owners", "given", "fix", "after"),
    [
        (["vision", "zz"], "zz", "remove zz, or add the team", ["vision"]),
        (["visoin", "vision"], "visoin", "write vision", ["vision"]),
        (
            ["zz", "visoin", "zz"],
            "zz, visoin",
            "remove zz, or add the team; write vision",
            ["vision"],
        ),
        (["zz"], "zz", "remove zz, or add the team", None),
    ],
)
def test_owners_nobody_knows_are_refused_and_fixed_together(owners, given, fix, after):
    raw = platform([pool("vip", owners=owners)], [team("vision", guarantee={"vip": 32})])
    finding = only(raw)
    assert (finding.path, finding.given) == (("pools", 0, "owners"), given)
    assert (finding.fix.message, finding.fix.value) == (fix, after)
    check_fix(raw, finding)


def test_without_teams_there_are_no_names_to_choose_from():
    finding = only(platform([OWNED]))
    assert (finding.id, finding.allowed) == (
        "pool.owner_unknown",
        "a name in `teams`, which is empty",
    )


def test_a_pool_that_is_refused_is_not_said_to_have_something_left():
    raw = platform([pool("vip", owners=["a"], machine="??")], [team("a", guarantee={"vip": 1})])
    assert ids(raw) == ["pool.machine_unknown", "checks.waiting"]


@pytest.mark.parametrize(
    ("teams", "lets"),
    [
        ([team("a", guarantee={"serve/3g.20gb": 8}), team("b")], "a"),
        ([team("a"), team("b", guarantee={"serve/3g.20gb": 8})], "b"),
        ([team("a"), team("b", borrow={"serve/3g.20gb": 8})], "b"),
        (
            [
                team("a", guarantee={"serve/3g.20gb": 4}),
                team("b", guarantee={"serve/3g.20gb": 4}),
            ],
            "a",
        ),
    ],
)
def test_what_nobody_may_borrow_is_offered_to_an_owner_who_is_there_already(teams, lets):
    raw = platform([cut_pool(owners=["a", "b"])], teams)
    finding = next(f for f in findings(raw) if f.id == "pool.left_over")
    assert finding.given == "16 nvidia.com/mig-1g.5gb, 8 nvidia.com/mig-2g.10gb"
    assert finding.fix.message.startswith(
        f"let {lets} borrow {{serve/1g.5gb: 16, serve/2g.10gb: 8}}"
    )
    assert "pool.left_over" not in ids(applied(raw, finding.fix))


def test_an_owner_nobody_uses_it_gets_the_whole_pool():
    raw = platform([pool("vip", owners=["b", "a"])], [team("a"), team("b")])
    finding = next(f for f in findings(raw) if f.id == "pool.left_over")
    assert (finding.fix.at, finding.fix.value) == (("teams", 1, "borrow"), {"vip": 32})
