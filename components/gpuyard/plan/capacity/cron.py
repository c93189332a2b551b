"""Five-field cron expressions, as far as a window of hours needs them: which minutes of which days.

They are parsed as Kubernetes parses those of a CronJob (robfig/cron v3.0.1, parser.go).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MOST_DAYS = 31
WEEK_DAYS = 7
DAY_MINUTES = 24 * 60
FIRST_DAY = date(2027, 1, 4)
"""A Monday; it determines only how days of the month coincide with days of the week."""
DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


@dataclass(frozen=True, slots=True)
class _Field:
    """One of the five fields: its name, its bounds, and names for its values."""

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()


FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, _MOST_DAYS),
    _Field("month", 1, 12, MONTHS),
    _Field("day of week", 0, 7, DAYS),
)


@dataclass(frozen=True, slots=True)
class Cron:
    """When a window starts: at which minutes, on which days."""

    minutes: tuple[int, ...]
    """Minutes after midnight, sorted."""
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """0 is Sunday; 7, which cron also reads as Sunday, is not in it."""
    any_day: bool
    any_weekday: bool

    @property
    def weekly(self) -> bool:
        """True when every week of the year is the same."""
        return len(self.days) == _MOST_DAYS and len(self.months) == len(MONTHS)

    def starts_on(self, day: date) -> bool:
        """Whether it starts on this day; if both kinds of day are restricted, either suffices."""
        if day.month not in self.months:
            return False
        in_month, in_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        if self.any_day or self.any_weekday:
            return in_month and in_week
        return in_month or in_week


def read_cron(text: str) -> Cron | str:
    """The parsed expression, or what is wrong with it."""
    parts = text.split()
    if len(parts) != len(FIELDS):
        return (
            f"{len(parts)} fields instead of five: minute, hour, day of month, month, day of week"
        )
    sets: list[frozenset[int]] = []
    for field, part in zip(FIELDS, parts, strict=True):
        result = _values(field, part.lower())
        if isinstance(result, str):
            return f"{field.name} `{part}`: {result}"
        sets.append(result)
    minutes, hours, days, months, weekdays = sets
    return Cron(
        minutes=tuple(sorted(h * 60 + m for h in hours for m in minutes)),
        days=days,
        months=months,
        weekdays=frozenset(d % 7 for d in weekdays),
        any_day=_any(parts[2]),
        any_weekday=_any(parts[4]),
    )


def kubernetes_cron(text: str) -> str:
    """The same for Kubernetes, which has no 7 for Sunday; an invalid expression is unchanged."""
    cron = read_cron(text)
    if not isinstance(cron, Cron):
        return text
    weekdays = "*" if cron.any_weekday else ",".join(map(str, sorted(cron.weekdays)))
    return " ".join([*text.lower().split()[:-1], weekdays])


def run_times(cron: Cron, length: float, days: int) -> Iterator[tuple[float, float]]:
    """Intervals of minutes in which the window is open; a start within an interval extends it."""
    run: tuple[float, float] | None = None
    for number in range(days):
        if not cron.starts_on(FIRST_DAY + timedelta(days=number)):
            continue
        for minute in cron.minutes:
            begin = float(number * DAY_MINUTES + minute)
            if run and begin <= run[1]:
                run = run[0], begin + length
                continue
            if run:
                yield run
            run = begin, begin + length
    if run:
        yield run


def _any(text: str) -> bool:
    """Whether a field is unrestricted; `*/2` is not."""
    return any(part in {"*", "*/1"} for part in text.split(","))


def _values(field: _Field, text: str) -> frozenset[int] | str:
    results: set[int] = set()
    for part in text.split(","):
        span, slash, step = part.partition("/")
        if slash and not (step.isdecimal() and int(step[:6])):
            return "a step must be a number above 0"
        low, dash, high = span.partition("-")
        if span == "*":
            first, last = field.low, field.high
        else:
            begin, end = _value(field, low), _value(field, high if dash else low)
            if begin is None or end is None:
                return (
                    f"{field.low} to {field.high}, a range such as {field.low}-{field.high}, or *"
                )
            first, last = begin, field.high if slash and not dash else end
        if first > last:
            return "the range is reversed"
        results |= set(range(first, last + 1, int(step[:6]) if slash else 1))
    return frozenset(results)


def _value(field: _Field, text: str) -> int | None:
    """A number within the field's bounds, or one of its names."""
    if text in field.names:
        return field.names.index(text) + field.low
    if not text.isdecimal() or not field.low <= int(text[:6]) <= field.high:
        return None
    return int(text[:6])
