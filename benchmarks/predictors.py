"""Error and interval coverage of predicted durations on public traces, beside simple baselines.

    python benchmarks/predictors.py                        the openb trace, one second
    python benchmarks/predictors.py FILE [FILE ...]        these traces as well
    python benchmarks/predictors.py --million              time and memory of a million made-up jobs as well

Reads the openb trace from $GPUYARD_TRACES, else from `traces` next to $GPUYARD_UPSTREAM. The exit code is 1 if
a baseline has a smaller mean absolute error, or coverage is further than GAP from what is stated.
benchmarks/predictors.md says where the other traces are.
"""

import math
import os
import random
import resource
import statistics
import sys
import time
from bisect import insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from pathlib import Path

from gpuyard_advisor.advice.predict import DURATION, Prediction, predict_jobs
from gpuyard_advisor.traces import ReadOptions, TraceJob, read_trace

GAP = 0.015
COVERAGES = (0.5, 0.9)
HOUR = 3600.0


def openb() -> Path:
    """The trace that every run reads."""
    folder = os.environ.get("GPUYARD_TRACES") or str(
        Path(os.environ.get("GPUYARD_UPSTREAM", "../shared/upstream"), "..", "traces")
    )
    path = Path(folder, "openb", "openb_pod_list_default.csv")
    if not path.exists():
        sys.exit(f"no {path}: set GPUYARD_TRACES to the folder that has openb/")
    return path


def group(job: TraceJob) -> object:
    """Whose jobs a baseline compares: the first that the trace has."""
    shape = (job.gpus, job.pods, job.cpu_milli, job.memory_mib)
    return job.user or job.image or job.team or shape


def baseline(
    jobs: Sequence[TraceJob],
    key: Callable[[TraceJob], object],
    choose: Callable[[list[float], float], float],
) -> list[float | None]:
    """A value of the jobs with the same key that had ended: `choose` gets them sorted, and the last."""
    known: dict[object, list[float]] = defaultdict(list)
    last: dict[object, float] = {}
    running: list[tuple[float, int]] = []
    results: list[float | None] = []
    for number, job in enumerate(jobs):
        while running and running[0][0] <= job.submitted_seconds:
            ended = jobs[heappop(running)[1]]
            last[key(ended)] = max(DURATION.low, ended.run_seconds)
            insort(known[key(ended)], last[key(ended)])
        mine = key(job)
        results.append(choose(known[mine], last[mine]) if known[mine] else None)
        heappush(running, (job.submitted_seconds + job.run_seconds, number))
    return results


def median(values: list[float], _last: float) -> float:
    """The median of the values."""
    return values[len(values) // 2]


def last_value(_values: list[float], last: float) -> float:
    """The last value."""
    return last


def report(name: str, jobs: Sequence[TraceJob]) -> bool:
    """Predict, compare and print; True if no baseline is better and coverage is as stated."""
    began = time.process_time()
    found: dict[float, list[Prediction | None]] = {
        coverage: list(predict_jobs(jobs, DURATION, coverage=coverage)) for coverage in COVERAGES
    }
    micros = (time.process_time() - began) / len(COVERAGES) / len(jobs) * 1e6
    baselines = {
        "median of all": baseline(jobs, lambda _: None, median),
        "median of the group": baseline(jobs, group, median),
        "last value of the group": baseline(jobs, group, last_value),
    }
    sides = {"gpuyard": [p and p.expected for p in found[COVERAGES[-1]]], **baselines}
    values = [max(DURATION.low, job.run_seconds) for job in jobs]
    shared = [n for n in range(len(jobs)) if all(side[n] is not None for side in sides.values())]
    print(
        f"\n{name}: {len(jobs):,} jobs, {len(shared):,} that every side predicts, {micros:.0f} µs a job"
    )
    errors = {side: _errors(values, predicted, shared) for side, predicted in sides.items()}
    for side, (mean, factor) in errors.items():
        print(
            f"  {side:24} mean absolute error {mean:8.3f} h, off by a factor of {factor:.2f} (geometric mean)"
        )
    good = all(errors["gpuyard"][0] <= mean for mean, _ in errors.values())
    for coverage, predictions in found.items():
        pairs = [
            (value, p.low, p.high)
            for value, p in zip(values, predictions, strict=True)
            if p is not None and p.low is not None and p.high is not None
        ]
        inside = sum(low <= value <= high for value, low, high in pairs) / len(pairs)
        wide = statistics.median((high - low) / HOUR for _, low, high in pairs)
        print(
            f"  intervals of {coverage:.0%}: {inside:.1%} of {len(pairs):,} values inside, median width {wide:.2f} h"
        )
        good &= coverage < COVERAGES[-1] or abs(inside - coverage) <= GAP
    return good


def _errors(
    values: Sequence[float], predicted: Sequence[float | None], shared: Iterable[int]
) -> tuple[float, float]:
    """Mean absolute error in hours, and the geometric mean of the ratios of value and prediction."""
    pairs = [(values[n], guess) for n in shared if (guess := predicted[n]) is not None]
    mean = statistics.fmean(abs(value - guess) for value, guess in pairs) / HOUR
    return mean, math.exp(statistics.fmean(abs(math.log(value / guess)) for value, guess in pairs))


def million(count: int = 1_000_000) -> None:
    """Time and memory of many jobs of many users."""
    source = random.Random(1)  # noqa: S311  a seed
    centres = [source.lognormvariate(8, 1.5) for _ in range(2000)]

    def jobs() -> Iterable[TraceJob]:
        for number in range(count):
            user = min(source.randrange(2000), source.randrange(2000))
            yield TraceJob(
                name=f"job-{number}",
                submitted_seconds=number * 7.0,
                run_seconds=centres[user] * source.lognormvariate(0, 0.7),
                gpus=source.choice((1, 1, 1, 2, 4, 8)),
                user=f"user-{user}",
                team=f"team-{user % 20}",
                image=f"image-{source.randrange(5000)}",
            )

    began = time.process_time()
    predicted = sum(p is not None for p in predict_jobs(jobs(), DURATION))
    seconds = time.process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"\n{count:,} jobs, {predicted:,} predicted: {seconds:.0f} s of CPU, {memory:,.0f} MiB at most"
    )


def main(args: Sequence[str]) -> int:
    """Report each trace."""
    good = True
    for path in (openb(), *(Path(each) for each in args if not each.startswith("-"))):
        with path.open("rb") as file:
            reading = read_trace(file, ReadOptions(skip_invalid=True))
        good &= report(path.name, reading.jobs)
    if "--million" in args:
        million()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
