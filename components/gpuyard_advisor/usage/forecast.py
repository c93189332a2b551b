"""The next seven days of a series by the hour: seasonality, level, growth and conformal intervals.

forecast(hour) = level × share of that hour of the week.
The share is the median of past weeks, moved towards 1 as far as the weeks disagree: a pattern that does not
repeat is no season. The level is the last day without its season, with growth where growth is significant.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from itertools import combinations, starmap
from math import ceil, comb
from statistics import StatisticsError, correlation, fmean, median

from gpuyard.plan.records import PlatformPlan
from gpuyard.spec.platform import HOURS_PER_MONTH
from gpuyard_advisor.usage.hours import HOUR

DAY = 24
WEEK = 168
MIN_WEEKS = 2
SEASON_WEEKS = 8
"""Weeks of which the median is taken, and the growth measured: older ones describe another platform."""
MIN_COVERED = 0.75
"""Least part of a week's hours with a value."""
SIGNIFICANT = 0.05
INTERVAL = 0.8
"""The part of the hours that the interval aims to contain."""

Hours = Mapping[int, float]


@dataclass(frozen=True, slots=True)
class ForecastHour:
    """One hour of the forecast; the bounds are None without enough past weeks to measure errors."""

    hour: int
    median: float
    lower: float | None
    upper: float | None


@dataclass(frozen=True, slots=True)
class Forecast:
    """The next seven days."""

    hours: tuple[ForecastHour, ...]
    weeks: int
    """Weeks of history that it uses."""
    origins: int
    """Past forecasts whose errors give the interval."""
    level: float
    growth_per_week: float
    """0 where no growth is significant."""


@dataclass(frozen=True, slots=True)
class NotEnoughData:
    """Why there is no forecast."""

    reason: str


