"""The decision: queue, quota, nodes, in the order in which a cluster takes them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from gpuyard.explain.making_place import Made, make_place
from gpuyard.explain.namespace import excess, kept_out, refused_container, within
from gpuyard.explain.outcome import Outcome, held_back, never
from gpuyard.explain.placing import on_nodes
from gpuyard.explain.records import Preempted, Verdict
from gpuyard.explain.sentences import places as near_words
from gpuyard.explain.sentences import quota as words
from gpuyard.plan.queueing.multikueue import KINDS as SENT
from gpuyard.plan.records import DispatchPlan, PlatformPlan, TeamPlan
from gpuyard.plan.sharing.dra import quota_key
from gpuyard.scheduler.desk import EMPTY, Desk, Running
from gpuyard.scheduler.flavors import (
    Assignment,
    Considered,
    Mode,
    Place,
    assign,
    counted,
    is_stopped,
    placed_always,
)
from gpuyard.scheduler.nodes import lacking, node_of
from gpuyard.scheduler.requests import PodSet, Request, grouped, misgrouped
from gpuyard.scheduler.rights import leavers
from gpuyard.scheduler.selectors import accepts, labels_of, untolerated

MAX_REPLICAS = 1000
"""Pods that queue one by one are tried one by one, so many at most."""


def decide(desk: Desk, team: TeamPlan | None, request: Request, priority: int) -> Outcome:
    """What happens when this job is submitted now. The desk stays as it was."""
    if why := _refused(desk, request):
        return never(why)
    if team is None:
        return _unqueued(desk, request)
    if request.queue_label and request.queue_label not in team.queues:
        return never(words.no_queue(request.queue_label, team))
    if not request.queue_label and not team.has_default:
        return _in_no_queue(desk, team, request)
    outcome = _queued(desk, team, request, priority)
    return _stopped(desk, team, outcome) if team.stop else outcome


def _queued(desk: Desk, team: TeamPlan, request: Request, priority: int) -> Outcome:
    """What its queue and its namespace make of a job."""
    if (too_large := refused_container(team, request.pod_sets)) is not None:
        return too_large
    if not request.together:
        return _one_by_one(desk, team, request, priority)
    outcome = _workload(desk, team, request.pod_sets, priority)
    return _in_namespace(desk, team, request, outcome)


_MADE_AT_ONCE = frozenset({"Pod", "StatefulSet"})
"""Kinds whose pods exist before Kueue admits them: the namespace's quota counts them from the start."""


def _in_namespace(desk: Desk, team: TeamPlan, request: Request, outcome: Outcome) -> Outcome:
    """The same when also the namespace's own quota has had its say."""
    if request.kind not in _MADE_AT_ONCE:
        return within(desk, team, request.pod_sets, outcome)
    if outcome.verdict is Verdict.NEVER:
        return outcome
    if found := excess(desk, team, ((p.requests, p.count) for p in request.pod_sets)):
        full = kept_out(team, found)
        lost = request.kind == "Pod" and not found.for_good
        return replace(full, meanwhile=words.not_even_queued()) if lost else full
    return _as_bare_pod(desk, team, request, outcome) if request.kind == "Pod" else outcome


def _refused(desk: Desk, request: Request) -> str:
    """Why nobody takes it at all: not the API server, or nobody who would send it where it runs."""
    if request.refused:
        return words.refused(request.refused)
    kept = desk.plan.queueing.dispatch and request.kind not in SENT
    return words.not_sent(request.kind) if kept else ""


def _stopped(desk: Desk, team: TeamPlan, outcome: Outcome) -> Outcome:
    """A stopped queue admits nothing, whatever it could."""
    if outcome.verdict is Verdict.NEVER:
        return outcome
    says, conditions = words.stopped(desk.plan, team), words.released(desk.plan, team)
    return held_back(outcome, says, conditions, words.queued())


def _as_bare_pod(desk: Desk, team: TeamPlan, request: Request, outcome: Outcome) -> Outcome:
    """A pod without a job cannot wait outside: what is too much for now is refused."""
    for resource, amount in counted(request.pod_sets[0].requests).items():
        hard = team.hard.get(quota_key(resource), amount)
        has = _held(desk, team, resource)
        if has + amount > hard:
            says = words.over_resource_quota(team, resource, (amount, has, hard))
            first = words.own_pods_first(team, resource, has + amount - hard)
            return held_back(outcome, says, outcome.conditions or (first,), words.not_even_queued())
    return outcome


