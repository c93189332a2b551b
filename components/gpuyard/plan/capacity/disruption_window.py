"""Upkeep of Karpenter's nodes: hours in which nodes that are used may be replaced.

Its budgets say how many nodes may go, and of those in force the least holds. So a window is said by all other
hours, in which none may.
"""

from collections.abc import Iterator
from itertools import pairwise

from gpuyard.findings import Finding, Fix, Path, error, warning
from gpuyard.plan.capacity.cron import DAY_MINUTES, WEEK_DAYS, Cron, read_cron, run_times
from gpuyard.plan.draft import Draft
from gpuyard.plan.records import PoolPlan
from gpuyard.spec.pools import Scaling
from gpuyard.spec.sections import DisruptionWindow

MOST_CLOSED = 40
"""Budgets for the hours in which no node may go: a NodePool has fifty, and some say other things."""
_EXAMPLE = "0 2 * * 6"
ClosedHours = tuple[str, int]
"""When hours begin in which no node may go, as cron has it, and how many minutes they last."""


def closed_hours(upkeep: DisruptionWindow) -> list[ClosedHours]:
    """All minutes of a week but those of the window; nothing where the window never ends."""
    cron = read_cron(upkeep.cron)
    if not isinstance(cron, Cron):
        return []
    days: dict[tuple[int, int], set[int]] = {}
    for begin, minutes in _gaps(cron, max(1, int(upkeep.hours * 60))):
        day, minute = divmod(begin, DAY_MINUTES)
        days.setdefault((minute, minutes), set()).add((day + 1) % WEEK_DAYS)
    return [
        (f"{minute % 60} {minute // 60} * * {_days(result)}", minutes)
        for (minute, minutes), result in sorted(days.items())
    ]


def _gaps(cron: Cron, length: int) -> Iterator[tuple[int, int]]:
    """Beginnings, in minutes of a week that begins on Monday, and lengths of what is between the windows.

    Of three weeks the one in the middle: what began in the week before may go on in it.
    """
    week = WEEK_DAYS * DAY_MINUTES
    for (_, end), (begin, _) in pairwise(run_times(cron, length, 3 * WEEK_DAYS)):
        if begin > end and week <= end < 2 * week:
            yield int(end - week), int(begin - end)


def _days(days: set[int]) -> str:
    return "*" if len(days) == WEEK_DAYS else ",".join(map(str, sorted(days)))


def check_disruption_window(draft: Draft) -> list[Finding]:
    """Whoever replaces nodes must be told when, and what becomes of jobs is said."""
    results: list[Finding] = []
    for index, pool in enumerate(draft.spec.pools):
        planned = draft.pools.get(pool.name)
        if pool.disruption_window is not None and planned is not None:
            where: Path = ("pools", index, "disruption_window")
            results += _of_pool(draft, pool.disruption_window, planned, where)
    return results


def _of_pool(
    draft: Draft, upkeep: DisruptionWindow, planned: PoolPlan, path: Path
) -> Iterator[Finding]:
    if planned.scaling is not Scaling.KARPENTER:
        yield warning(
            "upkeep.scaling",
            path,
            "Karpenter alone replaces nodes by these hours: nothing is made of them here",
            value=f"scaling: {planned.scaling.value}",
            allowed="upkeep on a pool with scaling: karpenter",
            fix=Fix(message="remove `disruption_window`", at=path),
        )
        return
    if problem := _problem(upkeep):
        yield error(
            "upkeep.cron",
            (*path, "cron"),
            problem,
            value=upkeep.cron,
            allowed=f"five fields without days of the month, such as `{_EXAMPLE}`: at 2:00 UTC on Saturdays",
            fix=Fix(message=f"write {_EXAMPLE}", at=(*path, "cron"), value=_EXAMPLE),
        )
        return
    yield from _gangs(draft, planned, upkeep, path)


def _problem(upkeep: DisruptionWindow) -> str:
    read = read_cron(upkeep.cron)
    if isinstance(read, str):
        return f"no cron reads this time: {read}"
    if not read.weekly:
        return "Karpenter is told the hours in which no node may go, and of days of the month it cannot be"
    if len(closed_hours(upkeep)) > MOST_CLOSED:
        return f"it begins at too many times: Karpenter takes {MOST_CLOSED} stretches between them"
    return ""


def _gangs(draft: Draft, pool: PoolPlan, upkeep: DisruptionWindow, path: Path) -> Iterator[Finding]:
    gang = next((s for s in draft.shapes if s.pool == pool.name and s.nodes > 1), None)
    if gang is None:
        return
    age = f", and at any time at the age of {upkeep.max_days} days" if upkeep.max_days else ""
    yield warning(
        "upkeep.gangs",
        path,
        f"shape {gang.name} takes {gang.nodes} nodes: one that is replaced in these hours{age} sends all"
        " of its job back to the queue and to its last checkpoint",
        value=f"{upkeep.cron}, {upkeep.hours:g} hours",
        allowed="no upkeep where gangs run: a node is replaced when it is empty",
        fix=Fix(message="remove `disruption_window`", at=path),
    )
