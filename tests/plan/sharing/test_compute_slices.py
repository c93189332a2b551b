"""Quota in compute slices: what a key means, what a namespace may hold, and what a number of slices hides."""

from fractions import Fraction

import pytest

from gpuyard.plan.sharing.compute_slices import compute_slices_of_profile, convert_to_compute_slices
from gpuyard.plan.teams.limits import with_queued_pods
from gpuyard.render.kueue.configuration import kueue_configuration
from gpuyard.render.platform import platform_objects
from gpuyard_advisor.explain import Verdict, explain
from gpuyard_advisor.explain.running import read_running
from gpuyard_advisor.scheduler.model import EMPTY
from gpuyard_advisor.workloads import read_job
from gpuyard_core.catalogue.gpus import MIG_PRODUCTS
from gpuyard_core.names import MIG_SLICES
from kit.cases.explain import job, one_team
from kit.fixes import check_fix
from kit.stacks import (
    CUT,
    UNCLAIMED,
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

SLICES = {"mig_quota": "slices"}
MIG1, MIG2, MIG3 = "nvidia.com/mig-1g.5gb", "nvidia.com/mig-2g.10gb", "nvidia.com/mig-3g.20gb"
SMALL = {"mig": {"1g.5gb": 7}}
UNLIKE = {"mig": [{"gpus": "0-3", "3g.20gb": 2}, {"gpus": "4-7", "7g.40gb": 1}]}
ALIKE = {"mig": [{"gpus": "0-3", "7g.40gb": 1}, {"gpus": "4-7", **CUT["mig"]}]}
PARTLY = {"mig": [{"gpus": "0-5", "1g.5gb": 7}]}


def sliced(pools=None, teams=(), **rest):
    queueing = SLICES | rest.pop("queueing", {})
    pools = [cut_pool()] if pools is None else pools
    return platform(pools, teams, **{"cloud": "simulated", **rest}, queueing=queueing)


def quotas(pools, **shares):
    found = plan_of(sliced(pools, [team(**shares)])).teams[0].quotas
    return {(q.pool, q.resource): (q.nominal, q.borrow, q.lend) for q in found}


# ── what a key means ──────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("pools", "shares", "expected"),
    [
        ([cut_pool()], {"guarantee": {"serve/slices": 5}}, (5, 0, None)),
        ([cut_pool()], {"guarantee": {"serve": 2}}, (14, 0, None)),
        ([cut_pool()], {"guarantee": {"serve": 1, "serve/slices": 3}}, (10, 0, None)),
        ([cut_pool(sharing={"mig": {"3g.20gb": 2}})], {"guarantee": {"serve": 2}}, (12, 0, None)),
        ([cut_pool(sharing=ALIKE)], {"guarantee": {"serve": 2}}, (14, 0, None)),
        (
            [cut_pool()],
            {
                "guarantee": {"serve/slices": 5},
                "borrow": {"serve/slices": 51},
                "lend": {"serve/slices": 2},
            },
            (5, 51, 2),
        ),
    ],
)
def test_amounts_are_compute_slices(pools, shares, expected):
    assert quotas(pools, **shares) == {("serve", MIG_SLICES): expected}


def test_whole_gpus_beside_slices_stay_whole():
    found = quotas([cut_pool(sharing=PARTLY)], guarantee={"serve": 2, "serve/slices": 42})
    assert found == {
        ("serve", MIG_SLICES): (42, 0, None),
        ("serve", "nvidia.com/gpu"): (2, 0, None),
    }


def test_shares_of_slices_are_counted_as_before():
    shared = cut_pool(sharing={**CUT, "time_slicing": 2})
    found = quotas([shared, cut_pool("plain")], guarantee={"serve/3g.20gb.shared": 2, "plain": 1})
    assert found["serve", f"{MIG3}.shared"] == (2, 0, None)
    assert found["plain", MIG_SLICES] == (7, 0, None)


def test_gpus_that_are_cut_into_unlike_numbers_have_no_whole():
    finding = next(
        f
        for f in findings(sliced([cut_pool(sharing=UNLIKE)], [team(guarantee={"serve": 1})]))
        if f.id == "quota.unit"
    )
    assert "MIG layouts" in finding.problem
    assert finding.allowed == "serve/slices"