def _held(desk: Desk, team: TeamPlan, resource: str) -> int:
    """What the team's pods hold of a resource: by quota, or by pods where quota is of compute slices."""
    if resource not in desk.plan.queueing.slices_of:
        return sum(n for (_, r), n in desk.quotas.used[team.name].items() if r == resource)
    pods = (p for job in desk.jobs if job.team == team.name for p in job.pods)
    return sum(p.requests.get(resource, 0) * p.count for p in pods)


def _workload(desk: Desk, team: TeamPlan, pod_sets: tuple[PodSet, ...], priority: int) -> Outcome:
    """One workload of Kueue: all its pods or none."""
    wrong = next((p.near.wrong for p in pod_sets if p.near and p.near.wrong), "")
    if wrong := wrong or misgrouped(pod_sets):
        return never(near_words.not_taken(wrong))
    if homeless := _without_flavor(desk.plan, team, pod_sets):
        return never(near_words.without_flavor(homeless))
    found = assign(desk, team, pod_sets, priority)
    outcomes = [_assigned(desk, team, pod_sets, priority, found)]
    tried: list[Mapping[Place, int]] = []
    while _looks_on(desk.plan, outcomes[-1]) and found.tried and found.tried not in tried:
        tried.append(found.tried)  # its queue looks at the pools that are left
        found = assign(desk, team, pod_sets, priority, found.tried)
        outcomes.append(_assigned(desk, team, pod_sets, priority, found))
    best = min(outcomes, key=lambda o: (not o.admitted, o.verdict is Verdict.NEVER))
    if best.held and best.verdict is Verdict.NEVER and not desk.is_empty:
        alone = _workload(Desk(desk.plan, EMPTY), team, pod_sets, priority)
        if alone.verdict is Verdict.STARTS:  # in a pool whose quota others have now
            best = replace(
                best,
                verdict=Verdict.WAITS,
                conditions=(near_words.elsewhere_first(alone.pools),),
                meanwhile=words.queued(),
            )
    named = {r.pool for r in best.reasons}
    others = (r for outcome in outcomes for r in _as_seen(outcome) if r.pool not in named)
    return replace(best, reasons=(*dict.fromkeys(others), *best.reasons))


def _looks_on(plan: PlatformPlan, outcome: Outcome) -> bool:
    """Whether its queue looks at the pools that are left: not while an autoscaler is asked."""
    waits_for_answer = outcome.held and any(plan.pool(p).provisioning for p in outcome.pools)
    return not outcome.admitted and not waits_for_answer


def _as_seen(outcome: Outcome) -> Iterator[Considered]:
    """Why each pool is not taken, also for want of a place."""
    for reason in outcome.reasons:
        held = outcome.held and reason.pool in outcome.pools
        yield replace(reason, taken=False, why=outcome.says) if held else reason


def _without_flavor(
    plan: PlatformPlan, team: TeamPlan, pod_sets: tuple[PodSet, ...]
) -> PodSet | None:
    """Pods that are to be placed, and ask for nothing that leads their queue to a pool with a topology."""
    for members in grouped(pod_sets):
        if any(counted(pod_sets[i].requests) for i in members):
            continue
        if any(pod_sets[i].near for i in members) or placed_always(plan, team):
            return pod_sets[members[0]]
    return None


def _assigned(
    desk: Desk, team: TeamPlan, pod_sets: tuple[PodSet, ...], priority: int, found: Assignment
) -> Outcome:
    """What comes of one assignment of pools."""
    if found.unknown:
        return never(
            words.unknown_resource(desk.plan, team, found.unknown),
            reasons=words.without(desk.plan, team, found.unknown),
            assignment=found,
        )
    pools = tuple(dict.fromkeys(p for chosen in found.pools.values() for p in chosen))
    if any(len(chosen) > 1 for chosen in found.pools.values()):
        return never(words.two_pools(pools), pools=pools, reasons=found.reasons, assignment=found)
    if found.mode is Mode.NEVER:
        return never(words.no_pool(found), reasons=found.reasons, assignment=found)
    made = make_place(desk, team.name, pod_sets, priority, found)
    found = made.found
    if found.mode is not Mode.FIT and not found.targets and not made.never:
        return _without_quota(desk, team, pod_sets, found, pools)
    gone = leavers(found.targets)
    fits = found.mode is Mode.FIT
    preempts = tuple(
        Preempted(j.name, str(j.team), near_words.for_its_place(why) if fits else why)
        for j, why in found.targets
    )
    after = desk.without(gone) if gone else desk
    homes = {i: (chosen[0] if chosen else None) for i, chosen in found.pools.items()}
    dispatch = desk.plan.queueing.dispatch
    outcome = _sent(after, dispatch, pod_sets) if dispatch else on_nodes(after, pod_sets, homes)
    reasons = tuple(replace(r, taken=r.pool in pools) for r in found.reasons)
    return replace(
        _of_place(outcome, made),
        admitted=not outcome.held,
        preempts=() if outcome.held else preempts,
        gone=() if outcome.held else gone,
        reasons=reasons,
        pools=pools,
        assignment=found,
    )


