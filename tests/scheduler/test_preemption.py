"""Who must go for a job is whom Kueue would choose."""

from gpuyard_advisor.scheduler.preemption import QuotaRequest, preemption_targets
from gpuyard_advisor.scheduler.preemption_rules import FAIR_SHARING, RECLAIM, WITHIN_QUEUE
from gpuyard_advisor.scheduler.quotas import Quotas
from kit.cases.explain import GPU, running
from kit.stacks import plan_of, platform, pool, team

KEY = ("train", GPU)


def chosen(plan, jobs, who, gpus, *, fair, priority=0):
    """The names of those who must go, and why; the quotas are as before."""
    quotas = Quotas(plan)
    for job in jobs:
        if job.team:
            quotas.take(job.team, job.uses)
    before = {t: dict(u) for t, u in quotas.used.items()}
    wish = QuotaRequest(who, {KEY: gpus}, priority, frozenset({KEY}))
    found = preemption_targets(quotas, jobs, wish, fair=fair)
    after = {t: {k: n for k, n in u.items() if n} for t, u in quotas.used.items()}
    assert after == {t: {k: n for k, n in u.items() if n} for t, u in before.items()}
    return [(j.name, why) for j, why in found]


def lab(*teams, nodes=4):
    return plan_of(platform([pool(nodes=nodes)], teams))


def two(**of_b):
    return lab(
        team("a", guarantee={"train": 16}, borrow={"train": 16}),
        team("b", **{"guarantee": {"train": 16}, "borrow": {"train": 16}, **of_b}),
    )


def test_a_guarantee_is_taken_back_from_who_borrows_it():
    jobs = [running("b", 8, 4, name="big")]
    for fair in (True, False):
        assert chosen(two(), jobs, "a", 8, fair=fair) == [("big", RECLAIM)]


def test_nobody_goes_who_is_within_the_guarantee():
    jobs = [running("b", 8, 2)]
    for fair in (True, False):
        assert chosen(two(), jobs, "a", 32, fair=fair) == []


def test_the_newest_goes_first_and_no_more_than_needed():
    jobs = [running("b", 8, name=f"b{n}", since=n) for n in range(4)]
    for fair in (True, False):
        assert chosen(two(), jobs, "a", 8, fair=fair) == [("b3", RECLAIM)]
        assert chosen(two(), jobs, "a", 16, fair=fair) == [("b3", RECLAIM), ("b2", RECLAIM)]


def test_lower_priority_goes_before_newer():
    jobs = [running("b", 8, name=f"b{n}", since=n, priority=n) for n in range(4)]
    for fair in (True, False):
        assert chosen(two(), jobs, "a", 8, fair=fair) == [("b0", RECLAIM)]


def test_who_was_chosen_without_need_is_spared():
    jobs = [
        running("b", 2, name="small", since=9),
        running("b", 30, name="large", since=1),
    ]
    for fair in (True, False):
        assert chosen(two(), jobs, "a", 8, fair=fair) == [("large", RECLAIM)]


def test_who_is_needed_after_all_is_not_spared():
    jobs = [
        running("b", 8, name="newest", since=3),
        running("b", 8, name="newer", since=2),
        running("b", 16, name="old", since=1),
    ]
    for fair in (True, False):
        assert chosen(two(), jobs, "a", 16, fair=fair) == [("newest", RECLAIM), ("newer", RECLAIM)]


def test_once_the_other_team_borrows_no_more_it_keeps_the_rest():
    jobs = [
        running("a", 8, name="a"),
        running("b", 4, name="first", since=2),
        running("b", 20, name="second"),
    ]
    for fair in (True, False):
        assert chosen(two(), jobs, "a", 16, fair=fair) == []


def test_inside_a_queue_lower_priority_gives_way():
    plan = lab(team("a", guarantee={"train": 16}))
    jobs = [
        running("a", 8, name="low", priority=1, since=1),
        running("a", 8, name="high", priority=9, since=2),
    ]
    for fair in (True, False):
        assert chosen(plan, jobs, "a", 8, fair=fair, priority=5) == [("low", WITHIN_QUEUE)]
        assert chosen(plan, jobs, "a", 8, fair=fair, priority=1) == []
        assert chosen(plan, jobs, "a", 16, fair=fair, priority=5) == []


