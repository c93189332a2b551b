"""Workloads of Kueue, all pods or none: quota first, then nodes or places."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpuyard.explain.messages import cautions, dispatch, places, queue
from gpuyard.explain.outcome import JobOutcome, impossible
from gpuyard.explain.placing import place_on_nodes
from gpuyard.explain.preemption import PreemptionResult, simulate_preemption
from gpuyard.explain.records import Preempted, Verdict
from gpuyard.plan.records import DispatchPlan, PlatformPlan, TeamPlan
from gpuyard.scheduler.flavors import (
    Assignment,
    AssignmentMode,
    ConsideredPool,
    SearchKey,
    assign,
    counted,
    is_stopped,
    placed_always,
)
from gpuyard.scheduler.model import RunningJob, SchedulerModel
from gpuyard.scheduler.preemption_rules import target_jobs
from gpuyard.scheduler.requests import PodSet, Request, group_error, group_pod_sets


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
        return impossible(places.not_taken(wrong))
    if homeless := _without_flavor(desk.plan, team, pod_sets):
        return impossible(places.without_flavor(homeless))
    result = assign(desk, team, pod_sets, priority)
    outcomes = [_assigned(desk, team, pod_sets, priority, result)]
    tried: list[Mapping[SearchKey, int]] = []
    while _looks_on(desk.plan, outcomes[-1]) and result.attempts and result.attempts not in tried:
        tried.append(result.attempts)  # its queue looks at the pools that are left
        result = assign(desk, team, pod_sets, priority, result.attempts)
        outcomes.append(_assigned(desk, team, pod_sets, priority, result))
    best = min(outcomes, key=lambda o: (not o.admitted, o.verdict is Verdict.NEVER))
    if best.unplaced and best.verdict is Verdict.NEVER and not desk.is_empty:
        alone = evaluate_workload(desk.with_all_capacity(), team, pod_sets, priority)
        if alone.verdict is Verdict.STARTS:  # in a pool whose quota others have now
            best = replace(
                best,
                verdict=Verdict.WAITS,
                conditions=(places.elsewhere_first(alone.pools),),
                waiting_meanwhile=queue.queued(),
            )
    named = {r.pool for r in best.reasons}
    reasons = (r for outcome in outcomes for r in _as_seen(outcome) if r.pool not in named)
    return replace(best, reasons=(*dict.fromkeys(reasons), *best.reasons))


def _looks_on(plan: PlatformPlan, outcome: JobOutcome) -> bool:
    """Whether its queue looks at the pools that are left: not while an autoscaler is asked."""
    waits_for_answer = outcome.unplaced and any(plan.pool(p).provisioning for p in outcome.pools)
    return not outcome.admitted and not waits_for_answer


def _as_seen(outcome: JobOutcome) -> Iterator[ConsideredPool]:
    """Why each pool is not taken, also for want of a place."""
    for reason in outcome.reasons:
        unplaced = outcome.unplaced and reason.pool in outcome.pools
        yield replace(reason, is_chosen=False, reason=outcome.message) if unplaced else reason


def _without_flavor(
    plan: PlatformPlan, team: TeamPlan, pod_sets: tuple[PodSet, ...]
) -> PodSet | None:
    """Pods that are to be placed, and ask for nothing that leads their queue to a pool with a topology."""
    for members in group_pod_sets(pod_sets):
        if any(counted(pod_sets[i].requests) for i in members):
            continue
        if any(pod_sets[i].topology_request for i in members) or placed_always(plan, team):
            return pod_sets[members[0]]
    return None


def _assigned(
    desk: SchedulerModel,
    team: TeamPlan,
    pod_sets: tuple[PodSet, ...],
    priority: int,
    result: Assignment,
) -> JobOutcome:
    """What comes of one assignment of pools."""
    if result.unknown:
        return impossible(
            queue.unknown_resource(desk.plan, team, result.unknown),
            reasons=queue.without(desk.plan, team, result.unknown),
            assignment=result,
        )
    pools = tuple(dict.fromkeys(p for chosen in result.pools.values() for p in chosen))
    if any(len(chosen) > 1 for chosen in result.pools.values()):
        return impossible(
            queue.two_pools(pools), pools=pools, reasons=result.reasons, assignment=result
        )
    if result.mode is AssignmentMode.NEVER:
        return impossible(queue.no_pool(result), reasons=result.reasons, assignment=result)
    preemption = simulate_preemption(desk, team.name, pod_sets, priority, result)
    result = preemption.found
    if result.mode is not AssignmentMode.FIT and not result.targets and not preemption.never:
        return _without_quota(desk, team, pod_sets, result, pools)
    preempted = target_jobs(result.targets)
    fits = result.mode is AssignmentMode.FIT
    preempts = tuple(
        Preempted(j.name, str(j.team), places.for_its_place(why) if fits else why)
        for j, why in result.targets
    )
    after = desk.without(preempted) if preempted else desk
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
    """What is to be said of others, where it has no place."""
    if not outcome.unplaced or outcome.verdict is Verdict.NEVER:
        return outcome
    if preemption.not_evaluated:
        return replace(outcome, cautions=(cautions.may_evict(preemption.not_evaluated),))
    if preemption.still_short and not preemption.never:  # else the nodes are not as planned
        return replace(outcome, message=places.nobody_gives_way(outcome.message))
    return outcome


def _without_quota(
    desk: SchedulerModel,
    team: TeamPlan,
    pod_sets: tuple[PodSet, ...],
    result: Assignment,
    pools: tuple[str, ...],
) -> JobOutcome:
    """Its queue has too little for it now, or may not use what it has."""
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
        conditions=(*queue.pools_released(desk.plan, stopped), *queue.shortage(desk, team, result)),
        waiting_meanwhile=queue.queued(),
        reasons=result.reasons,
        assignment=result,
    )


def dispatched_elsewhere(
    desk: SchedulerModel, plan: DispatchPlan, pod_sets: tuple[PodSet, ...]
) -> JobOutcome:
    """Quota is all that is decided here; another cluster takes the job, or lets it wait."""
    return JobOutcome(
        verdict=Verdict.STARTS,
        message=dispatch.sent(plan.names),
        pods_started=sum(p.count for p in pod_sets),
        conditions=(dispatch.admitted_there(plan.names),),
        free_capacity=desk.rooms,
    )


def admit(
    desk: SchedulerModel, team: str, request: Request, outcome: JobOutcome, priority: int
) -> None:
    """Let a job that starts run on this desk, whose pre-empted jobs are gone already."""
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
