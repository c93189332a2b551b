"""Advice on the size of workloads: one row each, then reasons and the sum of the savings."""

from collections.abc import Sequence
from typing import Any

from gpuyard_advisor.cli.views.samples import defect_document
from gpuyard_advisor.usage.hours import HourlyExport
from gpuyard_advisor.usage.rightsize import Advice, Choice
from gpuyard_core.terminal.console import Column, Console, table
from gpuyard_core.terminal.text import pluralize, usd

_WHOLE = "whole GPU"


def show_rightsize(result: Sequence[Advice], export: HourlyExport, console: Console) -> None:
    """Show what each workload uses, needs and can hold instead."""
    console.title("Workloads", "P95 by hour, of what one pod holds; savings by month")
    columns = [
        Column("team"),
        Column("workload", name=True),
        Column("holds"),
        Column("GiB", "right"),
        Column("active", "right"),
        Column("finding"),
        Column("fits"),
        Column("saves $", "right"),
        Column("confidence"),
    ]
    console.show(table(columns, [_row(each) for each in result]))
    saved = sum(each.usd_per_month or 0.0 for each in result)
    fewer = pluralize(sum(each.choice is not None for each in result), "workload")
    console.print_wrapped(
        f"{fewer} can hold less: {usd(saved)} $/month, if nodes are removed for it", indent=2
    )
    for each in result:
        if each.reason:
            console.print_wrapped(f"{_name(each)}: {each.reason}", style="dim", indent=2)
        elif each.choice and not each.choice.offered:
            text = f"{_name(each)}: no pool offers {each.choice.unit}; it needs a MIG layout"
            console.print_wrapped(text, style="dim", indent=2)
    if export.defects:
        hint = "hours with no pod are among them; --format json lists all"
        console.print_wrapped(
            f"{pluralize(len(export.defects), 'defect')} of the export: {hint}",
            first="! ",
            style="yellow",
            indent=2,
        )


def _name(each: Advice) -> str:
    return f"{each.workload.key.namespace}/{each.workload.key.owner}"


def _row(each: Advice) -> tuple[str, ...]:
    key = each.workload.key
    return (
        key.team,
        _name(each),
        key.slice or _WHOLE,
        f"{each.memory_p95_gib:.1f}",
        f"{100 * each.activity_p95:.0f} %",
        each.finding.value,
        _choice(each.choice),
        "-" if each.usd_per_month is None else usd(each.usd_per_month),
        each.confidence if each.choice else "-",
    )


def _choice(choice: Choice | None) -> str:
    return "-" if choice is None else f"{choice.unit or _WHOLE} ({choice.pool})"


def rightsize_document(result: Sequence[Advice], export: HourlyExport) -> dict[str, Any]:
    """The advice as plain values."""
    return {
        "workloads": [_document(each) for each in result],
        "defects": [defect_document(each) for each in export.defects],
    }


def _document(each: Advice) -> dict[str, Any]:
    key, choice = each.workload.key, each.choice
    return {
        "team": key.team,
        "namespace": key.namespace,
        "owner": key.owner,
        "class": key.workload_class,
        "pool": key.pool,
        "holds": key.slice,
        "held": round(each.workload.held, 3),
        "hours": each.hours,
        "samples": each.workload.samples,
        "finding": each.finding.value,
        "memory_p95_gib": round(each.memory_p95_gib, 3),
        "memory_need_gib": round(each.memory_need_gib, 3),
        "activity_p95": round(each.activity_p95, 4),
        "compute_need_gpus": round(each.compute_need, 4),
        "confidence": each.confidence,
        "fits": None
        if choice is None
        else {
            "pool": choice.pool,
            "unit": choice.unit,
            "memory_gib": round(choice.memory_gib, 3),
            "compute_gpus": round(choice.compute, 4),
            "offered": choice.offered,
        },
        "saves_usd_per_month": None if each.usd_per_month is None else round(each.usd_per_month, 2),
        "reason": each.reason or None,
    }