@pytest.mark.parametrize(
    ("shares", "right"),
    [
        ({"serve/3g.20gb": 2}, {"serve/slices": 6}),
        ({"serve/3g.20gb": 2, "serve/1g.5gb": 4, "train": 8}, {"serve/slices": 10, "train": 8}),
        ({"serve/2g.10gb": 2, "serve/slices": 1}, {"serve/slices": 5}),
    ],
)
def test_slices_of_a_profile_become_compute_slices(shares, right):
    raw = sliced([pool(), cut_pool()], [team(guarantee=shares)])
    found = [f for f in findings(raw) if f.id == "quota.unit"]
    for finding in found:
        assert finding.fix.value == right
        assert finding.fix.message == f"write serve/slices: {right['serve/slices']}"
        check_fix(raw, finding)


def test_a_misspelt_unit_is_the_nearest_unit():
    raw = sliced([cut_pool()], [team(guarantee={"serve/slice": 2})])
    finding = next(f for f in findings(raw) if f.id == "quota.unit")
    assert finding.fix.value == {"serve/slices": 2}


def test_more_than_all_slices_is_refused_with_their_number():
    raw = sliced([cut_pool()], [team(guarantee={"serve/slices": 57})])
    finding = next(f for f in findings(raw) if f.id == "quota.over_capacity")
    assert finding.given == f"57 {MIG_SLICES}"
    assert finding.allowed == f"56 {MIG_SLICES}"


@pytest.mark.parametrize("product", MIG_PRODUCTS.values(), ids=lambda p: p.gpu)
def test_a_profile_has_its_number_of_slices_in_its_name(product):
    """So that pools of different GPUs agree on what each profile takes."""
    for profile in product.profiles:
        assert profile.slices == int(profile.name.partition("g.")[0])


# ── what stands for what ──────────────────────────────────────────────────────────────────────────
def test_the_configuration_replaces_profiles_by_slices():
    found = kueue_configuration(plan_of(sliced([cut_pool()], [team(guarantee={"serve": 1})])))
    assert found["resources"]["transformations"] == [
        {"input": MIG1, "strategy": "Replace", "outputs": {MIG_SLICES: "1"}},
        {"input": MIG2, "strategy": "Replace", "outputs": {MIG_SLICES: "2"}},
        {"input": MIG3, "strategy": "Replace", "outputs": {MIG_SLICES: "3"}},
    ]


def test_variants_with_media_engines_count_too():
    media = cut_pool(sharing={"mig": {"1g.5gb": 6, "1g.5gb+me": 1}})
    found = kueue_configuration(plan_of(sliced([media])))["resources"]["transformations"]
    assert [t["input"] for t in found] == [MIG1, f"{MIG1}.me"]
    assert all(t["outputs"] == {MIG_SLICES: "1"} for t in found)


@pytest.mark.parametrize(
    "raw",
    [
        platform([cut_pool()]),
        sliced([cut_pool(sharing={**CUT, "time_slicing": 2}), shared_pool()]),
    ],
)
def test_nothing_is_replaced_where_slices_are_not_counted(raw):
    assert "transformations" not in kueue_configuration(plan_of(raw))["resources"]


def test_queues_cover_slices_and_no_profile():
    raw = sliced([pool(), cut_pool()], [team(guarantee={"serve": 1, "train": 8})])
    queue = next(o for o in platform_objects(plan_of(raw)) if o["kind"] == "ClusterQueue")
    groups = queue["spec"]["resourceGroups"]
    assert [g["coveredResources"] for g in groups] == [["nvidia.com/gpu"], [MIG_SLICES]]


def test_a_namespace_is_held_by_the_names_that_bind():
    """Every profile up to what the slices allow, and no more than the pool has; and what waits beside it."""
    raw = sliced([cut_pool()], [team(guarantee={"serve/slices": 10}, borrow={"serve/slices": 3})])
    assert plan_of(raw).teams[0].hard == UNCLAIMED | {
        f"requests.{MIG1}": with_queued_pods(13),
        f"requests.{MIG2}": with_queued_pods(6),
        f"requests.{MIG3}": with_queued_pods(4),
    }
    raw = sliced([cut_pool()], [team(guarantee={"serve": 8})])
    assert plan_of(raw).teams[0].hard == UNCLAIMED | {
        f"requests.{MIG1}": with_queued_pods(16),
        f"requests.{MIG2}": with_queued_pods(8),
        f"requests.{MIG3}": with_queued_pods(8),
    }


def test_slices_pay_for_the_whole_gpu():
    """Six of seven slices are used: the seventh is nobody's, and costs them all."""
    raw = sliced([cut_pool(sharing={"mig": {"3g.20gb": 2}})], [team(guarantee={"serve": 8})])
    made = plan_of(raw)
    assert made.pools[0].compute_slices.gpu_share == Fraction(1, 6)
    mine, nobody = made.bill.shares
    assert mine.maximum.usd == pytest.approx(made.bill.maximum_usd_per_hour)
    assert nobody.maximum.usd == pytest.approx(0)


