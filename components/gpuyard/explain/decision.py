"""The decision: queue, quota, nodes, in the order in which a cluster takes them."""

from dataclasses import replace

from gpuyard.explain.messages import dispatch, namespace, policy, queue
from gpuyard.explain.namespace import (
    apply_namespace_quota,
    excess,
    in_namespace,
    quota_violation,
    rejected_container,
)
from gpuyard.explain.outcome import Excess, JobOutcome, impossible, waiting
from gpuyard.explain.records import Verdict
from gpuyard.explain.replicas import simulate_replicas
from gpuyard.explain.unqueued import explain_unqueued, in_no_queue
from gpuyard.explain.workload import evaluate_workload
from gpuyard.plan.queueing import multikueue
from gpuyard.plan.records import NamespacePlan, TeamPlan
from gpuyard.plan.sharing.dra import quota_key
from gpuyard.scheduler.flavors import counted
from gpuyard.scheduler.model import SchedulerModel
from gpuyard.scheduler.requests import Request


def evaluate_job(
    desk: SchedulerModel, team: TeamPlan | None, request: Request, priority: int
) -> JobOutcome:
    """What happens when this job is submitted now. The desk stays as it was."""
    if why := _refused(desk, request):
        return impossible(why)
    if team is None:
        return explain_unqueued(desk, request)
    if request.queue_label and request.queue_label not in team.queues:
        return impossible(queue.no_queue(request.queue_label, team))
    if not request.queue_label and not team.has_default:
        return in_no_queue(desk, team, request)
    outcome = _queued(desk, team, request, priority)
    if team.stop_policy:
        outcome = _stopped(desk, team, outcome)
    alone = request.kind == "Pod" and outcome.waiting_meanwhile == queue.queued()
    return replace(outcome, waiting_meanwhile=queue.queued_as_a_pod()) if alone else outcome


def _queued(desk: SchedulerModel, team: TeamPlan, request: Request, priority: int) -> JobOutcome:
    """What its queue and its namespace make of a job."""
    if (
        too_large := rejected_container(team.space(request.namespace), request.pod_sets)
    ) is not None:
        return too_large
    if not request.together:
        return simulate_replicas(desk, team, request, priority)
    outcome = evaluate_workload(desk, team, request.pod_sets, priority)
    return _in_namespace(desk, team, request, outcome)


_MADE_AT_ONCE = frozenset({"Pod", "StatefulSet"})
"""Kinds whose pods exist before Kueue admits them: the namespace's quota counts them from the start."""


def _in_namespace(
    desk: SchedulerModel, team: TeamPlan, request: Request, outcome: JobOutcome
) -> JobOutcome:
    """The same when also the namespace's own quota has had its say."""
    if request.kind not in _MADE_AT_ONCE:
        return apply_namespace_quota(desk, team, request, outcome)
    if outcome.verdict is Verdict.NEVER:
        return outcome
    home = team.space(request.namespace)
    if result := excess(desk, team, home, ((p.requests, p.count) for p in request.pod_sets)):
        full = quota_violation(team, home, result)
        is_rejected_pod = request.kind == "Pod" and not result.is_permanent
        return (
            replace(full, waiting_meanwhile=namespace.not_even_queued())
            if is_rejected_pod
            else full
        )
    return _as_bare_pod(desk, team, request, outcome) if request.kind == "Pod" else outcome


def _refused(desk: SchedulerModel, request: Request) -> str:
    """Why nobody takes it at all: not the API server, or nobody who would send it where it runs."""
    if request.rejection:
        return policy.refused(request.rejection)
    is_not_sent = desk.plan.queueing.dispatch and request.kind not in multikueue.KINDS
    return dispatch.not_sent(request.kind) if is_not_sent else ""


def _stopped(desk: SchedulerModel, team: TeamPlan, outcome: JobOutcome) -> JobOutcome:
    """A stopped queue admits nothing, whatever it could."""
    if outcome.verdict is Verdict.NEVER:
        return outcome
    message, conditions = queue.stopped(desk.plan, team), queue.released(desk.plan, team)
    return waiting(outcome, message, conditions, queue.queued())


def _as_bare_pod(
    desk: SchedulerModel, team: TeamPlan, request: Request, outcome: JobOutcome
) -> JobOutcome:
    """A pod waits inside: what is too much for its namespace, with all that waits there, is refused."""
    home = team.space(request.namespace)
    for resource, amount in counted(request.pod_sets[0].requests).items():
        hard = team.hard.get(quota_key(resource), amount)
        result = Excess(resource, amount, _in_use(desk, team, home, resource), hard)
        if result.lacking > 0:
            message = namespace.over_resource_quota(home, result)
            first = namespace.own_pods_first(team, home, result)
            return waiting(
                outcome, message, outcome.conditions or (first,), namespace.not_even_queued()
            )
    return outcome


def _in_use(desk: SchedulerModel, team: TeamPlan, home: NamespacePlan, resource: str) -> int:
    """What pods of the namespace hold: by quota, or by pods where quota is of compute slices."""
    jobs = in_namespace(desk, team, home)
    if resource not in desk.plan.queueing.slices_of:
        return sum(n for job in jobs for (_, r), n in job.uses.items() if r == resource)
    pods = (p for job in jobs for p in job.pods)
    return sum(p.requests.get(resource, 0) * p.count for p in pods)
