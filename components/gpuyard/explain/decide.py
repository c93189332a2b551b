"""The decision: queue, quota, nodes, in the order in which a cluster takes them."""

from dataclasses import replace

from gpuyard.explain.namespace import excess, in_namespace, kept_out, refused_container, within
from gpuyard.explain.outcome import Excess, JobOutcome, held_back, never
from gpuyard.explain.records import Verdict
from gpuyard.explain.replicas import one_by_one
from gpuyard.explain.sentences import dispatch, namespace, policy, queue
from gpuyard.explain.unqueued import in_no_queue, unqueued
from gpuyard.explain.workload import decide_workload
from gpuyard.plan.queueing import multikueue
from gpuyard.plan.records import NamespacePlan, TeamPlan
from gpuyard.plan.sharing.dra import quota_key
from gpuyard.scheduler.desk import Desk
from gpuyard.scheduler.flavors import counted
from gpuyard.scheduler.requests import Request


def decide(desk: Desk, team: TeamPlan | None, request: Request, priority: int) -> JobOutcome:
    """What happens when this job is submitted now. The desk stays as it was."""
    if why := _refused(desk, request):
        return never(why)
    if team is None:
        return unqueued(desk, request)
    if request.queue_label and request.queue_label not in team.queues:
        return never(queue.no_queue(request.queue_label, team))
    if not request.queue_label and not team.has_default:
        return in_no_queue(desk, team, request)
    outcome = _queued(desk, team, request, priority)
    if team.stop:
        outcome = _stopped(desk, team, outcome)
    alone = request.kind == "Pod" and outcome.meanwhile == queue.queued()
    return replace(outcome, meanwhile=queue.queued_as_a_pod()) if alone else outcome


def _queued(desk: Desk, team: TeamPlan, request: Request, priority: int) -> JobOutcome:
    """What its queue and its namespace make of a job."""
    if (
        too_large := refused_container(team.space(request.namespace), request.pod_sets)
    ) is not None:
        return too_large
    if not request.together:
        return one_by_one(desk, team, request, priority)
    outcome = decide_workload(desk, team, request.pod_sets, priority)
    return _in_namespace(desk, team, request, outcome)


_MADE_AT_ONCE = frozenset({"Pod", "StatefulSet"})
"""Kinds whose pods exist before Kueue admits them: the namespace's quota counts them from the start."""


def _in_namespace(desk: Desk, team: TeamPlan, request: Request, outcome: JobOutcome) -> JobOutcome:
    """The same when also the namespace's own quota has had its say."""
    if request.kind not in _MADE_AT_ONCE:
        return within(desk, team, request, outcome)
    if outcome.verdict is Verdict.NEVER:
        return outcome
    home = team.space(request.namespace)
    if found := excess(desk, team, home, ((p.requests, p.count) for p in request.pod_sets)):
        full = kept_out(team, home, found)
        lost = request.kind == "Pod" and not found.for_good
        return replace(full, meanwhile=namespace.not_even_queued()) if lost else full
    return _as_bare_pod(desk, team, request, outcome) if request.kind == "Pod" else outcome


def _refused(desk: Desk, request: Request) -> str:
    """Why nobody takes it at all: not the API server, or nobody who would send it where it runs."""
    if request.refused:
        return policy.refused(request.refused)
    kept = desk.plan.queueing.dispatch and request.kind not in multikueue.KINDS
    return dispatch.not_sent(request.kind) if kept else ""


def _stopped(desk: Desk, team: TeamPlan, outcome: JobOutcome) -> JobOutcome:
    """A stopped queue admits nothing, whatever it could."""
    if outcome.verdict is Verdict.NEVER:
        return outcome
    says, conditions = queue.stopped(desk.plan, team), queue.released(desk.plan, team)
    return held_back(outcome, says, conditions, queue.queued())


def _as_bare_pod(desk: Desk, team: TeamPlan, request: Request, outcome: JobOutcome) -> JobOutcome:
    """A pod waits inside: what is too much for its namespace, with all that waits there, is refused."""
    home = team.space(request.namespace)
    for resource, amount in counted(request.pod_sets[0].requests).items():
        hard = team.hard.get(quota_key(resource), amount)
        found = Excess(resource, amount, _in_use(desk, team, home, resource), hard)
        if found.lacking > 0:
            says = namespace.over_resource_quota(home, found)
            first = namespace.own_pods_first(team, home, found)
            return held_back(
                outcome, says, outcome.conditions or (first,), namespace.not_even_queued()
            )
    return outcome


def _in_use(desk: Desk, team: TeamPlan, home: NamespacePlan, resource: str) -> int:
    """What pods of the namespace hold: by quota, or by pods where quota is of compute slices."""
    jobs = in_namespace(desk, team, home)
    if resource not in desk.plan.queueing.slices_of:
        return sum(n for job in jobs for (_, r), n in job.uses.items() if r == resource)
    pods = (p for job in jobs for p in job.pods)
    return sum(p.requests.get(resource, 0) * p.count for p in pods)
