"""The outcome of a trace as one HTML page: figures, utilisation and waits as charts with their tables."""

from collections.abc import Iterator, Mapping, Sequence

from gpuyard_advisor.cli.views.report.html import (
    Cell,
    Element,
    bar,
    el,
    fold,
    legend,
    section,
    svg,
    table,
)
from gpuyard_advisor.cli.views.report.page import figure_list, html_page
from gpuyard_advisor.cli.views.times import format_seconds
from gpuyard_advisor.cli.views.whatif.figures import FIGURES, ReplayedStack
from gpuyard_advisor.cli.views.whatif.text import (
    ORDER_HEADS,
    POLICIES_NOTE,
    POLICY_HEADS,
    cost_notes,
    figure_rows,
    order_rows,
    policy_rows,
    pool_row,
    prediction_lines,
    priorities,
    trace_notes,
    wait_rows,
)
from gpuyard_advisor.replay.accounts import PoolOutcome, Waits
from gpuyard_advisor.traces import TraceReading
from gpuyard_core.terminal.text import pluralize

_WIDTH, _HEIGHT = 420.0, 120.0
_LEFT, _BOTTOM, _TOP = 44.0, 18.0, 6.0
_INTERVALS = 96
"""Intervals of a chart and rows of its table, at most."""
_KEY_FIGURES = ("utilisation", "wait_p95_seconds", "cost_usd", "jobs_never_started", "preemptions")
_WAIT_HEADS = ("jobs", "never started", "mean", "P50", "P90", "P95")
_POOL_HEADS = (
    "pool",
    "most nodes",
    "node hours",
    "allocated",
    "used",
    "flaps",
    "interrupted",
    "fragmented",
)


def whatif_page(file: str, reading: TraceReading, stacks: Sequence[ReplayedStack]) -> str:
    """The page of one stack, or of two side by side."""
    names = " and ".join(stack.name for stack in stacks)
    text = (
        f"{pluralize(len(reading.jobs), 'job')} of {file} ({reading.format}), submitted in "
        f"{format_seconds(reading.jobs[-1].submitted_seconds)}, replayed on {names}"
    )
    title = f"{file} on {names}"
    header = el("header", None, el("h1", None, title), el("p", None, text))
    return html_page(
        f"{title}: what if",
        header,
        figure_list(_key_figures(stacks)),
        [*_sections(reading, stacks)],
        "Made by gpuyard whatif. The figures are those of a simulation.",
    )


def _key_figures(stacks: Sequence[ReplayedStack]) -> Iterator[tuple[str, str]]:
    for figure in FIGURES:
        if figure.key in _KEY_FIGURES:
            shown = [figure.shown(figure.of(stack)) for stack in stacks]
            change = f"|{shown[0]} on {stacks[0].name}" if len(stacks) > 1 else ""
            yield figure.name, f"{shown[-1]}{change}"


def _sections(reading: TraceReading, stacks: Sequence[ReplayedStack]) -> Iterator[Element]:
    heads = ["", *(stack.name for stack in stacks), *(["difference"] if len(stacks) > 1 else [])]
    note = f"A difference is {stacks[1].name} less {stacks[0].name}." if len(stacks) > 1 else ""
    figures = table("Key figures", heads, figure_rows(stacks), range(1, len(heads)))
    yield section("figures", "Figures", note, _warnings(trace_notes(reading)), figures)
    parts = [part for stack in stacks for part in _use(stack, stacks)]
    key = legend(("full", "allocated GPUs"), ("none", "free GPUs of ready nodes"))
    yield section("use", "Utilisation", "Mean of each interval.", key, *parts)
    parts = [part for stack in stacks for part in _waits(stack, stacks)]
    key = legend(("full", "P50"), ("lent", "from P50 to P95"))
    note = "From the submission of a job until all its pods run."
    yield section("waits", "Waits", note, key, *parts)
    compared = [stack for stack in stacks if stack.policies]
    if compared:
        heads = ["policy", *POLICY_HEADS]
        tables = [
            table(f"Policies on {s.name}", heads, policy_rows(s.policies), range(1, len(heads)))
            for s in compared
        ]
        note = f"{POLICIES_NOTE[0].upper()}{POLICIES_NOTE[1:]}."
        yield section("policies", "Scaling policies", note, *tables)
    parts = [part for stack in stacks for part in _predictions(stack)]
    if parts:
        note = "Each job from those that had ended before its submission."
        yield section("predictions", "Predictions", note, *parts)
    never = [part for stack in stacks for part in _never(stack, stacks)]
    if never:
        yield section("never", "Jobs that never started", "They are not replayed.", *never)


def _of(stack: ReplayedStack, stacks: Sequence[ReplayedStack]) -> str:
    return f" on {stack.name}" if len(stacks) > 1 else ""


def _warnings(notes: Iterator[str]) -> Element | None:
    items = [el("li", None, note) for note in notes]
    return el("ul", {"class": "warnings"}, *items) if items else None


