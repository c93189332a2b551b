"""The queue model: who is admitted when, and at whose expense."""

import pytest

from gpuyard_advisor.replay import NoConvergence, ReplayOptions, Timing, replay
from gpuyard_advisor.replay.cycle import QueueHead, cycle
from gpuyard_advisor.replay.shapes import shapes_of
from gpuyard_advisor.scheduler.flavors import assign
from gpuyard_advisor.scheduler.model import EMPTY, SchedulerModel
from gpuyard_core.names import GPU
from kit.cases.replay import came, courses, queues, some_jobs, starts
from kit.cluster.queues import one_pool
from kit.stacks import plan_of


def test_a_gang_waits_for_all_its_room_and_smaller_jobs_pass_it():
    found = replay(
        queues(2, a={"guarantee": 16}),
        [came("a-runs"), came("a-gang", at=1, pods=2), came("a-small", at=2, seconds=3)],
    )
    assert starts(found) == {"a-runs": 0, "a-small": 2, "a-gang": 11}
    assert found.order == ("a-runs", "a-small", "a-gang")
    gang = courses(found)["a-gang"]
    assert (gang.waited, gang.ended, gang.evictions) == (10, 21, 0)
    assert gang.intervals[0].uses == {("q", GPU): 16}


def test_those_set_aside_are_looked_at_again_a_second_after_something_came_free():
    jobs = [came("a-runs", seconds=4.5), came("a-waits"), came("a-new", at=5, seconds=1)]
    found = replay(queues(1, a={"guarantee": 8}), jobs)
    assert starts(found) == {"a-runs": 0, "a-waits": 5.5, "a-new": 16.5}
    slower = replay(queues(1, a={"guarantee": 8}), jobs, Timing(requeue=2, start=3, stop=1))
    assert starts(slower) == {"a-runs": 0, "a-waits": 10.5, "a-new": 26.5}


def test_a_new_job_that_looks_otherwise_takes_what_came_free_before_the_others_look_again():
    jobs = [came("a-runs", seconds=4.5), came("a-waits"), came("a-new", at=5, gpus=7, seconds=1)]
    found = replay(queues(1, a={"guarantee": 8}), jobs)
    assert starts(found) == {"a-runs": 0, "a-new": 5, "a-waits": 7}


def test_priority_and_then_age_order_a_queue():
    plan = queues(1, a={"guarantee": 8}, queueing={"preemption": "never"})
    jobs = [came("a-0"), came("a-1", at=1), came("a-2", at=2, priority=5), came("a-3", at=1)]
    assert replay(plan, jobs).order == ("a-0", "a-2", "a-1", "a-3")


def test_a_higher_priority_evicts_inside_its_team_and_the_evicted_job_begins_anew():
    found = replay(
        queues(1, a={"guarantee": 8}), [came("a-low"), came("a-high", at=4, priority=5, seconds=2)]
    )
    low = courses(found)["a-low"]
    assert [(s.start, s.end, s.evicted_by) for s in low.intervals] == [
        (0, 5, "a-high"),
        (8, 18, ""),
    ]
    assert (low.evictions, low.ended, low.order) == (1, 18, 0)
    assert starts(found)["a-high"] == 5, "a second later: pods end first"


def test_an_evicted_job_whose_pods_have_ended_runs_nothing_again():
    """It holds quota until Kueue has seen that its pods ended. Seen: evicted in that time, it finished with its next
    admission.
    """
    jobs = [came("a-low"), came("a-high", at=11, priority=5, seconds=2)]
    found = replay(queues(1, a={"guarantee": 8}), jobs, Timing(stop=2))
    low = courses(found)["a-low"]
    assert [(s.start, s.end, s.evicted_by) for s in low.intervals] == [
        (0, 12, "a-high"),
        (17, 19, ""),
    ]
    assert (low.evictions, starts(found)["a-high"]) == (1, 12)


def test_borrowing_ends_at_its_limit():
    plan = queues(4, a={"guarantee": 8, "borrow": 8}, b={})
    found = replay(plan, [came(f"a-{i}") for i in range(3)])
    assert starts(found) == {"a-0": 0, "a-1": 0, "a-2": 11}


def test_a_guarantee_is_taken_back_from_who_borrowed_it():
    plan = queues(2, a={"guarantee": 8, "borrow": 8}, b={"guarantee": 8})
    found = replay(plan, [came("a-0"), came("a-1"), came("b-0", at=5)])
    assert starts(found)["b-0"] == 6
    assert [courses(found)[n].evictions for n in ("a-0", "a-1")] == [0, 1], "the newest gives way"


