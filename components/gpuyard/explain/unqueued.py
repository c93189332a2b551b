"""Jobs that no queue sees, which only taints keep away from nodes."""

from dataclasses import replace

from gpuyard.explain.outcome import JobOutcome, never
from gpuyard.explain.placing import on_nodes
from gpuyard.explain.records import Verdict
from gpuyard.explain.sentences import cautions, dispatch, nodes, queue
from gpuyard.plan.records import PlatformPlan, TeamPlan
from gpuyard.scheduler.desk import Desk
from gpuyard.scheduler.flavors import (
    Considered,
    counted,
)
from gpuyard.scheduler.nodes import lacking, node_of
from gpuyard.scheduler.requests import PodSet, Request
from gpuyard.scheduler.selectors import accepts, labels_of, untolerated


def unqueued(desk: Desk, request: Request, whose: str = "") -> JobOutcome:
    """A job that no queue sees: Kueue leaves it alone, and only taints keep it away."""
    if desk.plan.queueing.dispatch:
        return never(dispatch.sent_by_nobody(whose, request.namespace))
    homes: dict[int, str | None] = {}
    reasons: list[Considered] = []
    for index, pods in enumerate(request.pod_sets):
        wanted = counted(pods.requests)
        homes[index] = None
        for pool in desk.plan.pools if wanted else ():
            why = _keeps_off(desk.plan, pool.name, pods)
            reasons.append(Considered(pool.name, not why, why or "it bears the taints"))
            if not why:
                homes[index] = pool.name
                break
        if wanted and homes[index] is None:
            whose = whose or queue.of_no_team(request.namespace)
            says = queue.outsider(whose, reasons[0].pool, reasons[0].why)
            return never(says, reasons=tuple(dict.fromkeys(reasons)))
    outcome = on_nodes(desk, request.pod_sets, homes)
    pools = tuple(dict.fromkeys(p for p in homes.values() if p))
    return replace(
        outcome,
        pools=pools,
        reasons=tuple(dict.fromkeys(reasons)),
        cautions=(*outcome.cautions, cautions.past_the_queues(request.namespace)),
    )


def in_no_queue(desk: Desk, team: TeamPlan, request: Request) -> JobOutcome:
    """A team without a queue for jobs that name none: Kueue leaves such a job alone."""
    found = unqueued(desk, request, queue.without_label(team))
    if found.verdict is Verdict.NEVER:
        return found
    return replace(found, cautions=(*found.cautions[:-1], cautions.past_its_queues(team)))


def _keeps_off(plan: PlatformPlan, name: str, pods: PodSet) -> str:
    pool = plan.pool(name)
    if short := lacking(node_of(plan, pool), pods.requests):
        return nodes.lacks(plan, name, pods, short)
    if taint := untolerated(pool.taints, pods.tolerations):
        return f"its nodes have the taint {taint}, which the pods do not tolerate"
    met, about = accepts(labels_of(plan, pool), pods.selector, pods.terms)
    return f"its nodes do not have {about}" if met is False else ""