def _of_place(outcome: Outcome, made: Made) -> Outcome:
    """What is to be said of others, where it has no place."""
    if not outcome.held or outcome.verdict is Verdict.NEVER:
        return outcome
    if made.unjudged:
        return replace(outcome, cautions=(near_words.may_evict(made.unjudged),))
    if made.wanting:
        return replace(outcome, says=near_words.nobody_gives_way(outcome.says))
    return outcome


def _without_quota(
    desk: Desk,
    team: TeamPlan,
    pod_sets: tuple[PodSet, ...],
    found: Assignment,
    pools: tuple[str, ...],
) -> Outcome:
    """Its queue has too little for it now, or may not use what it has."""
    held = [
        pool
        for index, chosen in found.pools.items()
        for pool in chosen
        if is_stopped(desk.plan, pool, pod_sets[index])
    ]
    return Outcome(
        verdict=Verdict.WAITS,
        says=words.pool_stopped(held[0]) if held else words.waits_for_quota(found),
        pools=pools,
        conditions=(*words.pools_released(desk.plan, held), *words.shortage(desk, team, found)),
        meanwhile=words.queued(),
        reasons=found.reasons,
        assignment=found,
    )


def _sent(desk: Desk, dispatch: DispatchPlan, pod_sets: tuple[PodSet, ...]) -> Outcome:
    """Quota is all that is decided here; another cluster takes the job, or lets it wait."""
    return Outcome(
        verdict=Verdict.STARTS,
        says=words.sent(dispatch.names),
        pods_started=sum(p.count for p in pod_sets),
        conditions=(words.admitted_there(dispatch.names),),
        rooms=desk.rooms,
    )


def _in_no_queue(desk: Desk, team: TeamPlan, request: Request) -> Outcome:
    """A team without a queue for jobs that name none: Kueue leaves such a job alone."""
    found = _unqueued(desk, request, words.without_label(team))
    if found.verdict is Verdict.NEVER:
        return found
    return replace(found, cautions=(*found.cautions[:-1], words.past_its_queues(team)))


def _unqueued(desk: Desk, request: Request, whose: str = "") -> Outcome:
    """A job that no queue sees: Kueue leaves it alone, and only taints keep it away."""
    if desk.plan.queueing.dispatch:
        return never(words.sent_by_nobody(whose, request.namespace))
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
            whose = whose or words.of_no_team(request.namespace)
            says = words.outsider(whose, reasons[0].pool, reasons[0].why)
            return never(says, reasons=tuple(dict.fromkeys(reasons)))
    outcome = on_nodes(desk, request.pod_sets, homes)
    pools = tuple(dict.fromkeys(p for p in homes.values() if p))
    return replace(
        outcome,
        pools=pools,
        reasons=tuple(dict.fromkeys(reasons)),
        cautions=(*outcome.cautions, words.past_the_queues(request.namespace)),
    )


def _keeps_off(plan: PlatformPlan, name: str, pods: PodSet) -> str:
    pool = plan.pool(name)
    if short := lacking(node_of(plan, pool), pods.requests):
        return words.lacks(plan, name, pods, short)
    if taint := untolerated(pool.taints, pods.tolerations):
        return f"its nodes have the taint {taint}, which the pods do not tolerate"
    met, about = accepts(labels_of(plan, pool), pods.selector, pods.terms)
    return f"its nodes do not have {about}" if met is False else ""


