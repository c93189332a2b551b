"""Advice on a platform: each workload with reasons and rejected options, the cost of owned GPUs, the roll-out."""

from collections.abc import Iterable, Sequence
from typing import Any

from gpuyard_advisor.advice.strategy.placements import region_for
from gpuyard_advisor.advice.strategy.stack import AdvisedStack
from gpuyard_advisor.advice.strategy.strategy import (
    PlatformAdvice,
    PriceOption,
    Reason,
    Row,
    WorkloadAdvice,
)
from gpuyard_advisor.advice.strategy.tco import Ends, OwnedCost
from gpuyard_core.terminal.console import Column, Console, table
from gpuyard_core.terminal.documents import tree
from gpuyard_core.terminal.text import usd


def show_advice(advice: PlatformAdvice, stack: AdvisedStack, file: str, console: Console) -> None:
    """Show the platform, each workload, the cost of owned GPUs, targets and roll-out."""
    answers = advice.answers
    where = " ".join(filter(None, (answers.cloud, region_for(answers))))
    console.title(answers.name, f"{where}, profile {answers.budget}")
    _show_reasons(advice.reasons, console)
    for each in advice.workloads:
        _show_workload(each, console)
    if advice.owned is not None:
        _show_owned(advice.owned, console)
    console.title("Targets", "of the stack, and how to measure them")
    low, high = advice.utilisation
    for row in advice.targets:
        value = row["value"].format(low=low, high=high)
        _show_reason(f"{row['target']}: {value}", row["measure"], console)
    console.title("What figures mean")
    for row in advice.readings:
        _show_reason(f"{row['figures']}: {row['meaning']}", row["measure"], console)
    console.title("Roll-out")
    for row in advice.rollout:
        weeks = f", {row['weeks']} weeks" if "weeks" in row else ""
        console.print_wrapped(f"{row['phase']}{weeks}: {row['goal']}", indent=2)
        for command in row["commands"]:
            console.print(command, indent=4)
    console.title("Source")
    console.print_wrapped(advice.source, indent=2)
    console.title("Stack")
    if stack.usd_per_month is not None:
        most = f"at most {usd(stack.usd_per_month)} $/month, all nodes at list prices"
        console.print_wrapped(most, indent=2)
    for note in stack.notes:
        console.print_wrapped(note, first="! ", style="yellow", indent=2)
    written = f"{file} is written and passes gpuyard check" if file else "--output writes it"
    console.print_wrapped(written, indent=2)


def _show_workload(each: WorkloadAdvice, console: Console) -> None:
    workload = each.workload
    size = f"{workload.gpus_per_job} × {workload.gpu_memory_gib} GiB"
    console.title(workload.name, f"{workload.kind}, {size}, {workload.jobs} at the same time")
    _show_reasons(each.reasons, console)
    console.print()
    _show_pairs("rejected", [(row.answer, row.why) for row in each.rejected], console)
    console.print()
    columns = [
        Column("machine"),
        Column("GPUs"),
        Column("nodes", "right"),
        Column("$/hour", "right"),
    ]
    rows = [
        (c.machine, f"{c.gpus} × {c.gpu}", str(c.nodes), usd(c.usd_per_hour))
        for c in each.candidates
    ]
    console.show(table(columns, rows))
    if each.options:
        console.print()
        columns = [
            Column("capacity"),
            Column("$/hour", "right"),
            Column("used"),
            Column("", wraps=True),
        ]
        console.show(table(columns, [_option(option) for option in each.options]))
    console.print()
    names = ("risk", "probability", "impact", "mitigation")
    _show_rows(each.risks, names, console)


def _option(option: PriceOption) -> tuple[str, ...]:
    return option.name, usd(option.usd_per_hour), "yes" if option.chosen else "no", option.why


def _show_reasons(reasons: Sequence[Reason], console: Console) -> None:
    for each in reasons:
        _show_reason(f"{each.topic}: {each.answer}", each.why, console)


def _show_reason(text: str, why: str, console: Console) -> None:
    console.print_wrapped(text, indent=2)
    console.print_wrapped(why, style="dim", indent=4)


def _show_pairs(head: str, rows: Iterable[tuple[str, str]], console: Console) -> None:
    console.show(table([Column(head), Column("", wraps=True)], list(rows)))


