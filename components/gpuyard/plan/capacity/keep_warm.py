"""Keep-warm windows: hours in which a pool keeps nodes without demand, checked and summed.

Sums are in local time for an average week. A clock change moves a window by an hour; the sum is the
same.
"""

import math
import re
from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from itertools import pairwise
from typing import Protocol

from gpuyard.plan.capacity.cron import DAY_MINUTES, FIRST_DAY, WEEK_DAYS, Cron, read_cron, run_times
from gpuyard.spec.pools import Pool
from gpuyard.spec.sections import KeepWarmWindow, Provisioning
from gpuyard_core.catalogue.machines import Capacity
from gpuyard_core.findings import Diagnostic, Fix, Path, error, warning
from gpuyard_core.models.values import Range
from gpuyard_core.suggestions import nearest_name

_CYCLE_DAYS = 28 * 365 + 7
"""After 28 years the calendar repeats: every date has had every weekday equally often."""
_ZONE_FORM = re.compile(r"[A-Za-z]+([-+_/]?[A-Za-z0-9]+)*")
_EXAMPLE = "0 7 * * 1-5"
_EXACT = 10_000
"""Hours are written with four decimal places."""


class HasKeepWarm(Protocol):
    """A pool of the stack file, or of the plan."""

    @property
    def keep_warm(self) -> tuple[KeepWarmWindow, ...]:
        """Its keep-warm windows."""
        ...


def warm_hours_per_week(pool: HasKeepWarm) -> float:
    """Hours of an average week in which any window is open; overlapping hours count once."""
    return sum(hours for hours, _ in _stretches(pool.keep_warm))


def warm_node_hours_per_week(pool: HasKeepWarm, above: float = 0) -> float:
    """Node-hours a week that the windows keep, beyond the `above` nodes that run anyway.

    Where windows overlap, the one with more nodes counts: they keep the same nodes.
    """
    return sum(hours * max(0, nodes - above) for hours, nodes in _stretches(pool.keep_warm))


def _stretches(windows: tuple[KeepWarmWindow, ...]) -> Iterator[tuple[float, int]]:
    """Hours a week and the nodes kept in them; windows with an invalid cron are skipped."""
    read = [(w, cron) for w in windows if isinstance(cron := read_cron(w.cron), Cron)]
    days = WEEK_DAYS if all(cron.weekly for _, cron in read) else _CYCLE_DAYS
    length = days * DAY_MINUTES
    changes: list[tuple[float, int, int]] = []
    for window, cron in read:
        for begin, end in run_times(cron, window.hours * 60, days):
            changes += ((begin, 1, window.nodes), (min(end, length), -1, window.nodes))
            # the calendar repeats: what extends past its end continues at its start
            if end > length:
                changes += ((0, 1, window.nodes), (min(end - length, length), -1, window.nodes))
    windows_by_nodes: dict[int, int] = {}
    before = 0.0
    for minute, change, nodes in sorted(changes):
        most = max((n for n, count in windows_by_nodes.items() if count), default=0)
        if most and minute > before:
            yield (minute - before) / 60 * WEEK_DAYS / days, most
        windows_by_nodes[nodes] = windows_by_nodes.get(nodes, 0) + change
        before = minute


def check_keep_warm(pool: Pool, path: Path, *, fixed: bool) -> list[Diagnostic]:
    """Check that windows start and end, name a known time zone, and fit the pool's nodes."""
    here = (*path, "keep_warm")
    findings = [
        finding
        for index, window in enumerate(pool.keep_warm)
        for finding in _check_window(window, pool, (*here, index))
    ]
    if not findings and not fixed:
        findings += _check_gaps(pool, here)
    if not pool.keep_warm:
        return findings
    remove = Fix(message="remove `keep_warm`", at=here)
    # nodes exist for queued requests only, which needs flex-start options only
    flex = all(option.mode is Capacity.FLEX_START for option in pool.capacity)
    if not fixed and flex and pool.provisioning is Provisioning.QUEUED:
        findings.append(
            warning(
                "warm.queued",
                here,
                "GKE creates nodes with queued provisioning for a job's request only: a keep-warm window"
                " keeps none",
                given="provisioning: queued",
                allowed="keep_warm on a pool without queued provisioning",
                fix=remove,
            )
        )
    if fixed:
        findings.append(
            warning(
                "warm.fixed",
                here,
                f"the pool does not scale: its {pool.nodes.high} nodes always run, with or without a window",
                given=f"{len(pool.keep_warm)} windows",
                allowed="keep_warm only on a pool that scales",
                fix=remove,
            )
        )
    return findings


