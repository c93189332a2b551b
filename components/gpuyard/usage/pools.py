"""The forecast of each pool of a plan, from an export with one series for each pool."""

from dataclasses import dataclass
from datetime import UTC, tzinfo

from gpuyard.plan.records import PlatformPlan
from gpuyard.usage.forecast import Forecast, NotEnoughData, make_forecast
from gpuyard.usage.hours import HourlyExport, HourlySeries
from gpuyard.usage.samples import Labels
from gpuyard.usage.saturation import PoolCapacity, Saturation, pool_capacities, saturation
from gpuyard_core.errors import UsageError
from gpuyard_core.findings import format_list

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
