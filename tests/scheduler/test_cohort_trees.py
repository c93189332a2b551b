"""What the proofs of a plan promise and what the model of the scheduler hands out are one count."""

from hypothesis import given, settings
from hypothesis import strategies as st

from gpuyard.plan.quotas.cohorts import cohort_object
from gpuyard.plan.quotas.quotas import plan_quotas
from gpuyard_advisor.scheduler.quotas import Quotas
from gpuyard_core.findings import Severity
from kit.stacks import cut_pool, plan_of, platform, pool, spec_of, team
from proofs import applied

HELD = {"train": 32, "serve/3g.20gb": 8, "serve/1g.5gb": 16}
"""What the pools hold."""
POOLS = [pool(), cut_pool()]
PLANNED = {p.name: p for p in plan_of(platform(POOLS)).pools}
AMOUNTS = st.dictionaries(st.sampled_from(sorted(HELD)), st.integers(0, 12))


@st.composite
def trees(draw):
    """Up to five cohorts in each other, with limits or without, and teams in any of them."""
    names = [f"c{i}" for i in range(draw(st.integers(1, 5)))]
    cohorts = []
    for i, name in enumerate(names):
        parents = st.sampled_from([None, *names[:i]])
        limits = {word: draw(st.none() | AMOUNTS) for word in ("borrow", "lend")}
        cohorts.append({"name": name, "parent": draw(parents), **limits})
    left, teams = dict(HELD), []
    for i in range(draw(st.integers(1, 5))):
        mine = {key: min(n, left[key]) for key, n in draw(AMOUNTS).items()}
        left = {key: n - mine.get(key, 0) for key, n in left.items()}
        lend = draw(
            st.none() | st.fixed_dictionaries({k: st.integers(0, n) for k, n in mine.items()})
        )
        home = draw(st.sampled_from([None, *names]))
        teams.append(team(f"t{i}", guarantee=mine, borrow=draw(AMOUNTS), lend=lend, cohort=home))
    return platform(POOLS, teams, queueing={"cohorts": cohorts})


def planned(raw):
    """The plan, after every limit that is too large has been lowered as its finding says."""
    while refused := [f for f in proofs_of(raw)[1] if f.severity is Severity.ERROR]:
        raw = applied(raw, refused[0].fix)
    return plan_of(raw)


def proofs_of(raw):
    return plan_quotas(spec_of(raw), PLANNED)


@settings(max_examples=40)
@given(trees())
def test_the_proofs_and_the_scheduler_count_the_same_in_every_cohort(raw):
    found = planned(raw)
    proved = plan_quotas(found.spec, PLANNED)[0]
    model, tree = Quotas(found), proved.cohort_quotas.tree
    for index, one in enumerate(found.teams):
        at = {cohort.name: cohort for cohort in model.queues[one.name].ancestors}
        for node in tree.self_and_ancestors(tree.cohort_by_team[index]):
            name = found.name if node is None else found.spec.queueing.cohorts[node].name
            there = at[name if node is None else cohort_object(found.name, name)]
            ours = proved.cohort_quotas.cohorts[node]
            for quota in one.quotas:
                key = (quota.pool, quota.resource)
                assert there.nominal[key] == ours.nominal[key]
                assert (there.not_lent(key), there.max_usage(key)) == (
                    ours.not_lent(key),
                    ours.max_usage(key),
                )
                assert there.is_limited_by_borrowing(key) == ours.is_limited_by_borrowing(key)


@settings(max_examples=40)
@given(trees())
def test_a_team_can_have_all_that_it_is_guaranteed_and_may_borrow_while_others_are_idle(raw):
    found = planned(raw)
    model = Quotas(found)
    for one in found.teams:
        for quota in one.quotas:
            key = (quota.pool, quota.resource)
            assert model.max_usage(one.name, key) == quota.nominal + quota.borrow
            assert model.available(one.name, key) == quota.nominal + quota.borrow