def make_forecast(hours: Hours, zone: tzinfo = UTC) -> Forecast | NotEnoughData:
    """Forecast the seven days after the last hour of the series."""
    if not hours:
        return NotEnoughData("no hour has a usable sample")
    end = max(hours) + 1
    season = _hours_of_week(min(hours), end + WEEK, zone)
    weeks = _weeks(hours, end)
    if len(weeks) < MIN_WEEKS:
        return NotEnoughData(_missing(hours, end))
    values, growth = _predict(hours, end, season)
    errors, origins = _past_errors(hours, end, season)
    result = []
    for step, value in enumerate(values):
        width = _quantile(errors[step // DAY])
        bounds = (None, None) if width is None else (max(0.0, value - width), value + width)
        result.append(ForecastHour(end + step, value, *bounds))
    return Forecast(tuple(result), len(weeks), origins, fmean(weeks[0].values()), growth)


def _hours_of_week(start: int, end: int, zone: tzinfo) -> Callable[[int], int]:
    """The hour of the week on the clock of the zone, for each hour: daylight saving moves it."""
    result = {}
    for hour in range(start, end):
        local = datetime.fromtimestamp(hour * HOUR, zone)
        result[hour] = local.weekday() * DAY + local.hour
    return result.__getitem__


def _weeks(hours: Hours, end: int) -> list[dict[int, float]]:
    """The weeks before `end`, the last first, up to one with too few hours."""
    found = []
    for number in range(SEASON_WEEKS):
        stop = end - number * WEEK
        week = {h: hours[h] for h in range(stop - WEEK, stop) if h in hours}
        if len(week) < MIN_COVERED * WEEK:
            break
        found.append(week)
    return found


def _missing(hours: Hours, end: int) -> str:
    """What is missing for a forecast."""
    need, least = MIN_WEEKS * WEEK, ceil(MIN_COVERED * WEEK)
    span = end - min(hours)
    if span < need:
        return (
            f"the series spans {span:,} hours; a forecast needs {need} ({MIN_WEEKS} weeks):"
            f" {need - span:,} hours are missing"
        )
    covered = [sum(h in hours for h in range(stop - WEEK, stop)) for stop in (end, end - WEEK)]
    which, have = ("the last week", covered[0])
    if have >= least:
        which, have = ("the week before the last", covered[1])
    return (
        f"{which} has {have} of {WEEK} hours; a forecast needs {least} in each of {MIN_WEEKS} weeks"
    )


def _predict(
    hours: Hours, end: int, hour_of_week: Callable[[int], int]
) -> tuple[list[float], float]:
    """The values of the week from `end`, and the growth of a week."""
    weeks = _weeks(hours, end)
    levels = [fmean(week.values()) for week in weeks]
    season = _season(weeks, levels, hour_of_week)
    last_day = [h for h in range(end - DAY, end) if h in hours] or [end - 1]
    expected = sum(season.get(hour_of_week(h), 1.0) for h in last_day)
    level = sum(hours[h] for h in last_day) / expected if expected > 0 else levels[0]
    growth = weekly_growth(levels[::-1])
    values = [
        max(0.0, level + growth * (h - end) / WEEK) * season.get(hour_of_week(h), 1.0)
        for h in range(end, end + WEEK)
    ]
    return values, growth


def _season(
    weeks: Sequence[Mapping[int, float]],
    levels: Sequence[float],
    hour_of_week: Callable[[int], int],
) -> dict[int, float]:
    """The median share of each hour of the week, moved towards 1 as far as the weeks disagree."""
    profiles = [
        {hour_of_week(hour): value / level for hour, value in week.items()}
        for week, level in zip(weeks, levels, strict=True)
        if level > 0
    ]
    agreement = max(0.0, fmean([*starmap(_agreement, combinations(profiles, 2))] or [0.0]))
    shares: dict[int, list[float]] = {}
    for profile in profiles:
        for hour, share in profile.items():
            shares.setdefault(hour, []).append(share)
    return {hour: 1 + agreement * (median(each) - 1) for hour, each in shares.items()}


def _agreement(one: Mapping[int, float], other: Mapping[int, float]) -> float:
    """The correlation of two weeks; 0 if one of them is constant."""
    both = sorted(one.keys() & other.keys())
    try:
        return correlation([one[h] for h in both], [other[h] for h in both])
    except StatisticsError:
        return 0.0


def weekly_growth(levels: Sequence[float]) -> float:
    """Theil-Sen slope of weekly means, oldest first; 0 unless Mann-Kendall finds a trend."""
    pairs = list(combinations(enumerate(levels), 2))
    score = sum((b > a) - (b < a) for (_, a), (_, b) in pairs)
    if not pairs or _chance(len(levels), abs(score)) > SIGNIFICANT:
        return 0.0
    return median((b - a) / (j - i) for (i, a), (j, b) in pairs)


def _chance(number: int, score: int) -> float:
    """The probability of a Kendall score at least this far from 0 in a random order."""
    inversions = [1]
    for size in range(2, number + 1):
        longer = [0] * (len(inversions) + size - 1)
        for at, ways in enumerate(inversions):
            for more in range(size):
                longer[at + more] += ways
        inversions = longer
    pairs, total = comb(number, 2), sum(inversions)
    far = sum(ways for at, ways in enumerate(inversions) if abs(pairs - 2 * at) >= score)
    return far / total


def _past_errors(
    hours: Hours, end: int, hour_of_week: Callable[[int], int]
) -> tuple[list[list[float]], int]:
    """Absolute errors by day ahead of the forecasts that the past would have given, one each day."""
    errors: list[list[float]] = [[] for _ in range(WEEK // DAY)]
    origins = 0
    first = max(min(hours) + MIN_WEEKS * WEEK, end - (SEASON_WEEKS + 1) * WEEK)
    for origin in range(end - WEEK, first - 1, -DAY):
        if len(_weeks(hours, origin)) < MIN_WEEKS:
            continue
        origins += 1
        for step, value in enumerate(_predict(hours, origin, hour_of_week)[0]):
            if origin + step in hours:
                errors[step // DAY].append(abs(hours[origin + step] - value))
    return errors, origins


def _quantile(errors: Sequence[float]) -> float | None:
    """The conformal quantile: an error of the future exceeds it with probability 1 - INTERVAL."""
    rank = ceil((len(errors) + 1) * INTERVAL)
    return sorted(errors)[rank - 1] if 0 < rank <= len(errors) else None


MAX_WEEKS = 52
"""Weeks ahead in which growth is followed: beyond them a line is no forecast."""


@dataclass(frozen=True, slots=True)
class PoolCapacity:
    """The GPUs of a pool at its maximum, and the price of one more node."""

    pool: str
    gpus: int
    gpus_per_node: int
    usd_per_node: float | None
    """Per hour, in the most expensive capacity option; None if the price is unknown."""


@dataclass(frozen=True, slots=True)
class Saturation:
    """The first hours above the capacity; None: not within the forecast."""

    expected: int | None
    """The first hour whose median is above the capacity."""
    possible: int | None
    """The first hour whose upper bound is."""
    by_growth: int | None
    """The day on which the peak of the week reaches the capacity if the growth continues."""
    nodes: int
    """Nodes more than the maximum that the highest bound of the seven days needs, at least one."""
    usd_per_hour: float | None
    usd_per_month: float | None


def pool_capacities(plan: PlatformPlan) -> dict[str, PoolCapacity]:
    """The capacity of each pool of a plan."""
    prices = {line.pool: line.usd_per_node for line in plan.bill.lines}
    return {
        p.name: PoolCapacity(
            p.name, p.nodes.high * p.machine.gpus, p.machine.gpus, prices.get(p.name)
        )
        for p in plan.pools
    }


def saturation(forecast: Forecast, capacity: PoolCapacity) -> Saturation:
    """When the forecast exceeds the capacity, and what the nodes beyond it cost."""
    tops = [
        (each.hour, each.median if each.upper is None else each.upper) for each in forecast.hours
    ]
    above = max(top for _, top in tops) - capacity.gpus
    nodes = max(1, ceil(above / capacity.gpus_per_node))
    price = capacity.usd_per_node
    return Saturation(
        expected=next((h.hour for h in forecast.hours if h.median > capacity.gpus), None),
        possible=next((hour for hour, top in tops if top > capacity.gpus), None),
        by_growth=_by_growth(forecast, capacity.gpus),
        nodes=nodes,
        usd_per_hour=None if price is None else price * nodes,
        usd_per_month=None if price is None else price * nodes * HOURS_PER_MONTH,
    )


def _by_growth(forecast: Forecast, gpus: int) -> int | None:
    """The start of the day after which the weekly peak is above the capacity."""
    level = forecast.level + forecast.growth_per_week
    peak = max(forecast.hours, key=lambda h: h.median)
    if forecast.growth_per_week <= 0 or level <= 0 or peak.median > gpus:
        return None
    weeks = ceil((gpus / (peak.median / level) - level) / forecast.growth_per_week + 1e-9)
    hour = peak.hour + weeks * WEEK
    return hour - hour % DAY if weeks <= MAX_WEEKS else None
