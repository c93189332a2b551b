"""What becomes of jobs whose nodes go, and how much of their work."""

from collections.abc import Iterator

from gpuyard.cli.terminal.console import Console
from gpuyard.cli.terminal.text import many
from gpuyard.plan.records import PlatformPlan, PoolInterruption


def show_interruption(plan: PlatformPlan, console: Console) -> None:
    """A line for pools of which the same is to be said; nothing where no node goes under a job."""
    alike: dict[str, list[str]] = {}
    for each in plan.interruption.pools if plan.interruption else ():
        alike.setdefault("; ".join(_said(each)), []).append(each.pool)
    for how, pools in alike.items():
        console.tell(f"{', '.join(pools)}: {how}", first="goes      ", style="dim", indent=2)


def _said(pool: PoolInterruption) -> Iterator[str]:
    ways = ", ".join(pool.ways)
    yield f"a gang that loses a node{f' ({ways})' if ways else ''} queues again as a whole"
    if pool.notice_seconds is None:
        return
    yield f"a spot notice leaves it {many(pool.notice_seconds, 'second')}"
    if pool.loss is None:
        yield "what it loses is not known (queueing.interruption)"
    elif not pool.loss.worst_minutes:
        yield "it saves then, and nothing is lost"
    else:
        lost = pool.loss
        yield (
            f"{lost.expected_minutes:.0f} minutes are lost as expected, {lost.worst_minutes:.0f} at worst:"
            f" {lost.expected_gpu_hours:,.1f} GPU hours of {many(lost.gpus, 'GPU')}"
        )
