"""The difference of two bills: as text, as Markdown for a pull request, as a document."""

from collections.abc import Sequence
from typing import Any

from gpuyard.cli.views.cost import (
    capital,
    caveats,
    expected_case_assumptions,
    markdown_table,
    priced,
)
from gpuyard.cli.views.documents import money
from gpuyard.plan.money.bill_changes import (
    BillChange,
    BilledNodes,
    PoolChange,
    pool_changes,
    team_changes,
    total_changes,
)
from gpuyard.plan.records import COST_CASES, PlatformPlan, Total
from gpuyard.spec.sections import Commitment, MachinePrice, Prices
from gpuyard_core.findings import format_list
from gpuyard_core.terminal.console import Cell, Column, Console, number_columns, table
from gpuyard_core.terminal.documents import tree
from gpuyard_core.terminal.text import pluralize, signed_usd, usd

_MONEY = number_columns("before", "after", "change")
_TEAMS = "guarantees at full use, $/month"


def show_changes(
    before: PlatformPlan, after: PlatformPlan, names: tuple[str, str], console: Console
) -> None:
    """Show the cost difference from one stack to the other."""
    console.print((f"from {names[0]} to {names[1]}", "bold"))
    console.print(f"US dollars {priced(after)}")
    console.title("Total", "$/hour")
    console.show(table([Column(""), *_MONEY], map(_row, total_changes(before, after))))
    pools = pool_changes(before, after)
    if changed := [p for p in pools if p.is_changed]:
        console.title("Pools", "$/hour")
        columns = [Column("pool", name=True), Column("nodes", wraps=True), Column(""), *_MONEY]
        rows: list[tuple[Cell, ...]] = [
            (pool_name(p), pool_nodes(p), *zip(*map(_row, p.cases), strict=True)) for p in changed
        ]
        console.show(table(columns, rows))
    _show_same("pools", [pool_name(p) for p in pools if not p.is_changed], console)
    teams = team_changes(before, after)
    if changed_teams := [_row(c) for c in teams if c.is_changed]:
        console.title("Teams", _TEAMS)
        console.show(table([Column("", name=True), *_MONEY], changed_teams))
        _show_same("teams", [c.name for c in teams if not c.is_changed], console)
    console.print()
    console.print_wrapped(f"{expected_case_assumptions(after.bill)}.")
    for text in (*(f"{n}." for n in notes(before, after)), *caveats(before, after)):
        console.print_wrapped(text)


def pool_name(pool: PoolChange) -> str:
    """Its name, `old → new` where it was renamed."""
    return " → ".join(pool.names)


def pool_nodes(pool: PoolChange) -> str:
    """`4 → 2 × p5.48xlarge`, or a new or removed pool."""
    was, now = _nodes(pool.nodes_before), _nodes(pool.nodes_after)
    if not was:
        return f"new: {now}"
    if not now:
        return f"removed: {was}"
    if was == now:
        return now
    (before, _, old), (after, _, new) = was.partition(_TIMES), now.partition(_TIMES)
    return f"{before} → {after}{_TIMES}{new}" if old == new else f"{was} → {now}"


_TIMES = " × "


def _nodes(nodes: Sequence[BilledNodes]) -> str:
    return ", ".join(f"{each.number}{_TIMES}{each.machine}" for each in nodes)


def _row(change: BillChange) -> tuple[str, str, str, str]:
    return change.name, _shown(change.before), _shown(change.after), signed_usd(change.difference)


def _show_same(what: str, names: Sequence[str], console: Console) -> None:
    if names:
        console.print()
        console.print_wrapped(f"{what} without change: {format_list(names)}")


def changes_markdown(before: PlatformPlan, after: PlatformPlan, names: tuple[str, str]) -> str:
    """The same for a pull request, with one line for each pool."""
    lines = [
        f"### Cost: `{names[0]}` → `{names[1]}`",
        "",
        f"US dollars {priced(after)}.",
        "",
        *markdown_table(
            ("$/hour", "before", "after", "change"), map(_row, total_changes(before, after))
        ),
    ]
    pools = pool_changes(before, after)
    if changed := [p for p in pools if p.is_changed]:
        heads = ("pool, $/hour", "nodes", *COST_CASES, "change of maximum")
        lines += markdown_table(heads, map(_pool_row, changed), names=2)
    if same := [pool_name(p) for p in pools if not p.is_changed]:
        lines += [f"Pools without change: {format_list(same)}.", ""]
    teams = team_changes(before, after)
    if changed_teams := [c for c in teams if c.is_changed]:
        team_heads = (f"team, {_TEAMS}", "before", "after", "change")
        lines += markdown_table(team_heads, map(_row, changed_teams))
        if unchanged := [c.name for c in teams if not c.is_changed]:
            lines += [f"Teams without change: {format_list(unchanged)}.", ""]
    sentences = [
        f"{expected_case_assumptions(after.bill)}.",
        *(f"{n}." for n in notes(before, after)),
    ]
    points = [f"- {text}" for text in [*map(capital, sentences), *caveats(before, after)]]
    return "\n".join([*lines, *points]).rstrip() + "\n"


