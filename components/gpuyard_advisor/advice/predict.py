"""Quantiles of a value by groups of jobs, learned one job at a time.

The expected value combines the medians of the groups of a job, weighted by how well each kind of
group has predicted. The interval takes quantiles of one group, at levels that adaptive conformal
inference moves until the stated share of values is inside (Gibbs and Candès, NeurIPS 2021,
arXiv:2106.00170).
"""

import heapq
import math
from bisect import bisect_left, bisect_right, insort
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass

from gpuyard_advisor.traces.records import TraceJob

MIN_VALUES = 5
"""Values of a group below which it predicts nothing."""
MIN_INTERVAL_VALUES = 20
"""Values of all jobs below which there is no interval: fewer have no quantile of 5 %."""
WINDOW = 1024
"""The last values of a group that count: what users run changes."""
MAX_GROUPS = 250_000
"""Groups that are kept, those of the last jobs: a trace may give each job its own image."""
_ERROR_SHARE = 0.01
"""Share of the last error in the mean, which is of all errors at first."""
_ERROR_WEIGHT = 5.0
"""How much less a kind of group counts for each unit of its mean error of logarithms."""
_STEP = 0.005
"""Step of the adaptive levels. A larger one follows changes faster, with wider intervals."""
_MIN_LEVEL, _MAX_LEVEL = 0.001, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """What is known of a job at its submission. A feature that is empty or None is not known."""

    user: str = ""
    team: str = ""
    image: str = ""
    shape: Hashable = None
    """Pods and their requests."""
    gpu_model: str = ""
    hour: int | None = None
    """Hour of the day, 0 to 23."""


GROUPS: tuple[tuple[str, ...], ...] = (
    ("user", "image", "shape"),
    ("team", "image", "shape"),
    ("image", "shape"),
    ("user",),
    ("image",),
    ("team", "shape", "hour"),
    ("team", "shape"),
    ("team",),
    ("shape", "gpu_model"),
    ("shape",),
    ("hour",),
    (),
)
"""The kinds of groups of jobs with equal features, the narrowest first; the last has all jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """A predicted value with its interval."""

    expected: float
    low: float | None
    """None: not enough data for an interval."""
    high: float | None
    values: int
    """Values of the group that predicts best."""
    group: tuple[str, ...]
    """The features that its jobs share; empty: all jobs."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A submitted job: its prediction, and what the predictor needs to learn from its value."""

    prediction: Prediction | None
    """None: not enough data."""
    keys: tuple[tuple[Hashable, ...], ...]
    medians: tuple[tuple[int, float], ...]
    """By index in GROUPS."""


class _Group:
    """The last values of the jobs of one group."""

    __slots__ = ("by_time", "values")

    def __init__(self) -> None:
        """Start empty."""
        self.values: list[float] = []
        """Sorted."""
        self.by_time: list[float] = []

    def add(self, value: float) -> None:
        """Add a value; the oldest one of a full window leaves."""
        insort(self.values, value)
        self.by_time.append(value)
        if len(self.by_time) > WINDOW:
            del self.values[bisect_left(self.values, self.by_time.pop(0))]