def test_half_of_the_slices_are_half_of_the_bill():
    raw = sliced([cut_pool()], [team(guarantee={"serve": 4})])
    made = plan_of(raw)
    assert made.bill.shares[0].maximum.usd == pytest.approx(made.bill.maximum_usd_per_hour / 2)


def test_a_shape_takes_its_profile_in_slices():
    pods = {"slice": "3g.20gb", "cpu": 1, "memory_gib": 1}
    raw = sliced([cut_pool()], [team(guarantee={"serve/slices": 3})], shapes=[shape(per_pod=pods)])
    assert plan_of(raw).shapes[0].guaranteed == ("vision",)
    raw = sliced([cut_pool()], [team(guarantee={"serve/slices": 2})], shapes=[shape(per_pod=pods)])
    finding = next(f for f in findings(raw) if f.id == "shape.no_quota")
    assert (finding.given, finding.allowed) == (f"3 {MIG_SLICES}", f"at most 2 {MIG_SLICES}")
    assert finding.fix.value == {"serve/slices": 1}
    check_fix(raw, finding)


# ── what is said ──────────────────────────────────────────────────────────────────────────────────
def test_profiles_of_one_pool_that_differ_are_warned_of_with_numbers():
    finding = only(sliced())
    assert (finding.id, finding.where) == ("slices.no_profile", "pools[0].sharing.mig")
    assert (
        "admits 56 1g.5gb where 16 exist, 28 2g.10gb where 8 exist, 18 3g.20gb" in finding.problem
    )


@pytest.mark.parametrize(
    "layout", [{"1g.5gb": 7}, {"2g.10gb": 3}, {"3g.20gb": 2}, {"7g.40gb": 1}, {"1g.10gb": 4}]
)
def test_one_profile_is_counted_exactly(layout):
    assert ids(sliced([cut_pool(sharing={"mig": layout})])) == []


def test_a_profile_that_most_slices_are_of_is_admitted_beyond_the_others():
    found = only(sliced([cut_pool(sharing={"mig": {"3g.20gb": 1, "4g.20gb": 1}})]))
    assert "18 3g.20gb where 8 exist, 14 4g.20gb where 8 exist" in found.problem


@pytest.mark.parametrize(
    ("pools", "why"),
    [
        ([pool()], "no pool uses MIG"),
        ([cut_pool(sharing={**CUT, "time_slicing": 2})], "the slices of serve are time-sliced"),
    ],
)
def test_slices_of_nothing_do_nothing(pools, why):
    raw = sliced(pools)
    finding = only(raw)
    assert finding.id == "slices.nothing"
    assert why in finding.problem
    check_fix(raw, finding)


def test_slices_that_gke_makes_are_counted_by_their_one_name():
    raw = platform(
        [
            cut_pool(
                machine="a2-highgpu-1g", image="cos-gke", zones=["us-central1-a"], sharing=SMALL
            )
        ],
        cloud="gcp",
        queueing={"mig_quota": "slices"},
    )
    finding = only(raw)
    assert finding.id == "slices.nothing"
    assert "GKE partitions the GPUs of serve, and advertises slices as GPUs" in finding.problem
    assert plan_of(raw).pools[0].compute_slices is None


def test_a_refused_pool_may_have_been_the_one_with_slices():
    raw = sliced([pool(), cut_pool(machine="m7i.xlarge")])
    assert "slices.nothing" not in ids(raw)


TWO = [cut_pool("small", sharing=SMALL), cut_pool("big", sharing={"mig": {"3g.20gb": 2}})]


def test_one_queue_counts_slices_of_one_kind():
    raw = sliced(TWO, [team(guarantee={"small": 1}, borrow={"big": 1})])
    finding = only(raw)
    assert (finding.id, finding.where) == ("slices.flavor", "teams[0]")
    assert "(small has 1g.5gb; big has 3g.20gb)" in finding.problem
    assert (finding.fix.message, finding.fix.value) == ("do not borrow from big", {})
    check_fix(raw, finding)


def test_a_guarantee_is_not_taken_away_by_a_program():
    raw = sliced(TWO, [team(guarantee={"small": 1, "big": 1})])
    assert only(raw).fix.at is None
    raw = sliced(TWO, [team(guarantee={"small": 1}, borrow={"big": 1}, lend={"big": 0})])
    assert next(f for f in findings(raw) if f.id == "slices.flavor").fix.at is None