def _check_gaps(pool: Pool, path: Path) -> Iterator[Diagnostic]:
    """Windows without a gap have the effect of a minimum; of windows that overlap, the overlap counts once."""
    if warm_hours_per_week(pool) >= WEEK_DAYS * 24:
        least = min(nodes for _, nodes in _stretches(pool.keep_warm))
        nodes = Range(max(least, pool.nodes.low), pool.nodes.high)
        yield warning(
            "warm.never_ends",
            path,
            f"each window lasts until the next one starts: {least} nodes always run",
            given=" and ".join(f"{each.hours:g} hours from {each.cron}" for each in pool.keep_warm),
            allowed="windows with hours in between",
            fix=Fix(message=f"write nodes: {nodes}, or shorter windows"),
        )
        return
    for index, window in enumerate(pool.keep_warm):
        cron = read_cron(window.cron)
        gap = _shortest_gap(cron) if isinstance(cron, Cron) else 0
        if gap and window.hours * 60 > gap:
            hours = math.floor(gap / 60 * _EXACT) / _EXACT
            at = (*path, index, "hours")
            yield warning(
                "warm.runs_over",
                at,
                f"the window starts again after {hours:g} hours, before its {window.hours:g} hours end",
                given=f"{window.hours:g}",
                allowed=f"at most {hours:g}",
                fix=Fix(message=f"write {hours:g}", at=at, value=hours),
            )


def _shortest_gap(cron: Cron) -> float:
    """The fewest minutes from one start to the next; 0 if there is only one."""
    starts = [
        number * DAY_MINUTES + minute
        for number in range(2 * WEEK_DAYS if cron.weekly else _CYCLE_DAYS)
        if cron.starts_on(FIRST_DAY + timedelta(days=number))
        for minute in cron.minutes
    ]
    return min((after - before for before, after in pairwise(starts)), default=0)


@cache
def time_zones() -> frozenset[str]:
    """This machine's time zones; cached, because listing them opens some six hundred files."""
    from zoneinfo import available_timezones  # late: most stack files need no time zones

    return frozenset(available_timezones())


def cron_error(cron: str) -> str:
    """What is wrong with a cron expression; empty if it is valid."""
    read = read_cron(cron)
    if isinstance(read, str):
        return f"not a valid cron expression: {read}"
    days = range(_CYCLE_DAYS)
    if any(read.starts_on(FIRST_DAY + timedelta(days=number)) for number in days):
        return ""
    return "it never starts: no year has such a day"


def nearest_zone(name: str) -> str:
    """The time zone nearest to an unknown name; empty if the name is known."""
    if name == "UTC":
        return ""
    known = time_zones()
    if name in known:
        return ""
    if not known and _ZONE_FORM.fullmatch(name):
        return ""  # without time zone data, any well-formed name is accepted
    return nearest_name(name, sorted(known)) or "UTC"


def unknown_zone(kind: str, name: str, path: Path) -> Iterator[Diagnostic]:
    """The finding about the time zone of a schedule, if it is unknown."""
    if suggestion := nearest_zone(name):
        yield error(
            kind,
            (*path, "time_zone"),
            "unknown time zone",
            given=name,
            allowed="an IANA name, such as Europe/Paris or America/New_York",
            fix=Fix.write(suggestion, (*path, "time_zone")),
        )


def _check_window(window: KeepWarmWindow, pool: Pool, path: Path) -> Iterator[Diagnostic]:
    if problem := cron_error(window.cron):
        yield error(
            "warm.cron",
            (*path, "cron"),
            problem,
            given=window.cron,
            allowed=f"five fields, such as `{_EXAMPLE}`: at 7:00 from Monday to Friday",
            fix=Fix.write(_EXAMPLE, (*path, "cron")),
        )
    yield from unknown_zone("warm.time_zone", window.time_zone, path)
    here, low, high = (*path, "nodes"), pool.nodes.low, pool.nodes.high
    if window.nodes > high:
        yield error(
            "warm.over_nodes",
            here,
            f"the window keeps {window.nodes} nodes, but the pool may have {high}",
            given=str(window.nodes),
            allowed=f"{low + 1} to {high}" if high > low else "no window",
            fix=Fix.write(high, here) if high else Fix(message="remove the window", at=path),
        )
    elif window.nodes <= low < high:
        yield warning(
            "warm.no_effect",
            here,
            f"{low} nodes always run: a window of {window.nodes} adds none",
            given=str(window.nodes),
            allowed=f"{low + 1} to {high}",
            fix=Fix.write(low + 1, here),
        )
