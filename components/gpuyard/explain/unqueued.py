"""Jobs without a queue, which only taints keep away from nodes."""

from dataclasses import replace

from gpuyard.explain.messages import cautions, dispatch, nodes, queue
from gpuyard.explain.outcome import JobOutcome, impossible
from gpuyard.explain.placing import place_on_nodes
from gpuyard.explain.records import Verdict
from gpuyard.plan.records import PlatformPlan, TeamPlan
from gpuyard.scheduler.flavors import (
    ConsideredPool,
    requests_with_quota,
)
from gpuyard.scheduler.model import SchedulerModel
from gpuyard.scheduler.nodes import missing_resources, planned_node_resources
from gpuyard.scheduler.requests import PodSet, Request
from gpuyard.scheduler.selectors import accepts, labels_of, untolerated


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
