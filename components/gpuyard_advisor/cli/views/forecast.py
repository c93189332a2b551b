"""The forecast of each pool: a chart in characters, the saturation, and the defects of the export."""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, tzinfo
from itertools import groupby
from typing import Any

from gpuyard_advisor.cli.views.samples import defect_document, defect_text, series_text
from gpuyard_advisor.cli.views.times import iso_time
from gpuyard_advisor.usage.fleet import PlatformForecast, PoolForecast
from gpuyard_advisor.usage.forecast import (
    INTERVAL,
    Forecast,
    ForecastHour,
    NotEnoughData,
    PoolCapacity,
    Saturation,
)
from gpuyard_advisor.usage.hours import HOUR, HourlyExport
from gpuyard_core.terminal.console import Console
from gpuyard_core.terminal.text import pluralize, usd

_TENTHS = 10
_MAX_DEFECTS = 20
_STALE_DAYS = 2


def show_forecast(
    result: PlatformForecast, export: HourlyExport, zone: tzinfo, day: date, console: Console
) -> None:
    """Show each pool, then what is wrong with the export."""
    for pool in result.pools:
        title = f"{pool.capacity.gpus} GPUs at its maximum"
        console.title(pool.capacity.pool, title)
        if isinstance(pool.forecast, NotEnoughData):
            console.print_wrapped(f"not enough data: {pool.forecast.reason}", indent=2)
        else:
            _show_chart(pool.forecast, pool.capacity, zone, console)
            for line in _statements(pool, pool.forecast, zone):
                console.print_wrapped(line, indent=2)
    notes = [*_notes(result, export, zone, day)]
    if notes:
        console.title(
            "Export",
            f"{export.samples:,} samples of {pluralize(len(export.series), 'series', 'series')}",
        )
        for line in notes:
            console.print_wrapped(line, first="! ", style="yellow", indent=2)


def _show_chart(forecast: Forecast, capacity: PoolCapacity, zone: tzinfo, console: Console) -> None:
    """One row a day, one digit an hour: tenths of the capacity in use, + above the capacity."""
    console.print(("each hour in tenths of the maximum; + is above it", "dim"), indent=2)
    rows = groupby(forecast.hours, key=lambda h: _local(h.hour, zone).date())
    for day, each in rows:
        hours = [*each]
        start = _local(hours[0].hour, zone).hour
        signs = "".join(_sign(h.median, capacity.gpus) for h in hours)
        top = max(hours, key=lambda h: h.median)
        peak = f"peak {top.median:.1f} GPUs{_between(top)}"
        console.print(f"{day:%a %d %b}  {' ' * start}{signs:<{25 - start}} {peak}", indent=2)


def _sign(value: float, gpus: int) -> str:
    if value > gpus:
        return "+"
    return str(min(_TENTHS - 1, int(value * _TENTHS / gpus))) if gpus else "0"


def _between(hour: ForecastHour) -> str:
    if hour.lower is None or hour.upper is None:
        return ""
    return f", {hour.lower:.1f} to {hour.upper:.1f}"


def _statements(pool: PoolForecast, forecast: Forecast, zone: tzinfo) -> Iterator[str]:
    weeks = pluralize(forecast.weeks, "week")
    growth = (
        f"{forecast.growth_per_week:+.1f} GPUs a week"
        if forecast.growth_per_week
        else "no significant growth"
    )
    yield f"{weeks} of history: {forecast.level:.1f} GPUs in the last week, {growth}"
    if forecast.hours[0].upper is None:
        yield "no interval: it needs the errors of at least one past forecast, so three weeks of history"
    else:
        past = pluralize(forecast.origins, "past forecast")
        yield f"interval: {INTERVAL * 100:g} % of the hours, from the errors of {past}"
    if pool.saturation:
        yield from _saturation(pool.saturation, zone)


