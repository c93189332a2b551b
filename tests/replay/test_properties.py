"""What holds for every sequence of jobs: limits, no idle room, no chance."""

from dataclasses import replace

import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from gpuyard.plan.records import PlatformPlan
from gpuyard_advisor.replay import NoConvergence, Replay, ReplayOptions, replay
from gpuyard_advisor.scheduler.quotas import Quotas
from gpuyard_core.names import GPU
from kit.cases.replay import KEY, courses, queues, some_jobs, used_at
from kit.searches import examples

PLATFORMS = [
    queues(
        4,
        a={"guarantee": 8, "borrow": 16, "weight": 2},
        b={"guarantee": 16, "lend": 8},
        c={"borrow": 8},
        queueing={"preemption": preemption, "fair_sharing": fair},
    )
    for preemption in ("reclaim", "never")
    for fair in (True, False)
]


def settled(plan: PlatformPlan, number: int) -> Replay:
    """The courses of the jobs of this number; some sequences never come to an end."""
    try:
        return replay(plan, some_jobs(number, 25), options=ReplayOptions(most_evictions=15))
    except NoConvergence:
        reject()


def moments(found: Replay) -> list[float]:
    """Every time at which something was admitted or came free."""
    spells = [s for c in found.courses for s in c.intervals]
    return sorted({t for s in spells for t in (s.start, s.end)})


def quotas_at(plan: PlatformPlan, found: Replay, moment: float) -> Quotas:
    quotas = Quotas(plan)
    for team, amount in used_at(found, moment).items():
        quotas.take(team, {KEY: amount})
    return quotas


@pytest.mark.parametrize("plan", PLATFORMS)
@given(number=st.integers(0, 10_000))
@settings(max_examples=examples(8))
def test_limits_hold_and_every_possible_job_ends(plan: PlatformPlan, number: int):
    found = settled(plan, number)
    capacity = sum(plan.pool("q").nodes.high * a.per_node for a in plan.pool("q").advertised)
    for moment in moments(found):
        used = used_at(found, moment)
        assert sum(used.values()) <= capacity
        for team in plan.teams:
            quota = team.quota("q", GPU)
            assert quota is not None
            assert used[team.name] <= quota.nominal + quota.borrow
    most = {t.name: Quotas(plan).max_usage(t.name, KEY) for t in plan.teams}
    for course in found.courses:
        job = course.job
        possible = job.pods * job.requests[GPU] <= most[job.team]
        assert (course.ended is not None) == possible, job
        if course.ended is not None:
            last = course.intervals[-1]
            assert last.end - last.start == job.run_seconds
            assert all(s.evicted_by for s in course.intervals[:-1])


@pytest.mark.parametrize("plan", PLATFORMS)
@given(number=st.integers(0, 10_000))
@settings(max_examples=examples(8))
def test_nothing_lies_idle_that_a_waiting_job_could_have(plan: PlatformPlan, number: int):
    """A second after anything came free, no job waits for which there is room.

    While somebody is asked to give way, what is free belongs to who waits for that.
    """
    found = settled(plan, number)
    spells = [s for c in found.courses for s in c.intervals]
    busy = [(s.end - bool(s.evicted_by), s.end + 1) for s in spells]
    quiet = [m for m in moments(found) if not any(start <= m < end for start, end in busy)]
    waited = 0
    for moment in quiet:
        quotas = quotas_at(plan, found, moment)
        for course in found.courses:
            job = course.job
            holds = any(s.start <= moment < s.end for s in course.intervals)
            over = course.ended is not None and course.ended <= moment
            if job.submitted_at_seconds <= moment and not holds and not over:
                assert job.pods * job.requests[GPU] > quotas.available(job.team, KEY), job
                waited += 1
    assume(waited)  # else nothing was looked at, and another sequence is tried


@given(number=st.integers(0, 10_000))
@settings(max_examples=examples(5))
def test_the_same_jobs_have_the_same_courses_in_whatever_order_they_are_given_in_time(number: int):
    jobs = [replace(job, priority=0) for job in some_jobs(number, 30)]
    once, again = (replay(PLATFORMS[0], jobs) for _ in range(2))
    assert once == again
    by_time = sorted(jobs, key=lambda job: job.submitted_at_seconds)
    assert courses(replay(PLATFORMS[0], by_time)) == courses(once)
