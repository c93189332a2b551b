"""Interruptions: what happens to jobs whose nodes end, and how much work is lost."""

from collections.abc import Iterator

from gpuyard.plan.records import PlatformPlan, PoolInterruption
from gpuyard_core.terminal.console import Console
from gpuyard_core.terminal.text import pluralize


def show_interruption(plan: PlatformPlan, console: Console) -> None:
    """Show a line for all pools with equal text; nothing when no node is interruptible."""
    pools_by_text: dict[str, list[str]] = {}
    for each in plan.interruption.pools if plan.interruption else ():
        pools_by_text.setdefault("; ".join(_messages(each)), []).append(each.pool)
    for how, pools in pools_by_text.items():
        console.print_wrapped(
            f"{', '.join(pools)}: {how}", first="interrupt ", style="dim", indent=2
        )


def _messages(pool: PoolInterruption) -> Iterator[str]:
    ways = ", ".join(pool.capacity_options)
    yield f"a gang that loses a node{f' ({ways})' if ways else ''} is requeued as a whole"
    if pool.notice_seconds is None:
        return
    yield f"spot notice: {pluralize(pool.notice_seconds, 'second')}"
    if pool.loss is None:
        yield "lost work unknown (set queueing.interruption)"
    elif not pool.loss.worst_minutes:
        yield "jobs checkpoint on the notice, so no work is lost"
    else:
        missing = pool.loss
        yield (
            f"lost work: {missing.expected_minutes:.0f} minutes expected, {missing.worst_minutes:.0f} at most:"
            f" {missing.expected_gpu_hours:,.1f} GPU hours of {pluralize(missing.gpus, 'GPU')}"
        )