def _pool_row(pool: PoolChange) -> list[str]:
    shown = (" → ".join(dict.fromkeys(_row(case)[1:3])) for case in pool.cases)
    maximum = signed_usd(pool.cases[-1].difference)
    return [pool_name(pool), pool_nodes(pool), *shown, maximum]


def _shown(total: Total | None) -> str:
    return "-" if total is None else money(total, nodes=False)


def notes(before: PlatformPlan, after: PlatformPlan) -> list[str]:
    """Other differences that affect the bill."""
    lines = []
    if before.bill.priced_in != after.bill.priced_in:
        regions = [" and ".join(p.bill.priced_in) or "none" for p in (before, after)]
        lines.append(f"the region of the prices: {regions[0]} → {regions[1]}")
    was, now = before.bill.utilisation_percent, after.bill.utilisation_percent
    if was != now:
        lines.append(f"the expected utilisation: {was:g} % → {now:g} %")
    limits = [p.spec.budget.max_usd_per_hour if p.spec.budget else None for p in (before, after)]
    if limits[0] != limits[1]:
        shown = ["none" if limit is None else f"{usd(limit)} $/hour" for limit in limits]
        lines.append(f"the limit on the maximum cost: {shown[0]} → {shown[1]}")
    old, new = before.spec.prices or Prices(), after.spec.prices or Prices()
    if old.discount_percent != new.discount_percent:
        lines.append(
            f"the discount on list prices: {old.discount_percent:g} % → {new.discount_percent:g} %"
        )
    if old.cluster_usd_per_hour != new.cluster_usd_per_hour:
        fees = [_own_price(p.cluster_usd_per_hour) for p in (old, new)]
        lines.append(f"your price of the cluster: {fees[0]} → {fees[1]}")
    for name in sorted({*old.machines, *new.machines}):
        was_own, own = (p.machines.get(name) or MachinePrice() for p in (old, new))
        for how, one, two in (
            ("", was_own.on_demand, own.on_demand),
            (" on spot", was_own.spot, own.spot),
            (" from a reservation", was_own.reserved, own.reserved),
        ):
            if one != two:
                lines.append(f"your price of {name}{how}: {_own_price(one)} → {_own_price(two)}")
    lines += [f"removed: {_commitment(c)}" for c in old.commitments if c not in new.commitments]
    lines += [f"new: {_commitment(c)}" for c in new.commitments if c not in old.commitments]
    return lines


def _own_price(price: float | None) -> str:
    return "none" if price is None else f"{usd(price)} $/hour"


def _commitment(entry: Commitment) -> str:
    return f"commitment to {entry.nodes} × {entry.machine} for {pluralize(entry.years, 'year')}"


def change_document(before: PlatformPlan, after: PlatformPlan) -> dict[str, Any]:
    """Every change as a document, with what stays equal."""
    return {
        "usd_per_hour": [_tree(c) for c in total_changes(before, after)],
        "pools_usd_per_hour": [
            {
                "name": pool_name(pool),
                "was": _nodes(pool.nodes_before),
                "now": _nodes(pool.nodes_after),
                **{case.name: _tree(case, named=False) for case in pool.cases},
            }
            for pool in pool_changes(before, after)
        ],
        "teams_usd_per_month": [_tree(c) for c in team_changes(before, after)],
        "teams_expected_usd_per_month": [_tree(c) for c in team_changes(before, after, "expected")],
        "notes": notes(before, after),
    }


def _tree(change: BillChange, *, named: bool = True) -> dict[str, Any]:
    figures = {
        "before": tree(change.before.usd if change.before else None),
        "after": tree(change.after.usd if change.after else None),
        "difference": tree(change.difference),
    }
    return {"name": change.name, **figures} if named else figures
