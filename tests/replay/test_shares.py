"""How far apart the shares of teams are when nothing changes any more."""

import random
from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from gpuyard_advisor.replay import NoConvergence, ReplayOptions, SubmittedJob, replay
from kit.cases import shares
from kit.cases.replay import came, queues, used_at
from kit.searches import examples

LONG = 1e6
REST = LONG / 2
"""A moment at which everything has come to rest, and no job has ended."""


def held(jobs: Iterable[SubmittedJob], weights: Mapping[str, int]) -> dict[str, int]:
    """What each team has when all is at rest."""
    plan = queues(shares.NODES, **shares.teams(weights))
    used = used_at(replay(plan, jobs, options=ReplayOptions(most_evictions=100)), REST)
    return {letter: used[f"q-{letter}"] for letter in weights}


@pytest.mark.parametrize("weights", shares.WEIGHTS.values(), ids=shares.WEIGHTS)
@given(number=st.integers(0, 10_000))
@settings(max_examples=examples(10))
def test_with_a_standing_backlog_nobody_is_a_job_behind(weights: dict[str, int], number: int):
    rng = random.Random(number)  # noqa: S311  no secret is made of it
    jobs = [(team, index) for team in "bc" for index in range(len(shares.SIZES))]
    rng.shuffle(jobs)
    jobs = [("a", index) for index in range(len(shares.SIZES))] + jobs
    at = 0.0
    arrivals = []
    for team, index in jobs:
        arrivals.append(came(f"{team}{index}", at, shares.SIZES[index], seconds=LONG))
        at += rng.choice([0, 0.1, 0.3, 1.5])
    try:
        used = held(arrivals, weights)
    except NoConvergence:
        reject()
    assert shares.GPUS - sum(used.values()) < shares.SMALLEST
    assert shares.behind(used, weights) <= shares.SMALLEST, used


def test_where_only_large_jobs_wait_one_team_may_be_further_behind():
    arrivals = [
        came(f"{team}{index}", index * 10, gpus, seconds=LONG)
        for index, (team, gpus) in enumerate((*shares.HELD, *shares.LARGE))
    ]
    weights = shares.WEIGHTS["apart"]
    used = held(arrivals, weights)
    assert used == {"a": 8, "b": 19, "c": 20}
    assert shares.behind(used, weights) > shares.LARGEST
