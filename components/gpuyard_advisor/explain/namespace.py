"""Limits of a team's namespace besides GPUs: a ResourceQuota for all pods, a LimitRange for a container.

Kueue considers the LimitRange, and does not admit a job with a too large container. It ignores the
ResourceQuota: a job above it is admitted, and some of its pods are never created. Of running pods, those in
pools are counted.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gpuyard.plan.records import CpuAndMemory, LimitsPlan, NamespacePlan, TeamPlan
from gpuyard_advisor.explain.messages import namespace
from gpuyard_advisor.explain.outcome import Excess, JobOutcome, impossible, not_started
from gpuyard_advisor.explain.records import Verdict
from gpuyard_advisor.scheduler.model import RunningJob, SchedulerModel
from gpuyard_advisor.scheduler.nodes import with_pods_resource
from gpuyard_advisor.scheduler.requests import PodSet, Request
from gpuyard_core.manifests.quantities import CPU, GIB, MEMORY, MILLI, PODS


def quota_hard_limits(limits: LimitsPlan) -> dict[str, int]:
    """The ResourceQuota of the namespace besides GPUs."""
    return {**_host(limits), PODS: limits.pods}


def largest_container(limits: LimitsPlan) -> dict[str, int]:
    """Maximum resources of one container."""
    return _host(limits.container)


def _host(of: CpuAndMemory | LimitsPlan) -> dict[str, int]:
    return {CPU: of.cpu * MILLI, MEMORY: of.memory_gib * GIB}


def rejected_container(home: NamespacePlan, pod_sets: Iterable[PodSet]) -> JobOutcome | None:
    """The outcome of a job with a container above the LimitRange."""
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
    """The first of CPU, memory and pods that exceeds the namespace's quota."""
    requests = _sum(pods)
    usage = _sum((p.requests, p.count) for job in in_namespace(desk, team, home) for p in job.pods)
    for resource, hard in quota_hard_limits(home.limits).items():
        asks, has = requests.get(resource, 0), usage.get(resource, 0)
        if asks and asks + has > hard:
            return Excess(resource, asks, has, hard)
    return None


def in_namespace(desk: SchedulerModel, team: TeamPlan, home: NamespacePlan) -> list[RunningJob]:
    """Running jobs of the team in this namespace."""
    return [
        job
        for job in desk.jobs
        if job.team == team.name and team.namespace_or_default(job.namespace) == home
    ]


def _sum(pods: Iterable[tuple[Mapping[str, int], int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for requests, count in pods:
        for resource, amount in with_pods_resource(requests).items():
            total[resource] = total.get(resource, 0) + amount * count
    return total


def apply_namespace_quota(
    desk: SchedulerModel, team: TeamPlan, request: Request, outcome: JobOutcome
) -> JobOutcome:
    """The outcome of an admitted job whose pods exceed the namespace's quota."""
    if not outcome.admitted:
        return outcome
    after = desk.without_jobs(outcome.preempted) if outcome.preempted else desk
    home = team.namespace_or_default(request.namespace)
    result = excess(after, team, home, ((p.requests, p.count) for p in request.pod_sets))
    if result is None or (outcome.verdict is Verdict.NEVER and not result.is_permanent):
        return outcome
    meanwhile = "" if result.is_permanent else namespace.gang_partly_rejected(desk.plan)
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
    """Pods that cannot be created, now or ever."""
    message = namespace.total_over_resource_quota(home, result)
    if result.is_permanent:
        return replace(impossible(message), excess=(result.resource, result.requested))
    return JobOutcome(
        verdict=Verdict.WAITS,
        message=message,
        waiting_meanwhile=namespace.rejected_pods_are_retried(),
        conditions=(namespace.when_usage_is_released(team, home, result),),
    )
