"""The cohort tree: who is where, what passes between cohorts, and what every team can have in the end."""

import random

import pytest

from gpuyard.plan.quotas.cohort_limits import CohortQuotas
from gpuyard.plan.quotas.cohorts import CohortHierarchy, Limit, cohort_object, read_tree
from gpuyard.plan.quotas.quotas import plan_quotas
from gpuyard.plan.records import CohortLimit, ResourceGroup
from kit.stacks import cut_pool, findings, ids, only, parts, plan_of, platform, pool, spec_of, team

GPU = "nvidia.com/gpu"
KEY = ("train", GPU)


def lab(cohorts, *teams, **rest):
    return platform(rest.pop("pools", None), teams, queueing={"cohorts": cohorts}, **rest)


def cohorts_of(raw):
    return {c.title: c for c in plan_of(raw).queueing.cohorts if c.title}


def test_teams_are_in_the_platforms_own_cohort_until_they_say_otherwise():
    plan = plan_of(
        lab(
            [{"name": "labs"}],
            team("a", borrow={"train": 1}, cohort="labs"),
            team("b", borrow={"train": 1}),
        )
    )
    assert [t.cohort for t in plan.teams] == ["lab.labs", "lab"]


def test_cohorts_stand_parents_first_below_the_root():
    raw = lab(
        [
            {"name": "leaf", "parent": "mid"},
            {"name": "mid", "parent": "top"},
            {"name": "top", "weight": 2.5},
        ],
        team(borrow={"train": 1}, cohort="leaf"),
    )
    found = plan_of(raw).queueing.cohorts
    assert [(c.name, c.parent, c.weight) for c in found] == [
        ("lab", None, 1.0),
        ("lab.top", "lab", 2.5),
        ("lab.mid", "lab.top", 1.0),
        ("lab.leaf", "lab.mid", 1.0),
    ]
    assert all(not c.limits and not c.resource_groups for c in found[1:])


def test_objects_of_two_platforms_never_have_the_same_name():
    names = ["a", "b", "a-b", "b-a", "a-unassigned-1", "unassigned-1"]
    made = [cohort_object(p, c) for p in names for c in names]
    assert len({*made, *names}) == len(made) + len(names)


def test_a_limit_is_one_of_every_resource_that_the_teams_below_have():
    raw = lab(
        [
            {"name": "labs", "borrow": {"train": 4}},
            {"name": "leaf", "parent": "labs", "lend": {"train": 1}},
        ],
        team("a", guarantee={"train": 8}, borrow={"train": 5}, cohort="labs"),
        team("b", guarantee={"train": 2, "serve/3g.20gb": 1}, cohort="leaf"),
        pools=[pool(), cut_pool(), pool("other")],
    )
    found = cohorts_of(raw)
    slices = ["nvidia.com/mig-1g.5gb", "nvidia.com/mig-2g.10gb", "nvidia.com/mig-3g.20gb"]
    assert found["labs"].limits == (
        CohortLimit(pool="train", resource=GPU, borrow=4, lend=None),
        *(CohortLimit(pool="serve", resource=r, borrow=0, lend=None) for r in slices),
    )
    assert [(m.pool, m.borrow, m.lend) for m in found["leaf"].limits] == [
        ("train", None, 1),
        *([("serve", None, 0)] * 3),
    ]
    groups = (ResourceGroup((GPU,), ("train",)), ResourceGroup(tuple(slices), ("serve",)))
    assert found["labs"].resource_groups == found["leaf"].resource_groups == groups
    assert all(c.quotas == () for c in found.values())


def test_whole_gpus_of_a_cut_pool_limit_each_of_its_slices():
    raw = lab(
        [{"name": "labs", "lend": {"serve": 1}}],
        team(guarantee={"serve": 2}, cohort="labs"),
        pools=[cut_pool()],
    )
    assert [m.lend for m in cohorts_of(raw)["labs"].limits] == [2, 1, 1]


def test_a_circle_is_opened_at_its_first_cohort_and_everything_unknown_is_at_the_root():
    raw = lab(
        [
            {"name": "a", "parent": "b"},
            {"name": "b", "parent": "a"},
            {"name": "c", "parent": "nowhere"},
        ],
        team("x", cohort="b"),
        team("y", cohort="elsewhere"),
    )
    assert read_tree(spec_of(raw)) == CohortHierarchy((None, 0, None), (1, None), (1, 0, 2))
    tree = read_tree(spec_of(raw))
    assert tree.self_and_ancestors(1) == [1, 0, None]


def test_of_two_cohorts_with_one_name_the_first_is_meant():
    raw = lab([{"name": "a"}, {"name": "a"}], team(cohort="a"))
    assert read_tree(spec_of(raw)).cohort_by_team == (0,)