def test_others_go_before_ones_own():
    jobs = [running("a", 8, name="mine", priority=-1), running("b", 24, name="theirs")]
    for fair in (True, False):
        assert chosen(two(), jobs, "a", 8, fair=fair) == [("theirs", RECLAIM)]


def test_borrowing_takes_nothing_by_priority_but_something_by_fairness():
    jobs = [running("b", 8, name=f"b{n}", since=n) for n in range(4)]
    plan = lab(
        team("a", borrow={"train": 32}),
        team("b", borrow={"train": 32}),
    )
    assert chosen(plan, jobs, "a", 8, fair=False, priority=9) == []
    assert chosen(plan, jobs, "a", 8, fair=True) == [("b3", FAIR_SHARING)]
    assert chosen(plan, jobs, "a", 16, fair=True) == [("b3", FAIR_SHARING), ("b2", FAIR_SHARING)]
    assert chosen(plan, jobs, "a", 24, fair=True) == []


def test_a_heavier_team_gets_more():
    jobs = [running("b", 8, name=f"b{n}", since=n) for n in range(4)]
    plan = lab(team("a", borrow={"train": 32}, weight=3.0), team("b", borrow={"train": 32}))
    assert len(chosen(plan, jobs, "a", 24, fair=True)) == 3


def test_the_unfairest_team_gives_first():
    plan = lab(*(team(n, borrow={"train": 32}) for n in "abc"))
    jobs = [
        running("b", 8, name="b", since=9),
        running("c", 8, name="c0", since=1),
        running("c", 16, name="c1", since=2),
    ]
    assert chosen(plan, jobs, "a", 8, fair=True) == [("c1", FAIR_SHARING)]


def test_between_equally_unfair_teams_the_newer_job_goes():
    plan = lab(*(team(n, borrow={"train": 32}) for n in "abc"))
    jobs = [running("b", 16, name="b", since=1), running("c", 16, name="c", since=2)]
    assert chosen(plan, jobs, "a", 8, fair=True) == [("c", FAIR_SHARING)]
    jobs = [running("b", 16, name="b", since=2), running("c", 16, name="c", since=1)]
    assert chosen(plan, jobs, "a", 8, fair=True) == [("b", FAIR_SHARING)]


def test_a_job_that_leaves_less_than_the_wisher_has_goes_only_below_what_there_was():
    plan = lab(*(team(n, borrow={"train": 32}) for n in "ab"))
    jobs = [running("b", 32, name="all")]
    assert chosen(plan, jobs, "a", 8, fair=True) == [("all", FAIR_SHARING)], (
        "8 < 32, the second rule"
    )
    assert chosen(plan, jobs, "a", 32, fair=True) == [], "32 is not below 32"


def test_the_second_rule_takes_one_job_of_a_team_and_no_more():
    plan = lab(*(team(n, borrow={"train": 32}) for n in "ab"))
    jobs = [running("b", 12, name="b0", since=1), running("b", 20, name="b1", since=2)]
    assert chosen(plan, jobs, "a", 14, fair=True) == [("b1", FAIR_SHARING)]
    assert chosen(plan, jobs, "a", 28, fair=True) == []


def test_own_and_borrowed_in_one_go():
    plan = lab(
        team("a", guarantee={"train": 8}, borrow={"train": 24}),
        team("b", guarantee={"train": 24}, borrow={"train": 8}),
    )
    jobs = [running("a", 8, name="mine", priority=-1), running("b", 24, name="theirs")]
    assert chosen(plan, jobs, "a", 8, fair=False) == [("mine", WITHIN_QUEUE)]
    assert chosen(plan, jobs, "a", 8, fair=True) == [("mine", WITHIN_QUEUE)]


def test_in_order_to_borrow_nobody_elses_job_goes_without_fair_sharing():
    jobs = [
        running("a", 8, name="mine", priority=-1, since=1),
        running("a", 4, name="old", since=2),
        running("b", 20, name="theirs", since=3),
    ]
    assert chosen(two(), jobs, "a", 16, fair=False) == []
    assert chosen(two(), jobs, "a", 8, fair=False) == [("mine", WITHIN_QUEUE)], "theirs is spared"


