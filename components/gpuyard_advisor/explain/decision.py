"""The decision: queue, quota, nodes, in the order of a cluster."""

from dataclasses import replace

from gpuyard.plan.queueing import multikueue
from gpuyard.plan.records import NamespacePlan, PlatformPlan, TeamPlan
from gpuyard.plan.sharing.dra import quota_key
from gpuyard_advisor.explain.messages import cautions, dispatch, namespace, nodes, policy, queue
from gpuyard_advisor.explain.namespace import (
    apply_namespace_quota,
    excess,
    in_namespace,
    quota_violation,
    rejected_container,
)
from gpuyard_advisor.explain.outcome import Excess, JobOutcome, impossible, waiting
from gpuyard_advisor.explain.placing import place_on_nodes
from gpuyard_advisor.explain.records import Verdict
from gpuyard_advisor.explain.replicas import simulate_replicas
from gpuyard_advisor.explain.workload import evaluate_workload
from gpuyard_advisor.scheduler.flavors import ConsideredPool, requests_with_quota
from gpuyard_advisor.scheduler.model import SchedulerModel
from gpuyard_advisor.scheduler.nodes import missing_resources, planned_node_resources
from gpuyard_advisor.scheduler.requests import PodSet, Request
from gpuyard_advisor.scheduler.selectors import accepts, labels_of, untolerated


def evaluate_job(
    desk: SchedulerModel, team: TeamPlan | None, request: Request, priority: int
) -> JobOutcome:
    """Evaluate a job that is submitted now. The scheduler model does not change."""
    if why := _rejection(desk, request):
        return impossible(why)
    if team is None:
        return explain_unqueued(desk, request)
    if request.queue_label and request.queue_label not in team.queues:
        return impossible(queue.no_queue(request.queue_label, team))
    if not request.queue_label and not team.has_default:
        return explain_missing_queue_label(desk, team, request)
    outcome = _queued(desk, team, request, priority)
    if team.stop_policy:
        outcome = _stopped(desk, team, outcome)
    alone = request.kind == "Pod" and outcome.waiting_meanwhile == queue.job_stays_queued()
    return replace(outcome, waiting_meanwhile=queue.pod_stays_queued()) if alone else outcome


def _queued(desk: SchedulerModel, team: TeamPlan, request: Request, priority: int) -> JobOutcome:
    """Evaluate the job's queue and namespace."""
    if (
        too_large := rejected_container(
            team.namespace_or_default(request.namespace), request.pod_sets
        )
    ) is not None:
        return too_large
    if not request.is_gang:
        return simulate_replicas(desk, team, request, priority)
    outcome = evaluate_workload(desk, team, request.pod_sets, priority)
    return _in_namespace(desk, team, request, outcome)


_MADE_AT_ONCE = frozenset({"Pod", "StatefulSet"})
"""Kinds whose pods exist before admission by Kueue, so the namespace's quota counts them from the start."""


def _in_namespace(
    desk: SchedulerModel, team: TeamPlan, request: Request, outcome: JobOutcome
) -> JobOutcome:
    """Apply the namespace's ResourceQuota to the outcome."""
    if request.kind not in _MADE_AT_ONCE:
        return apply_namespace_quota(desk, team, request, outcome)
    if outcome.verdict is Verdict.NEVER:
        return outcome
    home = team.namespace_or_default(request.namespace)
    if result := excess(desk, team, home, ((p.requests, p.count) for p in request.pod_sets)):
        full = quota_violation(team, home, result)
        is_rejected_pod = request.kind == "Pod" and not result.is_permanent
        return (
            replace(full, waiting_meanwhile=namespace.rejected_pod_not_queued())
            if is_rejected_pod
            else full
        )
    return _as_bare_pod(desk, team, request, outcome) if request.kind == "Pod" else outcome


def _rejection(desk: SchedulerModel, request: Request) -> str:
    """Why the API server rejects it, or why it is not dispatched; "" otherwise."""
    if request.rejection:
        return policy.requests_rejected(request.rejection)
    is_not_sent = desk.plan.queueing.dispatch and request.kind not in multikueue.KINDS
    return dispatch.kind_not_dispatched(request.kind) if is_not_sent else ""


