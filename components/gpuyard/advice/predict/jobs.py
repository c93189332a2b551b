"""Predictions of the jobs of a trace, each from the jobs that had ended before its submission."""

import heapq
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from gpuyard.advice.predict.quantiles import Features, Prediction, QuantilePredictor, Submission
from gpuyard.traces.records import TraceJob


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
