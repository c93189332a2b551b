"""`gpuyard pack machines`: the cheapest machines for a stack's shapes, compared with the stack's own."""

from typing import Any

from gpuyard.cli.stacks import validate_stack
from gpuyard.cli.views.findings import document, show_findings
from gpuyard_advisor.advice.packing.machines import (
    MachinePacking,
    NoMachineFits,
    StackPacking,
    clouds_of,
    pack_stack,
)
from gpuyard_core.catalogue.machines import MACHINES, Capacity
from gpuyard_core.errors import UsageError
from gpuyard_core.terminal.console import Column, Console, diagnostics, results, table, write
from gpuyard_core.terminal.documents import as_json, tree
from gpuyard_core.terminal.exit_codes import FINDINGS, OK
from gpuyard_core.terminal.findings import count_words, show_verdict
from gpuyard_core.terminal.text import pluralize, usd


def pack(stack: str, capacity: Capacity, *, as_document: bool) -> int:
    """Write the machines; exit code 3 when the stack is rejected or no offered machine fits a shape."""
    judged = validate_stack(stack)
    if judged.plan is None:
        if as_document:
            write(as_json(document("pack", judged)))
        else:
            show_findings(judged, results())
            show_verdict(
                "rejected", f"{judged.file}: {count_words(judged.findings)}", diagnostics()
            )
        return FINDINGS
    clouds = clouds_of(judged.plan)
    if not clouds:
        raise UsageError(
            f"{judged.file} has no shapes. Add `shapes`: the workloads that must be able to start."
        )
    cloud, *other_clouds = clouds
    sellers = sorted({each.cloud for each in MACHINES.values()})
    if other_clouds or cloud not in sellers:
        raise UsageError(
            f"the machines of {judged.file} are of {', '.join(clouds)}; use machines of one"
            f" cloud: {' or '.join(sellers)}."
        )
    result = pack_stack(judged.plan, cloud, capacity)
    if as_document:
        more = {"cloud": result.cloud, "capacity": capacity.value}
        write(
            as_json(
                document("pack", judged, **more, best=_tree(result.best), named=_tree(result.named))
            )
        )
    else:
        _show(result, judged.plan.name, capacity, results())
    return FINDINGS if isinstance(result.best, NoMachineFits) else OK


def _tree(result: MachinePacking | NoMachineFits) -> dict[str, Any]:
    left_out = {one.machine.name: one.why for one in result.excluded}
    if isinstance(result, NoMachineFits):
        return {
            "usd_per_hour": None,
            "no_machine_for": [n.name for n in result.needs],
            "left_out": left_out,
        }
    return {
        "usd_per_hour": tree(result.usd),
        "bound_usd_per_hour": tree(result.bound),
        "is_optimal": result.is_optimal,
        "machines": [
            {
                "machine": one.priced.machine.name,
                "nodes": one.nodes,
                "usd_per_hour": tree(one.usd),
                "pods_on_each": tree(one.pods_per_node),
            }
            for one in result.purchased
        ],
        "left_out": left_out,
    }


def _show(result: StackPacking, name: str, capacity: Capacity, console: Console) -> None:
    best = result.best
    if isinstance(best, NoMachineFits):
        shapes = ", ".join(need.name for need in best.needs)
        console.print(
            (name, "bold"), f"  {result.cloud} {capacity.value}: no offered machine fits {shapes}"
        )
        _show_left_out(best, console)
        return
    console.print(
        (name, "bold"),
        f"  {pluralize(len(best.needs), 'shape')} at once in {result.cloud},"
        f" {usd(best.usd)} $/hour {capacity.value}, {_verdict(best)}",
    )
    console.print()
    columns = [
        Column("machine"),
        Column("nodes", "right"),
        Column("$/hour", "right"),
        Column("pods per node", wraps=True),
    ]
    rows = [
        (one.priced.machine.name, f"{one.nodes:,}", usd(one.usd), _pods(one.pods_per_node))
        for one in best.purchased
    ]
    console.show(table(columns, rows))
    console.print()
    console.print_wrapped(_compared(best, result.named), indent=2)
    _show_left_out(best, console)


def _pods(pods: dict[str, int] | Any) -> str:
    return ", ".join(f"{count} × {name}" for name, count in pods.items())


def _verdict(result: MachinePacking) -> str:
    if result.is_optimal:
        return "optimal"
    return f"at most {result.gap:.2%} above the lower bound"


def _compared(best: MachinePacking, named: MachinePacking | NoMachineFits) -> str:
    if isinstance(named, NoMachineFits):
        shapes = ", ".join(need.name for need in named.needs)
        return f"The stack's own machines do not fit {shapes} at this capacity type."
    saved = named.usd - best.usd
    if usd(saved) == usd(0.0):
        return "The stack's own machines cost the same."
    own = ", ".join(f"{count} × {name}" for name, count in named.machines.items())
    return f"The stack's own machines cost {usd(named.usd)} $/hour, {usd(saved)} more: {own}."


def _show_left_out(result: MachinePacking | NoMachineFits, console: Console) -> None:
    if result.excluded:
        console.title("Excluded", "would fit some of the pods")
        rows = [(one.machine.name, one.why) for one in result.excluded]
        console.show(table([Column("machine"), Column("why", wraps=True)], rows))
