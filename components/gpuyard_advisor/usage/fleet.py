"""The present state of a fleet, read from the recorded series of a Prometheus server."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo

from gpuyard.plan.records import PlatformPlan
from gpuyard_advisor.usage.forecast import (
    Forecast,
    NotEnoughData,
    PoolCapacity,
    Saturation,
    make_forecast,
    pool_capacities,
    saturation,
)
from gpuyard_advisor.usage.hours import HourlyExport, HourlySeries
from gpuyard_advisor.usage.samples import Labels
from gpuyard_core.errors import UsageError
from gpuyard_core.findings import format_list

Query = Callable[[str], Iterable[tuple[Labels, float]]]
"""The present value of each series of an expression."""

IDLE_BELOW = 0.05
"""Activity below which an allocated GPU counts as idle."""
PARTS = ("used", "allocated_idle", "unallocated", "overhead", "system", "commitment")
"""The parts of the cost; their sum is the bill."""
SERIES: Mapping[str, str] = {
    "gpu_active": "gpuyard:gpu_active:ratio",
    "gpu_allocated": "gpuyard:gpu_allocated:gpus",
    "billed": "gpuyard:gpus_billed:sum",
    "unavailable": "gpuyard:gpus_unavailable:sum",
    "allocated": "gpuyard:gpus_allocated:sum",
    "used": "gpuyard:gpus_used:sum",
    "cost": "gpuyard:cost:dollars_per_hour",
    "bill": "gpuyard:bill:dollars_per_hour",
    "gpu_price": "gpuyard:node_gpu:dollars_per_hour",
    "pending": "gpuyard:queue_pending:count",
    "wait_p50": "gpuyard:queue_wait_seconds:p50",
    "wait_p95": "gpuyard:queue_wait_seconds:p95",
    "target": "gpuyard:target:value",
    "actual": "gpuyard:target:actual",
    "pod_allocated": "gpuyard:pod_gpu_allocated:gpus",
    "pod_active": "gpuyard:pod_gpu_active:ratio",
}
"""The series that are read, by what they mean here."""
IDLE_HOURS = (
    f"(time() - max_over_time(timestamp({SERIES['pod_active']} > {IDLE_BELOW})[1d:5m])) / 3600"
    f" or count_over_time({SERIES['pod_active']}[1d:5m]) / 12"
)
"""Hours since a GPU of a pod was active: since the last sample above the limit, else all hours of a day with data."""


@dataclass(frozen=True, slots=True)
class GpuReading:
    """One physical GPU. None is unknown."""

    pool: str
    node: str
    gpu: str
    active: float | None
    allocated: float | None


@dataclass(frozen=True, slots=True)
class IdleGpu:
    """A GPU, or the part of one, that a pod holds and does not use."""

    pool: str
    node: str
    gpu: str
    slice: str
    team: str
    namespace: str
    pod: str
    gpus: float
    hours: float | None
    usd_per_hour: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of a pool or a team. None is unknown, never zero."""

    name: str
    billed: float | None
    allocated: float | None
    used: float | None
    idle_usd: float | None
    """Dollars an hour: allocated and idle, and of a pool also unallocated."""
    usd: float | None
    """Dollars an hour: the bill of a pool, the cost of a team."""


@dataclass(frozen=True, slots=True)
class Wait:
    """How long workloads of one priority waited, in seconds."""

    priority: str
    p50: float | None
    p95: float | None


@dataclass(frozen=True, slots=True)
class QueueReading:
    """One queue. Kueue counts pending workloads by queue, and waits also by priority."""

    queue: str
    pending: float | None
    waits: tuple[Wait, ...]


@dataclass(frozen=True, slots=True)
class TargetReading:
    """A target of the stack file and its present value."""

    target: str
    priority: str
    value: float | None
    actual: float | None


