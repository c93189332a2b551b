"""The outcome of a trace as tables in a terminal."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from gpuyard.cli.views.cost import SIMULATED
from gpuyard_advisor.cli.views.times import format_seconds
from gpuyard_advisor.cli.views.whatif.figures import FIGURES, ReplayedStack, priority_name
from gpuyard_advisor.replay.accounts import Outcome, PoolOutcome, Waits
from gpuyard_advisor.replay.predicted import Accuracy, PredictedJobs
from gpuyard_advisor.traces import InvalidTrace, TraceReading
from gpuyard_core.findings import Severity
from gpuyard_core.terminal.console import STYLES, Column, Console, table
from gpuyard_core.terminal.findings import show_verdict
from gpuyard_core.terminal.text import pluralize, usd

_LABEL = 9
_SHOWN_REASONS = 12
_SHOWN_PROBLEMS = 3
POLICY_HEADS = (
    "never",
    "mean wait",
    "P95 wait",
    "allocated",
    "node h",
    "started",
    "flaps",
    "cost, $",
)
ORDER_HEADS = ("mean wait", "P50", "P95", "preemptions", "lost GPU h", "node h")
POLICIES_NOTE = "the same jobs with other rules for when pools get nodes"


def show_whatif(
    file: str, reading: TraceReading, stacks: Sequence[ReplayedStack], console: Console
) -> None:
    """Show the trace, the key figures side by side, then waits, pools and jobs that never started."""
    days = format_seconds(reading.jobs[-1].submitted_seconds)
    console.title("Trace", f"{file}: {reading.format}")
    text = f"{pluralize(len(reading.jobs), 'job')}, submitted in {days}"
    console.print_wrapped(text, indent=2)
    for note in trace_notes(reading):
        console.print_wrapped(note, first="! ", style="yellow", indent=2)
    console.title("Outcome", _compared(stacks))
    heads = [Column(""), *(Column(each.name, "right") for each in stacks)]
    heads += [Column("difference", "right")] if len(stacks) > 1 else []
    console.show(table(heads, figure_rows(stacks)))
    for stack in stacks:
        _show_stack(stack, console, stack.name if len(stacks) > 1 else "")


def _compared(stacks: Sequence[ReplayedStack]) -> str:
    if len(stacks) == 1:
        return f"on {stacks[0].name}"
    return f"on {stacks[0].name} and {stacks[1].name}; difference: {stacks[1].name} less {stacks[0].name}"


def figure_rows(stacks: Sequence[ReplayedStack]) -> Iterator[tuple[str, ...]]:
    """Name and figure of each stack, and their difference; a figure that no stack has is left out."""
    for figure in FIGURES:
        values = [figure.of(stack) for stack in stacks]
        if any(value is not None for value in values):
            change = [figure.shown_difference(stacks)] if len(stacks) > 1 else []
            yield figure.name, *map(figure.shown, values), *change


def trace_notes(reading: TraceReading) -> Iterator[str]:
    """What the reader changed, and the rows that it left out."""
    yield from reading.notes
    if reading.skipped:
        places = "; ".join(f"{p.place}: {p.problem}" for p in reading.problems[:_SHOWN_PROBLEMS])
        more = "; …" if reading.skipped > _SHOWN_PROBLEMS else ""
        yield f"{pluralize(reading.skipped, 'invalid row')} left out: {places}{more}"


def _show_stack(stack: ReplayedStack, console: Console, name: str) -> None:
    where = f"on {name}; " if name else ""
    columns = [Column("jobs", "right"), Column("never", "right"), Column("mean", "right")]
    columns += [Column(p, "right") for p in ("P50", "P90", "P95")]
    console.title("Waits", f"{where}from submission until all pods run")
    console.show(table([Column("team"), *columns], wait_rows(stack.outcome.waits_by_team)))
    if len(by_priority := priorities(stack)) > 1:
        console.show(table([Column("priority"), *columns], wait_rows(by_priority)))
    console.title("Pools", f"{where}allocated: share of GPU hours".strip())
    heads = [Column("pool")]
    heads += [
        Column(head, "right")
        for head in ("nodes", "node h", "allocated", "used", "flaps", "interrupted", "fragmented")
    ]
    console.show(table(heads, map(pool_row, stack.outcome.pools)))
    if stack.policies:
        console.title("Scaling policies", f"{where}{POLICIES_NOTE}")
        heads = [Column("policy"), *(Column(head, "right") for head in POLICY_HEADS)]
        console.show(table(heads, policy_rows(stack.policies)))
    if stack.predicted is not None:
        console.title("Predictions", f"{where}each job from those that had ended before it")
        for line in prediction_lines(stack.predicted):
            console.print_wrapped(line, indent=2)
        heads = [Column("order"), *(Column(head, "right") for head in ORDER_HEADS)]
        console.show(table(heads, order_rows(stack)))
    if stack.mapped.never:
        console.title("Never started", f"{where}not replayed")
        heads = [Column("jobs", "right"), Column("reason", wraps=True), Column("example")]
        rows = [(f"{n.jobs:,}", n.reason, n.example) for n in stack.mapped.never[:_SHOWN_REASONS]]
        console.show(table(heads, rows))
        if (more := len(stack.mapped.never) - _SHOWN_REASONS) > 0:
            console.print_wrapped(f"and {more:,} more reasons; --format json lists all", indent=2)
    for note in (*stack.mapped.notes, *stack.cautions, *cost_notes(stack)):
        console.print_wrapped(note, first="! ", style="yellow", indent=2)


def priorities(stack: ReplayedStack) -> Mapping[str, Waits]:
    """The waits by the name of the priority."""
    waits = stack.outcome.waits_by_priority
    return {priority_name(stack.plan, value): each for value, each in waits.items()}


def cost_notes(stack: ReplayedStack) -> Iterator[str]:
    """Nodes without a known price, and prices of simulated nodes."""
    if stack.plan.bill.simulated:
        yield SIMULATED
    if stack.outcome.cost.unknown:
        yield f"the price of {', '.join(stack.outcome.cost.unknown)} is unknown: no cost is shown"


def wait_rows(waits: Mapping[str, Waits]) -> Iterator[tuple[str, ...]]:
    """Name and waits of each team or priority."""
    for name, each in waits.items():
        times = (each.mean, each.p50, each.p90, each.p95)
        shown = ("-" if time is None else format_seconds(time) for time in times)
        yield name, f"{each.jobs:,}", f"{each.never:,}", *shown


def policy_rows(policies: Mapping[str, Outcome]) -> Iterator[tuple[str, ...]]:
    """Name and figures of each scaling policy."""
    for name, outcome in policies.items():
        waits, cost = outcome.waits, outcome.cost.usd
        yield (
            name,
            f"{waits.never:,}",
            *("-" if time is None else format_seconds(time) for time in (waits.mean, waits.p95)),
            _share(outcome.utilisation),
            f"{outcome.node_hours:,.0f}",
            f"{sum(pool.nodes_started for pool in outcome.pools):,}",
            f"{outcome.flaps:,}",
            "-" if cost is None else usd(cost),
        )


def _accuracy(found: Accuracy, value: str, error: Callable[[float], str]) -> str:
    text = f"{value}: {found.predicted:,} of {pluralize(found.jobs, 'job')} predicted"
    if found.mean_error is not None:
        text += f"; mean absolute error {error(found.mean_error)}"
    if found.covered is not None:
        text += (
            f"; {100 * found.covered:.1f} % inside their interval of {100 * found.coverage:.0f} %"
        )
    return text


def prediction_lines(predicted: PredictedJobs) -> Iterator[str]:
    """How many jobs are predicted, how well, and what the advice to preempt would change."""
    yield _accuracy(predicted.duration, "duration", format_seconds)
    if predicted.utilisation.jobs:
        yield _accuracy(predicted.utilisation, "utilisation", lambda e: f"{100 * e:.1f} points")
    if not predicted.waited and not predicted.preemptions:
        yield "preemption advice: none, because no job waited for one of lower priority"
        return
    yield (
        f"preemption advice: {predicted.advised:,} of {pluralize(predicted.waited, 'job')} that waited while jobs "
        f"of lower priority had quota should preempt them, and {predicted.preemptions_advised:,} of "
        f"{pluralize(predicted.preemptions, 'preemption')} by Kueue of jobs of lower priority are advised"
    )


def order_rows(stack: ReplayedStack) -> Iterator[tuple[str, ...]]:
    """The outcome in the order of the stack, and with priority classes by predicted duration."""
    sides = (("of the stack", stack.outcome), ("shortest predicted first", stack.shortest_first))
    for name, outcome in sides:
        if outcome is not None:
            waits = (outcome.waits.mean, outcome.waits.p50, outcome.waits.p95)
            yield (
                name,
                *("-" if time is None else format_seconds(time) for time in waits),
                f"{outcome.evictions:,}",
                f"{outcome.lost_gpu_hours:,.0f}",
                f"{outcome.node_hours:,.0f}",
            )


def pool_row(pool: PoolOutcome) -> tuple[str, ...]:
    """The cells of a pool."""
    used = None if pool.used_gpu_hours is None else _ratio(pool.used_gpu_hours, pool.gpu_hours)
    shares = (_share(pool.utilisation), _share(used))
    return (
        pool.pool,
        f"{pool.max_nodes:,}",
        f"{pool.node_hours:,.0f}",
        *shares,
        f"{pool.flaps:,}",
        f"{pool.interruptions:,}",
        _share(pool.fragmentation),
    )


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def show_invalid_trace(file: str, error: InvalidTrace, console: Console) -> None:
    """Show every problem of a trace: its line and column, what is allowed, and what to do."""
    for problem in error.problems:
        place = ", ".join(filter(None, (file, problem.place)))
        console.print_wrapped(
            f"{place}: {problem.problem}", first="error   ", style=STYLES[Severity.ERROR]
        )
        for name, text in (
            ("given", problem.given),
            ("allowed", problem.allowed),
            ("fix", problem.fix),
        ):
            if text:
                console.print_wrapped(text, first=name.ljust(_LABEL), style="dim", indent=8)
    console.print()
    show_verdict("rejected", f"{file}: {pluralize(len(error.problems), 'problem')}", console)