def _stopped(desk: SchedulerModel, team: TeamPlan, outcome: JobOutcome) -> JobOutcome:
    """A stopped queue admits no job."""
    if outcome.verdict is Verdict.NEVER:
        return outcome
    message, conditions = (
        queue.queue_is_stopped(desk.plan, team),
        queue.when_stop_policy_removed(desk.plan, team),
    )
    return waiting(outcome, message, conditions, queue.job_stays_queued())


def _as_bare_pod(
    desk: SchedulerModel, team: TeamPlan, request: Request, outcome: JobOutcome
) -> JobOutcome:
    """A pod exists while it is pending, so it is rejected when it exceeds the namespace's quota."""
    home = team.namespace_or_default(request.namespace)
    for resource, amount in requests_with_quota(request.pod_sets[0].requests).items():
        hard = team.hard.get(quota_key(resource), amount)
        result = Excess(resource, amount, _in_use(desk, team, home, resource), hard)
        if result.amount_to_release > 0:
            message = namespace.over_resource_quota(home, result)
            first = namespace.when_pods_have_ended(team, home, result)
            return waiting(
                outcome,
                message,
                outcome.conditions or (first,),
                namespace.rejected_pod_not_queued(),
            )
    return outcome


def _in_use(desk: SchedulerModel, team: TeamPlan, home: NamespacePlan, resource: str) -> int:
    """Usage of the namespace: by quota, or by pods where quota counts compute slices."""
    jobs = in_namespace(desk, team, home)
    if resource not in desk.plan.queueing.slices_of:
        return sum(n for job in jobs for (_, r), n in job.uses.items() if r == resource)
    pods = (p for job in jobs for p in job.pods)
    return sum(p.requests.get(resource, 0) * p.count for p in pods)


def explain_unqueued(desk: SchedulerModel, request: Request, whose: str = "") -> JobOutcome:
    """The outcome of a job that Kueue ignores, so that only taints apply."""
    if desk.plan.queueing.dispatch:
        return impossible(dispatch.unqueued_job_not_dispatched(whose, request.namespace))
    homes: dict[int, str | None] = {}
    reasons: list[ConsideredPool] = []
    for index, pods in enumerate(request.pod_sets):
        counted_requests = requests_with_quota(pods.requests)
        homes[index] = None
        for pool in desk.plan.pools if counted_requests else ():
            why = _keeps_off(desk.plan, pool.name, pods)
            reasons.append(
                ConsideredPool(pool.name, not why, why or "the pods tolerate its taints")
            )
            if not why:
                homes[index] = pool.name
                break
        if counted_requests and homes[index] is None:
            whose = whose or queue.namespace_without_team(request.namespace)
            message = queue.rejected_without_queue(whose, reasons[0].pool, reasons[0].reason)
            return impossible(message, reasons=tuple(dict.fromkeys(reasons)))
    outcome = place_on_nodes(desk, request.pod_sets, homes)
    pools = tuple(dict.fromkeys(p for p in homes.values() if p))
    return replace(
        outcome,
        pools=pools,
        reasons=tuple(dict.fromkeys(reasons)),
        cautions=(*outcome.cautions, cautions.bypasses_queues_without_team(request.namespace)),
    )


def explain_missing_queue_label(
    desk: SchedulerModel, team: TeamPlan, request: Request
) -> JobOutcome:
    """The outcome in a team without a default queue, where Kueue ignores a job without a label."""
    result = explain_unqueued(desk, request, queue.queue_label_missing(team))
    if result.verdict is Verdict.NEVER:
        return result
    return replace(
        result, cautions=(*result.cautions[:-1], cautions.bypasses_queues_without_label(team))
    )


def _keeps_off(plan: PlatformPlan, name: str, pods: PodSet) -> str:
    pool = plan.pool(name)
    if short := missing_resources(planned_node_resources(plan, pool), pods.requests):
        return nodes.pod_exceeds_node_capacity(plan, name, pods, short)
    if taint := untolerated(pool.taints, pods.tolerations):
        return f"its nodes have the taint {taint}, which the pods do not tolerate"
    match, about = accepts(labels_of(plan, pool), pods.selector, pods.terms)
    return f"its nodes do not have {about}" if match is False else ""
