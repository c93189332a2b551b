"""The measured state: cost by part, teams, queues, targets and idle GPUs."""

from collections.abc import Sequence
from urllib.parse import urlsplit, urlunsplit

from gpuyard_advisor.cli.views.report.html import Cell, Element, bar, el, fold, section, table
from gpuyard_advisor.cli.views.top import held
from gpuyard_advisor.usage.fleet import PARTS, SERIES, Fleet, Row, Wait, merge_by_pod
from gpuyard_core.terminal.text import pluralize, usd

NO_DATA = "no data"
_MAX_IDLE = 50
_STYLES = ("full", "lent", "none", "may", "slice", "share")
"""The style of each part of the cost."""
_NOT_ALWAYS = ("system", "commitment")
"""Parts that not every platform has."""


def live_section(fleet: Fleet, address: str) -> Element:
    """What Prometheus answered; a series without data is named."""
    tables = (_cost, _targets, _pools, _teams, _queues, _idle)
    grid = el("div", {"class": "grid"}, *(made(fleet) for made in tables))
    return section("now", "Now", f"Measured by {_host(address)}.", grid, _missing(fleet))


def _host(address: str) -> str:
    """The address without a user and a password."""
    parts = urlsplit(address)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _cost(fleet: Fleet) -> Element:
    total = sum(fleet.cost.values())
    rows: list[tuple[Cell, ...]] = []
    for part, style in zip(PARTS, _STYLES, strict=True):
        if part in _NOT_ALWAYS and part not in fleet.cost:
            continue
        value = fleet.cost.get(part)
        drawn = None if value is None else bar([(style, max(value, 0.0))], total)
        percent = f"{100 * value / total:.0f} %" if value is not None and total else NO_DATA
        rows.append((part.replace("_", " "), drawn, figure(value, money=True), percent))
    rows.append(("sum", "", usd(total) if fleet.cost else NO_DATA, ""))
    return table("Cost now, by part", ("part", "", "$/hour", "share"), rows, (2, 3))


def figure(value: float | None, *, money: bool = False) -> str:
    """A number, or that there is none."""
    if value is None:
        return NO_DATA
    return usd(value) if money else f"{value:,.1f}".removesuffix(".0")


def _use(row: Row, scale: float) -> Element | None:
    if row.used is None or row.allocated is None:
        return None
    used, held = row.used, row.allocated
    return bar([("full", used), ("lent", max(held - used, 0.0))], scale)


def _pools(fleet: Fleet) -> Element:
    rows: list[Sequence[Cell]] = [
        (
            row.name,
            _use(row, max(row.billed or 0.0, row.allocated or 0.0)),
            *(figure(v) for v in (row.billed, row.allocated, row.used)),
            *(figure(v, money=True) for v in (row.idle_usd, row.usd)),
        )
        for row in fleet.pools
    ]
    heads = ("pool", "used, allocated", "billed", "allocated", "used", "idle $/hour", "$/hour")
    return _or_none("Pools now, in GPUs", heads, rows, (2, 3, 4, 5, 6))


def _teams(fleet: Fleet) -> Element:
    scale = max((row.allocated or 0.0 for row in fleet.teams), default=0.0)
    rows: list[Sequence[Cell]] = [
        (
            row.name,
            _use(row, scale),
            *(figure(v) for v in (row.allocated, row.used)),
            *(figure(v, money=True) for v in (row.idle_usd, row.usd)),
        )
        for row in fleet.teams
    ]
    heads = ("team", "used, allocated", "allocated", "used", "idle $/hour", "$/hour")
    return _or_none("Teams now, in GPUs", heads, rows, (2, 3, 4, 5))


def _queues(fleet: Fleet) -> Element:
    rows = [
        (
            q.queue,
            "" if n else figure(q.pending),
            wait.priority or "–",
            minutes(wait.p50),
            minutes(wait.p95),
        )
        for q in fleet.queues
        for n, wait in enumerate(q.waits or (Wait("", None, None),))
    ]
    heads = ("queue", "waiting", "priority", "wait, median", "wait, 95 %")
    return _or_none("Queues now", heads, rows, (1, 3, 4))


def minutes(seconds: float | None) -> str:
    """A wait in minutes or hours."""
    if seconds is None:
        return NO_DATA
    hour = 3600
    return f"{seconds / hour:.1f} h" if seconds >= hour else f"{seconds / 60:.1f} min"


def _targets(fleet: Fleet) -> Element | None:
    if not fleet.targets and SERIES["target"] not in fleet.missing:
        return None  # the stack file has none
    rows = [
        (
            t.target.replace("_", " "),
            t.priority or "–",
            *(_measure(t.target, value) for value in (t.value, t.actual)),
        )
        for t in fleet.targets
    ]
    return _or_none("Targets", ("target", "priority", "target value", "actual"), rows, (2, 3))


def _measure(target: str, value: float | None) -> str:
    """A wait in minutes or hours, a share in percent."""
    if value is None or target.startswith("wait"):
        return minutes(value)
    return f"{100 * value:.0f} %"


def _idle(fleet: Fleet) -> Element:
    rows = [
        (
            g.pod,
            g.team,
            g.pool,
            g.node,
            held(g),
            figure(g.hours),
            figure(g.usd_per_hour, money=True),
        )
        for g in merge_by_pod(fleet.idle)[:_MAX_IDLE]
    ]
    heads = ("pod", "team", "pool", "node", "GPUs", "hours idle", "$/hour")
    if not rows and not any(name.startswith("gpuyard:pod_gpu") for name in fleet.missing):
        return el("p", {"class": "note"}, "No pod holds an idle GPU.")
    return _or_none("Idle GPUs that a pod holds, the most expensive first", heads, rows, (5, 6))


def _or_none(
    caption: str, heads: tuple[str, ...], rows: Sequence[Sequence[Cell]], right: tuple[int, ...]
) -> Element:
    if rows:
        return table(caption, heads, rows, right)
    return el("p", {"class": "nodata"}, f"{caption}: {NO_DATA}")


def _missing(fleet: Fleet) -> Element | None:
    if not fleet.missing:
        return None
    names = [el("li", None, el("code", None, name)) for name in fleet.missing]
    return fold(f"{pluralize(len(names), 'series', 'series')} without data", el("ul", None, *names))
