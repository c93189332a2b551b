"""The smallest slice or share that is safe for each workload, and the money that it saves.

Memory decides first: a pod that needs more than its slice fails. A share needs the 95th percentile of the hourly peaks
with headroom, and at least the 99th. Compute follows from the 95th percentile of hourly activity, with the same headroom.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil
from statistics import fmean, pstdev

from gpuyard.plan.money.savings import unit_costs
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.plan.sharing.compute_slices import gpu_fractions
from gpuyard.plan.teams.isolation import SEPARATION
from gpuyard.spec.platform import HOURS_PER_MONTH
from gpuyard.spec.teams import Isolation
from gpuyard_advisor.usage.hours import HourlyExport, HourlySeries
from gpuyard_core.catalogue.mig import MigProfile
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


GIB = 1024**3
ROUNDING = 1.01
"""More GPUs than one share × this are several shares."""
HEADROOM = 1.2
"""Memory and compute above the 95th percentile: a fifth, so that a pod at P95 uses 83 % of its share."""
USABLE = 0.88
"""The part of a slice's nominal memory that is certainly usable: 16 of 18 GB on an H200 is the least."""
MIN_HOURS = 72
MIN_SAMPLES = 100
HIGH_HOURS, MEDIUM_HOURS = 336, 168
STEADY = 0.25
"""Standard deviation / mean of the hourly peaks of a workload whose past says much about its future."""
STUCK_ACTIVITY, LOW, FULL_MEMORY = 0.01, 0.5, 0.95


class Finding(StrEnum):
    """What the figures of a workload mean."""

    STUCK = "stuck"
    MEMORY_BOUND = "memory-bound"
    OVERSIZED = "oversized"
    CPU_BOUND = "cpu-bound"
    WELL_SIZED = "well sized"
    NOT_ENOUGH_DATA = "not enough data"


@dataclass(frozen=True, slots=True)
class Choice:
    """A slice or share that a workload can use instead."""

    pool: str
    unit: str
    """As a stack file counts it; a MIG profile that no pool offers has `offered` False."""
    memory_gib: float
    """Memory that is certainly usable."""
    compute: float
    """Part of a GPU."""
    usd_per_hour: float | None
    isolation: Isolation
    offered: bool
    gpu: str
    owners: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Advice:
    """The figures of one workload, and the smallest choice that is safe."""

    workload: Workload
    finding: Finding
    hours: int
    memory_p95_gib: float
    memory_need_gib: float
    activity_p95: float
    compute_need: float
    """Part of a GPU."""
    confidence: str
    choice: Choice | None
    usd_per_month: float | None
    """What the choice saves."""
    reason: str
    """Why there is no choice; empty with one."""


def rightsize(plan: PlatformPlan, export: HourlyExport) -> list[Advice]:
    """Advice for each workload of the export."""
    pools = {pool.name: pool for pool in plan.pools}
    isolation = {team.name: team.isolation for team in plan.teams}
    prices = {(cost.pool, cost.unit): cost.usd_per_hour for cost in unit_costs(plan)}
    choices = [*_choices(plan.pools, prices)]
    return [
        _advice(each, pools.get(each.key.pool), isolation, prices, choices)
        for each in workloads(export)
    ]


_Prices = Mapping[tuple[str, str], float | None]


def _choices(pools: Iterable[PoolPlan], prices: _Prices) -> Iterator[Choice]:
    """What the pools offer, and the MIG profiles of GPUs that are whole today."""
    for pool in pools:
        for each in gpu_fractions(pool):
            yield Choice(
                pool=pool.name,
                unit=each.offer.unit,
                memory_gib=each.memory_gib * USABLE,
                compute=each.compute_percent / 100,
                usd_per_hour=prices.get((pool.name, each.offer.unit)),
                isolation=SEPARATION[pool.sharing],
                offered=True,
                gpu=_gpu(pool),
                owners=pool.owners,
            )
        product = pool.machine.gpu.mig if pool.machine.gpu else None
        whole = prices.get((pool.name, ""))
        if product is not None and whole is not None:
            for profile in product.profiles:
                if not profile.variant and profile.slices < product.slices:
                    part = profile.slices / product.slices
                    yield Choice(
                        pool=pool.name,
                        unit=profile.name,
                        memory_gib=_memory(profile) * USABLE,
                        compute=part,
                        usd_per_hour=whole * max(part, profile.units / product.units),
                        isolation=Isolation.SLICE,
                        offered=False,
                        gpu=_gpu(pool),
                        owners=pool.owners,
                    )


def _gpu(pool: PoolPlan | None) -> str:
    return pool.machine.gpu.name if pool and pool.machine.gpu else ""


def _memory(profile: MigProfile) -> int:
    """The nominal memory in the name of a profile."""
    return int(profile.name.partition(".")[2].partition("gb")[0])


