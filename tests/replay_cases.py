"""Jobs and platforms for the queue model: a test says only what it is about."""

import random
from typing import Any

from builders import plan_of
from gpuyard.plan.names import GPU
from gpuyard.plan.records import PlatformPlan
from gpuyard.replay import Arrival, Course, Replay
from queue_lab import one_pool


def queues(nodes: int, **rest: Any) -> PlatformPlan:
    """A platform called q with nodes of eight GPUs; teams by letter, as in `queue_lab.one_pool`."""
    return plan_of(one_pool("q", nodes, **rest))


def came(name: str, at: float = 0, gpus: int = 8, seconds: float = 10, **rest: Any) -> Arrival:
    """A job of one pod; the first letter of its name is its team's."""
    return Arrival(
        name=name, team=f"q-{name[0]}", at=at, seconds=seconds, requests={GPU: gpus}, **rest
    )


def courses(found: Replay) -> dict[str, Course]:
    """What became of each job, by name."""
    return {course.job.name: course for course in found.courses}


def starts(found: Replay) -> dict[str, float | None]:
    """When each job was first admitted."""
    return {name: course.admitted for name, course in courses(found).items()}


def some_jobs(number: int, count: int, teams: str = "abc") -> list[Arrival]:
    """Jobs of this number: gangs and single GPUs, in a burst."""
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
