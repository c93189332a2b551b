"""The statement of a month: GPU-hours and cost by team, and what belongs to no team, to the cent of the bill.

An hour's GPU-hours and dollars are the mean of the recorded series over the hour's evaluations; a series that is absent
at an evaluation counts as zero there. An hour without a sample of the bill or of the prices is uncovered: nothing is
estimated for it.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from fractions import Fraction
from itertools import groupby
from math import floor

from gpuyard_advisor.usage.hours import HOUR, DefectReport, HourlyExport, HourlySeries
from gpuyard_advisor.usage.hours import Defect as SampleDefect
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


COST = "gpuyard:cost:dollars_per_hour"
BILL = "gpuyard:bill:dollars_per_hour"
ALLOCATED = "gpuyard:gpus_allocated:sum"
USED = "gpuyard:gpus_used:sum"
BILLED = "gpuyard:gpus_billed:sum"
PRICE = "gpuyard:node_price:dollars_per_hour"
"""A constant: its samples show when the rules were evaluated, also while no node exists."""

KEYS: Mapping[str, tuple[str, ...]] = {
    COST: ("pool", "team", "class", "part"),
    BILL: ("pool",),
    ALLOCATED: ("pool", "team", "class", "slice"),
    USED: ("pool", "team", "class", "slice"),
    BILLED: ("pool",),
    PRICE: ("pool", "capacity"),
}
"""The recorded series of a statement, and the labels that identify one."""
REMAINDER = "remainder"
"""The part of the bill that no cost series explains."""
UNCOVERED = "uncovered"
"""The part of an invoice for the hours without a sample."""
TEAM_PARTS = ("used", "allocated_idle")
NO_POOL, SYSTEM, COMMITMENT = "", "system", "commitment"
"""Values of the label `pool` that name no pool of GPUs."""
ROUNDING = Fraction(1, 1_000_000)
"""Dollars below which a remainder is the rounding of floating-point sums."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Consecutive hours of the month in which a series is missing; the end is exclusive."""

    series: str
    start: int
    end: int

    @property
    def hours(self) -> int:
        """Its length."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Charge:
    """One part of the bill, by pool, team and workload class."""

    pool: str
    team: str
    """Empty: it belongs to no team."""
    workload_class: str
    part: str
    usd: Fraction
    """At the prices of the stack file and the catalogue."""
    cents: int
    """Its part of the total, in cents."""
    gpu_hours: float | None
    """GPU-hours of this charge; None if it is not of GPUs."""


@dataclass(frozen=True, slots=True)
class TeamUse:
    """GPU-hours and cost of one team."""

    team: str
    allocated: float
    used: float
    cents: Mapping[str, int]
    """By part: used and allocated_idle."""
    budget_usd: float | None

    @property
    def idle(self) -> float:
        """Allocated GPU-hours that were not used."""
        return max(0.0, self.allocated - self.used)

    @property
    def total(self) -> int:
        """All its cents."""
        return sum(self.cents.values())

    @property
    def usd_per_allocated(self) -> float | None:
        """Blended price of an allocated GPU-hour."""
        return self.total / 100 / self.allocated if self.allocated else None

    @property
    def usd_per_used(self) -> float | None:
        """Blended price of a used GPU-hour."""
        return self.total / 100 / self.used if self.used else None


@dataclass(frozen=True, slots=True)
class Statement:
    """The statement of one month."""

    month: Month
    covered: int
    """Hours with a sample of the bill or of the prices."""
    charges: tuple[Charge, ...]
    teams: tuple[TeamUse, ...]
    """In the order of the stack file, then teams that it does not have."""
    others: Mapping[str, int]
    """Cents of what belongs to no team, by part."""
    billed: float
    """GPU-hours of all existing nodes."""
    plan_usd: Fraction
    """The cost of the covered hours at the prices of the stack file and the catalogue."""
    invoice: bool
    """True if the total is the amount of an invoice."""
    cents: int
    """The total."""
    gaps: tuple[Gap, ...]
    defects: tuple[DefectReport, ...]


_Key = tuple[str, ...]
_Series = dict[_Key, HourlySeries]


def make_statement(
    month: Month,
    export: HourlyExport,
    budgets: Mapping[str, float | None],
    invoice_cents: int | None = None,
) -> Statement:
    """The statement of a month from its recorded series; `budgets` has each team of the stack file."""
    found = {name: _series(export, name) for name in KEYS}
    ticks = _evaluations([*found[BILL].values(), *found[PRICE].values()])
    if not found[BILL]:
        raise UsageError(_nothing(month, export))
    if len(ticks) > 1 and all(hour + 1 not in ticks for hour in ticks):
        raise UsageError("the samples are more than an hour apart. Export at least one an hour.")
    hours = {name: _totals(each, ticks) for name, each in found.items()}
    uses = {name: _by_labels(hours[name]) for name in (ALLOCATED, USED)}
    lines = [*_lines(hours[COST], hours[BILL])]
    plan_usd = sum((usd for _, usd in lines), Fraction(0))
    if invoice_cents is None:
        amounts, total = [usd for _, usd in lines], round(plan_usd * 100)
    else:
        lines, amounts = _scaled(lines, plan_usd, invoice_cents, Fraction(len(ticks), month.hours))
        total = invoice_cents
    cents = split_cents(amounts, total)
    charges = tuple(
        Charge(*key, usd, amount, _gpu_hours(key, uses))
        for (key, usd), amount in zip(lines, cents, strict=True)
    )
    return Statement(
        month=month,
        covered=len(ticks),
        charges=charges,
        teams=tuple(_teams(charges, hours, budgets)),
        others=_others(charges),
        billed=float(sum(hours[BILLED].values())),
        plan_usd=plan_usd,
        invoice=invoice_cents is not None,
        cents=total,
        gaps=tuple(_gaps(month, found, ticks)),
        # a team that uses nothing has no sample: a hole of one series is no defect
        defects=tuple(d for d in export.defects if d.defect is not SampleDefect.HOLE),
    )


def split_cents(amounts: Sequence[Fraction], total: int) -> list[int]:
    """Integer cents of each amount in dollars, which sum to `total`: by the largest remainder."""
    exact = [amount * 100 for amount in amounts]
    cents = [floor(each) for each in exact]
    order = sorted(range(len(exact)), key=lambda n: (cents[n] - exact[n], n))
    for n in order[: total - sum(cents)]:
        cents[n] += 1
    return cents


def _series(export: HourlyExport, name: str) -> _Series:
    """The series of one name by their labels."""
    result: _Series = {}
    for series in export.series:
        labels = dict(series.labels)
        if labels.get("__name__") != name or not series.hours:
            continue
        key = tuple(labels.get(label, "") for label in KEYS[name])
        if key in result:
            raise UsageError(
                f"the export has several series of {name} with the same labels {', '.join(KEYS[name])}."
                " Export one cluster, and one replica of Prometheus."
            )
        result[key] = series
    return result


def _evaluations(series: Iterable[HourlySeries]) -> dict[int, int]:
    """The number of evaluations of each hour: the most samples that one series has."""
    result: dict[int, int] = {}
    for each in series:
        for hour, count in each.counts.items():
            result[hour] = max(count, result.get(hour, 0))
    return result


def _totals(series: _Series, ticks: Mapping[int, int]) -> dict[_Key, Fraction]:
    """The integral of each series of a family, which may be evaluated more often than the bill."""
    own = _evaluations(series.values())
    evaluations = {hour: max(count, own.get(hour, 0)) for hour, count in ticks.items()}
    return {key: _total(each, evaluations) for key, each in series.items()}


def _total(series: HourlySeries, evaluations: Mapping[int, int]) -> Fraction:
    """The integral of a series over the covered hours, in units × hours."""
    return sum(
        (
            Fraction(value) * series.counts[hour] / evaluations[hour]
            for hour, value in series.hours.items()
            if hour in evaluations
        ),
        Fraction(0),
    )


_Line = tuple[tuple[str, str, str, str], Fraction]


def _lines(costs: Mapping[_Key, Fraction], bills: Mapping[_Key, Fraction]) -> Iterator[_Line]:
    """Each cost, and the remainder of each pool's bill if it is more than rounding."""
    explained: defaultdict[str, Fraction] = defaultdict(Fraction)
    for (pool, team, workload, part), usd in sorted(costs.items()):
        explained[pool] += usd
        yield (pool, team, workload, part), usd
    for pool in sorted({key[0] for key in bills} | explained.keys()):
        rest = bills.get((pool,), Fraction(0)) - explained[pool]
        if abs(rest) >= ROUNDING:
            yield (pool, "", "", REMAINDER), rest