def _advice(
    workload: Workload,
    pool: PoolPlan | None,
    isolation: Mapping[str, Isolation],
    prices: _Prices,
    choices: Sequence[Choice],
) -> Advice:
    memory, activity = [*workload.memory.values()], [*workload.activity.values()]
    missing = _missing(workload)
    p95, active = percentile(memory, 95) / GIB, percentile(activity, 95)
    need = max(p95 * HEADROOM, percentile(memory, 99) / GIB)
    share = _share(workload, pool)
    compute = min(1.0, active * HEADROOM) * share
    grade = isolation.get(workload.key.team, Isolation.SLICE)
    now = prices.get((workload.key.pool, workload.key.slice))
    reason = missing or _refusal(workload, pool, grade, now)
    choice = None
    if not reason:
        gpu = _gpu(pool)
        allowed = [c for c in choices if _allows(c, grade, workload.key.team, gpu)]
        choice = smallest(allowed, need, compute, now or 0.0)
        reason = "" if choice else "no smaller slice or share fits"
    saved = None
    if choice is not None and now is not None and choice.usd_per_hour is not None:
        saved = (now - choice.usd_per_hour) * HOURS_PER_MONTH * workload.held
    return Advice(
        workload=workload,
        finding=Finding.NOT_ENOUGH_DATA if missing else classify(workload, p95 * GIB, active),
        hours=len(memory),
        memory_p95_gib=p95,
        memory_need_gib=need,
        activity_p95=active,
        compute_need=compute,
        confidence=_confidence(memory),
        choice=choice,
        usd_per_month=saved,
        reason=reason,
    )


def smallest(
    choices: Iterable[Choice], memory_gib: float, compute: float, below_usd: float
) -> Choice | None:
    """The cheapest choice with this memory and compute that costs less; the offered one of two equal ones."""
    fitting = [
        (c.usd_per_hour, not c.offered, c.memory_gib, c.pool, c.unit, c)
        for c in choices
        if c.usd_per_hour is not None
        and c.usd_per_hour < below_usd
        and c.memory_gib >= memory_gib
        and c.compute >= compute
    ]
    return min(fitting, key=lambda each: each[:-1])[-1] if fitting else None


def _allows(choice: Choice, grade: Isolation, team: str, gpu: str) -> bool:
    """Whether a team may use it: as isolated as it requires, of the same GPU, and not dedicated to others."""
    isolated = choice.isolation is not Isolation.SHARED or grade is Isolation.SHARED
    return isolated and choice.gpu == gpu and (not choice.owners or team in choice.owners)


def classify(workload: Workload, memory_p95: float, activity_p95: float) -> Finding:
    """What the memory and the activity of a workload mean."""
    memory = memory_p95 / workload.allocated_memory if workload.allocated_memory else 0.0
    if activity_p95 < STUCK_ACTIVITY:
        return Finding.STUCK
    if memory >= FULL_MEMORY:
        return Finding.MEMORY_BOUND
    if memory < LOW and activity_p95 < LOW:
        return Finding.OVERSIZED
    if fmean(workload.activity.values()) < LOW:
        return Finding.CPU_BOUND
    return Finding.WELL_SIZED


def percentile(values: Sequence[float], percent: int) -> float:
    """The smallest value that at least this percentage of the values does not exceed; 0 without values."""
    return sorted(values)[ceil(len(values) * percent / 100) - 1] if values else 0.0


def _missing(workload: Workload) -> str:
    """What is missing for advice; empty if it is enough."""
    if not workload.memory or not workload.activity:
        return "its memory or its activity is not in the export"
    if len(workload.memory) < MIN_HOURS:
        return f"{len(workload.memory)} hours with samples; advice needs {MIN_HOURS}"
    if workload.samples < MIN_SAMPLES:
        return f"{workload.samples} samples; advice needs {MIN_SAMPLES}"
    return ""


def _refusal(workload: Workload, pool: PoolPlan | None, grade: Isolation, now: float | None) -> str:
    """Why a workload gets no advice although there is enough data."""
    if pool is None:
        return "its pool is not in the stack file"
    if grade is Isolation.NODE:
        return "its team requires whole nodes"
    if workload.holds_several or workload.largest > _share(workload, pool) * ROUNDING:
        return "its pods hold more than one GPU or share: a slice serves one"
    if now is None:
        return "the price of what it holds is unknown"
    return ""


def _share(workload: Workload, pool: PoolPlan | None) -> float:
    """The part of a GPU that one of its shares is; a whole GPU if it is unknown."""
    units = {} if pool is None else {a.unit: float(a.gpu_share) for a in pool.advertised}
    return units.get(workload.key.slice, 1.0)


def _confidence(memory: Sequence[float]) -> str:
    """From the number of hours and the variation of the peaks."""
    mean = fmean(memory) if memory else 0.0
    steady = mean > 0 and pstdev(memory) / mean <= STEADY
    if len(memory) >= HIGH_HOURS and steady:
        return "high"
    return "medium" if len(memory) >= MEDIUM_HOURS else "low"
