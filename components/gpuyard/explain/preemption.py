"""Preemption for a place: who must go where quota is free or will be, and no domain of nodes has room.

As Kueue v0.19 does it: when a job that is to be placed has quota and no place (`flavorassigner.go`), it may
pre-empt as if it were short of what it asks for, as long as there would be room with nobody else there; jobs
go until quota and place are both found (`workloadFits` in `preemption.go`). Where an autoscaler is asked
first, places are looked for only after its answer, and nobody goes for one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpuyard.explain.placing import fits_on_nodes
from gpuyard.plan.records import PoolPlan
from gpuyard.scheduler.flavors import Assignment, AssignmentMode
from gpuyard.scheduler.model import RunningJob, SchedulerModel
from gpuyard.scheduler.preemption import QuotaRequest, preemption_targets
from gpuyard.scheduler.requests import PodSet
from gpuyard.spec.queueing import Preemption

MAX_JOBS = 200
"""Nodes are searched once for each job that might go, and for each that is spared: so many at most."""


@dataclass(frozen=True, slots=True)
class PreemptionResult:
    """An assignment whose targets leave a place as well as quota."""

    found: Assignment
    still_short: bool = False
    """Whether there is no place, whoever goes that must."""
    never: bool = False
    """Whether there is none with nobody else there either."""
    not_evaluated: int = 0
    """So many jobs that nobody tried to evict."""


def _is_tied(pool: PoolPlan) -> bool:
    return pool.topology is not None and not pool.provisioning


def simulate_preemption(
    desk: SchedulerModel, team: str, pod_sets: tuple[PodSet, ...], priority: int, result: Assignment
) -> PreemptionResult:
    """Choose whom to evict by place as well; the assignment stays as it is where no place is asked for."""
    plan = desk.plan
    homes = {i: (chosen[0] if chosen else None) for i, chosen in result.pools.items()}
    tied = {p for p in homes.values() if p is not None and _is_tied(plan.pool(p))}
    if (
        not tied
        or plan.queueing.dispatch
        or result.mode in {AssignmentMode.NEVER, AssignmentMode.BLOCKED}
    ):
        return PreemptionResult(result)

    def place(removed: Sequence[RunningJob]) -> bool:
        return fits_on_nodes(desk.without(tuple(removed)), pod_sets, homes, tied=True)

    if result.mode is AssignmentMode.FIT and place(()):
        return PreemptionResult(result)
    if not place([job for job in desk.jobs if job.team is not None]):
        return PreemptionResult(replace(result, targets=[]), still_short=True, never=True)
    if plan.queueing.preemption is not Preemption.RECLAIM:
        return PreemptionResult(result)
    suggestions = [job for job in desk.jobs if any(key[0] in tied for key in job.uses)]
    if len(suggestions) > MAX_JOBS:
        return PreemptionResult(result, not_evaluated=len(suggestions))
    short = {key for key in result.uses if key[0] in tied} | {key for key, _ in result.shortfall}
    wish = QuotaRequest(team, result.uses, priority, frozenset(short), place)
    chosen = preemption_targets(desk.quotas, desk.jobs, wish, fair=plan.queueing.fair_sharing)
    return PreemptionResult(replace(result, targets=chosen), still_short=not chosen)
