"""Costs as text: tables on a terminal, Markdown for a pull request."""

from collections.abc import Sequence

from gpuyard.cli.costs import (
    Change,
    pool_changes,
    team_changes,
    total_changes,
    unit_costs,
    unknown_since,
)
from gpuyard.cli.plain import signed_usd, usd
from gpuyard.cli.screen import Column, Console, table
from gpuyard.plan.records import BillLine, PlatformPlan
from gpuyard.spec.platform import HOURS_PER_MONTH

_SIMULATED = (
    "Simulated nodes cost nothing; these are list prices of the same machines on their cloud."
)


def show_cost(plan: PlatformPlan, console: Console) -> None:
    """Totals, then by pool, by team, by unit, then where the prices come from."""
    console.say((plan.name, "bold"), f"  {plan.cloud}, US dollars at list price")
    show_totals(plan, console)
    console.title("Pools", "$/hour")
    columns = [
        Column("pool", name=True),
        Column("machine"),
        Column("nodes", "right"),
        Column("a node", "right", wraps=True),
        Column("floor", "right"),
        Column("worst", "right"),
    ]
    console.show(table(columns, [_line(line) for line in plan.bill.lines]))
    _show_teams(plan, console)
    _show_units(plan, console)
    console.title("Prices")
    for text in dict.fromkeys(_origin(line) for line in plan.bill.lines):
        console.tell(text, indent=2)
    if plan.bill.simulated:
        console.tell(_SIMULATED, indent=2)


def show_totals(plan: PlatformPlan, console: Console) -> None:
    """Floor and worst, an hour and a month, with the limit the stack file sets."""
    bill, budget = plan.bill, plan.spec.budget
    most = f"{usd(budget.worst_usd_per_hour)} an hour allowed" if budget else ""
    rows = [
        ("floor", usd(bill.floor_usd), usd(bill.floor_usd * HOURS_PER_MONTH), ""),
        ("worst", usd(bill.worst_usd), usd(bill.worst_usd * HOURS_PER_MONTH), most),
    ]
    columns = [
        Column(""),
        Column("$/hour", "right"),
        Column("$/month", "right"),
        Column("", wraps=True),
    ]
    console.show(table(columns, rows))
    for line in bill.lines:
        if line.pool in bill.unknown:
            console.tell(
                f"{line.pool} ({line.machine}): {unknown_since(line)}, not in the sums",
                first="! ",
                style="yellow",
                indent=2,
            )


def _line(line: BillLine) -> tuple[str, ...]:
    node = unknown_since(line) if line.usd_per_node is None else usd(line.usd_per_node)
    return (
        line.pool,
        line.machine,
        str(line.nodes),
        node,
        usd(line.floor_usd),
        usd(line.worst_usd),
    )


def _origin(line: BillLine) -> str:
    return f"{line.pool}: {line.basis}{f'; {line.note}' if line.note else ''}"


def _show_teams(plan: PlatformPlan, console: Console) -> None:
    if not plan.teams:
        return
    console.title("Teams", "guarantees at full use, $/month")
    rows = [
        (
            t.name,
            usd(t.guarantee_usd_per_month),
            "-" if t.budget_usd_per_month is None else usd(t.budget_usd_per_month),
        )
        for t in plan.teams
    ]
    console.show(
        table(
            [Column("team", name=True), Column("guarantee", "right"), Column("budget", "right")],
            rows,
        )
    )


def _show_units(plan: PlatformPlan, console: Console) -> None:
    console.title("Usable units", "$/hour of one")
    rows = [
        (u.pool, u.unit or "whole GPU", str(u.per_node), u.gpu_share, usd(u.usd_per_hour))
        for u in unit_costs(plan)
    ]
    columns = [
        Column("pool", name=True),
        Column("unit"),
        Column("a node", "right"),
        Column("of a GPU", "right"),
        Column("$/hour", "right"),
    ]
    console.show(table(columns, rows))


def show_changes(
    before: PlatformPlan, after: PlatformPlan, names: tuple[str, str], console: Console
) -> None:
    """What becomes dearer or cheaper from one stack to the other."""
    console.say((f"from {names[0]} to {names[1]}", "bold"), "  US dollars at list price")
    for title, beside, changes in _sections(before, after):
        if changes:
            console.title(title, beside)
            rows = [(c.name, _was(c), _now(c), signed_usd(c.difference)) for c in changes]
            columns = [
                Column("", name=True),
                Column("before", "right"),
                Column("after", "right"),
                Column("change", "right"),
            ]
            console.show(table(columns, rows))
    for text in _caveats(before, after):
        console.say()
        console.tell(text)


def changes_markdown(before: PlatformPlan, after: PlatformPlan, names: tuple[str, str]) -> str:
    """The same for a pull request."""
    lines = [f"### Cost: `{names[0]}` → `{names[1]}`", ""]
    for title, beside, changes in _sections(before, after):
        if changes:
            lines += [
                f"**{title}** ({beside})",
                "",
                "| | before | after | change |",
                "|---|---:|---:|---:|",
            ]
            lines += [
                f"| {c.name} | {_was(c)} | {_now(c)} | {signed_usd(c.difference)} |"
                for c in changes
            ]
            lines.append("")
    return "\n".join([*lines, *_caveats(before, after)]).rstrip() + "\n"


def cost_markdown(plan: PlatformPlan) -> str:
    """One stack's bill for a pull request."""
    bill = plan.bill
    lines = [
        f"### Cost of `{plan.name}`",
        "",
        "| | $/hour | $/month |",
        "|---|---:|---:|",
        f"| floor | {usd(bill.floor_usd)} | {usd(bill.floor_usd * HOURS_PER_MONTH)} |",
        f"| worst | {usd(bill.worst_usd)} | {usd(bill.worst_usd * HOURS_PER_MONTH)} |",
        "",
        "| pool | machine | nodes | a node, $/hour | floor | worst |",
        "|---|---|---:|---:|---:|---:|",
    ]
    lines += ["| " + " | ".join(_line(line)) + " |" for line in bill.lines]
    return "\n".join([*lines, "", *_caveats(plan)]).rstrip() + "\n"


def _sections(
    before: PlatformPlan, after: PlatformPlan
) -> tuple[tuple[str, str, list[Change]], ...]:
    return (
        ("Total", "$/hour", total_changes(before, after)),
        ("Pools", "worst $/hour", pool_changes(before, after)),
        ("Teams", "guarantees at full use, $/month", team_changes(before, after)),
    )


def _was(change: Change) -> str:
    return usd(change.before) if change.was else "-"


def _now(change: Change) -> str:
    return usd(change.after) if change.now else "-"


def _caveats(*plans: PlatformPlan) -> Sequence[str]:
    unknown = dict.fromkeys(
        f"{line.pool} ({line.machine}): {unknown_since(line)}, not in the sums."
        for plan in plans
        for line in plan.bill.lines
        if line.pool in plan.bill.unknown
    )
    simulated = [_SIMULATED] if any(p.bill.simulated for p in plans) else []
    return [*unknown, *simulated]