def _scaled(
    lines: list[_Line], plan_usd: Fraction, invoice_cents: int, covered: Fraction
) -> tuple[list[_Line], list[Fraction]]:
    """The lines at the prices of the invoice; its part for uncovered hours is a line of its own."""
    if plan_usd <= 0:
        raise UsageError("the recorded bill is 0: --bill cannot be split by it")
    invoice = Fraction(invoice_cents, 100)
    factor = invoice * covered / plan_usd
    amounts = [usd * factor for _, usd in lines]
    if covered < 1:
        lines = [*lines, ((NO_POOL, "", "", UNCOVERED), Fraction(0))]
        amounts.append(invoice * (1 - covered))
    return lines, amounts


_Uses = Mapping[str, Mapping[_Key, Fraction]]


def _by_labels(hours: Mapping[_Key, Fraction]) -> dict[_Key, Fraction]:
    """GPU-hours by pool, team and class: all slices together."""
    result: defaultdict[_Key, Fraction] = defaultdict(Fraction)
    for (pool, team, workload, _), value in hours.items():
        result[pool, team, workload] += value
    return result


def _gpu_hours(key: _Key, uses: _Uses) -> float | None:
    """The GPU-hours of a charge to a team."""
    *whose, part = key
    if part not in TEAM_PARTS:
        return None
    used = uses[USED].get(tuple(whose), Fraction(0))
    if part == "used":
        return float(used)
    return float(max(Fraction(0), uses[ALLOCATED].get(tuple(whose), Fraction(0)) - used))


