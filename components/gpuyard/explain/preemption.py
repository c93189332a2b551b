"""Preemption for a topology placement: quota is or becomes available, but no topology domain has capacity.

As in Kueue v0.19: a job with quota and without placement (`flavorassigner.go`) may preempt as if quota were
missing, if it fits on an empty platform; jobs are preempted until quota and placement are both available
(`workloadFits` in `preemption.go`). With an admission check of an autoscaler, placements are searched only
after its answer, and no job is preempted for one.
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
"""Maximum number of preemption candidates: nodes are searched once for each."""


@dataclass(frozen=True, slots=True)
class PreemptionResult:
    """An assignment whose preemptions free a placement as well as quota."""

    found: Assignment
    still_short: bool = False
    """Whether there is no placement even after all possible preemptions."""
    never_fits: bool = False
    """Whether there is no placement on an empty platform either."""
    not_evaluated: int = 0
    """Number of running jobs when preemption was not simulated."""


def _is_tied(pool: PoolPlan) -> bool:
    return pool.topology is not None and not pool.provisioning


def simulate_preemption(
    desk: SchedulerModel, team: str, pod_sets: tuple[PodSet, ...], priority: int, result: Assignment
) -> PreemptionResult:
    """Choose preemptions also by placement; without a topology the assignment does not change."""
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
        return fits_on_nodes(desk.without_jobs(tuple(removed)), pod_sets, homes, tied=True)

    if result.mode is AssignmentMode.FIT and place(()):
        return PreemptionResult(result)
    if not place([job for job in desk.jobs if job.team is not None]):
        return PreemptionResult(replace(result, targets=[]), still_short=True, never_fits=True)
    if plan.queueing.preemption is not Preemption.RECLAIM:
        return PreemptionResult(result)
    suggestions = [job for job in desk.jobs if any(key[0] in tied for key in job.uses)]
    if len(suggestions) > MAX_JOBS:
        return PreemptionResult(result, not_evaluated=len(suggestions))
    short = {key for key in result.uses if key[0] in tied} | {key for key, _ in result.shortfall}
    wish = QuotaRequest(team, result.uses, priority, frozenset(short), place)
    chosen = preemption_targets(desk.quotas, desk.jobs, wish, fair=plan.queueing.fair_sharing)
    return PreemptionResult(replace(result, targets=chosen), still_short=not chosen)
