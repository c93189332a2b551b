"""Disruption windows: hours in which Karpenter may replace nodes that are in use.

Its budgets limit how many nodes may be disrupted, and the lowest active one applies. So a window is
expressed by budgets of zero for all other hours.
"""

from collections.abc import Iterator
from itertools import pairwise

from gpuyard.plan.capacity.cron import DAY_MINUTES, WEEK_DAYS, Cron, read_cron, run_times
from gpuyard.plan.draft import Draft
from gpuyard.spec.pools import Scaling
from gpuyard.spec.sections import DisruptionWindow
from gpuyard_core.findings import Diagnostic, Fix, Path, error, warning

MOST_CLOSED = 40
"""Budgets for the hours in which no node may be disrupted: a NodePool has fifty, some of them for
other limits."""
_EXAMPLE = "0 2 * * 6"
ClosedHours = tuple[str, int]
"""The cron expression at which hours without disruption start, and how many minutes they last."""


def closed_hours(window: DisruptionWindow) -> list[ClosedHours]:
    """All minutes of a week outside the window; empty where the window never ends."""
    cron = read_cron(window.cron)
    if not isinstance(cron, Cron):
        return []
    days: dict[tuple[int, int], set[int]] = {}
    for begin, minutes in _gaps(cron, max(1, int(window.hours * 60))):
        day, minute = divmod(begin, DAY_MINUTES)
        days.setdefault((minute, minutes), set()).add((day + 1) % WEEK_DAYS)
    return [
        (f"{minute % 60} {minute // 60} * * {_days(result)}", minutes)
        for (minute, minutes), result in sorted(days.items())
    ]


def _gaps(cron: Cron, length: int) -> Iterator[tuple[int, int]]:
    """Starts, in minutes of a week from Monday, and lengths of the gaps between the windows.

    Of three weeks the one in the middle: a window of the week before may extend into it.
    """
    week = WEEK_DAYS * DAY_MINUTES
    for (_, end), (begin, _) in pairwise(run_times(cron, length, 3 * WEEK_DAYS)):
        if begin > end and week <= end < 2 * week:
            yield int(end - week), int(begin - end)


def _days(days: set[int]) -> str:
    return "*" if len(days) == WEEK_DAYS else ",".join(map(str, sorted(days)))


def check_disruption_window(draft: Draft) -> Iterator[Diagnostic]:
    """Check that Karpenter can apply the window; warn where it requeues multi-node jobs."""
    gangs = {shape.pool: shape for shape in reversed(draft.shapes) if shape.nodes > 1}
    for index, pool in enumerate(draft.spec.pools):
        window, planned = pool.disruption_window, draft.pools.get(pool.name)
        if window is None or planned is None:
            continue
        path: Path = ("pools", index, "disruption_window")
        remove = Fix(message="remove `disruption_window`", at=path)
        if planned.scaling is not Scaling.KARPENTER:
            yield warning(
                "upkeep.scaling",
                path,
                "only Karpenter uses a disruption window: the field has no effect",
                given=f"scaling: {planned.scaling.value}",
                allowed="disruption_window on a pool with scaling: karpenter",
                fix=remove,
            )
        elif problem := _problem(window):
            yield error(
                "upkeep.cron",
                (*path, "cron"),
                problem,
                given=window.cron,
                allowed=f"five fields without days of the month, such as `{_EXAMPLE}`: at 2:00 UTC on Saturdays",
                fix=Fix.write(_EXAMPLE, (*path, "cron")),
            )
        elif gang := gangs.get(pool.name):
            age = f", or at any time after {window.max_days} days" if window.max_days else ""
            yield warning(
                "upkeep.gangs",
                path,
                f"shape {gang.name} needs {gang.nodes} nodes: replacing one in these hours{age} requeues the"
                " whole job, which restarts from its last checkpoint",
                given=f"{window.cron}, {window.hours:g} hours",
                allowed="no disruption_window on pools for multi-node jobs: empty nodes are replaced anyway",
                fix=remove,
            )


def _problem(window: DisruptionWindow) -> str:
    read = read_cron(window.cron)
    if isinstance(read, str):
        return f"not a valid cron expression: {read}"
    if not read.weekly:
        return "Karpenter budgets need the hours without disruption, which days of the month cannot express"
    if len(closed_hours(window)) > MOST_CLOSED:
        return f"it starts too often: Karpenter accepts {MOST_CLOSED} budgets for the hours between"
    return ""
