"""The months of a statement: their hours on the clock of a billing time zone."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from gpuyard.usage.hours import HOUR
from gpuyard_core.errors import UsageError

_MONTH = re.compile(r"(\d{4})-(\d{2})")
_MONTHS = 12
_YEARS = range(1970, 9999)


@dataclass(frozen=True, slots=True)
class Month:
    """A calendar month as hours since 1970: from `start` to before `end`."""

    name: str
    start: int
    end: int

    @property
    def hours(self) -> int:
        """Its number of hours: one fewer or more in a month in which the clock changes."""
        return self.end - self.start

    @property
    def period(self) -> tuple[float, float]:
        """Its start and end in seconds since 1970."""
        return self.start * HOUR, self.end * HOUR


def month_of(text: str, zone: tzinfo = UTC) -> Month:
    """The month of a text such as 2026-11."""
    match = _MONTH.fullmatch(text)
    year, number = (int(match[1]), int(match[2])) if match else (0, 0)
    if not (1 <= number <= _MONTHS and year in _YEARS):
        raise UsageError(f"--month {text}: not a month. Write for example 2026-11.")
    following = (year, number + 1) if number < _MONTHS else (year + 1, 1)
    start, end = (
        datetime(*first, 1, tzinfo=zone).timestamp() for first in ((year, number), following)
    )
    if start % HOUR or end % HOUR:
        raise UsageError(
            f"a month of {zone} does not start on a full hour of UTC. Statements are by full hours: write another time zone."
        )
    return Month(text, int(start // HOUR), int(end // HOUR))
