"""The answer about one job: the decision, and what would change it."""

from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

from gpuyard import names
from gpuyard.catalogue.kubernetes.api import changes_jobs
from gpuyard.explain.changes import homes, nearest_changes, pins
from gpuyard.explain.decide import decide
from gpuyard.explain.fabric import beside_the_fabric
from gpuyard.explain.outcome import JobOutcome
from gpuyard.explain.policy import PolicyAnswer, ask_policy
from gpuyard.explain.records import Explanation, JobChange, Verdict
from gpuyard.explain.sentences import cautions, namespace, queue
from gpuyard.explain.workload import commit
from gpuyard.manifests.workloads import JobRead
from gpuyard.plan.queueing.waiting import compared
from gpuyard.plan.records import PlatformPlan, TeamPlan, within_reach
from gpuyard.plan.sharing.by_gke import shared_names
from gpuyard.scheduler.desk import EMPTY, Desk, PlatformState
from gpuyard.scheduler.flavors import counted
from gpuyard.scheduler.nodes import is_known, lacking, node_of
from gpuyard.scheduler.requests import Request, request_of

BUILT_IN_PRIORITIES = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
"""Priority classes that every cluster has
(https://kubernetes.io/docs/tasks/administer-cluster/guaranteed-scheduling-critical-addon-pods/)."""


def explain(
    plan: PlatformPlan, job: JobRead, state: PlatformState = EMPTY, team: str | None = None
) -> Explanation:
    """Would this job start now; by default nobody else is there."""
    home = team_of(plan, job.namespace, team)
    here = home.space(job.namespace).limits if home else None
    request = judged(plan, request_of(job, here, _shared(plan, home)))
    desk = Desk(plan, state)
    priority, said = _priority(plan, request, home)
    policy = PolicyAnswer() if request.refused else ask_policy(plan, home, job)
    said = (*said, *policy.cautions)
    if policy.outcome is not None and not policy.wants_queue:
        return _record(desk, request, home, _beside(policy.outcome, said))
    outcome = policy.outcome or decide(desk, home, request, priority)

    def starts(changed: Request) -> bool:
        return decide(desk, home, changed, priority).verdict is Verdict.STARTS

    def could_start(changed: Request) -> bool:
        return decide(desk.at_best(), home, changed, priority).verdict is Verdict.STARTS

    def starts_for(other: TeamPlan) -> bool:
        moved = replace(job, namespace=other.home.name)
        there = request_of(moved, other.home.limits, _shared(plan, other))
        return decide(desk, other, there, priority).verdict is Verdict.STARTS

    said = (*said, *beside_the_fabric(plan, job, request, outcome))
    changes: tuple[JobChange, ...] = ()
    if outcome.verdict is Verdict.NEVER:
        changes = nearest_changes(plan, home, request, starts)
        if home is None:
            changes = changes or homes(plan, starts_for)
        if not changes and not desk.is_empty:
            changes = nearest_changes(plan, home, request, could_start)
    elif outcome.verdict is Verdict.WAITS and home is not None:
        changes = pins(plan, home, request, starts)
    return _record(desk, request, home, _beside(outcome, said), changes)


def judged(plan: PlatformPlan, request: Request) -> Request:
    """The request without what nobody knows of the nodes: it is said, and neither has nor lacks it."""
    asked = {r for pods in request.pod_sets for r, n in pods.requests.items() if n}
    unknown = sorted(r for r in asked if not is_known(plan, r))
    if not unknown:
        return request
    sets = tuple(
        replace(pods, requests={r: n for r, n in pods.requests.items() if r not in unknown})
        for pods in request.pod_sets
    )
    return replace(
        request, pod_sets=sets, cautions=(*request.cautions, cautions.not_judged(unknown))
    )


def team_of(plan: PlatformPlan, namespace: str, team: str | None) -> TeamPlan | None:
    """The team that has the namespace; without a namespace, the team that is named."""
    if namespace:
        return next((t for t in plan.teams if namespace in {s.name for s in t.namespaces}), None)
    return plan.team(team) if team is not None else None


def _shared(plan: PlatformPlan, team: TeamPlan | None) -> frozenset[str]:
    """Names of shares that do not say so, in the pools that the team may use."""
    used = within_reach(team.quotas) if team else ()
    return shared_names(plan.pool(name) for name in used)


