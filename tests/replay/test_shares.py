"""How far apart the shares of teams are when nothing changes any more."""

import random
from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import share_cases
from gpuyard.plan.names import GPU
from gpuyard.replay import Arrival, NeverSettles, replay
from replay_cases import came, queues

LONG = 1e6
REST = LONG / 2
"""A moment at which everything has come to rest, and no job has ended."""


def held(jobs: Iterable[Arrival], weights: dict[str, int]) -> Counter[str]:
    """What each team has when all is at rest."""
    plan = queues(share_cases.GPUS // 8, **share_cases.teams(weights))
    try:
        found = replay(plan, jobs, most_evictions=100)
    except NeverSettles:
        reject()
    used = Counter(dict.fromkeys(weights, 0))
    for course in found.courses:
        job = course.job
        used[job.name[0]] += sum(job.requests[GPU] for s in course.spells if s.start < REST < s.end)
    return used


@pytest.mark.parametrize("weights", share_cases.WEIGHTS.values(), ids=share_cases.WEIGHTS)
@given(number=st.integers(0, 10_000))
@settings(max_examples=10)
def test_with_a_standing_backlog_nobody_is_a_job_behind(weights: dict[str, int], number: int):
    rng = random.Random(number)  # noqa: S311  no secret is made of it
    jobs = [(team, index) for team in "bc" for index in range(len(share_cases.SIZES))]
    rng.shuffle(jobs)
    jobs = [("a", index) for index in range(len(share_cases.SIZES))] + jobs
    at = 0.0
    arrivals = []
    for team, index in jobs:
        arrivals.append(came(f"{team}{index}", at, share_cases.SIZES[index], seconds=LONG))
        at += rng.choice([0, 0.1, 0.3, 1.5])
    used = held(arrivals, weights)
    assert share_cases.GPUS - used.total() < share_cases.SMALLEST
    assert share_cases.behind(used, weights) <= share_cases.SMALLEST, used


def test_where_only_large_jobs_wait_one_team_may_be_further_behind():
    arrivals = [
        came(f"{team}{index}", index * 10, gpus, seconds=LONG)
        for index, (team, gpus) in enumerate((*share_cases.HELD, *share_cases.LARGE))
    ]
    weights = share_cases.WEIGHTS["apart"]
    used = held(arrivals, weights)
    assert used == {"a": 8, "b": 19, "c": 20}
    assert share_cases.behind(used, weights) > share_cases.LARGEST
