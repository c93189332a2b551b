"""What predicted durations would change in a replay: the order of jobs, and which are preempted."""

import math
from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import islice

from gpuyard.plan.quotas.cohorts import Key
from gpuyard_advisor.advice.predict import (
    DURATION,
    PREEMPTION_RATIO,
    UTILISATION,
    Features,
    Measure,
    Prediction,
    RunningEstimate,
    Submission,
    advise_preemption,
    job_features,
)
from gpuyard_advisor.replay.jobs import JobHistory, SubmittedJob
from gpuyard_advisor.traces.records import TraceJob

CLASS_SECONDS = tuple(minutes * 60.0 for minutes in (10, 30, 60, 240, 720, 1440))
"""Upper limits of predicted durations of the first priority classes; the last has all other jobs."""
_CANDIDATES = 50
"""Running jobs of each priority and quota that advice considers: those that started last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """How well a value of jobs that ended was predicted."""

    jobs: int
    """Jobs that ended, and have the value in the trace."""
    predicted: int
    """Those with enough data for a prediction."""
    mean_error: float | None
    """Mean absolute error of the expected value; None without a prediction."""
    covered: float | None
    """Share of values inside their interval; None without an interval."""
    coverage: float
    """The share that is intended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedJobs:
    """Predictions of the jobs of a replay, and the advice to preempt at their submission."""

    predictions: Mapping[str, Prediction]
    """Durations by the name of the job; jobs without enough data have none."""
    duration: Accuracy
    """Errors in seconds."""
    utilisation: Accuracy
    waited: int
    """Jobs that waited while jobs of lower priority had their quota."""
    advised: int
    """Those for which preempting such jobs is advised and frees enough quota."""
    preemptions: int
    """Preemptions of jobs of lower priority in the replay."""
    preemptions_advised: int
    """Those that are advised: the other preemptions stop a job that is predicted to end soon."""


class _Kind(IntEnum):
    """In the order of simultaneous events."""

    ENDS = 0
    SUBMITTED = 1
    STARTS = 2
    ENDS_AT_ONCE = 3


@dataclass(slots=True)
class _Running:
    """Jobs that hold one quota, by priority: those that started last are last."""

    jobs: dict[int, OrderedDict[str, tuple[JobHistory, float]]] = field(
        default_factory=lambda: defaultdict(OrderedDict)
    )


def predict_replay(
    jobs: Sequence[TraceJob],
    courses: Sequence[JobHistory],
    ratio: float = PREEMPTION_RATIO,
) -> PredictedJobs:
    """Predict each job of a replay from those that had ended in it, and advise on preemption.

    Args:
        jobs: The trace; jobs of the same names are in `courses`.
        courses: The replay.
        ratio: A job preempts another if it needs less than this share of what the other has left.
    """
    traced = {job.name: job for job in jobs}
    sweep = _Sweep(traced, {c.job.name: c.job.priority for c in courses}, ratio)
    events: list[tuple[float, _Kind, int, int]] = []
    for number, course in enumerate(courses):
        if course.job.name not in traced:
            continue
        events.append((course.job.submitted_at_seconds, _Kind.SUBMITTED, number, 0))
        for index, interval in enumerate(course.intervals):
            events.append((interval.start, _Kind.STARTS, number, index))
            kind = _Kind.ENDS if interval.end > interval.start else _Kind.ENDS_AT_ONCE
            events.append((interval.end, kind, number, index))
    events.sort()
    for now, kind, number, index in events:
        match kind:
            case _Kind.SUBMITTED:
                sweep.submitted(now, courses[number])
            case _Kind.STARTS:
                sweep.starts(now, courses[number], index)
            case _:
                sweep.ends(now, courses[number], index)
    return sweep.result()


class _Track:
    """The predictor of one measure, and its errors."""

    def __init__(self, measure: Measure) -> None:
        self.measure, self.predictor = measure, measure.predictor()
        self.submissions: dict[str, Submission] = {}
        self.jobs = 0
        self.errors: list[float] = []
        self.inside: list[bool] = []

    def submitted(self, job: TraceJob, features: Features) -> Prediction | None:
        """Predict a job whose value the trace has."""
        if self.measure.value(job) is None:
            return None
        submission = self.submissions[job.name] = self.predictor.submit(features)
        return submission.prediction

    def ended(self, job: TraceJob) -> None:
        """Learn the value of a job, and compare it with the prediction."""
        value = self.measure.value(job)
        if value is None:
            return
        submission = self.submissions.pop(job.name)
        self.predictor.learn(submission, value)
        self.jobs += 1
        prediction = submission.prediction
        if prediction is None:
            return
        value = min(self.measure.high, max(self.measure.low, value))
        self.errors.append(abs(value - prediction.expected))
        if prediction.low is not None and prediction.high is not None:
            self.inside.append(prediction.low <= value <= prediction.high)

    def accuracy(self) -> Accuracy:
        """The accuracy of all jobs."""
        return Accuracy(
            jobs=self.jobs,
            predicted=len(self.errors),
            mean_error=_mean(self.errors),
            covered=_mean(self.inside),
            coverage=self.predictor.coverage,
        )


