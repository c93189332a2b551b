"""`gpuyard pack machines`: the cheapest machines for a stack's shapes, beside those the stack names."""

from typing import Any

from gpuyard.advice.packing.machines import MachinePacking, NoMachine
from gpuyard.advice.packing.stack import StackPacking, clouds_of, pack_stack
from gpuyard.catalogue.machines import Capacity
from gpuyard.cli.exit_codes import FINE, FOUND
from gpuyard.cli.stacks import judge_stack
from gpuyard.cli.terminal.console import Column, Console, asides, results, table, write
from gpuyard.cli.terminal.text import many, usd
from gpuyard.cli.views.documents import as_json, tree
from gpuyard.cli.views.findings import count_words, document, show_findings, show_verdict
from gpuyard.errors import UsageError

SOLD = ("aws", "gcp")


def pack(stack: str, capacity: Capacity, *, as_document: bool) -> int:
    """Write the machines; exit code 3 when the stack is refused or nothing on offer holds a shape."""
    judged = judge_stack(stack)
    if judged.plan is None:
        if as_document:
            write(as_json(document("pack", judged)))
        else:
            show_findings(judged, results())
            show_verdict("refused", f"{judged.file}: {count_words(judged.findings)}", asides())
        return FOUND
    clouds = clouds_of(judged.plan)
    if not clouds:
        raise UsageError(f"{judged.file} has no shapes: nothing says what must be able to start.")
    cloud, *others = clouds
    if others or cloud not in SOLD:
        raise UsageError(
            f"the machines of {judged.file} are of {', '.join(clouds)}; prices are known of one"
            f" cloud at a time: {' or '.join(SOLD)}."
        )
    found = pack_stack(judged.plan, cloud, capacity)
    if as_document:
        more = {"cloud": found.cloud, "capacity": capacity.value}
        write(
            as_json(
                document("pack", judged, **more, best=_tree(found.best), named=_tree(found.named))
            )
        )
    else:
        _show(found, judged.plan.name, capacity, results())
    return FOUND if isinstance(found.best, NoMachine) else FINE


def _tree(found: MachinePacking | NoMachine) -> dict[str, Any]:
    left_out = {one.machine.name: one.why for one in found.left_out}
    if isinstance(found, NoMachine):
        return {
            "usd_per_hour": None,
            "no_machine_for": [n.name for n in found.needs],
            "left_out": left_out,
        }
    return {
        "usd_per_hour": tree(found.usd),
        "bound_usd_per_hour": tree(found.bound),
        "proved": found.proved,
        "machines": [
            {
                "machine": one.priced.machine.name,
                "nodes": one.nodes,
                "usd_per_hour": tree(one.usd),
                "pods_on_each": tree(one.pods),
            }
            for one in found.bought
        ],
        "left_out": left_out,
    }


def _show(found: StackPacking, name: str, capacity: Capacity, console: Console) -> None:
    best = found.best
    if isinstance(best, NoMachine):
        shapes = ", ".join(need.name for need in best.needs)
        console.say(
            (name, "bold"), f"  {found.cloud} {capacity.value}: nothing on offer holds {shapes}"
        )
        _show_left_out(best, console)
        return
    console.say(
        (name, "bold"),
        f"  {many(len(best.needs), 'shape')} at once in {found.cloud},"
        f" {usd(best.usd)} $/hour {capacity.value}, {_verdict(best)}",
    )
    console.say()
    columns = [
        Column("machine"),
        Column("nodes", "right"),
        Column("$/hour", "right"),
        Column("room on each for", wraps=True),
    ]
    rows = [
        (one.priced.machine.name, f"{one.nodes:,}", usd(one.usd), _pods(one.pods))
        for one in best.bought
    ]
    console.show(table(columns, rows))
    console.say()
    console.tell(_compared(best, found.named), indent=2)
    _show_left_out(best, console)


def _pods(pods: dict[str, int] | Any) -> str:
    return ", ".join(f"{count} × {name}" for name, count in pods.items())


def _verdict(found: MachinePacking) -> str:
    if found.proved:
        return "proved optimal"
    return f"at most {found.gap:.2%} above the least there can be"


def _compared(best: MachinePacking, named: MachinePacking | NoMachine) -> str:
    if isinstance(named, NoMachine):
        shapes = ", ".join(need.name for need in named.needs)
        return f"The stack's own machines have no such price for {shapes}."
    saved = named.usd - best.usd
    if usd(saved) == usd(0.0):
        return "The stack's own machines cost the same."
    own = ", ".join(f"{count} × {name}" for name, count in named.machines.items())
    return f"The stack's own machines cost {usd(named.usd)} $/hour, {usd(saved)} more: {own}."


def _show_left_out(found: MachinePacking | NoMachine, console: Console) -> None:
    if found.left_out:
        console.title("Left out", "would hold some of the pods")
        rows = [(one.machine.name, one.why) for one in found.left_out]
        console.show(table([Column("machine"), Column("why", wraps=True)], rows))
