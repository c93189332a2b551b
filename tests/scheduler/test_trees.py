"""What is said of jobs in a tree of cohorts: the limit that binds, who must return what, what would help."""

from gpuyard_advisor.explain import Verdict
from kit.cases.explain import job, running, said, state_of
from kit.stacks import plan_of, platform, pool, team

WAITS, NEVER, STARTS = Verdict.WAITS, Verdict.NEVER, Verdict.STARTS


def labs(**limits):
    """Two teams in a cohort that borrows eight at most, one beside it."""
    teams = [
        team("vision", guarantee={"train": 4}, borrow={"train": 12}, cohort="labs"),
        team("speech", guarantee={"train": 4}, borrow={"train": 12}, cohort="labs"),
        team("search", guarantee={"train": 8}, borrow={"train": 16}),
    ]
    cohorts = [{"name": "labs", **({"borrow": {"train": 8}} | limits)}]
    raw = platform([pool()], teams, cloud="simulated", queueing={"cohorts": cohorts})
    return plan_of(raw)


def test_a_cohort_that_borrows_no_more_is_named_with_its_limit():
    found = said(labs(), job(pods=3, gpus=8))
    assert found.verdict is NEVER
    assert found.message == (
        "train: 24 nvidia.com/gpu requested, the maximum of team vision is 16 (guaranteed 4, may "
        "borrow 12)"
    )
    assert found.stack_change == (
        "allow cohort labs to borrow 8 more and team vision 20 in total (teams[0].borrow.train)"
    )


def test_a_limit_that_leaves_room_is_not_to_blame():
    plan = labs(borrow={"train": 24})
    assert said(plan, job(pods=4, gpus=8)).stack_change == (
        "allow team vision to borrow 28: teams[0].borrow.train: 28"
    )
    assert "nodes (pools[0].nodes)" in said(plan, job(pods=5, gpus=8)).stack_change


def test_colleagues_must_return_what_the_limit_of_the_cohort_is_used_up_by():
    busy = state_of(running("speech", 4, 4), running("search", 8, 1))
    found = said(labs(), job(gpus=8), busy)
    assert (found.verdict, found.admitted) == (STARTS, True), "by fairness"
    never = plan_of(
        platform(
            [pool()],
            [
                team("vision", guarantee={"train": 4}, borrow={"train": 12}, cohort="labs"),
                team("speech", guarantee={"train": 4}, borrow={"train": 12}, cohort="labs"),
                team("search", guarantee={"train": 8}, borrow={"train": 16}),
            ],
            cloud="simulated",
            queueing={"preemption": "never", "cohorts": [{"name": "labs", "borrow": {"train": 8}}]},
        )
    )
    found = said(never, job(gpus=8), busy)
    assert found.verdict is WAITS
    assert found.conditions == ("when team speech (borrows 12) releases 8 nvidia.com/gpu of train",)


def test_a_job_takes_back_across_cohorts_what_its_cohort_is_guaranteed():
    busy = state_of(running("search", 8, 3, name="theirs"), running("speech", 4, name="ours"))
    found = said(labs(), job(gpus=4), busy)
    assert (found.verdict, found.preempts) == (STARTS, ())
    full = state_of(running("search", 4, 7, name="theirs"), running("speech", 4, name="ours"))
    found = said(labs(), job(gpus=4), full)
    assert [(p.name, p.team) for p in found.preempts] == [("theirs", "search")]