class _Sweep:
    """The state between two events."""

    def __init__(
        self, traced: Mapping[str, TraceJob], priorities: Mapping[str, int], ratio: float
    ) -> None:
        self.traced, self.priorities, self.ratio = traced, priorities, ratio
        self.duration, self.utilisation = _Track(DURATION), _Track(UTILISATION)
        self.predictions: dict[str, Prediction] = {}
        self.running: dict[Key, _Running] = defaultdict(_Running)
        self.waited = self.advised = 0
        self.preemptions = self.preemptions_advised = 0

    def submitted(self, now: float, course: JobHistory) -> None:
        """Predict a job, and advise if it waits for quota that jobs of lower priority have."""
        job = self.traced[course.job.name]
        features = job_features(job)
        self.utilisation.submitted(job, features)
        prediction = self.duration.submitted(job, features)
        if prediction is not None:
            self.predictions[job.name] = prediction
        if course.waited:
            self._advise(now, course, prediction)

    def starts(self, now: float, course: JobHistory, index: int) -> None:
        """A job gets its quota."""
        for key in course.intervals[index].uses:
            self.running[key].jobs[course.job.priority][course.job.name] = (course, now)

    def ends(self, now: float, course: JobHistory, index: int) -> None:
        """A job loses its quota; the duration of a completed job becomes known."""
        name = course.job.name
        interval = course.intervals[index]
        for key in interval.uses:
            self.running[key].jobs[course.job.priority].pop(name, None)
        other = self.priorities.get(interval.evicted_by)
        if other is not None and other > course.job.priority:
            expected = self.predictions.get(interval.evicted_by)
            estimate = self._estimate(name, course, now - interval.start)
            advice = advise_preemption(
                other, expected.expected if expected else None, (estimate,), self.ratio
            )
            self.preemptions += 1
            self.preemptions_advised += advice[0].preempt
        if index == len(course.intervals) - 1 and course.ended is not None:
            self.duration.ended(self.traced[name])
            self.utilisation.ended(self.traced[name])

    def _advise(self, now: float, course: JobHistory, prediction: Prediction | None) -> None:
        job = course.job
        uses = course.intervals[0].uses
        found = {
            name: (one, started)
            for key in uses
            for priority, running in self.running[key].jobs.items()
            if priority < job.priority
            for name, (one, started) in islice(reversed(running.items()), _CANDIDATES)
        }
        if not found:
            return
        self.waited += 1
        estimates = [
            self._estimate(name, one, now - started) for name, (one, started) in found.items()
        ]
        expected = prediction.expected if prediction else None
        missing = dict(uses)
        for advice in advise_preemption(job.priority, expected, estimates, self.ratio):
            if not advice.preempt or all(amount <= 0 for amount in missing.values()):
                break
            one, started = found[advice.name]
            freed = next(i.uses for i in one.intervals if i.start == started)
            for key, amount in freed.items():
                if key in missing:
                    missing[key] -= amount
        if all(amount <= 0 for amount in missing.values()):
            self.advised += 1

    def _estimate(self, name: str, course: JobHistory, elapsed: float) -> RunningEstimate:
        """What a job has left after `elapsed` seconds."""
        features = job_features(self.traced[name])
        return RunningEstimate(
            name=name,
            priority=course.job.priority,
            remaining_seconds=self.duration.predictor.remaining(features, elapsed),
        )

    def result(self) -> PredictedJobs:
        """The figures of all jobs."""
        return PredictedJobs(
            predictions=self.predictions,
            duration=self.duration.accuracy(),
            utilisation=self.utilisation.accuracy(),
            waited=self.waited,
            advised=self.advised,
            preemptions=self.preemptions,
            preemptions_advised=self.preemptions_advised,
        )


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def order_by_prediction(
    jobs: Sequence[SubmittedJob], predictions: Mapping[str, Prediction]
) -> tuple[SubmittedJob, ...]:
    """The jobs with a priority class by predicted duration inside each of their priorities.

    This is what a platform can do with WorkloadPriorityClasses that are set at submission. Jobs
    without a prediction are in the last class.
    """
    ranks = {value: place for place, value in enumerate(sorted({job.priority for job in jobs}))}
    classes = len(CLASS_SECONDS) + 1
    return tuple(
        replace(job, priority=ranks[job.priority] * classes + _class_of(predictions.get(job.name)))
        for job in jobs
    )


def _class_of(prediction: Prediction | None) -> int:
    """The priority of a predicted duration: the shorter, the higher; 0 without a prediction."""
    expected = prediction.expected if prediction else math.inf
    return sum(expected <= limit for limit in CLASS_SECONDS)