def _one_by_one(desk: Desk, team: TeamPlan, request: Request, priority: int) -> Outcome:
    """Each pod is a workload of its own: so many start, the first that does not tells why."""
    here = Desk(desk.plan, desk.state)
    trial = _Trial()
    tried = 0
    made: list[tuple[Mapping[str, int], int]] = []
    for pod_sets, most in _workloads_of(request):
        size = sum(pods.count for pods in pod_sets)
        number = 0
        for number in range(1, min(most, MAX_REPLICAS - tried) + 1):
            asked = ((pods.requests, pods.count * number) for pods in pod_sets)
            full = excess(desk, team, (*made, *asked))
            found = kept_out(team, full) if full else _workload(here, team, pod_sets, priority)
            trial.note(found, size)
            if not found.admitted:
                break  # and so would be every pod like it
            here = here.without(found.gone) if found.gone else here
            started = found.verdict is Verdict.STARTS
            # a pod that finds no node holds its quota nevertheless
            commit(
                here,
                team.name,
                request.name,
                found if started else replace(found, rooms=here.rooms),
                priority,
            )
        tried += number
        made += ((pods.requests, pods.count * number) for pods in pod_sets)
    in_all = sum(p.count for p in request.pod_sets)
    if tried == MAX_REPLICAS < (request.groups or in_all):
        trial.cautions.append(words.many_replicas(MAX_REPLICAS))
    if trial.first is None:
        return _replicas(desk, here, trial)
    first, started_pods = trial.first, trial.started
    at_most = started_pods if desk.is_empty else _at_most(desk, team, request, priority)
    if started_pods and at_most < in_all:
        first = replace(first, verdict=Verdict.NEVER, conditions=(), meanwhile="")
    says = words.some_replicas(first.says, started_pods, in_all)
    return replace(first, says=says, pods_started=started_pods, preempts=tuple(trial.preempts))


def _workloads_of(request: Request) -> Iterator[tuple[tuple[PodSet, ...], int]]:
    """What queues by itself, and how often there is such a thing: a pod, or a leader with its workers."""
    if request.groups:
        parts = (replace(p, count=p.count // request.groups) for p in request.pod_sets)
        yield tuple(parts), request.groups
        return
    for pods in request.pod_sets:
        yield (replace(pods, count=1),), pods.count


@dataclass(slots=True)
class _Trial:
    """What came of pods that queue one by one."""

    started: int = 0
    first: Outcome | None = None
    """Of the first that did not start."""
    preempts: list[Preempted] = field(default_factory=list[Preempted])
    cautions: list[str] = field(default_factory=list[str])

    def note(self, found: Outcome, pods: int) -> None:
        """Count one more, of so many pods."""
        self.cautions += found.cautions
        if found.verdict is Verdict.STARTS:
            self.started += pods
        elif self.first is None:
            self.first = found
        if found.admitted:
            self.preempts += found.preempts


def _at_most(desk: Desk, team: TeamPlan, request: Request, priority: int) -> int:
    """How many of the pods start when nobody else is there."""
    return _one_by_one(Desk(desk.plan, EMPTY), team, request, priority).pods_started


def _replicas(desk: Desk, here: Desk, trial: _Trial) -> Outcome:
    """All pods run: their nodes and pools together."""
    if dispatch := desk.plan.queueing.dispatch:
        uses = (key for job in here.jobs[len(desk.jobs) :] for key in job.uses)
        return replace(
            _sent(here, dispatch, ()),
            admitted=True,
            pools=tuple(dict.fromkeys(pool for pool, _ in uses)),
            pods_started=trial.started,
            preempts=tuple(trial.preempts),
        )
    nodes = {p: sum(n.count for n in room if n.hosts) for p, room in here.rooms.items()}
    more = {p: here.running_nodes(p) - desk.running_nodes(p) for p in here.rooms}
    to_start = {p: n for p, n in more.items() if n > 0}
    pools = tuple(p for p, n in nodes.items() if n)
    return Outcome(
        verdict=Verdict.STARTS,
        admitted=True,
        says=words.starts(pools, sum(nodes.values()), to_start, trial.started),
        pools=pools,
        pods_started=trial.started,
        nodes=sum(nodes.values()),
        nodes_to_start=to_start,
        conditions=words.nodes_first(desk, to_start),
        preempts=tuple(trial.preempts),
        cautions=tuple(dict.fromkeys(trial.cautions)),
        rooms=here.rooms,
        reasons=tuple(Considered(p, taken=True, why=words.nodes_taken(nodes[p])) for p in pools),
    )


def commit(desk: Desk, team: str, name: str, outcome: Outcome, priority: int) -> None:
    """Let a job that starts run on this desk, whose pre-empted jobs are gone already."""
    uses = outcome.assignment.uses if outcome.assignment else {}
    since = 1 + max((j.since for j in desk.jobs), default=0)
    desk.jobs.append(
        Running(name=name, team=team, uses=uses, pods=outcome.homes, priority=priority, since=since)
    )
    desk.quotas.take(team, uses)
    desk.rooms = dict(outcome.rooms)