def test_what_is_not_lent_stays():
    plan = queues(3, a={"guarantee": 8, "borrow": 8}, b={"guarantee": 16, "lend": 8})
    found = replay(plan, [came(f"a-{i}", gpus=4) for i in range(5)] + [came("b-0", at=1)])
    assert starts(found) == {**{f"a-{i}": 0 for i in range(4)}, "a-4": 11, "b-0": 1}


def test_nobody_is_evicted_where_preemption_is_never():
    plan = queues(
        2, a={"guarantee": 8, "borrow": 8}, b={"guarantee": 8}, queueing={"preemption": "never"}
    )
    found = replay(plan, [came("a-0"), came("a-1"), came("b-0", at=5), came("a-2", at=6)])
    assert starts(found) == {"a-0": 0, "a-1": 0, "b-0": 11, "a-2": 11}
    assert all(c.evictions == 0 for c in found.courses)


@pytest.mark.parametrize(
    ("preemption", "size", "beaten"), [("never", 2, ["a-2"]), ("reclaim", 2, []), ("never", 3, [])]
)
def test_where_nobody_may_be_evicted_a_head_keeps_its_guarantee_for_one_cycle(
    preemption: str, size: int, beaten: list[str]
):
    """b's gang does not fit yet; nobody else has what is free of b's guarantee before b is set aside."""
    plan = queues(
        3,
        a={"guarantee": 8, "borrow": 16},
        b={"guarantee": 16, "borrow": 8},
        queueing={"preemption": preemption, "fair_sharing": False},
    )
    desk = SchedulerModel(plan, EMPTY)
    desk.quotas.take("q-a", {("q", GPU): 16})
    jobs = [came("a-2"), came("b-0", pods=size)]
    shapes, numbers = shapes_of(jobs)
    heads = [
        QueueHead(
            job.team,
            number,
            number,
            assign(desk, plan.team(job.team), (shapes[number].pod_set,), job.priority),
            job.rank(number),
        )
        for job, number in zip(jobs, numbers, strict=True)
    ]
    found = cycle(desk, heads)
    assert [jobs[head.job].name for head in found.outranked] == beaten
    assert [jobs[head.job].name for head in found.impossible] == ["b-0"]
    assert desk.quotas.used["q-b"]["q", GPU] == 0, "given back at the end of the cycle"


def test_heads_of_several_queues_go_by_borrowing_share_priority_and_age():
    plan = queues(
        3, a={"borrow": 24, "weight": 2}, b={"borrow": 24}, c={"guarantee": 8, "borrow": 16}
    )
    block = [came("a-x", gpus=8, pods=3, seconds=5, priority=9)]
    wanted = [came("a-0", at=1), came("b-0", at=1), came("c-0", at=1)]
    found = replay(plan, [*block, *wanted, came("c-1", at=1)])
    assert found.order[1] == "c-0", "its guarantee, taken back at once"
    order = [name for name in found.order if name != "a-x"]
    assert order == ["c-0", "b-0", "c-1", "a-0"]


def test_without_fair_sharing_age_decides_among_those_who_borrow():
    plan = queues(1, a={"borrow": 8}, b={"borrow": 8}, queueing={"fair_sharing": False})
    jobs = [came("a-0"), came("b-0", at=1), came("a-1", at=2), came("b-1", at=3, priority=1)]
    assert replay(plan, jobs).order == ("a-0", "b-1", "b-0", "a-1")


def test_two_heads_that_want_the_same_have_it_one_after_the_other():
    plan = queues(1, a={"borrow": 8}, b={"borrow": 8})
    found = replay(plan, [came("a-0"), came("b-0")])
    assert starts(found) == {"a-0": 0, "b-0": 11}


def test_one_victim_serves_one_preemptor():
    plan = queues(2, a={"borrow": 16}, b={"guarantee": 8}, c={"guarantee": 8})
    found = replay(plan, [came("a-0", pods=2), came("b-0", at=2), came("c-0", at=2)])
    assert starts(found) == {"a-0": 0, "b-0": 3, "c-0": 3}
    assert courses(found)["a-0"].evictions == 1


def test_pools_are_tried_in_their_order_and_selectors_pin():
    raw = one_pool("q", 1)
    raw["pools"].append({**raw["pools"][0], "name": "other"})
    raw["teams"] = [{"name": "q-a", "guarantee": {"q": 8, "other": 8}}]
    plan = plan_of(raw)
    pin = dict(plan.pool("q").node_selector)
    found = replay(plan, [came("a-0"), came("a-1"), came("a-2", selector=pin, at=1)])
    pools = {n: [k[0] for k in c.intervals[0].uses] for n, c in courses(found).items()}
    assert pools == {"a-0": ["q"], "a-1": ["other"], "a-2": ["q"]}
    assert starts(found)["a-2"] == 11


