"""Warm windows: hours in which a pool keeps nodes although nothing asks for them, proved and summed.

Sums are of local time in an average week. A clock change moves a window by an hour; the sum stays.
"""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache
from typing import Protocol

from gpuyard.findings import Finding, Fix, Path, refuse, warn
from gpuyard.plan.capacity.cron import Cron, read_cron
from gpuyard.spec.nearest import nearest
from gpuyard.spec.pools import Pool
from gpuyard.spec.sections import WarmWindow
from gpuyard.spec.values import Range

_WEEK_DAYS = 7
_CYCLE_DAYS = 28 * 365 + 7
"""After 28 years the calendar repeats: every date has then fallen on every day of the week alike."""
_FIRST_DAY = date(2027, 1, 4)
"""A Monday; only how days of the month meet days of the week is taken from it."""
_DAY = 24 * 60
_ZONE_FORM = re.compile(r"[A-Za-z]+([-+_/]?[A-Za-z0-9]+)*")
_EXAMPLE = "0 7 * * 1-5"


class HasWarm(Protocol):
    """A pool of the stack file, or of the plan."""

    @property
    def warm(self) -> tuple[WarmWindow, ...]:
        """Its windows."""
        ...


def warm_hours_per_week(pool: HasWarm) -> float:
    """Hours of an average week in which any window holds; where windows overlap, hours count once."""
    return sum(hours for hours, _ in _stretches(pool.warm))


def warm_node_hours_per_week(pool: HasWarm, above: float = 0) -> float:
    """Node-hours of an average week that the windows ask for, beyond the `above` nodes that run anyway.

    Where windows overlap, the one with more nodes counts: they ask for the same nodes.
    """
    return sum(hours * max(0, nodes - above) for hours, nodes in _stretches(pool.warm))


def _stretches(windows: tuple[WarmWindow, ...]) -> Iterator[tuple[float, int]]:
    """Hours a week and the nodes wanted in them, wherever any are; windows no cron can read are none."""
    read = [(w, cron) for w in windows if isinstance(cron := read_cron(w.cron), Cron)]
    days = _WEEK_DAYS if all(cron.weekly for _, cron in read) else _CYCLE_DAYS
    length = days * _DAY
    changes: list[tuple[float, int, int]] = []
    for window, cron in read:
        for begin, end in _merged(cron, window.hours * 60, days):
            changes += ((begin, 1, window.nodes), (min(end, length), -1, window.nodes))
            if (
                end > length
            ):  # the calendar goes round: what runs past its end runs at its beginning
                changes += ((0, 1, window.nodes), (min(end - length, length), -1, window.nodes))
    wanted: dict[int, int] = {}
    before = 0.0
    for minute, change, nodes in sorted(changes):
        most = max((n for n, count in wanted.items() if count), default=0)
        if most and minute > before:
            yield (minute - before) / 60 * _WEEK_DAYS / days, most
        wanted[nodes] = wanted.get(nodes, 0) + change
        before = minute


def _merged(cron: Cron, length: float, days: int) -> Iterator[tuple[float, float]]:
    """Runs of minutes in which the window holds; starts that fall into a run lengthen it."""
    run: tuple[float, float] | None = None
    for number in range(days):
        if not cron.on(_FIRST_DAY + timedelta(days=number)):
            continue
        for minute in cron.minutes:
            begin = float(number * _DAY + minute)
            if run and begin <= run[1]:
                run = run[0], begin + length
                continue
            if run:
                yield run
            run = begin, begin + length
    if run:
        yield run


def check_warm(pool: Pool, path: Path, *, fixed: bool) -> list[Finding]:
    """Windows that begin when they say, in a time zone that exists, with nodes the pool may have."""
    findings: list[Finding] = []
    for index, window in enumerate(pool.warm):
        here = (*path, "warm", index)
        findings += [
            *_check_cron(window, here),
            *_check_zone(window, here),
            *_check_nodes(window, pool, here),
        ]
    if not findings and not fixed and warm_hours_per_week(pool) >= _WEEK_DAYS * 24:
        findings.append(_never_ends(pool, path))
    if pool.warm and fixed:
        findings.append(
            warn(
                "warm.fixed",
                (*path, "warm"),
                f"the pool does not scale: its {pool.nodes.high} nodes run all the time, window or not",
                given=f"{len(pool.warm)} windows",
                allowed="warm windows on a pool that scales",
                fix=Fix(says="remove `warm`", at=(*path, "warm")),
            )
        )
    return findings


