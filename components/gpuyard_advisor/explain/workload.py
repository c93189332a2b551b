"""Workloads of Kueue, all pods or none: quota first, then nodes or places."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpuyard.plan.records import MultiKueuePlan, PlatformPlan, PoolPlan, TeamPlan
from gpuyard.spec.queueing import Preemption
from gpuyard_advisor.explain.messages import cautions, dispatch, places, queue
from gpuyard_advisor.explain.outcome import JobOutcome, impossible
from gpuyard_advisor.explain.placing import fits_on_nodes, place_on_nodes
from gpuyard_advisor.explain.records import Preempted, Verdict
from gpuyard_advisor.scheduler.flavors import (
    Assignment,
    AssignmentMode,
    ConsideredPool,
    SearchKey,
    all_pools_have_topology,
    assign,
    is_stopped,
    requests_with_quota,
)
from gpuyard_advisor.scheduler.model import RunningJob, SchedulerModel
from gpuyard_advisor.scheduler.preemption import QuotaRequest, preemption_targets
from gpuyard_advisor.scheduler.preemption_rules import target_jobs
from gpuyard_advisor.scheduler.requests import PodSet, Request, group_error, group_pod_sets

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


def evaluate_workload(
    desk: SchedulerModel, team: TeamPlan, pod_sets: tuple[PodSet, ...], priority: int
) -> JobOutcome:
    """One workload of Kueue: all its pods or none."""
    wrong = next(
        (
            p.topology_request.error
            for p in pod_sets
            if p.topology_request and p.topology_request.error
        ),
        "",
    )
    if wrong := wrong or group_error(pod_sets):
        return impossible(places.topology_annotations_rejected(wrong))
    if homeless := _without_flavor(desk.plan, team, pod_sets):
        return impossible(places.no_pool_without_gpus(homeless))
    result = assign(desk, team, pod_sets, priority)
    outcomes = [_assigned(desk, team, pod_sets, priority, result)]
    tried: list[Mapping[SearchKey, int]] = []
    while _looks_on(desk.plan, outcomes[-1]) and result.attempts and result.attempts not in tried:
        tried.append(result.attempts)  # its queue considers the remaining pools
        result = assign(desk, team, pod_sets, priority, result.attempts)
        outcomes.append(_assigned(desk, team, pod_sets, priority, result))
    best = min(outcomes, key=lambda o: (not o.admitted, o.verdict is Verdict.NEVER))
    if best.unplaced and best.verdict is Verdict.NEVER and not desk.is_empty:
        alone = evaluate_workload(desk.with_all_capacity(), team, pod_sets, priority)
        if alone.verdict is Verdict.STARTS:  # in a pool whose quota is in use now
            best = replace(
                best,
                verdict=Verdict.WAITS,
                conditions=(places.when_pools_have_quota(alone.pools),),
                waiting_meanwhile=queue.job_stays_queued(),
            )
    named = {r.pool for r in best.reasons}
    reasons = (r for outcome in outcomes for r in _as_seen(outcome) if r.pool not in named)
    return replace(best, reasons=(*dict.fromkeys(reasons), *best.reasons))


def _looks_on(plan: PlatformPlan, outcome: JobOutcome) -> bool:
    """Whether its queue considers the remaining pools: not during an admission check."""
    waits_for_answer = outcome.unplaced and any(plan.pool(p).provisioning for p in outcome.pools)
    return not outcome.admitted and not waits_for_answer


def _as_seen(outcome: JobOutcome) -> Iterator[ConsideredPool]:
    """Why each pool is not used, also without a placement."""
    for reason in outcome.reasons:
        unplaced = outcome.unplaced and reason.pool in outcome.pools
        yield replace(reason, is_chosen=False, reason=outcome.message) if unplaced else reason


def _without_flavor(
    plan: PlatformPlan, team: TeamPlan, pod_sets: tuple[PodSet, ...]
) -> PodSet | None:
    """Pods with topology-aware scheduling that request no resource of a pool with a topology."""
    for members in group_pod_sets(pod_sets):
        if any(requests_with_quota(pod_sets[i].requests) for i in members):
            continue
        if any(pod_sets[i].topology_request for i in members) or all_pools_have_topology(
            plan, team
        ):
            return pod_sets[members[0]]
    return None


def _assigned(
    desk: SchedulerModel,
    team: TeamPlan,
    pod_sets: tuple[PodSet, ...],
    priority: int,
    result: Assignment,
) -> JobOutcome:
    """The outcome of one assignment of pools."""
    if result.unknown:
        return impossible(
            queue.unknown_resource(desk.plan, team, result.unknown),
            reasons=queue.pools_without_resource(desk.plan, team, result.unknown),
            assignment=result,
        )
    pools = tuple(dict.fromkeys(p for chosen in result.pools.values() for p in chosen))
    if any(len(chosen) > 1 for chosen in result.pools.values()):
        return impossible(
            queue.resources_in_different_pools(pools),
            pools=pools,
            reasons=result.reasons,
            assignment=result,
        )
    if result.mode is AssignmentMode.NEVER:
        return impossible(queue.no_pool(result), reasons=result.reasons, assignment=result)
    preemption = simulate_preemption(desk, team.name, pod_sets, priority, result)
    result = preemption.found
    if result.mode is not AssignmentMode.FIT and not result.targets and not preemption.never_fits:
        return _without_quota(desk, team, pod_sets, result, pools)
    preempted = target_jobs(result.targets)
    fits = result.mode is AssignmentMode.FIT
    preempts = tuple(
        Preempted(j.name, str(j.team), places.preempted_for_nodes(why) if fits else why)
        for j, why in result.targets
    )
    after = desk.without_jobs(preempted) if preempted else desk
    homes = {i: (chosen[0] if chosen else None) for i, chosen in result.pools.items()}
    dispatch_plan = desk.plan.queueing.dispatch
    outcome = (
        dispatched_elsewhere(after, dispatch_plan, pod_sets)
        if dispatch_plan
        else place_on_nodes(after, pod_sets, homes)
    )
    reasons = tuple(replace(r, is_chosen=r.pool in pools) for r in result.reasons)
    return replace(
        _of_place(outcome, preemption),
        admitted=not outcome.unplaced,
        preempts=() if outcome.unplaced else preempts,
        preempted=() if outcome.unplaced else preempted,
        reasons=reasons,
        pools=pools,
        assignment=result,
    )


def _of_place(outcome: JobOutcome, preemption: PreemptionResult) -> JobOutcome:
    """Messages about other jobs when there is no placement."""
    if not outcome.unplaced or outcome.verdict is Verdict.NEVER:
        return outcome
    if preemption.not_evaluated:
        return replace(
            outcome, cautions=(cautions.preemption_not_simulated(preemption.not_evaluated),)
        )
    if preemption.still_short and not preemption.never_fits:  # else the nodes differ from the plan
        return replace(outcome, message=places.preemption_is_insufficient(outcome.message))
    return outcome


def _without_quota(
    desk: SchedulerModel,
    team: TeamPlan,
    pod_sets: tuple[PodSet, ...],
    result: Assignment,
    pools: tuple[str, ...],
) -> JobOutcome:
    """The outcome when quota is missing or stopped."""
    stopped = [
        pool
        for index, chosen in result.pools.items()
        for pool in chosen
        if is_stopped(desk.plan, pool, pod_sets[index])
    ]
    return JobOutcome(
        verdict=Verdict.WAITS,
        message=queue.pool_stopped(stopped[0]) if stopped else queue.waits_for_quota(result),
        pools=pools,
        conditions=(
            *queue.when_pool_stops_removed(desk.plan, stopped),
            *queue.when_quota_is_released(desk, team, result),
        ),
        waiting_meanwhile=queue.job_stays_queued(),
        reasons=result.reasons,
        assignment=result,
    )


def dispatched_elsewhere(
    desk: SchedulerModel, plan: MultiKueuePlan, pod_sets: tuple[PodSet, ...]
) -> JobOutcome:
    """The outcome of a dispatched job: only quota is decided here, the worker cluster decides the rest."""
    return JobOutcome(
        verdict=Verdict.STARTS,
        message=dispatch.dispatched_to(plan.names),
        pods_started=sum(p.count for p in pod_sets),
        conditions=(dispatch.when_remote_queue_admits(plan.names),),
        free_capacity=desk.rooms,
    )


def admit(
    desk: SchedulerModel, team: str, request: Request, outcome: JobOutcome, priority: int
) -> None:
    """Add a started job to the scheduler model, after its preempted jobs were removed."""
    uses = outcome.assignment.uses if outcome.assignment else {}
    since = 1 + max((j.since for j in desk.jobs), default=0)
    desk.jobs.append(
        RunningJob(
            name=request.name,
            team=team,
            namespace=request.namespace,
            uses=uses,
            pods=outcome.placed_pods,
            priority=priority,
            since=since,
        )
    )
    desk.quotas.take(team, uses)
    desk.rooms = dict(outcome.free_capacity)


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