def arrive(desk: Desk, job: JobRead, team: TeamPlan) -> bool:
    """Let a team's job start on this desk, as the next to come; says whether it did."""
    limits = team.space(job.namespace).limits
    request = judged(desk.plan, request_of(job, limits, _shared(desk.plan, team)))
    if ask_policy(desk.plan, team, job).outcome is not None:
        return False
    priority, _ = _priority(desk.plan, request, team)
    outcome = decide(desk, team, request, priority)
    if outcome.verdict is not Verdict.STARTS or outcome.preempts:
        return False
    commit(desk, team.name, request, outcome, priority)
    return True


def _priority(
    plan: PlatformPlan, request: Request, team: TeamPlan | None
) -> tuple[int, tuple[str, ...]]:
    """What the job's priority is worth to Kueue, and what is not known of it."""
    ours = {p.name: p.value for p in plan.queueing.priorities}
    given = team.priority if team is not None and changes_jobs(plan.kubernetes) else None
    if request.priority_label or given:
        known, name = ours, request.priority_label or str(given)
    else:
        known, name = BUILT_IN_PRIORITIES, request.priority_class
    if name in known:
        return known[name], ()
    if name:
        return 0, (cautions.unknown_priority(name),)
    if team is not None and team.priority is not None:
        return 0, (cautions.priority_by_label_only(team),)
    return 0, ()


def _use(desk: Desk, team: TeamPlan | None, outcome: JobOutcome) -> tuple[str, ...]:
    """Where use is counted between a team's queues, it decides who is first and who is evicted."""
    counted = [t.name for t in compared(desk.plan)]
    evicted = {p.team for p in outcome.preempts}
    said: list[str] = []
    if team is not None and team.name in counted and (desk.state.waiting or team.name in evicted):
        said.append(cautions.use_orders(team.name))
    return (*said, *(cautions.use_evicts(name) for name in counted if name in evicted))


def _beside(outcome: JobOutcome, cautions: tuple[str, ...]) -> JobOutcome:
    """The same with more to be said beside it."""
    return replace(outcome, cautions=(*outcome.cautions, *cautions))


def _stack_change(desk: Desk, request: Request, team: TeamPlan | None, outcome: JobOutcome) -> str:
    """What would do in the stack file; "" when nothing that is counted there is missing."""
    if team is None:
        return ""
    if outcome.beyond is not None:
        return namespace.more_for_namespace(desk.plan, team, *outcome.beyond)
    if outcome.verdict is not Verdict.NEVER or outcome.assignment is None:
        return ""
    pools = {pool for pool, _ in outcome.assignment.uses}
    if not _has_nodes_for(desk.plan, request, pools):
        return ""
    return queue.stack_change(desk.plan, desk, team, outcome.assignment)


def _has_nodes_for(plan: PlatformPlan, request: Request, named: AbstractSet[str]) -> bool:
    """Whether a node of these pools, or of any, is large enough for each pod: else no quota helps."""
    nodes = [node_of(plan, p) for p in plan.pools if p.name in named or not named]
    with_gpus = (pods for pods in request.pod_sets if counted(pods.requests))
    return all(any(not _larger(plan, pods.requests, node) for node in nodes) for pods in with_gpus)


def _larger(plan: PlatformPlan, requests: Mapping[str, int], node: Mapping[str, int]) -> list[str]:
    return [name for name in lacking(node, requests) if is_known(plan, name)]


def _record(
    desk: Desk,
    request: Request,
    team: TeamPlan | None,
    outcome: JobOutcome,
    changes: tuple[JobChange, ...] = (),
) -> Explanation:
    asks: Counter[str] = Counter()
    for pods in request.pod_sets:
        asks.update({r: n * pods.count for r, n in pods.requests.items() if r not in pods.unsaid})
    others = (cautions.others_wait(desk.state.waiting),) if desk.state.waiting else ()
    waiting = (*others, *_use(desk, team, outcome))
    local_queue = request.queue_label or names.LOCAL_QUEUE
    queued = team is not None and local_queue in team.queues
    return Explanation(
        kind=request.kind,
        name=request.name,
        team=team.name if team else None,
        namespace=request.namespace or (team.home.name if team else ""),
        queue=local_queue if queued else None,
        verdict=outcome.verdict,
        says=outcome.says,
        admitted=outcome.admitted,
        pools=outcome.pools,
        asks={r: n for r, n in sorted(asks.items()) if n},
        pods=sum(p.count for p in request.pod_sets),
        pods_started=outcome.pods_started,
        nodes=outcome.nodes,
        nodes_to_start=outcome.nodes_to_start,
        conditions=outcome.conditions,
        meanwhile=outcome.meanwhile,
        preempts=outcome.preempts,
        reasons=outcome.reasons,
        cautions=(*request.cautions, *outcome.cautions, *waiting),
        changes=changes,
        stack_change=_stack_change(desk, request, team, outcome),
    )