@dataclass(frozen=True, slots=True)
class Fleet:
    """What the recorded series say now."""

    gpus: tuple[GpuReading, ...]
    """By pool, node and GPU."""
    pools: tuple[Row, ...]
    teams: tuple[Row, ...]
    queues: tuple[QueueReading, ...]
    targets: tuple[TargetReading, ...]
    idle: tuple[IdleGpu, ...]
    """The most expensive first."""
    cost: Mapping[str, float]
    """Dollars an hour by part; a part without data is missing."""
    missing: tuple[str, ...]
    """Series without data."""


Samples = Mapping[str, list[tuple[dict[str, str], float]]]


def read_fleet(query: Query) -> Fleet:
    """Read the present state. A series without data is named in `missing`."""
    samples = {key: _samples(query, name) for key, name in SERIES.items()}
    return Fleet(
        gpus=_gpus(samples),
        pools=_pools(samples),
        teams=_teams(samples),
        queues=_queues(samples),
        targets=_targets(samples),
        idle=_idle(samples, _samples(query, IDLE_HOURS)),
        cost={part: usd for (part,), usd in _by(samples["cost"], "part").items()},
        missing=tuple(name for key, name in SERIES.items() if not samples[key]),
    )


def _samples(query: Query, expression: str) -> list[tuple[dict[str, str], float]]:
    return [(dict(labels), value) for labels, value in query(expression) if math.isfinite(value)]


def _by(
    samples: Iterable[tuple[Mapping[str, str], float]], *keys: str
) -> dict[tuple[str, ...], float]:
    """Sums by labels."""
    sums: dict[tuple[str, ...], float] = defaultdict(float)
    for labels, value in samples:
        sums[tuple(labels.get(key, "") for key in keys)] += value
    return dict(sums)


def _gpus(samples: Samples) -> tuple[GpuReading, ...]:
    keys = ("pool", "node", "gpu")
    active, held = _by(samples["gpu_active"], *keys), _by(samples["gpu_allocated"], *keys)
    return tuple(
        GpuReading(key[0], key[1], key[2], active.get(key), held.get(key))
        for key in sorted({*active, *held})
    )


def _pools(samples: Samples) -> tuple[Row, ...]:
    billed, held, used, bill = (
        _by(samples[key], "pool") for key in ("billed", "allocated", "used", "bill")
    )
    idle = _by(
        ((k, v) for k, v in samples["cost"] if k.get("part") in {"allocated_idle", "unallocated"}),
        "pool",
    )
    return tuple(
        Row(key[0], billed.get(key), held.get(key), used.get(key), idle.get(key), bill.get(key))
        for key in sorted({*billed, *held})
    )


def _teams(samples: Samples) -> tuple[Row, ...]:
    held, used = _by(samples["allocated"], "team"), _by(samples["used"], "team")
    cost = _by(samples["cost"], "team")
    idle = _by(((k, v) for k, v in samples["cost"] if k.get("part") == "allocated_idle"), "team")
    return tuple(
        Row(key[0], None, held.get(key), used.get(key), idle.get(key), cost.get(key))
        for key in sorted({*held, *cost} - {("",)})
    )


def _queues(samples: Samples) -> tuple[QueueReading, ...]:
    pending = _by(samples["pending"], "queue")
    middle, high = (_by(samples[key], "queue", "priority") for key in ("wait_p50", "wait_p95"))
    waits: dict[str, list[Wait]] = {queue: [] for (queue,) in pending}
    for key in sorted({*middle, *high}):
        waits.setdefault(key[0], []).append(Wait(key[1], middle.get(key), high.get(key)))
    return tuple(
        QueueReading(queue, pending.get((queue,)), tuple(waits[queue])) for queue in sorted(waits)
    )


def _targets(samples: Samples) -> tuple[TargetReading, ...]:
    wanted, actual = (_by(samples[key], "target", "priority") for key in ("target", "actual"))
    return tuple(
        TargetReading(key[0], key[1], wanted.get(key), actual.get(key))
        for key in sorted({*wanted, *actual})
    )


_POD = ("pool", "node", "gpu", "slice", "team", "namespace", "pod")