def flow_of(raw):
    spec = spec_of(raw)
    pools = {p.name: p for p in plan_of(platform(raw["pools"])).pools}
    return plan_quotas(spec, pools)[0].cohort_quotas


def test_what_a_cohort_holds_passes_on_and_can_have():
    flow = flow_of(
        lab(
            [
                {"name": "labs", "borrow": {"train": 3}, "lend": {"train": 5}},
                {"name": "leaf", "parent": "labs"},
            ],
            team(
                "a", guarantee={"train": 8}, lend={"train": 6}, borrow={"train": 5}, cohort="labs"
            ),
            team("b", guarantee={"train": 2}, cohort="leaf"),
            team("c", guarantee={"train": 10}, lend={"train": 1}),
        )
    )
    # unassigned 12, c lends 1, labs passes on 5 of its 8
    assert [flow.cohorts[n].nominal[KEY] for n in (None, 0, 1)] == [18, 8, 2]
    assert [flow.cohorts[n].lendable_quota(KEY) for n in (0, 1)] == [5, 2]
    assert [flow.cohorts[n].max_usage(KEY) for n in (None, 0, 1)] == [18, 11, 11]
    assert [flow.cohorts[n].available_outside(KEY) for n in (0, 1)] == [13, 9]


def test_a_resource_that_limits_do_not_name_does_not_pass():
    flow = flow_of(
        lab(
            [{"name": "labs", "borrow": {}, "lend": {}}],
            team(guarantee={"train": 8}, cohort="labs"),
        )
    )
    assert (
        flow.cohorts[0].lendable_quota(KEY),
        flow.cohorts[0].max_usage(KEY),
        flow.cohorts[None].max_usage(KEY),
    ) == (0, 8, 24)


def test_a_team_that_a_cohort_binds_is_told_which():
    raw = lab(
        [{"name": "top", "borrow": {"train": 4}}, {"name": "leaf", "parent": "top"}],
        team("a", guarantee={"train": 8}, borrow={"train": 6}, cohort="leaf"),
        team("b", guarantee={"train": 1}, cohort="top"),
    )
    assert parts(only(raw)) == (
        "borrow.never",
        ("teams", 0, "borrow", "train"),
        (
            "the team can borrow at most 5 nvidia.com/gpu of train, because its cohort top may "
            "borrow at most 4: the rest of the limit has no effect"
        ),
        "6 nvidia.com/gpu",
        "0 to 5",
    )


def test_a_team_that_no_cohort_binds_is_told_what_there_is():
    raw = lab(
        [{"name": "top", "borrow": {"train": 24}}],
        team("a", guarantee={"train": 8}, borrow={"train": 25}, cohort="top"),
    )
    said = (
        "at most 24 nvidia.com/gpu of train are lent by other teams or unassigned: the rest of "
        "the limit has no effect"
    )
    assert only(raw).problem == said


def test_entries_of_one_resource_count_together_in_a_cohort_too():
    raw = lab(
        [{"name": "labs", "borrow": {"train": 4, "train/": 6}, "lend": {"train": 3, "train/": 6}}],
        team("a", guarantee={"train": 8}, borrow={"train": 9}, cohort="labs"),
    )
    lend, borrow = findings(raw)
    assert lend.problem == (
        "the teams of cohort labs lend 8 nvidia.com/gpu of train together and the cohort already "
        "lends 3 of them: it cannot lend more"
    )
    assert (lend.where, lend.fix.value) == ("queueing.cohorts[0].lend.train/", 5)
    assert borrow.problem == (
        "the teams of cohort labs may borrow 9 nvidia.com/gpu of train together, and the cohort "
        "already borrows 4 of them: the rest of the limit has no effect"
    )
    assert (borrow.where, borrow.fix.value) == ("queueing.cohorts[0].borrow.train/", 5)


def test_what_the_cohorts_below_may_borrow_is_all_that_a_cohort_can_use():
    def said(limit):
        return findings(
            lab(
                [
                    {"name": "top", "borrow": {"train": limit}},
                    {"name": "leaf", "parent": "top", "borrow": {"train": 3}},
                ],
                team("a", guarantee={"train": 8}, borrow={"train": 6}, cohort="leaf"),
                team("b", guarantee={"train": 4}, borrow={"train": 2}, cohort="top"),
                team("c", guarantee={"train": 4}, cohort="leaf"),
            )
        )

    assert said(5) == []
    (finding,) = said(6)
    assert (finding.where, finding.fix.value) == ("queueing.cohorts[0].borrow.train", 5)