def _use(stack: ReplayedStack, stacks: Sequence[ReplayedStack]) -> Iterator[Element | None]:
    rows = map(pool_row, stack.outcome.pools)
    yield table(f"Pools{_of(stack, stacks)}", _POOL_HEADS, rows, range(1, len(_POOL_HEADS)))
    yield _warnings(iter([*stack.mapped.notes, *stack.cautions, *cost_notes(stack)]))
    charts = [_pool_chart(pool, _of(stack, stacks)) for pool in stack.outcome.pools if pool.hours]
    yield el("div", {"class": "cards"}, *charts)


def _pool_chart(pool: PoolOutcome, where: str) -> Element:
    """Allocated and free GPUs over time, and the same figures as a table."""
    intervals = _intervals(pool)
    most = max((ready for _, _, ready in intervals), default=0.0) or 1.0
    title = f"GPUs of pool {pool.pool}{where}"
    width = (_WIDTH - _LEFT) / len(intervals)
    floor = _HEIGHT - _BOTTOM
    scale = (floor - _TOP) / most
    bars: list[Element] = []
    for place, (_, allocated, ready) in enumerate(intervals):
        x = _LEFT + place * width
        for style, low, high in (("full", 0.0, allocated), ("none", allocated, ready)):
            if high > low:
                y = floor - high * scale
                size = {"x": x, "y": y, "width": width, "height": (high - low) * scale}
                bars.append(el("rect", {"class": style, **size}))
    last = intervals[-1][0]
    marks = [
        el("text", {"class": "tiny", "x": 0, "y": _TOP + 8}, f"{most:,.4g}"),
        el("text", {"class": "tiny", "x": 0, "y": floor}, "0 GPUs"),
        el("text", {"class": "tiny", "x": _LEFT, "y": _HEIGHT - 4}, "hour 0"),
        el("text", {"class": "ink", "x": _WIDTH - 30, "y": _HEIGHT - 4}, f"hour {last:,}"),
    ]
    drawn = svg(title, f"{title} by hours since the start", (_WIDTH, _HEIGHT), *bars, *marks)
    rows = [(f"{hour:,}", f"{a:,.1f}", f"{ready:,.1f}") for hour, a, ready in intervals]
    data = table(title, ("from hour", "allocated", "ready"), rows, (0, 1, 2))
    caption = el("figcaption", None, title)
    return el("div", {"class": "card"}, el("figure", None, drawn, caption), fold("Figures", data))


def _intervals(pool: PoolOutcome) -> list[tuple[int, float, float]]:
    """First hour, and mean allocated and ready GPUs, of each interval from the start to the last hour."""
    last = pool.hours[-1].hour
    hours = -(-(last + 1) // _INTERVALS)
    sums = [[0.0, 0.0] for _ in range(last // hours + 1)]
    for each in pool.hours:
        sums[each.hour // hours][0] += each.allocated_gpu_hours
        sums[each.hour // hours][1] += each.gpu_hours
    return [(n * hours, a / hours, ready / hours) for n, (a, ready) in enumerate(sums)]


def _waits(stack: ReplayedStack, stacks: Sequence[ReplayedStack]) -> Iterator[Element]:
    outcome, where = stack.outcome, _of(stack, stacks)
    scale = max((each.p95 or 0.0 for s in stacks for each in _every_wait(s)), default=0.0)
    yield _wait_table(f"Waits by team{where}", "team", outcome.waits_by_team, scale)
    if len(by_priority := priorities(stack)) > 1:
        yield _wait_table(f"Waits by priority{where}", "priority", by_priority, scale)


def _every_wait(stack: ReplayedStack) -> Iterator[Waits]:
    yield from stack.outcome.waits_by_team.values()
    yield from stack.outcome.waits_by_priority.values()


def _wait_table(caption: str, kind: str, waits: Mapping[str, Waits], scale: float) -> Element:
    rows: list[Sequence[Cell]] = [
        (name, _wait_bar(waits[name], scale), *figures) for name, *figures in wait_rows(waits)
    ]
    return table(caption, (kind, "P50 and P95", *_WAIT_HEADS), rows, range(2, 8))


def _wait_bar(waits: Waits, scale: float) -> Element:
    middle, high = waits.p50 or 0.0, waits.p95 or 0.0
    return bar([("full", middle), ("lent", max(0.0, high - middle))], scale)


def _predictions(stack: ReplayedStack) -> Iterator[Element]:
    if stack.predicted is not None:
        for line in prediction_lines(stack.predicted):
            yield el("p", None, f"{stack.name}: {line}")
        heads = ["order", *ORDER_HEADS]
        yield table(f"Order on {stack.name}", heads, order_rows(stack), range(1, len(heads)))


def _never(stack: ReplayedStack, stacks: Sequence[ReplayedStack]) -> Iterator[Element]:
    if stack.mapped.never:
        rows = [(each.reason, f"{each.jobs:,}", each.example) for each in stack.mapped.never]
        yield table(f"Reasons{_of(stack, stacks)}", ("reason", "jobs", "example"), rows, (1,))