def _idle(samples: Samples, hours: list[tuple[dict[str, str], float]]) -> tuple[IdleGpu, ...]:
    held, active, since = (
        _by(each, *_POD) for each in (samples["pod_allocated"], samples["pod_active"], hours)
    )
    prices = _by(samples["gpu_price"], "pool", "node")

    def price(key: tuple[str, ...]) -> float | None:
        return prices[key[:2]] * held[key] if key[:2] in prices else None

    result = [
        _idle_gpu(key, held[key], since.get(key), price(key))
        for key in held
        if active.get(key, 1.0) < IDLE_BELOW
    ]
    return tuple(sorted(result, key=lambda g: (-(g.usd_per_hour or 0.0), -(g.hours or 0.0), g.pod)))


def _idle_gpu(key: tuple[str, ...], gpus: float, hours: float | None, usd: float | None) -> IdleGpu:
    pool, node, gpu, slice_, team, namespace, pod = key
    return IdleGpu(pool, node, gpu, slice_, team, namespace, pod, gpus, hours, usd)


def merge_by_pod(idle: Iterable[IdleGpu]) -> list[IdleGpu]:
    """One row for the equal GPUs of a pod: their number, their price, and the hours of the last one to be used."""
    merged: dict[tuple[str, ...], IdleGpu] = {}
    for each in idle:
        key = (each.pool, each.node, each.slice, each.namespace, each.pod)
        first = merged.get(key)
        merged[key] = replace(each, gpu="") if first is None else _merged(first, each)
    return sorted(merged.values(), key=lambda g: -(g.usd_per_hour or 0.0))


def _merged(one: IdleGpu, other: IdleGpu) -> IdleGpu:
    hours = [each.hours for each in (one, other) if each.hours is not None]
    prices = (one.usd_per_hour, other.usd_per_hour)
    usd = None if None in prices else sum(filter(None, prices))
    gpus = one.gpus + other.gpus
    return replace(one, gpus=gpus, hours=min(hours, default=None), usd_per_hour=usd)


POOL_LABELS = ("pool", "gpuyard_dev_pool", "label_gpuyard_dev_pool")
"""Labels that name the pool of a series: ours, and the node label as exporters write it."""


@dataclass(frozen=True, slots=True)
class PoolForecast:
    """The forecast of one pool, or what is missing for it."""

    capacity: PoolCapacity
    forecast: Forecast | NotEnoughData
    saturation: Saturation | None


@dataclass(frozen=True, slots=True)
class PlatformForecast:
    """The forecasts of all pools of a plan, and the series that belong to none."""

    pools: tuple[PoolForecast, ...]
    unused: tuple[Labels, ...]


def forecast_pools(
    plan: PlatformPlan, export: HourlyExport, zone: tzinfo = UTC
) -> PlatformForecast:
    """Forecast each pool from its series of GPUs in use."""
    capacities = pool_capacities(plan)
    by_pool: dict[str, HourlySeries] = {}
    unused = []
    for series in export.series:
        pool = pool_of(series.labels)
        if pool is None or pool not in capacities:
            unused.append(series.labels)
        elif pool in by_pool:
            raise UsageError(
                f"the export has several series for pool {pool}. Export `sum by (pool) (...)`,"
                " so that each pool has one."
            )
        else:
            by_pool[pool] = series
    if not by_pool:
        raise UsageError(
            f"no series of the export has a label {format_list(POOL_LABELS)} with a pool of the stack:"
            f" {format_list(capacities)}"
        )
    return PlatformForecast(
        tuple(_pool(capacity, by_pool.get(name), zone) for name, capacity in capacities.items()),
        tuple(unused),
    )


def pool_of(labels: Labels) -> str | None:
    """The pool that the labels name."""
    named = dict(labels)
    return next((named[label] for label in POOL_LABELS if label in named), None)


def _pool(capacity: PoolCapacity, series: HourlySeries | None, zone: tzinfo) -> PoolForecast:
    if series is None:
        return PoolForecast(capacity, NotEnoughData("the export has no series of this pool"), None)
    result = make_forecast(series.hours, zone)
    if isinstance(result, NotEnoughData):
        return PoolForecast(capacity, result, None)
    return PoolForecast(capacity, result, saturation(result, capacity))