def _teams(
    charges: Sequence[Charge],
    hours: Mapping[str, Mapping[_Key, Fraction]],
    budgets: Mapping[str, float | None],
) -> Iterator[TeamUse]:
    """Each team of the stack file or of the export."""
    named = {c.team for c in charges} | {key[1] for key in hours[ALLOCATED]}
    for team in [*budgets, *sorted(named - budgets.keys() - {""})]:
        cents = Counter(dict.fromkeys(TEAM_PARTS, 0))
        for charge in charges:
            if charge.team == team:
                cents[charge.part] += charge.cents
        allocated, used = (
            float(sum(value for key, value in hours[name].items() if key[1] == team))
            for name in (ALLOCATED, USED)
        )
        yield TeamUse(team, allocated, used, dict(cents), budgets.get(team))


def _others(charges: Iterable[Charge]) -> dict[str, int]:
    result: Counter[str] = Counter()
    for charge in charges:
        if not charge.team:
            result[charge.part] += charge.cents
    return dict(result)


def _gaps(month: Month, found: Mapping[str, _Series], covered: Iterable[int]) -> Iterator[Gap]:
    """Hours without a sample, then series that are missing in hours that have a bill."""
    yield from _runs(BILL, set(range(month.start, month.end)).difference(covered))
    for pool, series in sorted((key[0], s) for key, s in found[BILL].items()):
        priced = {hour for hour, usd in series.hours.items() if usd > 0}
        yield from _runs(f'{COST}{{pool="{pool}"}}', priced - _hours(found[COST], pool))
        charged = _hours({key: s for key, s in found[COST].items() if key[3] in TEAM_PARTS}, pool)
        for name in (ALLOCATED, USED, BILLED):
            yield from _runs(f'{name}{{pool="{pool}"}}', charged - _hours(found[name], pool))


def _hours(series: _Series, pool: str | None = None) -> set[int]:
    """The hours in which any series has a value, of one pool or of all."""
    return {h for key, s in series.items() if pool in (None, key[0]) for h in s.hours}


def _runs(name: str, hours: Iterable[int]) -> Iterator[Gap]:
    for _, run in groupby(enumerate(sorted(hours)), key=lambda each: each[1] - each[0]):
        found = [hour for _, hour in run]
        yield Gap(name, found[0], found[-1] + 1)


def _nothing(month: Month, export: HourlyExport) -> str:
    """Why there is no statement."""
    outside = sum(d.count for d in export.defects if d.defect is SampleDefect.OUTSIDE)
    if outside:
        return (
            f"the export has no sample of {BILL} in {month.name}: {outside:,} samples are of another"
            " month. Write its --month, or export this one."
        )
    return f"the export has no series {BILL}. Export {', '.join(KEYS)}."