class QuantilePredictor:
    """Predicts a value of jobs between two limits.

    The caller determines what is known when: it calls `submit` for each job, and `learn` once the
    value of a job is known.
    """

    def __init__(self, *, low: float, high: float = math.inf, coverage: float = 0.9) -> None:
        """Start without data.

        Args:
            low: Smallest value, above 0; smaller ones count as this.
            high: Largest value.
            coverage: Share of values that intervals contain in the long run.
        """
        self.low, self.high, self.coverage = low, high, coverage
        self._groups: OrderedDict[tuple[Hashable, ...], _Group] = OrderedDict()
        """The least recently changed first."""
        self._errors: dict[int, float] = {}
        """Mean error of the logarithms of each kind of group, recent ones count more."""
        self._error_counts: Counter[int] = Counter()
        self._tail = (1 - coverage) / 2
        self._low_level = self._high_level = self._tail

    def submit(self, features: Features) -> Submission:
        """Predict the value of a job, from the values that are known now."""
        keys = _keys(features)
        known = self._known(keys)
        if not known:
            return Submission(None, keys, ())
        best_error, best, group = known[0]
        total = expected = 0.0
        medians = []
        for error, number, one in known:
            weight = math.exp(_ERROR_WEIGHT * (best_error - error))
            median = one.values[len(one.values) // 2]
            medians.append((number, median))
            total += weight
            expected += weight * math.log(median)
        expected = min(self.high, max(self.low, math.exp(expected / total)))
        low, high = self._interval(known, self._groups[keys[-1]], expected)
        prediction = Prediction(
            expected=expected, low=low, high=high, values=len(group.values), group=GROUPS[best]
        )
        return Submission(prediction, keys, tuple(medians))

    def learn(self, submission: Submission, value: float) -> None:
        """Add the value of a submitted job."""
        value = min(self.high, max(self.low, value))
        for key in submission.keys:
            group = self._groups.get(key)
            if group is None:
                group = self._groups[key] = _Group()
            group.add(value)
            self._groups.move_to_end(key)
        while len(self._groups) > MAX_GROUPS:
            self._groups.popitem(last=False)
        for number, median in submission.medians:
            error = abs(math.log(value / median))
            self._error_counts[number] += 1
            share = max(_ERROR_SHARE, 1 / self._error_counts[number])
            self._errors[number] = (1 - share) * self._errors.get(number, 0.0) + share * error
        prediction = submission.prediction
        if prediction is not None and prediction.low is not None and prediction.high is not None:
            self._low_level += _STEP * (self._tail - (value < prediction.low))
            self._high_level += _STEP * (self._tail - (value > prediction.high))

    def remaining(self, features: Features, elapsed: float) -> float | None:
        """What a job has left after `elapsed`: the median of longer ones; None: not enough data."""
        for _, _, group in self._known(_keys(features)):
            first = bisect_right(group.values, elapsed)
            longer = len(group.values) - first
            if longer >= MIN_VALUES:
                return group.values[first + longer // 2] - elapsed
        return None

    def _known(self, keys: tuple[tuple[Hashable, ...], ...]) -> list[tuple[float, int, _Group]]:
        """The groups that can predict, the most accurate kind first, then the narrowest."""
        known = [
            (self._errors.get(number, math.inf), number, group)
            for key in keys
            if (group := self._groups.get(key)) is not None
            and len(group.values) >= MIN_VALUES
            and isinstance(number := key[0], int)
        ]
        if known and known[0][0] == math.inf:  # no prediction has been evaluated yet
            known = [(0.0, number, group) for _, number, group in known]
        known.sort(key=lambda one: one[:2])
        return known

    def _interval(
        self, known: list[tuple[float, int, _Group]], jobs: _Group, expected: float
    ) -> tuple[float | None, float | None]:
        if len(jobs.values) < MIN_INTERVAL_VALUES:
            return None, None
        low = high = self.low
        if self._low_level > 0:
            values, level = _tail_values(known, jobs, self._low_level)
            low = values[max(0, math.floor(level * (len(values) + 1)) - 1)]
        values, level = _tail_values(known, jobs, self._high_level)
        if self._high_level <= 0:
            values, level = jobs.values, 0.0
        high = values[min(len(values), math.ceil((1 - level) * (len(values) + 1))) - 1]
        return min(low, expected), max(high, expected)


def _tail_values(
    known: list[tuple[float, int, _Group]], jobs: _Group, level: float
) -> tuple[list[float], float]:
    """The values of the most accurate group that has a quantile of this level, else of all jobs."""
    level = min(max(level, _MIN_LEVEL), _MAX_LEVEL)
    for _, _, group in known:
        if (len(group.values) + 1) * level >= 1:
            return group.values, level
    return jobs.values, level


def _keys(features: Features) -> tuple[tuple[Hashable, ...], ...]:
    """The groups of a job: those of features that it has."""
    given = {
        "user": features.user or None,
        "team": features.team or None,
        "image": features.image or None,
        "shape": features.shape,
        "gpu_model": features.gpu_model or None,
        "hour": features.hour,
    }
    keys: list[tuple[Hashable, ...]] = []
    for number, names in enumerate(GROUPS):
        values = [given[name] for name in names]
        if None not in values:
            keys.append((number, *values))
    return tuple(keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A value of jobs, and its limits."""

    name: str
    value: Callable[[TraceJob], float | None]
    """None: the trace does not have it."""
    low: float
    high: float = math.inf

    def predictor(self, coverage: float = 0.9) -> QuantilePredictor:
        """A predictor without data."""
        return QuantilePredictor(low=self.low, high=self.high, coverage=coverage)


DURATION = Measure(name="duration", value=lambda job: job.run_seconds, low=300.0)
"""Seconds; shorter jobs count as five minutes."""
UTILISATION = Measure(name="utilisation", value=lambda job: job.utilisation, low=0.1, high=1.0)
"""Mean utilisation of the GPUs, 0.1 to 1."""


def job_features(job: TraceJob) -> Features:
    """What is known of a job at its submission."""
    return Features(
        user=job.user,
        team=job.team,
        image=job.image,
        shape=(job.gpus, job.pods, job.cpu_milli, job.memory_mib, job.gpu_memory_mib),
        gpu_model=job.gpu_model,
        hour=int(job.submitted_seconds // 3600 % 24),
    )


def _end(job: TraceJob) -> float:
    return job.submitted_seconds + job.run_seconds


def predict_jobs(
    jobs: Iterable[TraceJob],
    measure: Measure,
    *,
    coverage: float = 0.9,
    ended_at: Callable[[TraceJob], float] = _end,
) -> Iterator[Prediction | None]:
    """The prediction of each job, which knows the jobs that ended at or before its submission only.

    Args:
        jobs: By submission.
        measure: What is predicted.
        coverage: Share of values that intervals contain in the long run.
        ended_at: When a job ended; by default it started at its submission.
    """
    predictor = measure.predictor(coverage)
    running: list[tuple[float, int, Submission, float]] = []
    for number, job in enumerate(jobs):
        while running and running[0][0] <= job.submitted_seconds:
            _, _, submission, value = heapq.heappop(running)
            predictor.learn(submission, value)
        submission = predictor.submit(job_features(job))
        yield submission.prediction
        known = measure.value(job)
        if known is not None:
            heapq.heappush(running, (ended_at(job), number, submission, known))


PREEMPTION_RATIO = 0.3
"""The waiting job must need less than this share of what the other has left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningEstimate:
    """A running job and what it is predicted to have left."""

    name: str
    priority: int
    remaining_seconds: float | None
    """None: not enough data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptionAdvice:
    """Whether to preempt one running job, and why."""

    name: str
    preempt: bool
    reason: str


def advise_preemption(
    priority: int,
    expected_seconds: float | None,
    running: Iterable[RunningEstimate],
    ratio: float = PREEMPTION_RATIO,
) -> tuple[PreemptionAdvice, ...]:
    """Advice for each running job: first those to preempt, by lowest priority, then longest left.

    Args:
        priority: Of the waiting job.
        expected_seconds: Its predicted duration; None: not enough data.
        running: The jobs whose GPUs it could use.
        ratio: The waiting job must need less than this share of what the other has left.
    """
    results: list[tuple[tuple[bool, int, float], PreemptionAdvice]] = []
    for job in running:
        reason = ""
        left = job.remaining_seconds
        if job.priority >= priority:
            reason = f"its priority {job.priority} is not lower than {priority}"
        elif expected_seconds is None or left is None:
            which = "the waiting job" if expected_seconds is None else "it"
            reason = f"not enough data to predict {which}"
        elif expected_seconds >= ratio * left:
            reason = (
                f"the waiting job needs {expected_seconds:,.0f} s, not less than {ratio:g} × "
                f"{left:,.0f} s that it has left"
            )
        preempt = not reason
        if preempt:
            reason = f"{expected_seconds:,.0f} s are less than {ratio:g} × {left:,.0f} s left"
        order = (not preempt, job.priority, -(left or 0.0))
        results.append((order, PreemptionAdvice(name=job.name, preempt=preempt, reason=reason)))
    return tuple(advice for _, advice in sorted(results, key=lambda one: one[0]))
