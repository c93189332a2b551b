"""The present state of a fleet in a terminal: pools, teams, queues and idle GPUs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from gpuyard_advisor.usage.fleet import Fleet, IdleGpu, Row, Wait, merge_by_pod
from gpuyard_core.terminal.console import Cell, Column, Console, table
from gpuyard_core.terminal.text import pluralize, usd

NONE = "-"
"""Stands for a value without data: never zero."""
_IDLE_SHOWN = 10
_MAX_ROWS = 20
_BAR = 10
_DAY = 24


def show_top(fleet: Fleet, console: Console, pools: Sequence[str] = ()) -> None:
    """Show every table; one without data says so. `pools` are those of the stack, in its order."""
    _show_cost(fleet, console)
    _show(console, "Pools", _POOLS, _pool_rows(fleet.pools, pools))
    _show(console, "Teams", _TEAMS, map(_team, fleet.teams))
    _show(console, "Queues", _QUEUES, _queue_rows(fleet))
    _show_idle(fleet, console)
    if fleet.missing:
        series = pluralize(len(fleet.missing), "series", "series")
        console.print()
        console.print_wrapped(
            f"{series} without data: {', '.join(fleet.missing)}", first="! ", style="yellow"
        )


_POOLS = (
    Column("pool", name=True),
    Column("use"),
    Column("billed", "right"),
    Column("allocated", "right"),
    Column("used", "right"),
    Column("idle $/h", "right"),
)
_TEAMS = (
    Column("team", name=True),
    Column("use"),
    Column("allocated", "right"),
    Column("used", "right"),
    Column("idle $/h", "right"),
    Column("$/h", "right"),
)
_QUEUES = (
    Column("queue", name=True),
    Column("waiting", "right"),
    Column("priority", name=True),
    Column("wait p50", "right"),
    Column("wait p95", "right"),
)
_IDLE = (
    Column("pod", name=True),
    Column("team", name=True),
    Column("pool", name=True),
    Column("GPU", name=True),
    Column("idle", "right"),
    Column("$/h", "right"),
)


def _show_cost(fleet: Fleet, console: Console) -> None:
    if not fleet.cost:
        return
    total = sum(fleet.cost.values())
    parts = ", ".join(
        f"{part.replace('_', ' ')} {usd(value)}" for part, value in fleet.cost.items() if value
    )
    console.print((f"{usd(total)} $/h", "bold"), f"  {parts}" if console.width >= _WIDE else "")


_WIDE = 70


def _show(
    console: Console, title: str, columns: Sequence[Column], rows: Iterable[Sequence[Cell]]
) -> None:
    made = list(rows)
    console.title(title, "" if made else "no data")
    if made:
        console.show(table(columns, made[:_MAX_ROWS]))
    if (more := len(made) - _MAX_ROWS) > 0:
        console.print(f"… and {more:,} more; --format json lists all", indent=2)


def _pool_rows(rows: Iterable[Row], pools: Sequence[str]) -> Iterator[Sequence[Cell]]:
    """Pools of the stack in its order, also those without data; then others that are measured."""
    measured = {row.name: row for row in rows}
    for name in dict.fromkeys((*pools, *measured)):
        row = measured.get(name, Row(name, None, None, None, None, None))
        use = _bar(row.used, row.allocated, row.billed)
        held = (figure(value) for value in (row.billed, row.allocated, row.used))
        yield name, use, *held, _money(row.idle_usd)


def _team(row: Row) -> Sequence[Cell]:
    use = _bar(row.used, row.allocated, row.allocated)
    held = (figure(row.allocated), figure(row.used))
    return row.name, use, *held, _money(row.idle_usd), _money(row.usd)


def _bar(used: float | None, held: float | None, scale: float | None) -> str:
    """`####==....`: used, allocated and the rest."""
    if not scale or held is None:
        return NONE
    filled = min(_BAR, round((used or 0.0) / scale * _BAR))
    to = max(filled, min(_BAR, round(held / scale * _BAR)))
    return "#" * filled + "=" * (to - filled) + "." * (_BAR - to)


def _queue_rows(fleet: Fleet) -> Iterator[Sequence[Cell]]:
    for q in fleet.queues:
        for n, wait in enumerate(q.waits or (Wait("", None, None),)):
            waiting = "" if n else figure(q.pending)
            waited = (_minutes(wait.p50), _minutes(wait.p95))
            yield q.queue, waiting, wait.priority or NONE, *waited


def _minutes(seconds: float | None) -> str:
    if seconds is None:
        return NONE
    minutes = seconds / 60
    return f"{minutes / 60:.1f} h" if minutes >= 60 else f"{minutes:.0f} min"  # noqa: PLR2004  an hour


def _show_idle(fleet: Fleet, console: Console) -> None:
    known = not any(name.startswith("gpuyard:pod_gpu") for name in fleet.missing)
    if not fleet.idle and known:
        console.title("Idle GPUs", "none")
        return
    pods = merge_by_pod(fleet.idle)
    rows = [
        (
            (g.pod, g.namespace) if g.namespace != g.team else g.pod,
            g.team or NONE,
            g.pool,
            (g.node, f"{held(g)} GPU"),
            _hours(g.hours),
            _money(g.usd_per_hour),
        )
        for g in pods[:_IDLE_SHOWN]
    ]
    _show(console, "Idle GPUs", _IDLE, rows)
    if (more := len(pods) - _IDLE_SHOWN) > 0:
        console.print(f"… and {more:,} more; --format json lists all", indent=2)


def held(idle: IdleGpu) -> str:
    """What a pod holds in GPUs, and its slice."""
    return f"{idle.slice}, {idle.gpus:.2f}" if idle.slice else f"{idle.gpus:.4g}"


def _hours(hours: float | None) -> str:
    if hours is None:
        return NONE
    return f">{_DAY} h" if hours >= _DAY else f"{hours:.1f} h"


def figure(value: float | None) -> str:
    """A number of GPUs or pods."""
    return NONE if value is None else f"{value:,.1f}".removesuffix(".0")


def _money(value: float | None) -> str:
    return NONE if value is None else usd(value)


def top_document(fleet: Fleet) -> dict[str, Any]:
    """The present state as plain values; None is unknown."""
    return asdict(fleet)