def test_pools_cut_alike_are_one_kind_and_others_are_for_other_teams():
    alike = [cut_pool("a", sharing=SMALL), cut_pool("b", sharing=SMALL)]
    assert ids(sliced(alike, [team(guarantee={"a": 1, "b": 1})])) == []
    teams = [team("x", guarantee={"small": 1}), team("y", guarantee={"big": 1})]
    assert ids(sliced(TWO, teams)) == []


# ── helpers that others call ──────────────────────────────────────────────────────────────────────
def test_amounts_of_other_pools_are_left_alone():
    made = plan_of(sliced([pool(), cut_pool()])).pools[1]
    assert convert_to_compute_slices({"train": 8, "serve": 1, "serve/2g.10gb": 2}, made) == {
        "train": 8,
        "serve": 1,
        "serve/slices": 4,
    }


def test_what_is_no_profile_has_no_slices():
    made = plan_of(sliced([pool(), cut_pool()]))
    assert compute_slices_of_profile("shared", made.pools[1].machine) == 0
    described = {"gpu": "L4", "gpus": 4, "cpu": 48, "memory_gib": 192}
    lone = plan_of(platform([pool(machine=described)])).pools[0]
    assert compute_slices_of_profile("1g.5gb", lone.machine) == 0


# ── explain ───────────────────────────────────────────────────────────────────────────────────────
def asked(raw_plan, pods, resource, state=EMPTY, **rest):
    read = read_job(job(pods=pods, gpus=1, resource=resource, **rest))
    return explain(raw_plan, read, state)


def lab(slices=12, **rest):
    return one_team([cut_pool()], guarantee={"serve/slices": slices}, queueing=SLICES, **rest)


def test_profiles_draw_on_one_quota():
    assert asked(lab(), 4, MIG3).verdict is Verdict.STARTS
    found = asked(lab(), 5, MIG3)
    assert found.verdict is Verdict.NEVER
    assert f"15 {MIG_SLICES} requested" in str(
        found.as_json() if hasattr(found, "as_json") else found
    )


def test_both_profiles_of_what_runs_are_counted():
    plan = lab(slices=7)
    row = {"team": "vision", "pool": "serve", "pods": 2, "per_pod": {MIG2: 1}}
    state, problems = read_running(plan, [row])
    assert problems == []
    assert state.jobs[0].uses == {("serve", MIG_SLICES): 4}
    assert asked(plan, 1, MIG3, state).verdict is Verdict.STARTS
    assert asked(plan, 2, MIG3, state).verdict is Verdict.WAITS


def test_quota_without_a_slice_of_the_profile_is_no_room():
    """56 slices, and 16 of one: the seventeenth pod finds no node, though quota is there."""
    found = asked(lab(slices=56), 17, MIG1)
    assert found.verdict is Verdict.NEVER
    assert "do not fit 17 pods" in str(found)
    assert asked(lab(slices=56), 16, MIG1).verdict is Verdict.STARTS


def test_a_profile_that_no_pool_has_is_counted_by_nobody():
    found = asked(lab(), 1, "nvidia.com/mig-7g.40gb")
    assert found.verdict is Verdict.NEVER
    assert "no pool advertises nvidia.com/mig-7g.40gb" in str(found)


def test_a_team_without_slices_is_told_whose_they_are():
    teams = [team("vision", guarantee={"train": 8}), team("x", guarantee={"serve": 1})]
    plan = plan_of(sliced([pool(), cut_pool()], teams))
    found = asked(plan, 1, MIG3)
    assert found.verdict is Verdict.NEVER
    assert f"{MIG_SLICES} is provided by serve, where team vision has no quota" in str(found)
    assert "serve/slices" in str(found)


def test_a_bare_pod_is_counted_by_its_namespace_in_its_own_name():
    plan = lab(slices=3)
    row = {"team": "vision", "pool": "serve", "pods": 1, "per_pod": {MIG3: 1}}
    state, _ = read_running(plan, [row])
    found = asked(plan, 1, MIG3, state, kind="Pod")
    assert found.verdict is Verdict.WAITS
    assert "ResourceQuota" not in str(found)
    state, _ = read_running(plan, [row | {"pods": with_queued_pods(1)}])
    found = asked(plan, 1, MIG3, state, kind="Pod")
    assert found.verdict is Verdict.WAITS
    assert "ResourceQuota" in str(found)
