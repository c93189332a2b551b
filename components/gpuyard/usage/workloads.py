"""The workloads of an export: what the pods of one owner use of the GPUs that they hold, by the hour."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpuyard.usage.hours import HourlyExport, HourlySeries
from gpuyard_core.errors import UsageError

ACTIVE = "gpuyard:pod_gpu_active:ratio"
USED = "gpuyard:pod_gpu_memory_used:bytes"
MEMORY = "gpuyard:pod_gpu_memory_allocated:bytes"
GPUS = "gpuyard:pod_gpu_allocated:gpus"
METRICS = (ACTIVE, USED, MEMORY, GPUS)

_SAFE = "[bcdfghjklmnpqrstvwxz2456789]"
"""The characters of the suffixes that Kubernetes generates."""
_SUFFIX = re.compile(rf"(?:-{_SAFE}{{6,10}})?-{_SAFE}{{5}}$")
_INDEX = re.compile(r"(?:-\d+)+$")


def owner_of(pod: str) -> str:
    """The name of a pod without the hashes and indexes of its controller."""
    name = _SUFFIX.sub("", pod) or pod
    return _INDEX.sub("", name) or name


@dataclass(frozen=True, slots=True, order=True)
class WorkloadKey:
    """The pods of one owner on one kind of GPU share."""

    team: str
    namespace: str
    owner: str
    workload_class: str
    pool: str
    slice: str
    """Empty for whole GPUs, a MIG profile, or `shared`."""


@dataclass(frozen=True, slots=True)
class Workload:
    """What its pods use; of several pods, the one that uses the most in each hour."""

    key: WorkloadKey
    activity: Mapping[int, float]
    """The mean of each hour, 0 to 1 of the share."""
    memory: Mapping[int, float]
    """The peak of each hour in bytes."""
    allocated_memory: float
    """Bytes that one share has."""
    samples: int
    """Samples of its memory."""
    held: float
    """Shares that its pods hold, on average from the first hour to the last."""
    holds_several: bool
    """Whether one pod has more series at a time than one: several GPUs, or shares of several."""
    largest: float
    """GPU equivalents of its largest series: more than one share if a pod holds several of one GPU."""


def workloads(export: HourlyExport) -> list[Workload]:
    """The workloads of an export by team and name."""
    found: defaultdict[WorkloadKey, dict[str, list[HourlySeries]]] = defaultdict(
        lambda: {name: [] for name in METRICS}
    )
    evaluations: dict[int, int] = {}
    for series in export.series:
        labels = dict(series.labels)
        if labels.get("__name__") in METRICS and series.hours:
            found[_key(labels)][labels["__name__"]].append(series)
            for hour, count in series.counts.items():
                evaluations[hour] = max(count, evaluations.get(hour, 0))
    if not found:
        raise UsageError(f"the export has no series of pods. Export {', '.join(METRICS)}.")
    return [_workload(key, found[key], evaluations) for key in sorted(found)]


def _key(labels: Mapping[str, str]) -> WorkloadKey:
    return WorkloadKey(
        team=labels.get("team", ""),
        namespace=labels.get("namespace", ""),
        owner=owner_of(labels.get("pod", "")),
        workload_class=labels.get("class", ""),
        pool=labels.get("pool", ""),
        slice=labels.get("slice", ""),
    )


def _workload(
    key: WorkloadKey, found: Mapping[str, list[HourlySeries]], evaluations: Mapping[int, int]
) -> Workload:
    held = found[GPUS] or found[USED]
    hours = {hour for series in held for hour in series.hours}
    span = max(hours) - min(hours) + 1 if hours else 1
    return Workload(
        key=key,
        activity=_highest(s.hours for s in found[ACTIVE]),
        memory=_highest(s.peaks for s in found[USED]),
        allocated_memory=min((min(s.hours.values()) for s in found[MEMORY]), default=0.0),
        samples=sum(sum(s.counts.values()) for s in found[USED]),
        held=sum(n / evaluations[h] for s in held for h, n in s.counts.items()) / span,
        holds_several=_holds_several(held, evaluations),
        largest=max((peak for s in found[GPUS] for peak in s.peaks.values()), default=0.0),
    )


def _highest(series: Iterable[Mapping[int, float]]) -> dict[int, float]:
    """The largest value of each hour."""
    result: dict[int, float] = {}
    for each in series:
        for hour, value in each.items():
            result[hour] = max(value, result.get(hour, value))
    return dict(sorted(result.items()))


def _holds_several(held: Iterable[HourlySeries], evaluations: Mapping[int, int]) -> bool:
    """Whether a pod has more samples in an hour than one series can have."""
    counts: defaultdict[tuple[str, int], int] = defaultdict(int)
    for series in held:
        pod = dict(series.labels).get("pod", "")
        for hour, count in series.counts.items():
            counts[pod, hour] += count
    return any(count > evaluations[hour] for (_, hour), count in counts.items())
