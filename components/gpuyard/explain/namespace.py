"""Limits of a team's namespace beside GPUs: a ResourceQuota for all pods, a LimitRange for a container.

Kueue knows the LimitRange, and holds a job whose container is too large. It knows nothing of the
ResourceQuota: what exceeds that is admitted, and then some of its pods are never made. Of pods that run
already, those are counted that stand in pools.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gpuyard.explain.messages import namespace
from gpuyard.explain.outcome import Excess, JobOutcome, impossible, not_started
from gpuyard.explain.records import Verdict
from gpuyard.manifests.quantities import CPU, GIB, MEMORY, MILLI, PODS
from gpuyard.plan.records import HostAmount, LimitsPlan, NamespacePlan, TeamPlan
from gpuyard.scheduler.model import RunningJob, SchedulerModel
from gpuyard.scheduler.nodes import with_own_pod
from gpuyard.scheduler.requests import PodSet, Request


def quota_hard_limits(limits: LimitsPlan) -> dict[str, int]:
    """What the quota of the namespace holds beside GPUs."""
    return {**_host(limits), PODS: limits.pods}


def largest_container(limits: LimitsPlan) -> dict[str, int]:
    """What one container may have."""
    return _host(limits.container)


def _host(of: HostAmount | LimitsPlan) -> dict[str, int]:
    return {CPU: of.cpu * MILLI, MEMORY: of.memory_gib * GIB}


def rejected_container(home: NamespacePlan, pod_sets: Iterable[PodSet]) -> JobOutcome | None:
    """A job with a container that is larger than any may be."""
    most = largest_container(home.limits)
    for pods in pod_sets:
        for resource, amount in pods.largest.items() if pods.count else ():
            if amount > most[resource]:
                message = namespace.container_too_large(home, resource, amount, most[resource])
                return impossible(message)
    return None


def excess(
    desk: SchedulerModel,
    team: TeamPlan,
    home: NamespacePlan,
    pods: Iterable[tuple[Mapping[str, int], int]],
) -> Excess | None:
    """The first of CPU, memory and number of pods that is too much for the namespace."""
    requests = _sum(pods)
    usage = _sum((p.requests, p.count) for job in in_namespace(desk, team, home) for p in job.pods)
    for resource, hard in quota_hard_limits(home.limits).items():
        asks, has = requests.get(resource, 0), usage.get(resource, 0)
        if asks and asks + has > hard:
            return Excess(resource, asks, has, hard)
    return None


def in_namespace(desk: SchedulerModel, team: TeamPlan, home: NamespacePlan) -> list[RunningJob]:
    """Jobs of the team that are in one of its namespaces."""
    return [job for job in desk.jobs if job.team == team.name and team.space(job.namespace) == home]


def _sum(pods: Iterable[tuple[Mapping[str, int], int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for requests, count in pods:
        for resource, amount in with_own_pod(requests).items():
            total[resource] = total.get(resource, 0) + amount * count
    return total


def apply_namespace_quota(
    desk: SchedulerModel, team: TeamPlan, request: Request, outcome: JobOutcome
) -> JobOutcome:
    """A job that its queue lets go, when the namespace does not hold all of its pods."""
    if not outcome.admitted:
        return outcome
    after = desk.without(outcome.preempted) if outcome.preempted else desk
    home = team.space(request.namespace)
    result = excess(after, team, home, ((p.requests, p.count) for p in request.pod_sets))
    if result is None or (outcome.verdict is Verdict.NEVER and not result.is_permanent):
        return outcome
    meanwhile = "" if result.is_permanent else namespace.unmade(desk.plan)
    full = quota_violation(team, home, result)
    return not_started(
        outcome,
        verdict=full.verdict,
        message=full.message,
        conditions=full.conditions,
        waiting_meanwhile=meanwhile,
        excess=full.excess,
    )


def quota_violation(team: TeamPlan, home: NamespacePlan, result: Excess) -> JobOutcome:
    """Pods that are not made: for now, or for good."""
    message = namespace.over_namespace(home, result)
    if result.is_permanent:
        return replace(impossible(message), excess=(result.resource, result.requested))
    return JobOutcome(
        verdict=Verdict.WAITS,
        message=message,
        waiting_meanwhile=namespace.made_later(),
        conditions=(namespace.own_end_first(team, home, result),),
    )