def test_jobs_that_can_never_be_admitted_are_named_and_nobody_waits_for_them():
    found = replay(queues(2, a={"guarantee": 8}), [came("a-big", pods=2), came("a-0"), came("a-1")])
    assert found.never_admitted == ("a-big",)
    big = courses(found)["a-big"]
    assert (big.admitted, big.waited, big.ended, big.order) == (None, None, None, None)
    assert found.order == ("a-0", "a-1")


def test_a_stopped_queue_admits_nobody():
    found = replay(queues(1, a={"guarantee": 8, "stop_policy": "hold"}), [came("a-0")])
    assert found.never_admitted == ("a-0",)


def test_what_the_model_does_not_know_is_said():
    assert replay(queues(1), []).cautions == (
        "whether a node has enough free GPUs for a pod is not evaluated",
    )
    counting = {"queueing": {"usage_half_life_hours": 168}}
    plan = queues(1, a={"queues": {"default": 1, "night": 1}}, b={}, **counting)
    assert replay(plan, []).cautions[1:] == (
        "usage of the queues of q-a is not counted: their jobs are simulated in one queue",
    )


@pytest.mark.parametrize(
    ("fair", "cohort", "fourth"),
    [(True, "labs", "c-1"), (True, None, "a-1"), (False, "labs", "a-1")],
)
def test_cohorts_share_first_among_themselves(fair: bool, cohort: str | None, fourth: str):
    """In one cohort a and b have one share between them, beside that of c."""
    queueing = {"fair_sharing": fair, "cohorts": [{"name": "labs"}] if cohort else []}
    inside = {"borrow": 32} | ({"cohort": cohort} if cohort else {})
    plan = queues(4, a=inside, b=inside, c={"borrow": 32}, queueing=queueing)
    found = replay(plan, [came(f"{letter}-{i}") for i in range(2) for letter in "abc"])
    assert {n for n, start in starts(found).items() if start == 0} == {"a-0", "b-0", "c-0", fourth}


def test_a_cohorts_limit_binds_its_queues():
    limit = {"cohorts": [{"name": "labs", "borrow": {"q": 8}}]}
    plan = queues(
        3, a={"borrow": 8, "cohort": "labs"}, b={"borrow": 8, "cohort": "labs"}, queueing=limit
    )
    found = replay(plan, [came("a-0"), came("b-0", at=1)])
    assert starts(found) == {"a-0": 0, "b-0": 11}


def test_names_are_held_to():
    plan = queues(1, a={"guarantee": 8})
    with pytest.raises(ValueError, match="two jobs have the name a-0; job names must be unique"):
        replay(plan, [came("a-0"), came("a-0")])
    with pytest.raises(ValueError, match="job z-0 is of team q-z; teams are q-a"):
        replay(plan, [came("z-0")])
    with pytest.raises(ValueError, match="teams are none"):
        replay(queues(1), [came("z-0")])


def test_priorities_and_shares_that_chase_each_other_are_given_up():
    """As in Kueue 0.19: a's large job evicts smaller ones of its own, c takes what came free, c's own
    priority makes it borrow more, and a takes it back."""
    plan = queues(
        4,
        a={"guarantee": 8, "borrow": 16, "weight": 2},
        b={"guarantee": 16, "lend": 8},
        c={"borrow": 8},
    )
    with pytest.raises(
        NoConvergence, match="job c26 of team q-c was evicted 20 times, and now for c14 of team q-c"
    ):
        replay(plan, some_jobs(209, 40), options=ReplayOptions(most_evictions=20))


def test_a_job_that_was_told_to_leave_does_not_end_and_is_told_once():
    jobs = [
        came("a-low", seconds=4.5),
        came("a-high", at=4, priority=5),
        came("b-0", at=4.2, seconds=99),
    ]
    found = replay(queues(2, a={"guarantee": 8}, b={"guarantee": 8}), jobs)
    spells = courses(found)["a-low"].intervals
    assert [(s.start, s.end, s.evicted_by) for s in spells] == [(0, 5, "a-high"), (16, 20.5, "")]
    assert starts(found) == {"a-low": 0, "a-high": 5, "b-0": 4.2}


def test_jobs_of_one_look_have_one_shape_whatever_their_names():
    jobs = [came("a-0"), came("a-1", at=3), came("a-2", gpus=4), came("a-3", priority=1)]
    shapes, numbers = shapes_of(jobs)
    assert numbers == [0, 0, 1, 2]
    assert [(shape.requests[GPU], shape.priority) for shape in shapes] == [(8, 0), (4, 0), (8, 1)]
