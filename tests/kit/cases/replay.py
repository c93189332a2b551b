"""Jobs and platforms for the queue model: a test sets only what it checks."""

import random
from collections import Counter
from typing import Any

from gpuyard.plan.records import PlatformPlan
from gpuyard_advisor.replay import JobHistory, Replay, SubmittedJob
from gpuyard_core.names import GPU
from kit.cluster.queues import one_pool
from kit.stacks import plan_of

KEY = ("q", GPU)
"""The quota of the only pool."""


def queues(nodes: int, **rest: Any) -> PlatformPlan:
    """A platform called q with nodes of eight GPUs; teams by letter, as in `queue_lab.one_pool`."""
    return plan_of(one_pool("q", nodes, **rest))


def came(name: str, at: float = 0, gpus: int = 8, seconds: float = 10, **rest: Any) -> SubmittedJob:
    """A job of one pod; the first letter of its name is its team's."""
    return SubmittedJob(
        name=name,
        team=f"q-{name[0]}",
        submitted_at_seconds=at,
        run_seconds=seconds,
        requests={GPU: gpus},
        **rest,
    )


def courses(result: Replay) -> dict[str, JobHistory]:
    """The history of each job, by name."""
    return {course.job.name: course for course in result.courses}


def starts(result: Replay) -> dict[str, float | None]:
    """When each job was first admitted."""
    return {name: course.admitted for name, course in courses(result).items()}


def used_at(result: Replay, moment: float) -> Counter[str]:
    """What each team held just after this moment, without jobs that were preempted.

    Kueue reassigns their quota in the cycle in which it preempts them, before their pods have ended.
    """
    used: Counter[str] = Counter()
    for course in result.courses:
        for interval in course.intervals:
            if interval.start <= moment < interval.end - bool(interval.evicted_by):
                used[course.job.team] += interval.uses[KEY]
    return used


def some_jobs(number: int, count: int, teams: str = "abc") -> list[SubmittedJob]:
    """Jobs generated from this number: gangs and single GPUs, in a burst."""
    rng = random.Random(number)  # noqa: S311  no secret is made of it
    return [
        came(
            f"{rng.choice(teams)}{index}",
            at=rng.randrange(30),
            gpus=rng.choice([1, 2, 4, 8]),
            seconds=rng.randint(1, 20),
            pods=rng.choice([1, 1, 2, 3]),
            priority=rng.choice([0, 0, 10]),
        )
        for index in range(count)
    ]
