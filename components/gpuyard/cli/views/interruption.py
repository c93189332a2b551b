"""What becomes of jobs whose nodes go, and how much of their work."""

from collections.abc import Iterator

from gpuyard.cli.terminal.console import Console
from gpuyard.cli.terminal.text import pluralize
from gpuyard.plan.records import PlatformPlan, PoolInterruption


def show_interruption(plan: PlatformPlan, console: Console) -> None:
    """A line for pools of which the same is to be said; nothing where no node goes under a job."""
    pools_by_text: dict[str, list[str]] = {}
    for each in plan.interruption.pools if plan.interruption else ():
        pools_by_text.setdefault("; ".join(_messages(each)), []).append(each.pool)
    for how, pools in pools_by_text.items():
        console.print_wrapped(
            f"{', '.join(pools)}: {how}", first="goes      ", style="dim", indent=2
        )


def _messages(pool: PoolInterruption) -> Iterator[str]:
    ways = ", ".join(pool.capacity_options)
    yield f"a gang that loses a node{f' ({ways})' if ways else ''} queues again as a whole"
    if pool.notice_seconds is None:
        return
    yield f"a spot notice leaves it {pluralize(pool.notice_seconds, 'second')}"
    if pool.loss is None:
        yield "what it loses is not known (queueing.interruption)"
    elif not pool.loss.worst_minutes:
        yield "it saves then, and nothing is lost"
    else:
        missing = pool.loss
        yield (
            f"{missing.expected_minutes:.0f} minutes are lost as expected, {missing.worst_minutes:.0f} at worst:"
            f" {missing.expected_gpu_hours:,.1f} GPU hours of {pluralize(missing.gpus, 'GPU')}"
        )
