"""The forecast of the next week: seasonality, growth, intervals, and what is missing for one."""

import csv
from datetime import UTC, datetime
from math import pi, sin
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from gpuyard_advisor.usage.forecast import (
    INTERVAL,
    WEEK,
    Forecast,
    NotEnoughData,
    PoolCapacity,
    make_forecast,
    saturation,
    weekly_growth,
)

TRACE = Path(__file__).parent / "openb_hours.csv"


def office(hour, zone=UTC):
    """GPUs in use that follow office hours."""
    local = datetime.fromtimestamp(hour * 3600, zone)
    return 20.0 if local.weekday() < 5 and 8 <= local.hour < 18 else 5.0


def forecast(hours, zone=UTC) -> Forecast:
    made = make_forecast(hours, zone)
    assert isinstance(made, Forecast)
    return made


def test_a_pattern_that_repeats_is_forecast_exactly():
    made = forecast({h: office(h) for h in range(4 * WEEK)})
    assert [h.hour for h in made.hours] == [*range(4 * WEEK, 5 * WEEK)]
    assert [h.median for h in made.hours] == pytest.approx([office(h.hour) for h in made.hours])
    assert [h.upper for h in made.hours] == pytest.approx([office(h.hour) for h in made.hours])
    assert (made.weeks, made.origins, made.growth_per_week) == (4, 8, 0)


def test_the_pattern_follows_the_clock_through_daylight_saving():
    zone = ZoneInfo("Europe/Berlin")
    end = (
        int(datetime(2026, 10, 24, tzinfo=UTC).timestamp()) // 3600
    )  # the clock changes on the 25th
    made = forecast({h: office(h, zone) for h in range(end - 4 * WEEK, end)}, zone)
    assert [h.median for h in made.hours] == pytest.approx(
        [office(h.hour, zone) for h in made.hours]
    )


def test_an_idle_pool_stays_idle():
    made = forecast(dict.fromkeys(range(3 * WEEK), 0.0))
    assert {(h.lower, h.median, h.upper) for h in made.hours} == {(0, 0, 0)}


def test_after_a_day_that_is_always_idle_the_level_is_that_of_the_last_week():
    made = forecast({h: 0.0 if h % WEEK >= WEEK - 24 else 7.0 for h in range(3 * WEEK)})
    assert made.hours[0].median == pytest.approx(7)


def test_growth_counts_only_when_it_is_significant():
    assert weekly_growth([10, 12, 14, 16]) == 0, "four weeks in order are chance in 1 of 12"
    assert weekly_growth([10, 12, 14, 16, 18]) == 2
    assert weekly_growth([10, 12, 9, 16, 11]) == 0
    assert weekly_growth([18, 16, 14, 12, 10]) == -2
    assert weekly_growth([7]) == 0


@pytest.mark.parametrize(
    ("hours", "why"),
    [
        ({}, "no hour has a usable sample"),
        (
            range(200),
            "the series spans 200 hours; a forecast needs 336 (2 weeks): 136 hours are missing",
        ),
        (
            [*range(200), *range(300, 2 * WEEK)],
            "the last week has 68 of 168 hours; a forecast needs 126 in each of 2 weeks",
        ),
        (
            [*range(20), *range(160, 2 * WEEK)],
            "the week before the last has 28 of 168 hours; a forecast needs 126 in each of 2 weeks",
        ),
    ],
)
def test_not_enough_data_says_what_is_missing(hours, why):
    assert make_forecast(dict.fromkeys(hours, 1.0)) == NotEnoughData(why)


def test_two_weeks_give_a_forecast_without_an_interval():
    made = forecast({h: office(h) for h in range(2 * WEEK)})
    assert (made.origins, made.hours[0].lower, made.hours[0].upper) == (0, None, None)


def test_holes_are_skipped_in_the_past():
    hours = {h: office(h) for h in range(6 * WEEK) if not 2 * WEEK < h < 2.5 * WEEK}
    made = forecast(hours)
    assert (made.weeks, made.hours[3].median) == (3, pytest.approx(office(3)))


def backtest(values, step=24):
    errors = {"gpuyard": 0.0, "naive": 0.0, "seasonal naive": 0.0}
    inside = bounded = 0
    for origin in range(2 * WEEK, len(values) - WEEK + 1, step):
        for each in forecast(dict(enumerate(values[:origin]))).hours:
            actual = values[each.hour]
            errors["gpuyard"] += abs(actual - each.median)
            errors["naive"] += abs(actual - values[origin - 1])
            errors["seasonal naive"] += abs(actual - values[each.hour - WEEK])
            if each.upper is not None:
                bounded += 1
                inside += each.lower <= actual <= each.upper
    return errors, inside / bounded


@pytest.mark.parametrize("column", ["gpus_in_use", "pods_running", "gpus_requested"])
def test_on_a_public_trace_it_has_less_error_than_both_naive_forecasts(column):
    lines = [
        line for line in TRACE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")
    ]
    errors, coverage = backtest([float(row[column]) for row in csv.DictReader(lines)])
    assert errors["gpuyard"] == min(errors.values())
    assert abs(coverage - INTERVAL) < 0.15


def growing(end=6 * WEEK):
    return {h: 20 + 4 * h / WEEK + 4 * sin(h % 24 / 12 * pi) for h in range(end)}


def test_a_pool_is_full_at_the_first_hour_above_its_capacity():
    made = forecast(growing())
    full = saturation(made, PoolCapacity("a", 48, 8, 10.0))
    assert full.expected == next(h.hour for h in made.hours if h.median > 48)
    assert full.possible is not None
    assert full.possible <= full.expected
    assert (full.by_growth, full.nodes, full.usd_per_hour, full.usd_per_month) == (
        None,
        2,
        20,
        14600,
    )
    small = saturation(made, PoolCapacity("a", 16, 8, None))
    assert (small.expected, small.nodes, small.usd_per_hour) == (made.hours[0].hour, 6, None)


def test_growth_gives_the_week_in_which_the_peak_reaches_the_capacity():
    made = forecast(growing())
    full = saturation(made, PoolCapacity("a", 70, 8, 10.0))
    assert (full.expected, full.possible) == (None, None)
    assert full.by_growth is not None
    assert 10 * WEEK < full.by_growth < 13 * WEEK
    assert max(growing(full.by_growth + 24).values()) > 66
    assert saturation(made, PoolCapacity("a", 7000, 8, 10.0)).by_growth is None


def test_without_growth_there_is_no_date():
    full = saturation(
        forecast({h: office(h) for h in range(4 * WEEK)}), PoolCapacity("a", 24, 8, 1)
    )
    assert (full.expected, full.possible, full.by_growth, full.nodes) == (None, None, None, 1)


def test_only_the_last_eight_weeks_are_used_and_constant_weeks_have_no_season():
    made = forecast(dict.fromkeys(range(12 * WEEK), 5.0))
    assert made.weeks == 8
    assert {h.median for h in made.hours} == {5.0}
