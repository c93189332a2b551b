"""Workloads of Kueue, all pods or none: quota first, then nodes or places."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpuyard.explain.making_place import Made, make_place
from gpuyard.explain.outcome import JobOutcome, never
from gpuyard.explain.placing import on_nodes
from gpuyard.explain.records import Preempted, Verdict
from gpuyard.explain.sentences import cautions, dispatch, places, queue
from gpuyard.plan.records import DispatchPlan, PlatformPlan, TeamPlan
from gpuyard.scheduler.desk import Desk, Running
from gpuyard.scheduler.flavors import (
    Assignment,
    Considered,
    Mode,
    SearchKey,
    assign,
    counted,
    is_stopped,
    placed_always,
)
from gpuyard.scheduler.requests import PodSet, Request, grouped, misgrouped
from gpuyard.scheduler.rights import leavers


def decide_workload(
    desk: Desk, team: TeamPlan, pod_sets: tuple[PodSet, ...], priority: int
) -> JobOutcome:
    """One workload of Kueue: all its pods or none."""
    wrong = next((p.near.wrong for p in pod_sets if p.near and p.near.wrong), "")
    if wrong := wrong or misgrouped(pod_sets):
        return never(places.not_taken(wrong))
    if homeless := _without_flavor(desk.plan, team, pod_sets):
        return never(places.without_flavor(homeless))
    found = assign(desk, team, pod_sets, priority)
    outcomes = [_assigned(desk, team, pod_sets, priority, found)]
    tried: list[Mapping[SearchKey, int]] = []
    while _looks_on(desk.plan, outcomes[-1]) and found.tried and found.tried not in tried:
        tried.append(found.tried)  # its queue looks at the pools that are left
        found = assign(desk, team, pod_sets, priority, found.tried)
        outcomes.append(_assigned(desk, team, pod_sets, priority, found))
    best = min(outcomes, key=lambda o: (not o.admitted, o.verdict is Verdict.NEVER))
    if best.unplaced and best.verdict is Verdict.NEVER and not desk.is_empty:
        alone = decide_workload(desk.at_best(), team, pod_sets, priority)
        if alone.verdict is Verdict.STARTS:  # in a pool whose quota others have now
            best = replace(
                best,
                verdict=Verdict.WAITS,
                conditions=(places.elsewhere_first(alone.pools),),
                meanwhile=queue.queued(),
            )
    named = {r.pool for r in best.reasons}
    others = (r for outcome in outcomes for r in _as_seen(outcome) if r.pool not in named)
    return replace(best, reasons=(*dict.fromkeys(others), *best.reasons))


def _looks_on(plan: PlatformPlan, outcome: JobOutcome) -> bool:
    """Whether its queue looks at the pools that are left: not while an autoscaler is asked."""
    waits_for_answer = outcome.unplaced and any(plan.pool(p).provisioning for p in outcome.pools)
    return not outcome.admitted and not waits_for_answer


def _as_seen(outcome: JobOutcome) -> Iterator[Considered]:
    """Why each pool is not taken, also for want of a place."""
    for reason in outcome.reasons:
        unplaced = outcome.unplaced and reason.pool in outcome.pools
        yield replace(reason, taken=False, why=outcome.says) if unplaced else reason


def _without_flavor(
    plan: PlatformPlan, team: TeamPlan, pod_sets: tuple[PodSet, ...]
) -> PodSet | None:
    """Pods that are to be placed, and ask for nothing that leads their queue to a pool with a topology."""
    for members in grouped(pod_sets):
        if any(counted(pod_sets[i].requests) for i in members):
            continue
        if any(pod_sets[i].near for i in members) or placed_always(plan, team):
            return pod_sets[members[0]]
    return None


def _assigned(
    desk: Desk, team: TeamPlan, pod_sets: tuple[PodSet, ...], priority: int, found: Assignment
) -> JobOutcome:
    """What comes of one assignment of pools."""
    if found.unknown:
        return never(
            queue.unknown_resource(desk.plan, team, found.unknown),
            reasons=queue.without(desk.plan, team, found.unknown),
            assignment=found,
        )
    pools = tuple(dict.fromkeys(p for chosen in found.pools.values() for p in chosen))
    if any(len(chosen) > 1 for chosen in found.pools.values()):
        return never(queue.two_pools(pools), pools=pools, reasons=found.reasons, assignment=found)
    if found.mode is Mode.NEVER:
        return never(queue.no_pool(found), reasons=found.reasons, assignment=found)
    made = make_place(desk, team.name, pod_sets, priority, found)
    found = made.found
    if found.mode is not Mode.FIT and not found.targets and not made.never:
        return _without_quota(desk, team, pod_sets, found, pools)
    gone = leavers(found.targets)
    fits = found.mode is Mode.FIT
    preempts = tuple(
        Preempted(j.name, str(j.team), places.for_its_place(why) if fits else why)
        for j, why in found.targets
    )
    after = desk.without(gone) if gone else desk
    homes = {i: (chosen[0] if chosen else None) for i, chosen in found.pools.items()}
    there = desk.plan.queueing.dispatch
    outcome = sent_elsewhere(after, there, pod_sets) if there else on_nodes(after, pod_sets, homes)
    reasons = tuple(replace(r, taken=r.pool in pools) for r in found.reasons)
    return replace(
        _of_place(outcome, made),
        admitted=not outcome.unplaced,
        preempts=() if outcome.unplaced else preempts,
        gone=() if outcome.unplaced else gone,
        reasons=reasons,
        pools=pools,
        assignment=found,
    )


def _of_place(outcome: JobOutcome, made: Made) -> JobOutcome:
    """What is to be said of others, where it has no place."""
    if not outcome.unplaced or outcome.verdict is Verdict.NEVER:
        return outcome
    if made.unjudged:
        return replace(outcome, cautions=(cautions.may_evict(made.unjudged),))
    if made.wanting and not made.never:  # else the nodes are not as planned
        return replace(outcome, says=places.nobody_gives_way(outcome.says))
    return outcome


def _without_quota(
    desk: Desk,
    team: TeamPlan,
    pod_sets: tuple[PodSet, ...],
    found: Assignment,
    pools: tuple[str, ...],
) -> JobOutcome:
    """Its queue has too little for it now, or may not use what it has."""
    stopped = [
        pool
        for index, chosen in found.pools.items()
        for pool in chosen
        if is_stopped(desk.plan, pool, pod_sets[index])
    ]
    return JobOutcome(
        verdict=Verdict.WAITS,
        says=queue.pool_stopped(stopped[0]) if stopped else queue.waits_for_quota(found),
        pools=pools,
        conditions=(*queue.pools_released(desk.plan, stopped), *queue.shortage(desk, team, found)),
        meanwhile=queue.queued(),
        reasons=found.reasons,
        assignment=found,
    )


def sent_elsewhere(desk: Desk, there: DispatchPlan, pod_sets: tuple[PodSet, ...]) -> JobOutcome:
    """Quota is all that is decided here; another cluster takes the job, or lets it wait."""
    return JobOutcome(
        verdict=Verdict.STARTS,
        says=dispatch.sent(there.names),
        pods_started=sum(p.count for p in pod_sets),
        conditions=(dispatch.admitted_there(there.names),),
        rooms=desk.rooms,
    )


def commit(desk: Desk, team: str, request: Request, outcome: JobOutcome, priority: int) -> None:
    """Let a job that starts run on this desk, whose pre-empted jobs are gone already."""
    uses = outcome.assignment.uses if outcome.assignment else {}
    since = 1 + max((j.since for j in desk.jobs), default=0)
    desk.jobs.append(
        Running(
            name=request.name,
            team=team,
            namespace=request.namespace,
            uses=uses,
            pods=outcome.homes,
            priority=priority,
            since=since,
        )
    )
    desk.quotas.take(team, uses)
    desk.rooms = dict(outcome.rooms)
