"""Hourly means of each series of an export, and every defect of its samples.

Memory grows with series and hours, not with samples: a sample is added to the sum of its hour.
Nothing is repaired: a sample that cannot be trusted is counted and not used, and an hour without samples
has no value.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from math import isfinite

from gpuyard_advisor.usage.samples import Labels, Sample

HOUR = 3600


class Defect(StrEnum):
    """What is wrong with samples, or where they are missing."""

    DUPLICATE = "duplicate"
    CONFLICT = "conflict"
    OUT_OF_ORDER = "out-of-order"
    NOT_A_NUMBER = "not-a-number"
    OUTSIDE = "outside-the-period"
    HOLE = "hole"


MEANING: Mapping[Defect, str] = {
    Defect.DUPLICATE: "the same sample again, counted once",
    Defect.CONFLICT: "another value at the same time, the first is used",
    Defect.OUT_OF_ORDER: "older than the sample before it, not used",
    Defect.NOT_A_NUMBER: "NaN, a stale marker or infinite, not used",
    Defect.OUTSIDE: "outside the requested period, not used",
    Defect.HOLE: "hours without a usable sample, left empty",
}


@dataclass(frozen=True, slots=True)
class DefectReport:
    """One defect of one series, or one gap: how often, and the first and last time in seconds since 1970."""

    labels: Labels
    defect: Defect
    count: int
    first: float
    last: float


@dataclass(frozen=True, slots=True)
class HourlySeries:
    """The mean of each hour that has samples; an hour is counted from 1970 in UTC."""

    labels: Labels
    hours: Mapping[int, float]
    counts: Mapping[int, int] = field(default_factory=dict)
    """The number of samples of each hour."""
    peaks: Mapping[int, float] = field(default_factory=dict)
    """The largest sample of each hour."""


@dataclass(frozen=True, slots=True)
class HourlyExport:
    """All series of an export, by labels, and their defects."""

    series: tuple[HourlySeries, ...]
    defects: tuple[DefectReport, ...]
    samples: int


@dataclass(slots=True)
class _Open:
    """A series while it is read."""

    labels: Labels
    time: float = float("-inf")
    value: float = 0.0
    sums: dict[int, list[float]] = field(default_factory=dict)
    defects: dict[Defect, list[float]] = field(default_factory=dict)

    def add(self, time: float, value: float) -> None:
        if time <= self.time:
            self.note(self._repeated(time, value), time)
            return
        self.time, self.value = time, value
        if not isfinite(value):
            self.note(Defect.NOT_A_NUMBER, time)
            return
        entry = self.sums.setdefault(int(time // HOUR), [0.0, 0.0, value])
        entry[0] += value
        entry[1] += 1
        entry[2] = max(entry[2], value)

    def _repeated(self, time: float, value: float) -> Defect:
        if time < self.time:
            return Defect.OUT_OF_ORDER
        # a stale marker is never equal to itself
        same = value == self.value or (not isfinite(value) and not isfinite(self.value))
        return Defect.DUPLICATE if same else Defect.CONFLICT

    def note(self, defect: Defect, time: float) -> None:
        entry = self.defects.setdefault(defect, [0, time, time])
        entry[0] += 1
        entry[1], entry[2] = min(entry[1], time), max(entry[2], time)


def hourly_export(
    samples: Iterable[Sample], period: tuple[float, float] | None = None
) -> HourlyExport:
    """Read all samples; with a period (start, end) in seconds, only those from start to before end."""
    opened: dict[Labels, _Open] = {}
    number = 0
    for labels, time, value in samples:
        number += 1
        series = opened.get(labels)
        if series is None:
            series = opened[labels] = _Open(labels)
        if period is not None and not period[0] <= time < period[1]:
            series.note(Defect.OUTSIDE, time)
        else:
            series.add(time, value)
    ordered = sorted(opened.values(), key=lambda s: s.labels)
    return HourlyExport(
        series=tuple(
            HourlySeries(
                s.labels,
                {h: t / n for h, (t, n, _) in sorted(s.sums.items())},
                {h: int(n) for h, (_, n, _) in s.sums.items()},
                {h: peak for h, (_, _, peak) in s.sums.items()},
            )
            for s in ordered
        ),
        defects=tuple(
            report
            for s in ordered
            for report in sorted((*_reports(s), *_holes(s)), key=lambda r: (r.defect, r.first))
        ),
        samples=number,
    )


def _reports(series: _Open) -> Iterator[DefectReport]:
    """One report for each defect of the series' samples."""
    for defect, (count, first, last) in series.defects.items():
        yield DefectReport(series.labels, defect, int(count), first, last)


def _holes(series: _Open) -> Iterator[DefectReport]:
    """One report for each gap: the hours without a sample between two hours that have one."""
    for before, after in pairwise(sorted(series.sums)):
        if after > before + 1:
            hours = (after - before - 1, (before + 1) * HOUR, (after - 1) * HOUR)
            yield DefectReport(series.labels, Defect.HOLE, *hours)