def _saturation(full: Saturation, zone: tzinfo) -> Iterator[str]:
    if full.expected is not None:
        yield f"full: expected from {_shown(full.expected, zone)}"
    if full.possible is not None and full.possible != full.expected:
        yield f"full: possible from {_shown(full.possible, zone)} (upper bound)"
    if full.by_growth is not None:
        yield f"full: around {_local(full.by_growth, zone):%Y-%m-%d}, if the growth continues"
    if full.expected is full.possible is full.by_growth is None:
        yield "not full in the next seven days"
    nodes = pluralize(full.nodes, "more node")
    if full.usd_per_hour is None:
        yield f"{nodes}: price unknown"
    else:
        yield f"{nodes}: {usd(full.usd_per_hour)} $/hour, {usd(full.usd_per_month)} $/month"


def _notes(
    result: PlatformForecast, export: HourlyExport, zone: tzinfo, day: date
) -> Iterator[str]:
    ends = [max(s.hours) for s in export.series if s.hours]
    if ends:
        last = datetime.fromtimestamp(max(ends) * HOUR, UTC).date()
        if (age := (day - last).days) > _STALE_DAYS:
            yield f"it ends on {last}, {pluralize(age, 'day')} ago: the forecast starts there, not today"
        elif age < 0:
            yield f"it ends on {last}, which is after today ({day})"
    for each in export.defects[:_MAX_DEFECTS]:
        yield defect_text(each, zone)
    if (more := len(export.defects) - _MAX_DEFECTS) > 0:
        yield f"{more:,} more defects; --format json lists all"
    if result.unused:
        named = ", ".join(series_text(labels) for labels in result.unused[:3])
        yield f"{pluralize(len(result.unused), 'series', 'series')} of no pool of the stack, not used: {named}"
    yield from _clock_changes(export, zone)


def _clock_changes(export: HourlyExport, zone: tzinfo) -> Iterator[str]:
    """Each change to or from daylight saving time within the export."""
    hours = [h for s in export.series if s.hours for h in (min(s.hours), max(s.hours))]
    if not hours:
        return
    for hour in range(min(hours), max(hours)):
        before, after = _local(hour, zone), _local(hour + 1, zone)
        if before.utcoffset() != after.utcoffset():
            yield f"the clock of {zone} changes on {after:%Y-%m-%d}: the pattern follows the clock"


def _local(hour: int, zone: tzinfo) -> datetime:
    return datetime.fromtimestamp(hour * HOUR, zone)


def _shown(hour: int, zone: tzinfo) -> str:
    return f"{_local(hour, zone):%a %Y-%m-%d %H:%M %Z}"


def forecast_document(result: PlatformForecast, export: HourlyExport) -> dict[str, Any]:
    """The forecast as plain values; times are ISO 8601 in UTC."""
    return {
        "pools": [_pool_document(pool) for pool in result.pools],
        "interval": INTERVAL,
        "samples": export.samples,
        "defects": [defect_document(each) for each in export.defects],
        "unused_series": [dict(labels) for labels in result.unused],
    }


def _pool_document(pool: PoolForecast) -> dict[str, Any]:
    known: dict[str, Any] = {"pool": pool.capacity.pool, "gpus": pool.capacity.gpus}
    if isinstance(pool.forecast, NotEnoughData) or pool.saturation is None:
        reason = pool.forecast.reason if isinstance(pool.forecast, NotEnoughData) else ""
        return {**known, "not_enough_data": reason, "hours": []}
    made, full = pool.forecast, pool.saturation
    return {
        **known,
        "not_enough_data": None,
        "weeks": made.weeks,
        "past_forecasts": made.origins,
        "level": _round(made.level),
        "growth_per_week": _round(made.growth_per_week),
        "full": {
            "expected": _iso_hour(full.expected),
            "possible": _iso_hour(full.possible),
            "by_growth": _iso_hour(full.by_growth),
        },
        "more_nodes": {
            "nodes": full.nodes,
            "usd_per_hour": _round(full.usd_per_hour),
            "usd_per_month": _round(full.usd_per_month),
        },
        "hours": _hour_documents(made.hours),
    }


def _hour_documents(hours: Sequence[ForecastHour]) -> list[dict[str, Any]]:
    return [
        {
            "time": _iso_hour(each.hour),
            "median": _round(each.median),
            "lower": _round(each.lower),
            "upper": _round(each.upper),
        }
        for each in hours
    ]


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _iso_hour(hour: int | None) -> str | None:
    return None if hour is None else iso_time(hour * HOUR)
