"""The hours of a month in UTC and on the clock of a billing time zone."""

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from gpuyard_advisor.usage.statement import month_of
from gpuyard_core.errors import UsageError


@pytest.mark.parametrize(
    ("text", "zone", "hours"),
    [
        ("2026-11", UTC, 720),
        ("2026-12", UTC, 744),
        ("2028-02", UTC, 696),
        ("2026-11", ZoneInfo("America/Los_Angeles"), 721),
        ("2026-03", ZoneInfo("America/Los_Angeles"), 743),
        ("2026-10", ZoneInfo("Europe/Berlin"), 745),
    ],
)
def test_the_hours_of_a_month_follow_the_clock(text, zone, hours):
    month = month_of(text, zone)
    assert month.hours == hours
    assert month.period == (month.start * 3600, month.end * 3600)


@pytest.mark.parametrize(
    "text", ["2026-13", "2026-00", "2026-1", "november", "0000-01", "2026-11-01"]
)
def test_another_text_is_no_month(text):
    with pytest.raises(UsageError, match="not a month"):
        month_of(text)


def test_a_month_that_starts_within_an_hour_is_refused():
    with pytest.raises(UsageError, match="full hour"):
        month_of("2026-11", ZoneInfo("Asia/Kolkata"))