def test_strangers_have_no_quota_and_do_not_go():
    assert chosen(two(), [running(None, 8, 4)], "a", 8, fair=True) == []


def tree(*teams, cohorts):
    return plan_of(platform([pool()], teams, queueing={"cohorts": list(cohorts)}))


def departments():
    """Two departments of two teams each, all equally guaranteed, all of them borrowers."""
    return tree(
        *(
            team(n, guarantee={"train": 8}, borrow={"train": 24}, cohort=c)
            for n, c in (("a", "x"), ("b", "x"), ("c", "y"), ("d", "y"))
        ),
        cohorts=[{"name": "x"}, {"name": "y"}],
    )


def test_a_department_takes_back_what_another_one_borrows():
    jobs = [running("b", 8, name="b"), running("c", 8, 3, name="c")]
    for fair in (True, False):
        assert chosen(departments(), jobs, "a", 8, fair=fair) == [("c", RECLAIM)]


def test_who_borrows_inside_another_department_keeps_it():
    jobs = [running("a", 8, name="a"), running("b", 8, name="b"), running("c", 16, name="c")]
    for fair in (True, False):
        assert chosen(departments(), jobs, "a", 8, fair=fair) == []


def test_inside_a_department_a_colleague_gives_back_first():
    jobs = [running("b", 4, 4, name="b", since=1), running("c", 8, 2, name="c", since=2)]
    for fair in (True, False):
        assert chosen(departments(), jobs, "a", 8, fair=fair) == [("b", RECLAIM)]


def test_a_department_that_is_entitled_takes_back_even_for_a_team_that_borrows():
    """The hierarchical advantage: what is asked for fits into the department's own quota."""
    jobs = [running("c", 8, name=f"c{n}", since=n) for n in range(4)]
    assert chosen(departments(), jobs, "a", 12, fair=False) == [("c3", RECLAIM), ("c2", RECLAIM)]
    assert chosen(departments(), jobs, "a", 20, fair=False) == []
    assert chosen(departments(), jobs, "a", 12, fair=True) == [
        ("c3", FAIR_SHARING),
        ("c2", FAIR_SHARING),
    ]


def test_shares_are_compared_where_the_ways_part():
    plan = tree(
        team("a", borrow={"train": 32}, cohort="x"),
        team("b", borrow={"train": 32}, cohort="x"),
        team("c", borrow={"train": 32}, cohort="y"),
        cohorts=[{"name": "x"}, {"name": "y"}],
    )
    jobs = [
        running("b", 4, 4, name="b", since=1),
        *(running("c", 4, name=f"c{n}", since=2 + n) for n in range(4)),
    ]
    # department x has its half already: a may take from b, its own colleague, and not from y
    assert chosen(plan, jobs, "a", 4, fair=True) == [("b", FAIR_SHARING)]
    small = [running("b", 4, name=f"b{n}", since=n) for n in range(4)]
    assert chosen(plan, [*small, *jobs[1:]], "a", 4, fair=True) == [("b3", FAIR_SHARING)]


def test_a_heavier_department_gets_more():
    def plan(weight):
        return tree(
            team("a", borrow={"train": 32}, cohort="x"),
            team("c", borrow={"train": 32}, cohort="y"),
            cohorts=[{"name": "x", "weight": weight}, {"name": "y"}],
        )

    jobs = [running("c", 8, name=f"c{n}", since=n) for n in range(4)]
    assert len(chosen(plan(1), jobs, "a", 16, fair=True)) == 2
    assert chosen(plan(1), jobs, "a", 24, fair=True) == []
    assert len(chosen(plan(3), jobs, "a", 24, fair=True)) == 3


def test_inside_a_limit_that_is_used_up_only_colleagues_give_way():
    plan = tree(
        team("a", guarantee={"train": 4}, borrow={"train": 8}, cohort="x"),
        team("b", guarantee={"train": 4}, borrow={"train": 8}, cohort="x"),
        team("c", borrow={"train": 16}),
        cohorts=[{"name": "x", "borrow": {"train": 8}}],
    )
    jobs = [running("b", 4, name="b"), running("a", 12, name="a"), running("c", 16, name="c")]
    assert chosen(plan, jobs, "b", 4, fair=False) == []
    assert chosen(plan, jobs, "b", 4, fair=True) == [("a", FAIR_SHARING)]