def test_a_misspelt_pool_of_a_cohort_is_told_once_and_nothing_else_of_it():
    raw = lab(
        [{"name": "labs", "borrow": {"trian": 4}}], team(guarantee={"train": 8}, cohort="labs")
    )
    finding = only(raw)
    assert (finding.id, finding.where, finding.fix.value) == (
        "quota.unknown_pool",
        "queueing.cohorts[0].borrow.trian",
        {"train": 4},
    )


def test_a_pool_that_is_refused_is_not_blamed_on_a_cohort():
    raw = lab(
        [{"name": "labs", "lend": {"train": 4}}],
        team(guarantee={"train": 8}, cohort="labs"),
        pools=[pool(machine="p9.huge")],
    )
    assert ids(raw) == ["pool.machine_unknown", "checks.waiting"]


@pytest.mark.parametrize("seed", range(12))
def test_every_guarantee_can_be_had_whatever_the_tree_and_its_limits(seed):
    """Mission: a cohort tree is solvable when each team can have its guarantee with everybody else idle."""
    raw = random_tree(random.Random(seed))  # noqa: S311  no secret is made of it
    spec = spec_of(raw)
    pools = {p.name: p for p in plan_of(platform(raw["pools"])).pools}
    quotas, _ = plan_quotas(spec, pools)
    flow, tree = quotas.cohort_quotas, quotas.cohort_quotas.tree
    for index in range(len(spec.teams)):
        for quota in quotas.by_team[index]:
            key = (quota.pool, quota.resource)
            lent = quota.nominal if quota.lend is None else quota.lend
            assert (
                quota.nominal - lent + flow.cohorts[tree.cohort_by_team[index]].max_usage(key)
                >= quota.nominal
            )
            assert flow.cohorts[tree.cohort_by_team[index]].max_usage(key) - lent >= quota.borrow
    nominal = sum(q.nominal for mine in quotas.by_team.values() for q in mine)
    assert nominal + quotas.spare[KEY] == 32


def random_tree(rng):
    names = [f"c{i}" for i in range(rng.randint(1, 5))]
    cohorts = []
    for i, name in enumerate(names):
        one = {"name": name}
        if i and rng.random() < 0.7:
            one["parent"] = rng.choice(names[:i])
        for word in ("borrow", "lend"):
            if rng.random() < 0.5:
                one[word] = {"train": rng.randint(0, 12)}
        cohorts.append(one)
    left, teams = 32, []
    for i in range(rng.randint(2, 5)):
        mine = rng.randint(0, left)
        left -= mine
        one = team(f"t{i}", guarantee={"train": mine}, borrow={"train": rng.randint(0, 20)})
        if rng.random() < 0.6:
            one["cohort"] = rng.choice(names)
        if rng.random() < 0.4:
            one["lend"] = {"train": rng.randint(0, mine)}
        teams.append(one)
    return platform(None, teams, queueing={"cohorts": cohorts})


@pytest.mark.parametrize("seed", range(12))
def test_a_flow_is_what_kueue_counts(seed):
    """Against the sums written out as in Kueue's resource_node.go, top down and with its own names."""
    rng = random.Random(f"flow {seed}")  # noqa: S311
    count = rng.randint(1, 6)
    parents = tuple(rng.choice([None, *range(i)]) for i in range(count))
    homes = tuple(rng.choice([None, *range(count)]) for _ in range(5))
    lent = [{KEY: rng.randint(0, 9)} for _ in homes]
    limits = {
        w: {i: {KEY: rng.randint(0, 9)} for i in range(count) if rng.random() < 0.5} for w in "bl"
    }
    flow = CohortQuotas(
        CohortHierarchy(parents, homes, tuple(reversed(range(count)))), {KEY: 7}, lent
    )
    for node in flow.tree.bottom_up:
        if node in limits["l"]:
            flow.cohorts[node].lend = Limit(limits["l"][node])
        flow.cohorts[node].propagate()
    for node, limit in limits["b"].items():
        flow.cohorts[node].borrow = Limit(limit)

    def subtree(node):
        own = 7 if node is None else 0
        own += sum(a[KEY] for a, home in zip(lent, homes, strict=True) if home == node)
        return own + sum(subtree(c) - local(c) for c in range(count) if parents[c] == node)

    def local(node):
        limit = limits["l"].get(node)
        return 0 if limit is None else max(0, subtree(node) - limit[KEY])

    def potential(node):
        if node is None:
            return subtree(None)
        found = local(node) + potential(parents[node])
        limit = limits["b"].get(node)
        return found if limit is None else min(found, subtree(node) + limit[KEY])

    for node in (None, *range(count)):
        assert flow.cohorts[node].nominal[KEY] == subtree(node)
        assert flow.cohorts[node].max_usage(KEY) == potential(node)
