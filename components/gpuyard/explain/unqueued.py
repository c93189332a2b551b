"""Jobs that no queue sees, which only taints keep away from nodes."""

from dataclasses import replace

from gpuyard.explain.messages import cautions, dispatch, nodes, queue
from gpuyard.explain.outcome import JobOutcome, impossible
from gpuyard.explain.placing import place_on_nodes
from gpuyard.explain.records import Verdict
from gpuyard.plan.records import PlatformPlan, TeamPlan
from gpuyard.scheduler.flavors import (
    ConsideredPool,
    counted,
)
from gpuyard.scheduler.model import SchedulerModel
from gpuyard.scheduler.nodes import missing_resources, node_of
from gpuyard.scheduler.requests import PodSet, Request
from gpuyard.scheduler.selectors import accepts, labels_of, untolerated


def explain_unqueued(desk: SchedulerModel, request: Request, whose: str = "") -> JobOutcome:
    """A job that no queue sees: Kueue leaves it alone, and only taints keep it away."""
    if desk.plan.queueing.dispatch:
        return impossible(dispatch.sent_by_nobody(whose, request.namespace))
    homes: dict[int, str | None] = {}
    reasons: list[ConsideredPool] = []
    for index, pods in enumerate(request.pod_sets):
        counted_requests = counted(pods.requests)
        homes[index] = None
        for pool in desk.plan.pools if counted_requests else ():
            why = _keeps_off(desk.plan, pool.name, pods)
            reasons.append(ConsideredPool(pool.name, not why, why or "it bears the taints"))
            if not why:
                homes[index] = pool.name
                break
        if counted_requests and homes[index] is None:
            whose = whose or queue.of_no_team(request.namespace)
            message = queue.outsider(whose, reasons[0].pool, reasons[0].reason)
            return impossible(message, reasons=tuple(dict.fromkeys(reasons)))
    outcome = place_on_nodes(desk, request.pod_sets, homes)
    pools = tuple(dict.fromkeys(p for p in homes.values() if p))
    return replace(
        outcome,
        pools=pools,
        reasons=tuple(dict.fromkeys(reasons)),
        cautions=(*outcome.cautions, cautions.past_the_queues(request.namespace)),
    )


def in_no_queue(desk: SchedulerModel, team: TeamPlan, request: Request) -> JobOutcome:
    """A team without a queue for jobs that name none: Kueue leaves such a job alone."""
    result = explain_unqueued(desk, request, queue.without_label(team))
    if result.verdict is Verdict.NEVER:
        return result
    return replace(result, cautions=(*result.cautions[:-1], cautions.past_its_queues(team)))


def _keeps_off(plan: PlatformPlan, name: str, pods: PodSet) -> str:
    pool = plan.pool(name)
    if short := missing_resources(node_of(plan, pool), pods.requests):
        return nodes.lacks(plan, name, pods, short)
    if taint := untolerated(pool.taints, pods.tolerations):
        return f"its nodes have the taint {taint}, which the pods do not tolerate"
    match, about = accepts(labels_of(plan, pool), pods.selector, pods.terms)
    return f"its nodes do not have {about}" if match is False else ""
