"""Predictions of durations and utilisation, and the advice to preempt."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuyard_advisor.advice import predict
from gpuyard_advisor.advice.predict import (
    DURATION,
    UTILISATION,
    Features,
    QuantilePredictor,
    RunningEstimate,
    advise_preemption,
    predict_jobs,
)
from gpuyard_advisor.traces.records import TraceJob
from kit.searches import examples


def job(number: int, at: float, seconds: float, **more) -> TraceJob:
    return TraceJob(name=f"job-{number}", submitted_seconds=at, run_seconds=seconds, gpus=1, **more)


def users_with_habits(count: int, seed: int = 1) -> list[TraceJob]:
    """Jobs of two users, each ended before the next: ada's run about 20 minutes, grace's 10 hours."""
    source = random.Random(seed)  # noqa: S311  a seed
    jobs, now = [], 0.0
    for number in range(count):
        user, centre = source.choice((("ada", 1200), ("grace", 36000)))
        seconds = centre * source.lognormvariate(0, 0.3)
        jobs.append(job(number, now, seconds, user=user))
        now += seconds
    return jobs


def test_there_is_no_prediction_before_five_jobs_and_no_interval_before_twenty_have_ended():
    found = list(predict_jobs(users_with_habits(30), DURATION))
    assert found[:5] == [None] * 5
    assert [p.low for p in found[5:20]] == [None] * 15
    assert all(p.low <= p.expected <= p.high for p in found[20:])


def test_a_user_is_predicted_from_the_jobs_of_that_user():
    jobs = users_with_habits(400)
    later = list(zip(jobs, predict_jobs(jobs, DURATION), strict=True))[200:]
    assert {p.group for _, p in later} <= {("user",)}
    assert all(900 < p.expected < 1600 for j, p in later if j.user == "ada")
    assert all(27000 < p.expected < 48000 for j, p in later if j.user == "grace")


def test_a_new_user_is_predicted_from_all_jobs():
    predictor = DURATION.predictor()
    for seconds in range(1000, 1020):
        predictor.learn(predictor.submit(Features(user="ada")), seconds)
    found = predictor.submit(Features(user="new")).prediction
    assert (found.group, found.values) == ((), 20)
    assert 1000 <= found.expected < 1020


@pytest.mark.parametrize("coverage", [0.8, 0.9])
def test_intervals_contain_the_stated_share_of_values_even_when_the_values_change(coverage):
    source = random.Random(7)  # noqa: S311  a seed
    jobs, now = [], 0.0
    for number in range(8000):
        centre = 2000 * (1 + number // 2000)
        seconds = centre * source.lognormvariate(0, 0.8)
        jobs.append(job(number, now, seconds))
        now += seconds
    found = zip(jobs, predict_jobs(jobs, DURATION, coverage=coverage), strict=True)
    inside = [p.low <= max(300, j.run_seconds) <= p.high for j, p in found if p and p.low]
    assert sum(inside) / len(inside) == pytest.approx(coverage, abs=0.015)


@given(st.randoms(use_true_random=False), st.integers(10, 60))
@settings(max_examples=examples(30))
def test_a_prediction_does_not_change_with_jobs_that_ended_after_its_submission(source, count):
    jobs = sorted(
        (
            job(n, source.uniform(0, 5000), source.uniform(0, 4000), user=source.choice("ab"))
            for n in range(count)
        ),
        key=lambda one: one.submitted_seconds,
    )
    whole = list(predict_jobs(jobs, DURATION))
    for number, one in enumerate(jobs):
        now = one.submitted_seconds
        other = [
            each
            if each.submitted_seconds + each.run_seconds <= now
            else replace(each, run_seconds=now - each.submitted_seconds + 1e6)
            for each in jobs
        ]
        assert list(predict_jobs(other, DURATION))[number] == whole[number]


@given(st.lists(st.floats(0, 1e7), min_size=30, max_size=80))
@settings(max_examples=examples(50))
def test_predictions_stay_within_the_limits_of_their_measure(values):
    jobs = [
        job(n, n * 1e8, value, utilisation=min(1.0, value / 1e6)) for n, value in enumerate(values)
    ]
    for p in filter(None, predict_jobs(jobs, DURATION)):
        assert p.expected >= 300
        assert p.low is None or 300 <= p.low <= p.expected <= p.high
    for p in filter(None, predict_jobs(jobs, UTILISATION)):
        assert 0.1 <= p.expected <= 1
        assert p.low is None or 0.1 <= p.low <= p.expected <= p.high <= 1


def test_a_trace_without_utilisation_gets_no_prediction_of_it():
    assert set(predict_jobs(users_with_habits(60), UTILISATION)) == {None}


def test_only_the_last_values_of_a_group_count(monkeypatch):
    monkeypatch.setattr(predict, "WINDOW", 10)
    predictor = QuantilePredictor(low=1)
    for value in [1000] * 50 + [10] * 10:
        predictor.learn(predictor.submit(Features()), value)
    assert predictor.submit(Features()).prediction.expected == pytest.approx(10)


def test_the_groups_of_the_last_jobs_are_kept(monkeypatch):
    monkeypatch.setattr(predict, "MAX_GROUPS", 50)
    predictor = QuantilePredictor(low=1)
    for number in range(200):
        predictor.learn(predictor.submit(Features(image=f"image-{number}")), 5 + number)
    assert len(predictor._groups) == 50
    assert predictor.submit(Features()).prediction.values == 200


def test_a_job_that_has_run_has_left_what_longer_jobs_needed():
    predictor = DURATION.predictor()
    for seconds in [400] * 50 + [10_000] * 7:
        predictor.learn(predictor.submit(Features()), seconds)
    assert predictor.remaining(Features(), 0) == 400
    assert predictor.remaining(Features(), 1000) == 9000
    assert predictor.remaining(Features(), 20_000) is None


def test_preemption_is_advised_for_a_shorter_job_of_higher_priority_only():
    running = [
        RunningEstimate(name="long", priority=0, remaining_seconds=10_000),
        RunningEstimate(name="longer", priority=0, remaining_seconds=20_000),
        RunningEstimate(name="lowest", priority=-5, remaining_seconds=9_000),
        RunningEstimate(name="short", priority=0, remaining_seconds=4_000),
        RunningEstimate(name="equal", priority=10, remaining_seconds=90_000),
        RunningEstimate(name="new", priority=0, remaining_seconds=None),
    ]
    found = advise_preemption(10, 1200, running)
    assert [(a.name, a.preempt, a.reason) for a in found] == [
        ("lowest", True, "1,200 s are less than 0.3 × 9,000 s left"),
        ("longer", True, "1,200 s are less than 0.3 × 20,000 s left"),
        ("long", True, "1,200 s are less than 0.3 × 10,000 s left"),
        (
            "short",
            False,
            "the waiting job needs 1,200 s, not less than 0.3 × 4,000 s that it has left",
        ),
        ("new", False, "not enough data to predict it"),
        ("equal", False, "its priority 10 is not lower than 10"),
    ]
    assert advise_preemption(10, 1200, [running[3]], ratio=0.31)[0].preempt
    assert advise_preemption(10, None, [running[0]])[0].reason == (
        "not enough data to predict the waiting job"
    )


def test_a_limit_of_the_ratio_is_not_preempted():
    one = RunningEstimate(name="one", priority=0, remaining_seconds=1000)
    assert not advise_preemption(1, 300, [one])[0].preempt
    assert advise_preemption(1, 299, [one])[0].preempt
