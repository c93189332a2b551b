"""Limits of a team's namespace beside GPUs: a ResourceQuota for all pods, a LimitRange for a container.

Kueue knows the LimitRange, and holds a job whose container is too large. It knows nothing of the
ResourceQuota: what exceeds that is admitted, and then some of its pods are never made. Of pods that run
already, those are counted that stand in pools.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gpuyard.explain.outcome import Excess, JobOutcome, never, unstarted
from gpuyard.explain.records import Verdict
from gpuyard.explain.sentences import namespace
from gpuyard.manifests.quantities import CPU, GIB, MEMORY, MILLI, PODS
from gpuyard.plan.records import HostAmount, LimitsPlan, NamespacePlan, TeamPlan
from gpuyard.scheduler.desk import Desk, Running
from gpuyard.scheduler.nodes import with_itself
from gpuyard.scheduler.requests import PodSet, Request


def hard_of(limits: LimitsPlan) -> dict[str, int]:
    """What the quota of the namespace holds beside GPUs."""
    return {**_host(limits), PODS: limits.pods}


def largest_container(limits: LimitsPlan) -> dict[str, int]:
    """What one container may have."""
    return _host(limits.container)


def _host(of: HostAmount | LimitsPlan) -> dict[str, int]:
    return {CPU: of.cpu * MILLI, MEMORY: of.memory_gib * GIB}


def refused_container(home: NamespacePlan, pod_sets: Iterable[PodSet]) -> JobOutcome | None:
    """A job with a container that is larger than any may be."""
    most = largest_container(home.limits)
    for pods in pod_sets:
        for resource, amount in pods.largest.items() if pods.count else ():
            if amount > most[resource]:
                says = namespace.container_too_large(home, resource, amount, most[resource])
                return never(says)
    return None


def excess(
    desk: Desk,
    team: TeamPlan,
    home: NamespacePlan,
    pods: Iterable[tuple[Mapping[str, int], int]],
) -> Excess | None:
    """The first of CPU, memory and number of pods that is too much for the namespace."""
    wanted = _sum(pods)
    there = _sum((p.requests, p.count) for job in in_namespace(desk, team, home) for p in job.pods)
    for resource, hard in hard_of(home.limits).items():
        asks, has = wanted.get(resource, 0), there.get(resource, 0)
        if asks and asks + has > hard:
            return Excess(resource, asks, has, hard)
    return None


def in_namespace(desk: Desk, team: TeamPlan, home: NamespacePlan) -> list[Running]:
    """Jobs of the team that are in one of its namespaces."""
    return [job for job in desk.jobs if job.team == team.name and team.space(job.namespace) == home]


def _sum(pods: Iterable[tuple[Mapping[str, int], int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for requests, count in pods:
        for resource, amount in with_itself(requests).items():
            total[resource] = total.get(resource, 0) + amount * count
    return total


def within(desk: Desk, team: TeamPlan, request: Request, outcome: JobOutcome) -> JobOutcome:
    """A job that its queue lets go, when the namespace does not hold all of its pods."""
    if not outcome.admitted:
        return outcome
    after = desk.without(outcome.gone) if outcome.gone else desk
    home = team.space(request.namespace)
    found = excess(after, team, home, ((p.requests, p.count) for p in request.pod_sets))
    if found is None or (outcome.verdict is Verdict.NEVER and not found.for_good):
        return outcome
    meanwhile = "" if found.for_good else namespace.unmade(desk.plan)
    full = kept_out(team, home, found)
    return unstarted(
        outcome,
        verdict=full.verdict,
        says=full.says,
        conditions=full.conditions,
        meanwhile=meanwhile,
        beyond=full.beyond,
    )


def kept_out(team: TeamPlan, home: NamespacePlan, found: Excess) -> JobOutcome:
    """Pods that are not made: for now, or for good."""
    says = namespace.over_namespace(home, found)
    if found.for_good:
        return replace(never(says), beyond=(found.resource, found.asks))
    return JobOutcome(
        verdict=Verdict.WAITS,
        says=says,
        meanwhile=namespace.made_later(),
        conditions=(namespace.own_end_first(team, home, found),),
    )
