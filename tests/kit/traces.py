"""Public traces that are not part of the repository. Their folder is next to the upstream files, or GPUYARD_TRACES."""

import csv
import os
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from gpuyard_advisor.traces import TraceJob, read_trace
from kit.levels import upstream


def trace_file(*parts: str) -> Path:
    """A file of the folder of traces; a test that needs a missing one is skipped."""
    folder = os.environ.get("GPUYARD_TRACES")
    return Path(folder, *parts) if folder else upstream("..", "traces", *parts)


def openb_pods() -> list[tuple[Fraction, int, int]]:
    """GPUs, thousandths of CPU threads and MiB of every pod that requests a GPU or a part of one."""
    return [
        (
            Fraction(int(row["num_gpu"]) * int(row["gpu_milli"]), 1000),
            int(row["cpu_milli"]),
            int(row["memory_mib"]),
        )
        for row in _openb_rows()
    ]


def openb_fractions() -> Counter[Fraction]:
    """Number of pods by requested GPU fraction, without whole GPUs."""
    return Counter(gpus for gpus, _, _ in openb_pods() if gpus < 1)


def trace_jobs(path: Path) -> list[TraceJob]:
    """The jobs of a trace that request GPUs, by submission."""
    with path.open("rb") as file:
        return [job for job in read_trace(file).jobs if job.gpus]


def compressed(
    jobs: Sequence[TraceJob], seconds: float, faster: float, shortest: float, longest: float
) -> list[TraceJob]:
    """The same jobs submitted within `seconds`; run times are divided by `faster` and limited at both ends."""
    first = jobs[0].submitted_seconds
    scale = seconds / (jobs[-1].submitted_seconds - first)
    return [
        replace(
            job,
            submitted_seconds=(job.submitted_seconds - first) * scale,
            run_seconds=round(min(longest, max(shortest, job.run_seconds / faster)), 3),
        )
        for job in jobs
    ]


def user_of(job: TraceJob) -> str:
    """The team of a job; in a trace without teams, jobs of one shape are one user's."""
    return job.team or f"{job.cpu_milli}/{job.memory_mib}/{job.gpus}"


def by_three(jobs: Sequence[TraceJob]) -> dict[str, str]:
    """By user: a, b or c, the first two for the users with most jobs."""
    ranked = [user for user, _ in Counter(user_of(job) for job in jobs).most_common()]
    return {user: "abc"[min(place, 2)] for place, user in enumerate(ranked)}


def one_in_ten(job: TraceJob) -> bool:
    """Whether a job is of the tenth that gets a higher priority, always the same ones."""
    return zlib.crc32(job.name.encode()) % 10 == 0


def _openb_rows() -> list[dict[str, str]]:
    with trace_file("openb", "openb_pod_list_default.csv").open(encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["num_gpu"] != "0"]