def _never_ends(pool: Pool, path: Path) -> Finding:
    """Windows that follow each other without a gap: a floor, under another name."""
    least = min(nodes for _, nodes in _stretches(pool.warm))
    nodes = Range(max(least, pool.nodes.low), pool.nodes.high)
    return warn(
        "warm.never_ends",
        (*path, "warm"),
        f"each window lasts until the next begins: {least} nodes run all the time, and no hour is outside",
        given=" and ".join(f"{each.hours:g} hours from {each.cron}" for each in pool.warm),
        allowed="windows with hours between them",
        fix=Fix(says=f"write nodes: {nodes}, or shorter windows"),
    )


def _check_cron(window: WarmWindow, path: Path) -> list[Finding]:
    problem = unreadable(window.cron)
    if not problem:
        return []
    return [
        refuse(
            "warm.cron",
            (*path, "cron"),
            problem,
            given=window.cron,
            allowed=f"five fields, such as `{_EXAMPLE}`: at 7:00 from Monday to Friday",
            fix=Fix(says=f"write {_EXAMPLE}", at=(*path, "cron"), value=_EXAMPLE),
        )
    ]


@cache
def time_zones() -> frozenset[str]:
    """The names of this machine's time zones: to find them is to open some six hundred files, so once."""
    from zoneinfo import available_timezones  # late: most stack files need no time zones

    return frozenset(available_timezones())


def unreadable(cron: str) -> str:
    """What is wrong with a time; empty where nothing is."""
    read = read_cron(cron)
    if isinstance(read, str):
        return f"no cron reads this time: {read}"
    days = range(_CYCLE_DAYS)
    if any(read.on(_FIRST_DAY + timedelta(days=number)) for number in days):
        return ""
    return "it never begins: no year has such a day"


def nearest_zone(name: str) -> str:
    """What a name that is no time zone may have meant; empty where it is one."""
    if name == "UTC":
        return ""
    known = time_zones()
    if name in known:
        return ""
    if not known and _ZONE_FORM.fullmatch(name):
        return ""  # this machine has no time-zone data: whoever runs it will judge
    return nearest(name, sorted(known)) or "UTC"


def _check_zone(window: WarmWindow, path: Path) -> list[Finding]:
    near = nearest_zone(window.time_zone)
    if not near:
        return []
    return [
        refuse(
            "warm.time_zone",
            (*path, "time_zone"),
            "no time zone of that name",
            given=window.time_zone,
            allowed="an IANA name, such as Europe/Paris or America/New_York",
            fix=Fix(says=f"write {near}", at=(*path, "time_zone"), value=near),
        )
    ]


def _check_nodes(window: WarmWindow, pool: Pool, path: Path) -> list[Finding]:
    here, low, high = (*path, "nodes"), pool.nodes.low, pool.nodes.high
    if window.nodes > high:
        fix = Fix(says=f"write {high}", at=here, value=high) if high else None
        return [
            refuse(
                "warm.over_nodes",
                here,
                f"the pool may have {high} nodes, the window keeps {window.nodes}",
                given=str(window.nodes),
                allowed=f"{low + 1} to {high}" if high > low else "no window",
                fix=fix or Fix(says="remove the window", at=path),
            )
        ]
    if window.nodes <= low < high:
        return [
            warn(
                "warm.no_effect",
                here,
                f"{low} nodes run all the time: a window of {window.nodes} keeps none more",
                given=str(window.nodes),
                allowed=f"{low + 1} to {high}",
                fix=Fix(says=f"write {low + 1}", at=here, value=low + 1),
            )
        ]
    return []
