"""Flavors, groups and cohorts: Kueue's own rules, for made-up platforms small and large."""

import random
from dataclasses import replace

import pytest

from gpuyard.plan.draft import Draft
from gpuyard.plan.queueing.queueing import (
    _Groups,
    _too_big,
    check_flavors,
    resource_groups,
)
from gpuyard.plan.records import ResourceGroup
from gpuyard_core.catalogue.kubernetes.kueue import MAX_FLAVORS, MAX_GROUPS
from kit.fixes import check_fix
from kit.stacks import (
    CUT,
    cut_pool,
    ids,
    only,
    parts,
    plan_of,
    platform,
    pool,
    shared_pool,
    spec_of,
    team,
)
from proofs import applied

GPU, SHARED = "nvidia.com/gpu", "nvidia.com/gpu.shared"
MIG1, MIG2, MIG3 = "nvidia.com/mig-1g.5gb", "nvidia.com/mig-2g.10gb", "nvidia.com/mig-3g.20gb"


def groups_of(pools, **shares):
    return plan_of(platform(pools, [team(**shares)])).teams[0].resource_groups


def test_pools_that_share_a_resource_are_one_group():
    assert groups_of([pool("a"), pool("b")], guarantee={"b": 1, "a": 1}) == (
        ResourceGroup((GPU,), ("a", "b")),
    )


def test_pools_without_a_resource_in_common_are_groups_of_their_own():
    found = groups_of(
        [pool("a"), cut_pool("b"), shared_pool("c")], guarantee={"a": 1, "b": 1, "c": 1}
    )
    assert found == (
        ResourceGroup((GPU,), ("a",)),
        ResourceGroup((MIG1, MIG2, MIG3), ("b",)),
        ResourceGroup((SHARED,), ("c",)),
    )


def test_a_pool_between_two_groups_joins_them_in_the_order_of_the_pools():
    half = {"mig": [{"gpus": "0-3", "3g.20gb": 2}]}
    pools = [pool("whole"), shared_pool("dev"), cut_pool("cut"), cut_pool("both", sharing=half)]
    found = groups_of(pools, guarantee={"whole": 1, "dev": 1, "cut": 1, "both": 1})
    assert found == (
        ResourceGroup((GPU, MIG1, MIG2, MIG3), ("whole", "cut", "both")),
        ResourceGroup((SHARED,), ("dev",)),
    )


def test_a_queue_has_only_the_pools_its_team_may_use():
    assert groups_of([pool("a"), pool("b")], borrow={"b": 1}) == (ResourceGroup((GPU,), ("b",)),)
    assert groups_of([pool("a")]) == ()


def test_a_flavor_picks_the_nodes_of_its_pool_and_tolerates_their_taints():
    flavor = plan_of(platform([cut_pool("new", previous_names=["old"])])).queueing.flavors[0]
    assert (flavor.name, flavor.node_labels) == ("old", {"gpuyard.dev/pool": "old"})
    assert [str(t) for t in flavor.taints] == [
        "nvidia.com/gpu=present:NoSchedule",
        "gpuyard.dev/pool=old:NoSchedule",
    ]


def test_the_cohort_has_what_nobody_is_guaranteed():
    queueing = plan_of(
        platform([cut_pool(), pool()], [team(guarantee={"serve/3g.20gb": 8, "train": 32})])
    ).queueing
    (cohort,) = queueing.cohorts
    assert (cohort.name, cohort.parent) == ("lab", None)
    assert [(q.resource, q.nominal, q.borrow, q.lend) for q in cohort.quotas] == [
        (MIG1, 16, 0, None),
        (MIG2, 8, 0, None),
    ]
    assert cohort.resource_groups == (ResourceGroup((MIG1, MIG2, MIG3), ("serve",)),)


def test_a_cohort_without_anything_left_has_no_groups():
    (cohort,) = plan_of(platform(teams=[team(guarantee={"train": 32})])).queueing.cohorts
    assert (cohort.quotas, cohort.resource_groups) == ((), ())


@pytest.mark.parametrize(("count", "sizes"), [(64, [64]), (65, [64, 1]), (130, [64, 64, 2])])
def test_more_pools_than_one_cohort_can_list_are_held_by_children(count, sizes):
    queueing = plan_of(platform([pool(f"p{i}") for i in range(count)])).queueing
    assert [len(c.quotas) for c in queueing.cohorts] == sizes
    assert [c.name for c in queueing.cohorts] == ["lab", "lab-unassigned-1", "lab-unassigned-2"][
        : len(sizes)
    ]
    assert [c.parent for c in queueing.cohorts] == [None, "lab", "lab"][: len(sizes)]
    assert len(queueing.unassigned) == count