def _show_rows(rows: Iterable[Row], names: Sequence[str], console: Console) -> None:
    columns = [Column(name, wraps=True) for name in names]
    console.show(table(columns, [[row[name] for name in names] for row in rows]))


def _show_owned(cost: OwnedCost, console: Console) -> None:
    note = f"by year, at {cost.utilisation_percent:g} % utilisation; low and high assumptions"
    console.title(f"{cost.gpus} owned GPUs", note)
    lines = {
        "depreciation": cost.depreciation_usd,
        "power": cost.power_usd,
        "operations": cost.operations_usd,
        "total": cost.total_usd,
        "of which unused GPU time": cost.opportunity_usd,
        "for each GPU hour": cost.usd_per_gpu_hour,
        "for each used GPU hour": cost.usd_per_used_gpu_hour,
    }
    columns = [Column("cost"), Column("low $", "right"), Column("high $", "right")]
    console.show(
        table(columns, [(name, usd(low), usd(high)) for name, (low, high) in lines.items()])
    )
    if not cost.clouds:
        console.print_wrapped(
            "no machine of the cloud with as much GPU memory has a price", indent=2
        )
        return
    console.print()
    console.print_wrapped(f"compared with {cost.machine} ({cost.gpu}), for each GPU", indent=2)
    columns = [
        Column("price"),
        Column("$/hour", "right"),
        Column("$/used hour", "right"),
        Column("$/year", "right"),
        Column("break-even", "right"),
        Column("months", "right"),
    ]
    rows = [
        (
            each.option,
            usd(each.usd_per_gpu_hour),
            usd(each.usd_per_used_gpu_hour),
            usd(each.usd_per_year),
            _percent(each.break_even_percent),
            _months(each.break_even_months),
        )
        for each in cost.clouds
    ]
    console.show(table(columns, rows))
    if cost.unpriced:
        console.print_wrapped(f"price unknown: {', '.join(cost.unpriced)}", indent=2)
    text = (
        "break-even: utilisation from which owned GPUs cost less than this price; a commitment is paid"
        " all the time, as owned GPUs are. months: until the purchase is paid back at this utilisation"
    )
    console.print_wrapped(text, style="dim", indent=2)


def _percent(ends: Ends | None) -> str:
    if ends is None:
        return "-"
    low, high = ends
    if low > 100:  # noqa: PLR2004  a percentage
        return "never"
    return f"{low:.0f}-{high:.0f} %" if high <= 100 else f"{low:.0f} %-never"  # noqa: PLR2004


def _months(ends: tuple[float | None, float | None]) -> str:
    low, high = ("never" if end is None else f"{end:.0f}" for end in ends)
    return low if low == high else f"{low}-{high}"


def advice_document(advice: PlatformAdvice, stack: AdvisedStack) -> dict[str, Any]:
    """The advice as plain values."""
    low, high = advice.utilisation
    return {
        "answers": tree(advice.answers),
        "platform": tree(advice.reasons),
        "utilisation_percent": {"low": low, "high": high},
        "workloads": [_workload_document(each) for each in advice.workloads],
        "owned": tree(advice.owned),
        "targets": [
            {**row, "value": row["value"].format(low=low, high=high)} for row in advice.targets
        ],
        "source": advice.source,
        "readings": tree(advice.readings),
        "rollout": tree(advice.rollout),
        "stack_usd_per_month": tree(stack.usd_per_month),
        "notes": list(stack.notes),
        "stack_file": stack.text,
    }


def _workload_document(each: WorkloadAdvice) -> dict[str, Any]:
    placed = each.placement
    return {
        "name": each.workload.name,
        "class": each.workload.kind.value,
        "mode": placed.mode.value,
        "slice": placed.slice or None,
        "pods_per_gpu": placed.pods_per_gpu,
        "machine": placed.machine.name,
        "nodes": placed.nodes,
        "nodes_per_job": placed.nodes_per_job,
        "usd_per_hour": tree(placed.usd_per_hour),
        "capacity": [capacity.value for capacity in each.settings["order"]],
        "reasons": tree(each.reasons),
        "rejected": tree(each.rejected),
        "candidates": tree(each.candidates),
        "options": tree(each.options),
        "risks": [{k: v for k, v in row.items() if k != "when"} for row in each.risks],
    }
