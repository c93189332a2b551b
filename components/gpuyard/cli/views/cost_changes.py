"""One bill against another as text, and as Markdown for a pull request."""

from collections.abc import Sequence

from gpuyard.cli.terminal.console import Cell, Column, Console, table
from gpuyard.cli.terminal.text import signed_usd, usd
from gpuyard.cli.views.cost import caveats, priced, profile
from gpuyard.plan.money.bill_changes import (
    BillChange,
    PoolChange,
    notes,
    pool_changes,
    team_changes,
    total_changes,
)
from gpuyard.plan.records import PlatformPlan

_MONEY = (Column("before", "right"), Column("after", "right"), Column("change", "right"))
_TEAMS = "guarantees at full use, $/month"


def show_changes(
    before: PlatformPlan, after: PlatformPlan, names: tuple[str, str], console: Console
) -> None:
    """What becomes dearer or cheaper from one stack to the other."""
    console.say((f"from {names[0]} to {names[1]}", "bold"))
    console.say(f"US dollars {priced(after)}")
    console.title("Total", "$/hour")
    console.show(table([Column(""), *_MONEY], [_row(c) for c in total_changes(before, after)]))
    pools = pool_changes(before, after)
    if changed := [p for p in pools if p.is_one]:
        console.title("Pools", "$/hour")
        columns = [Column("pool", name=True), Column("nodes", wraps=True), Column(""), *_MONEY]
        rows = [_pool_cells(p) for p in changed]
        console.show(table(columns, rows))
    _show_same(pools, console)
    teams = team_changes(before, after)
    if any(c.is_one for c in teams):
        console.title("Teams", _TEAMS)
        console.show(table([Column("", name=True), *_MONEY], [_row(c) for c in teams]))
    console.say()
    console.tell(f"{profile(after.bill)}.")
    for text in (*(f"{n}." for n in notes(before, after)), *caveats(before, after)):
        console.tell(text)


def _pool_cells(pool: PoolChange) -> tuple[Cell, ...]:
    names, before, after, change = zip(*map(_row, pool.cases), strict=True)
    return (pool.name, pool.nodes, names, before, after, change)


def _row(change: BillChange) -> tuple[str, ...]:
    return (change.name, _was(change), _now(change), signed_usd(change.difference))


def _show_same(pools: Sequence[PoolChange], console: Console) -> None:
    if same := [p.name for p in pools if not p.is_one]:
        console.say()
        console.tell(f"pools that stay as they are: {', '.join(same)}")


def changes_markdown(before: PlatformPlan, after: PlatformPlan, names: tuple[str, str]) -> str:
    """The same for a pull request: one line a pool."""
    lines = [
        f"### Cost: `{names[0]}` → `{names[1]}`",
        "",
        "| $/hour | before | after | change |",
        "|---|---:|---:|---:|",
        *(_markdown_row(c) for c in total_changes(before, after)),
        "",
    ]
    pools = pool_changes(before, after)
    if changed := [p for p in pools if p.is_one]:
        lines += [
            "| pool, $/hour | nodes | floor | expected | worst | change at worst |",
            "|---|---|---:|---:|---:|---:|",
            *(_pool_row(p) for p in changed),
            "",
        ]
    if same := [p.name for p in pools if not p.is_one]:
        lines += [f"Pools that stay as they are: {', '.join(same)}.", ""]
    teams = team_changes(before, after)
    if any(c.is_one for c in teams):
        lines += [
            f"| team, {_TEAMS} | before | after | change |",
            "|---|---:|---:|---:|",
            *(_markdown_row(c) for c in teams),
            "",
        ]
    said = [f"{profile(after.bill)}.", *(f"{n}." for n in notes(before, after))]
    listed = [f"- {text}" for text in [*map(_capital, said), *caveats(before, after)]]
    return "\n".join([*lines, *listed]).rstrip() + "\n"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _markdown_row(change: BillChange) -> str:
    return f"| {' | '.join(_row(change))} |"


def _pool_row(pool: PoolChange) -> str:
    worst = signed_usd(pool.cases[-1].difference)
    return f"| {' | '.join([pool.name, pool.nodes, *map(_arrow, pool.cases), worst])} |"


def _arrow(change: BillChange) -> str:
    was, now = _was(change), _now(change)
    return now if was == now else f"{was} → {now}"


def _was(change: BillChange) -> str:
    return _shown(change.before, partial=change.partial[0]) if change.was else "-"


def _now(change: BillChange) -> str:
    return _shown(change.after, partial=change.partial[1]) if change.now else "-"


def _shown(amount: float | None, *, partial: bool) -> str:
    if not partial:
        return usd(amount)
    return f"{usd(amount)} + unknown" if amount else "unknown"