PROFILES = {
    "p4d.24xlarge": ["1g.5gb", "1g.5gb+me", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"],
    "p4de.24xlarge": ["1g.10gb+me", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"],
    "p5en.48xlarge": ["1g.18gb", "1g.35gb", "2g.35gb", "3g.71gb"],
}
KINDS = [
    cut_pool(f"k{i}", machine=machine, sharing={"mig": {profile: 1}})
    for i, (machine, profile) in enumerate(
        (m, p) for m, profiles in PROFILES.items() for p in profiles
    )
]


def test_more_kinds_of_resources_than_one_cohort_can_count_are_held_by_children():
    cohorts = plan_of(platform(KINDS)).queueing.cohorts
    assert [len(c.resource_groups) for c in cohorts] == [MAX_GROUPS, 1]


@pytest.mark.parametrize("seed", range(6))
def test_a_pool_fits_exactly_when_the_groups_with_it_are_within_the_limits(seed, monkeypatch):
    # limits small enough that each of them is met
    limits = {"MAX_FLAVORS": 5, "MAX_GROUPS": 4, "MAX_FLAVORS_IN_ALL": 9, "MAX_RESOURCES": 3}
    limits |= {"MAX_COMBINATIONS": 6, "MAX_RESOURCES_IN_ALL": 5}
    for name, most in limits.items():
        monkeypatch.setattr(f"gpuyard.plan.queueing.queueing.{name}", most)
    half = {"mig": [{"gpus": "0-3", "3g.20gb": 2}]}
    kinds = [pool("a"), shared_pool("b"), cut_pool("c"), cut_pool("d", sharing=half), *KINDS[:4]]
    planned = plan_of(platform(kinds)).pools
    rng = random.Random(seed)  # noqa: S311  no secret is made of it
    held, groups = [], _Groups()
    for one in rng.choices(planned, k=40):
        fits = not _too_big(resource_groups([*held, one]))
        assert groups.fits(one) is fits
        if fits:
            held.append(one)
            groups.add(one)
            assert groups.done() == resource_groups(held)


def test_a_team_with_as_many_pools_as_a_queue_can_try_is_planned():
    pools = [pool(f"p{i}") for i in range(MAX_FLAVORS)]
    assert ids(platform(pools, [team(guarantee={p["name"]: 1 for p in pools})])) == []
    assert ids(platform(KINDS[:16], [team(guarantee={p["name"]: 1 for p in KINDS[:16]})])) == []


def test_a_team_with_more_pools_than_a_queue_can_try_is_refused():
    pools = [pool(f"p{i}") for i in range(MAX_FLAVORS + 1)]
    assert parts(only(platform(pools, [team(guarantee={p["name"]: 1 for p in pools})]))) == (
        "queue.flavors",
        ("teams", 0, "guarantee"),
        (
            "the queue of team vision exceeds the limits of a Kueue ClusterQueue: 65 pools for "
            "nvidia.com/gpu; a queue has at most 64"
        ),
        "65 pools",
        "fewer pools for the team; identical pools can be merged",
    )


def test_a_team_with_more_kinds_of_resources_than_a_queue_can_count_is_refused():
    finding = only(platform(KINDS, [team(guarantee={p["name"]: 1 for p in KINDS})]))
    assert finding.problem == (
        "the queue of team vision exceeds the limits of a Kueue ClusterQueue: 17 kinds of GPU "
        "resources; a queue counts at most 16"
    )


def test_a_team_with_too_many_pools_in_all_is_refused():
    kinds = [
        {"machine": "p5.48xlarge", "sharing": "none"},
        {"machine": "g6.12xlarge", "sharing": {"time_slicing": 2}},
        *({"machine": "p4d.24xlarge", "sharing": {"mig": {p: 1}}} for p in ("1g.5gb", "3g.20gb")),
        {"machine": "p4d.24xlarge", "sharing": {"mig": {"7g.40gb": 1}}},
    ]
    pools = [pool(f"p{i}-{j}", nodes=1, **kind) for i, kind in enumerate(kinds) for j in range(52)]
    finding = only(platform(pools, [team(guarantee={p["name"]: 1 for p in pools})]))
    assert finding.problem.endswith(": 260 pools in all; a queue has at most 256")
    most = [
        pool(f"p{i}-{j}", nodes=1, **kind) for i, kind in enumerate(kinds[:4]) for j in range(64)
    ]
    assert ids(platform(most, [team(guarantee={p["name"]: 1 for p in most})])) == []


def test_more_resources_together_than_a_group_can_cover_are_refused():
    raw = platform([pool("a")], [team("small"), team(guarantee={"a": 1})])
    planned, spec = plan_of(raw), spec_of(raw)
    resources = tuple(f"nvidia.com/mig-{i}g.1gb" for i in range(65))

    def check(count):
        groups = (ResourceGroup(resources[:count], ("a",)),)
        one = replace(planned.teams[1], resource_groups=groups)
        teams = (planned.teams[0], one)
        return list(check_flavors(Draft(spec, pools={"a": planned.pools[0]}, teams=teams)))

    (finding,) = check(65)
    assert finding.path == ("teams", 1, "guarantee")
    assert finding.problem.endswith(": 65 resources counted together, at most 64")
    assert finding.fix.message == "give the team fewer pools"
    assert check(64) == []


def test_a_team_with_too_many_mig_profiles_over_its_pools_is_refused():
    cut = [
        ("p4d.24xlarge", ["1g.5gb", "2g.10gb", "3g.20gb"]),
        ("p4d.24xlarge", ["1g.10gb", "4g.20gb"]),
        ("p4d.24xlarge", ["7g.40gb"]),
        ("p5.48xlarge", ["1g.20gb", "3g.40gb"]),
    ]
    pools = [
        pool(f"m{i}", nodes=1, machine=m, sharing={"mig": [{"gpus": "0-3", **dict.fromkeys(p, 1)}]})
        for i, (m, p) in enumerate(cut)
    ]

    def raw(whole):
        every = [*pools, *(pool(f"p{i}", nodes=1) for i in range(whole))]
        return platform(every, [team(guarantee={p["name"]: 1 for p in every})])

    assert only(raw(53)).problem == (
        "the queue of team vision exceeds the limits of a Kueue ClusterQueue: 57 pools with 9 "
        "resources counted together need 513 quotas; a resource group has at most 512"
    )
    assert ids(raw(52)) == []


@pytest.mark.parametrize(
    ("shapes", "problem"),
    [
        ([(64, 8)], None),
        (
            [(57, 9)],
            "57 pools with 9 resources counted together need 513 quotas; a resource group has at most 512",
        ),
        ([(1, 64)] * 4, None),
        ([(1, 64)] * 4 + [(1, 1)], "257 resources in all; a queue counts at most 256"),
    ],
)
def test_a_queue_is_refused_beyond_the_limits_of_kueue_s_webhook(shapes, problem):
    raw = platform([pool("a")], [team(guarantee={"a": 1})])
    planned = plan_of(raw)
    groups = tuple(
        ResourceGroup(
            tuple(f"example.com/r{i}-{n}" for n in range(resources)),
            tuple(f"f{i}-{n}" for n in range(flavors)),
        )
        for i, (flavors, resources) in enumerate(shapes)
    )
    teams = (replace(planned.teams[0], resource_groups=groups),)
    found = check_flavors(Draft(spec_of(raw), pools={"a": planned.pools[0]}, teams=teams))
    prefix = "the queue of team vision exceeds the limits of a Kueue ClusterQueue: "
    assert [f.problem for f in found] == ([prefix + problem] if problem else [])


def test_pools_a_team_only_borrows_from_are_given_up_first_the_last_ones():
    pools = [pool(f"p{i}", nodes=1) for i in range(MAX_FLAVORS + 2)]
    borrow = {p["name"]: 1 for p in pools[10:]}
    raw = platform(pools, [team(guarantee={p["name"]: 1 for p in pools[:10]}, borrow=borrow)])
    finding = only(raw)
    assert finding.fix.message == "do not borrow from p64, p65"
    check_fix(raw, finding)
    assert plan_of(applied(raw, finding.fix)).teams[0].resource_groups[0].flavors[-1] == "p63"


def test_pools_that_are_alike_are_named_when_borrowing_less_is_not_enough():
    pools = [pool(f"p{i}", nodes=1, zones=[f"z{i % 2}"]) for i in range(MAX_FLAVORS + 3)]
    finding = only(platform(pools, [team(guarantee={p["name"]: 1 for p in pools})]))
    assert finding.fix.message == "merge p0, p2, p4 and 31 more into one pool: they are identical"
    unlike = [pool(f"p{i}", nodes=1, zones=[f"z{i}"]) for i in range(MAX_FLAVORS + 1)]
    finding = only(platform(unlike, [team(guarantee={p["name"]: 1 for p in unlike})]))
    assert finding.fix.message == "give the team fewer pools"
    pair = [*unlike[:-1], pool("q", nodes=1, zones=["z0"])]
    finding = only(platform(pair, [team(guarantee={p["name"]: 1 for p in pair})]))
    assert finding.fix.message == "merge p0, q into one pool: they are identical"


def test_priorities_stand_in_the_plan_the_highest_first():
    raw = platform(priorities={"b": 5, "c": -1, "a": 5, "top": 1000})
    found = plan_of(raw).queueing.priorities
    assert [(p.name, p.value) for p in found] == [("top", 1000), ("a", 5), ("b", 5), ("c", -1)]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [({}, ("reclaim", True)), ({"preemption": "never", "fair_sharing": False}, ("never", False))],
)
def test_what_every_queue_has_in_common_is_what_the_file_says(spec, expected):
    queueing = plan_of(platform(queueing=spec)).queueing
    assert (queueing.preemption, queueing.fair_sharing) == expected


def test_a_layout_of_time_sliced_slices_is_a_group_of_its_own():
    found = groups_of(
        [cut_pool("a"), cut_pool("b", sharing={**CUT, "time_slicing": 2})],
        guarantee={"a": 1, "b": 1},
    )
    assert [g.flavors for g in found] == [("a",), ("b",)]


def test_a_single_gpu_that_is_nobodys_can_be_borrowed():
    plan = plan_of(platform(teams=[team(guarantee={"train": 31})]))
    assert [q.nominal for q in plan.queueing.unassigned] == [1]
