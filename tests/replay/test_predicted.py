"""Predicted durations in a replay: accuracy, preemption advice, and the order by prediction."""

import pytest

from gpuyard_advisor.advice.predict import Prediction
from gpuyard_advisor.replay import JobHistory, RunInterval, SubmittedJob
from gpuyard_advisor.replay.jobs import EndReason
from gpuyard_advisor.replay.predicted import order_by_prediction, predict_replay
from gpuyard_advisor.traces.records import TraceJob

TRAIN = ("train", "nvidia.com/gpu")


def traced(name: str, at: float, seconds: float, user: str = "ada") -> TraceJob:
    return TraceJob(name=name, submitted_seconds=at, run_seconds=seconds, gpus=1, user=user)


def course(job: TraceJob, *spans: tuple[float, float], priority: int = 0, by=()) -> JobHistory:
    """A job with the intervals of its quota; the first ones end by preemption for those in `by`."""
    submitted = SubmittedJob(
        name=job.name,
        team="ml",
        submitted_at_seconds=job.submitted_seconds,
        run_seconds=job.run_seconds,
        requests={"nvidia.com/gpu": 1},
        priority=priority,
    )
    intervals = tuple(
        RunInterval(
            start=start,
            end=end,
            uses={TRAIN: 1},
            evicted_by=by[n] if n < len(by) else "",
            reason=EndReason.PREEMPTED if n < len(by) else EndReason.COMPLETED,
        )
        for n, (start, end) in enumerate(spans)
    )
    return JobHistory(job=submitted, intervals=intervals, order=0)


def history(count: int = 40, seconds: float = 1000, user: str = "ada", start: float = 0.0):
    """Jobs of a user, one after the other."""
    jobs = [traced(f"{user}-{n}", start + n * seconds, seconds, user) for n in range(count)]
    return jobs, [course(j, (j.submitted_seconds, j.submitted_seconds + seconds)) for j in jobs]


def test_jobs_are_predicted_from_those_that_ended_in_the_replay():
    jobs, courses = history()
    found = predict_replay(jobs, courses)
    assert (found.duration.jobs, found.duration.predicted) == (40, 35)
    assert (found.duration.covered, found.duration.coverage) == (1, 0.9)
    assert found.duration.mean_error == pytest.approx(0, abs=1e-6)
    assert (found.waited, found.advised, found.preemptions) == (0, 0, 0)
    assert (found.utilisation.jobs, found.utilisation.mean_error) == (0, None)


def test_a_job_that_ends_at_its_submission_is_learned_as_well():
    jobs = [traced(f"job-{n}", n, 0) for n in range(10)]
    found = predict_replay(jobs, [course(j, (j.submitted_seconds,) * 2) for j in jobs])
    assert (found.duration.jobs, found.duration.predicted) == (10, 5)


def waiting(seconds_of_waiting: float, *, priority: int = 10, waits: float = 500):
    """After 40 jobs of ada and of grace (20,000 s each), a job of grace runs and one of ada waits."""
    long, long_courses = history(seconds=20_000, user="grace")
    short, short_courses = history(seconds=seconds_of_waiting, start=1.0)
    now = 40 * 20_000 + 1.0
    running, new = traced("running", now, 20_000, "grace"), traced("new", now + 10, 1, "ada")
    courses = [
        course(running, (now, now + 20_000)),
        course(new, (now + 10 + waits, now + 600 + waits), priority=priority),
    ]
    jobs = sorted([*long, *short, running, new], key=lambda one: one.submitted_seconds)
    return predict_replay(jobs, [*long_courses, *short_courses, *courses])


def test_preempting_a_longer_job_of_lower_priority_is_advised_to_a_job_that_waits():
    found = waiting(1000)
    assert (found.waited, found.advised) == (1, 1)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"seconds_of_waiting": 7000}, (1, 0)),  # more than 0.3 × 20,000 s
        ({"seconds_of_waiting": 1000, "priority": 0}, (0, 0)),
        ({"seconds_of_waiting": 1000, "waits": 0}, (0, 0)),
    ],
)
def test_preemption_is_not_advised_otherwise(change, expected):
    found = waiting(**change)
    assert (found.waited, found.advised) == expected


@pytest.mark.parametrize(("seconds", "advised"), [(1000, 1), (7000, 0)])
def test_preemptions_by_kueue_are_compared_with_the_advice(seconds, advised):
    long, long_courses = history(seconds=20_000, user="grace")
    short, short_courses = history(seconds=seconds, start=1.0)
    now = 40 * 20_000 + 1.0
    running, new = traced("running", now, 20_000, "grace"), traced("new", now + 10, 1, "ada")
    courses = [
        course(running, (now, now + 11), (now + 100, now + 20_100), by=("new",)),
        course(new, (now + 11, now + 100), priority=10),
    ]
    jobs = sorted([*long, *short, running, new], key=lambda one: one.submitted_seconds)
    found = predict_replay(jobs, [*long_courses, *short_courses, *courses])
    assert (found.preemptions, found.preemptions_advised) == (1, advised)


def test_shorter_predicted_jobs_come_first_inside_each_priority():
    def expected(seconds: float) -> Prediction:
        return Prediction(expected=seconds, low=None, high=None, values=5, group=())

    jobs = [
        course(traced(name, 0, 1), priority=priority).job
        for name, priority in (("a", 0), ("b", 0), ("c", 0), ("high", 500), ("new", 0))
    ]
    predictions = {
        "a": expected(90_000),
        "b": expected(600),
        "c": expected(601),
        "high": expected(90_000),
    }
    ordered = order_by_prediction(jobs, predictions)
    assert [job.name for job in ordered] == [job.name for job in jobs]
    assert {job.name: job.priority for job in ordered} == {
        "a": 0,
        "b": 6,
        "c": 5,
        "high": 7,
        "new": 0,
    }
