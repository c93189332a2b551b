"""One cycle of Kueue's scheduler: the heads of all queues, by fair share (Kueue v0.19, scheduler.go).

What each head needs is decided with the state before the cycle. It is admitted, or preempts others,
with the quota that heads before it have left.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gpuyard.spec.queueing import Preemption
from gpuyard_advisor.replay.jobs import Rank
from gpuyard_advisor.scheduler.flavors import Assignment, AssignmentMode
from gpuyard_advisor.scheduler.model import RunningJob, SchedulerModel, take_usage
from gpuyard_advisor.scheduler.preemption_rules import target_jobs
from gpuyard_advisor.scheduler.quotas import CohortNode, Quotas, Uses


@dataclass(frozen=True, slots=True)
class QueueHead:
    """The first job of a queue, and the queue's decision about it."""

    team: str
    job: int
    shape: int
    assignment: Assignment
    rank: Rank
    """Its order without other criteria."""


@dataclass(slots=True)
class CycleResult:
    """The decisions of a cycle."""

    admitted: list[QueueHead] = field(default_factory=list[QueueHead])
    preempting: list[tuple[QueueHead, tuple[RunningJob, ...]]] = field(
        default_factory=list[tuple[QueueHead, tuple[RunningJob, ...]]]
    )
    """Heads that wait for the eviction of others."""
    outranked: list[QueueHead] = field(default_factory=list[QueueHead])
    """Heads whose quota another head of this cycle took: they are retried immediately."""
    impossible: list[QueueHead] = field(default_factory=list[QueueHead])
    """Heads that cannot be admitted now."""


def cycle(desk: SchedulerModel, heads: Iterable[QueueHead]) -> CycleResult:
    """Decide on these heads. The quota of admitted ones is taken; everything else is unchanged."""
    quotas = desk.quotas
    remaining = _in_order(desk, heads)
    verdicts = CycleResult()
    leaving: list[RunningJob] = []
    taken: list[tuple[str, Uses]] = []
    """Quota reserved until the end of the cycle for heads that wait for evictions."""
    while remaining:
        head = _next(desk, remaining)
        targets = target_jobs(head.assignment.targets)
        if head.assignment.mode is not AssignmentMode.FIT and not targets:
            verdicts.impossible.append(head)
            taken += _reserved(desk, head)
        elif {id(job) for job in targets} & {id(job) for job in leaving} or not _fits(
            quotas, head, (*leaving, *targets)
        ):
            verdicts.outranked.append(head)
        else:
            quotas.take(head.team, head.assignment.uses)
            leaving += targets
            if targets:
                taken.append((head.team, head.assignment.uses))
                verdicts.preempting.append((head, targets))
            else:
                verdicts.admitted.append(head)
    for team, uses in taken:
        quotas.take(team, uses, -1)
    return verdicts


def _in_order(desk: SchedulerModel, heads: Iterable[QueueHead]) -> list[QueueHead]:
    """Without fair sharing: by distance of the quota in the tree before the cycle, priority, age; last first."""
    results = [*heads]
    if desk.plan.queueing.fair_sharing or len(results) < 2:  # noqa: PLR2004  one head has no order
        return results
    find = desk.quotas.find_lowest_fitting_subtree

    def order(head: QueueHead) -> tuple[int, Rank]:
        uses = head.assignment.uses.items()
        return max((find(head.team, key, n)[0] for key, n in uses), default=0), head.rank

    return sorted(results, key=order, reverse=True)


def _next(desk: SchedulerModel, remaining: list[QueueHead]) -> QueueHead:
    """Remove and return the next head."""
    if not desk.plan.queueing.fair_sharing or len(remaining) == 1:
        return remaining.pop()
    stands = {head.team: _cohort_shares(desk.quotas, head) for head in remaining}
    head = _fairest(desk.quotas.root, {head.team: head for head in remaining}, stands)
    assert head is not None  # noqa: S101  every queue is below the root
    remaining.remove(head)
    return head


def _cohort_shares(quotas: Quotas, head: QueueHead) -> dict[str, tuple[bool, float]]:
    """For each cohort above a head, with its job counted: whether its branch borrows, and its share."""
    results: dict[str, tuple[bool, float]] = {}
    uses = head.assignment.uses
    quotas.take(head.team, uses)
    node = quotas.queues[head.team]
    for cohort in node.ancestors:
        borrows = any(node.borrows(key) for key in uses)
        results[cohort.name] = (borrows, quotas.dominant_resource_share(node))
        node = cohort
    quotas.take(head.team, uses, -1)
    return results


def _fairest(
    cohort: CohortNode,
    heads: Mapping[str, QueueHead],
    stands: Mapping[str, Mapping[str, tuple[bool, float]]],
) -> QueueHead | None:
    """The winner of each cohort competes with the queues of its parent (fair_sharing_iterator.go)."""
    below = (_fairest(one, heads, stands) for one in cohort.cohorts)
    mine = (heads.get(queue.name) for queue in cohort.queues)
    return min(
        (head for head in (*below, *mine) if head is not None),
        key=lambda head: (*stands[head.team][cohort.name], *head.rank),
        default=None,
    )


def _fits(quotas: Quotas, head: QueueHead, leavers: Sequence[RunningJob]) -> bool:
    """Whether the quota is sufficient without these jobs."""
    leaving = {id(job): job for job in leavers}.values()
    take_usage(quotas, leaving, -1)
    fits = all(n <= quotas.available(head.team, key) for key, n in head.assignment.uses.items())
    take_usage(quotas, leaving)
    return fits


def _reserved(desk: SchedulerModel, head: QueueHead) -> list[tuple[str, Uses]]:
    """A job within its guarantee that may not evict others reserves the free part for the cycle."""
    quotas, team, uses = desk.quotas, head.team, head.assignment.uses
    entitled = all(
        n <= quotas.nominal(team, key) or quotas.find_lowest_fitting_subtree(team, key, n)[1]
        for key, n in uses.items()
    )
    if (
        desk.plan.queueing.preemption is Preemption.RECLAIM
        or head.assignment.mode is AssignmentMode.NEVER
        or not entitled
    ):
        return []
    reserved = {key: min(n, quotas.team_headroom(team, key)) for key, n in uses.items()}
    quotas.take(team, reserved)
    return [(team, reserved)]
