"""The nearest change of a job with which it starts; every suggestion is simulated."""

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

from gpuyard.plan.records import PlatformPlan, PoolPlan, TeamPlan, usable_pools
from gpuyard_advisor.explain.namespace import largest_container, quota_hard_limits
from gpuyard_advisor.explain.records import JobChange
from gpuyard_advisor.scheduler.flavors import requests_with_quota
from gpuyard_advisor.scheduler.nodes import planned_node_resources
from gpuyard_advisor.scheduler.requests import PodSet, Request
from gpuyard_advisor.scheduler.topology import ANNOTATION_BY_MODE, TopologyRequest
from gpuyard_core import names
from gpuyard_core.manifests.quantities import format_amount, format_quantity

Starts = Callable[[Request], bool]
MAX_TRIES = 300
_LIKE = 0.55


@dataclass(frozen=True, slots=True)
class _Edit:
    change: JobChange
    apply: Callable[[Request], Request]


def suggest_changes(
    plan: PlatformPlan, team: TeamPlan | None, request: Request, starts: Starts
) -> tuple[JobChange, ...]:
    """One sufficient change, else two; empty when no small change suffices."""
    edits = list(_edits(plan, team, request, starts))
    tries = 0
    for number in (1, 2):
        for some in combinations(edits, number):
            if len({e.change.at for e in some}) < number:
                continue
            tries += 1
            if tries > MAX_TRIES:
                return ()
            changed = request
            for edit in some:
                changed = edit.apply(changed)
            if starts(changed):
                return tuple(_placed(request, e.change) for e in some)
    return ()


def _placed(request: Request, change: JobChange) -> JobChange:
    """Add the path when a job has several pod templates, such as head and workers of a Ray cluster."""
    if len(request.pod_sets) == 1 or change.at in change.message:
        return change
    return replace(change, message=f"{change.message}, at {change.at}")


def suggest_pinned_pool(
    plan: PlatformPlan, team: TeamPlan, request: Request, starts: Starts
) -> tuple[JobChange, ...]:
    """Another pool in which a waiting job starts immediately."""
    for index in range(len(request.pod_sets)):
        for edit in _pinned(plan, team, request, index):
            if starts(edit.apply(request)):
                return (_placed(request, edit.change),)
    return ()


def suggest_team_namespace(
    plan: PlatformPlan, starts_for: Callable[[TeamPlan], bool]
) -> tuple[JobChange, ...]:
    """A team namespace in which a job without a team starts."""
    for team in plan.teams:
        if starts_for(team):
            home = team.default_namespace.name
            message = f"submit it in the namespace of a team, such as {home}"
            return (JobChange(message, "metadata.namespace", home),)
    return ()


def _edits(
    plan: PlatformPlan, team: TeamPlan | None, request: Request, starts: Starts
) -> Iterator[_Edit]:
    """All small edits, the least intrusive first."""
    if request.rejection:
        yield _accepted(request)
    if team is None:
        return
    yield from _queued(team, request)
    pools = [plan.pool(name) for name in usable_pools(team.quotas)]
    for index in range(len(request.pod_sets)):
        yield from _renamed(pools, request, index)
        yield from _pinned(plan, team, request, index)
        yield from _unselected(request, index)
        yield from _whole_slices(request, index)
        yield from _nearer(pools, request, index)
        yield from _smaller(plan, team, pools, request, index)
        yield from _fewer(request, index, starts)


def _queued(team: TeamPlan, request: Request) -> Iterator[_Edit]:
    """Another queue: no label if a default queue exists, else each queue."""
    if (request.queue_label or names.LOCAL_QUEUE) in team.queues:
        return
    at = f"metadata.labels.{names.QUEUE_LABEL}"
    if team.has_default:
        change = JobChange(f"remove the label {names.QUEUE_LABEL}: {request.queue_label}", at)
        yield _Edit(change, lambda r: replace(r, queue_label=""))
        return
    for name in team.queues:
        change = JobChange(f"label it {names.QUEUE_LABEL}: {name}", at, name)
        yield _Edit(change, partial(replace, queue_label=name))


def _accepted(request: Request) -> _Edit:
    """Fix everything that the API server rejects."""
    first = request.rejection[0]
    message = "; ".join(f"write {r.at}: {r.value}" for r in request.rejection)

    def apply(r: Request) -> Request:
        for one in (each for each in request.rejection if each.resource):
            pods = r.pod_sets[one.pod_set]
            more = {**pods.requests, one.resource: pods.requests.get(one.resource, 0) + one.amount}
            r = _with(r, one.pod_set, replace(pods, requests=more))
        return replace(r, rejection=())

    return _Edit(JobChange(message, first.at, first.value), apply)


def _with(request: Request, index: int, pods: PodSet) -> Request:
    sets = (*request.pod_sets[:index], pods, *request.pod_sets[index + 1 :])
    return replace(request, pod_sets=sets)


def _edit(index: int, change: JobChange, **fields: object) -> _Edit:
    def apply(request: Request) -> Request:
        pods = request.pod_sets[index]
        return _with(request, index, replace(pods, **fields))  # type: ignore[arg-type]  # by name

    return _Edit(change, apply)


def _renamed(pools: list[PoolPlan], request: Request, index: int) -> Iterator[_Edit]:
    """Replace a resource without quota by the most similar one with quota."""
    known: dict[str, int] = {}
    for offer in (a for p in pools for a in p.advertised):
        known[offer.resource] = max(offer.per_node, known.get(offer.resource, 0))
    pods = request.pod_sets[index]
    for name, amount in requests_with_quota(pods.requests).items():
        if name in known:
            continue
        rest = {k: v for k, v in pods.requests.items() if k != name}
        for similar in difflib.get_close_matches(name, list(known), n=3, cutoff=_LIKE):
            fits = min(amount, known[similar])
            message = (
                f"request {similar} instead of {name}"
                if fits == amount
                else f"request {fits} {similar} instead of {amount} {name}"
            )
            change = JobChange(message, f"{pods.path}: {name}", f"{similar}: {fits}")
            yield _edit(index, change, requests={**rest, similar: fits + rest.get(similar, 0)})


def _unselected(request: Request, index: int) -> Iterator[_Edit]:
    """Remove node selectors and affinity."""
    pods = request.pod_sets[index]
    for key, value in pods.selector.items():
        rest = {k: v for k, v in pods.selector.items() if k != key}
        change = JobChange(f"remove nodeSelector {key}: {value}", f"{pods.path}.nodeSelector.{key}")
        yield _edit(index, change, selector=rest)
    if pods.terms:
        change = JobChange(
            "remove the required node affinity", f"{pods.path}.affinity.nodeAffinity"
        )
        yield _edit(index, change, terms=())


def _pinned(plan: PlatformPlan, team: TeamPlan, request: Request, index: int) -> Iterator[_Edit]:
    """Select one pool with the labels that queues use."""
    pods = request.pod_sets[index]
    for name in usable_pools(team.quotas):
        labels = plan.pool(name).node_selector
        if requests_with_quota(pods.requests) and any(
            pods.selector.get(k) != v for k, v in labels.items()
        ):
            shown = ", ".join(f"{k}: {v}" for k, v in labels.items())
            change = JobChange(
                f"select the pool {name}: nodeSelector {shown}",
                f"{pods.path}.nodeSelector",
                {**pods.selector, **labels},
            )
            yield _edit(index, change, selector={**pods.selector, **labels})


def _whole_slices(request: Request, index: int) -> Iterator[_Edit]:
    """Change the number of pods to whole slices of a topology."""
    pods = request.pod_sets[index]
    if rest := pods.count % (pods.topology_request.slice_size if pods.topology_request else 1):
        yield _so_many(index, pods, pods.count - rest)


def _so_many(index: int, pods: PodSet, count: int) -> _Edit:
    change = JobChange(f"run {count:,} pods instead of {pods.count:,}", f"{pods.path}: pods", count)
    return _edit(index, change, count=count)


def _nearer(pools: list[PoolPlan], request: Request, index: int) -> Iterator[_Edit]:
    """Change topology annotations to existing levels, to preferred, or remove them."""
    pods = request.pod_sets[index]
    levels = dict.fromkeys(level for p in pools if p.topology for level in p.topology.levels)
    at = pods.path.removesuffix(".spec").removesuffix("spec") + ".metadata.annotations"
    ways = [TopologyRequest(how, level) for how in ("required", "preferred") for level in levels]
    if pods.topology_request is None:
        ways = [TopologyRequest("unconstrained")] if levels else []
    elif pods.topology_request.level in levels or not pods.topology_request.level:
        result = replace(pods.topology_request, mode="preferred", error="")
        ways = [result] if pods.topology_request.level else []
    for topology_request in ways:
        key, value = ANNOTATION_BY_MODE[topology_request.mode], topology_request.level or "true"
        change = JobChange(f"annotate its pods with {key}: {value}", at, {key: value})
        if topology_request != pods.topology_request:
            yield _edit(index, change, topology_request=topology_request)
    if pods.topology_request is not None:
        yield _edit(
            index,
            JobChange("remove the topology annotations of its pods", at),
            topology_request=None,
        )


def _smaller(
    plan: PlatformPlan, team: TeamPlan, pools: list[PoolPlan], request: Request, index: int
) -> Iterator[_Edit]:
    """Request less of a resource per pod: what a node, or the namespace's LimitRange, allows."""
    pods = request.pod_sets[index]
    in_all = max(1, sum(p.count for p in request.pod_sets))
    limits = team.namespace_or_default(request.namespace).limits
    most, hard = largest_container(limits), quota_hard_limits(limits)
    for name, amount in pods.requests.items():
        sizes = {planned_node_resources(plan, p).get(name, 0) for p in pools}
        sizes |= {most.get(name, 0), hard.get(name, 0) // in_all}
        for size in sorted((s for s in sizes if 0 < s < amount), reverse=True):
            message = f"request {format_amount(name, size)} per pod instead of {format_amount(name, amount)}"
            change = JobChange(message, f"{pods.path}: {name}", format_quantity(name, size))
            largest = {k: min(n, size) if k == name else n for k, n in pods.largest.items()}
            yield _edit(index, change, requests={**pods.requests, name: size}, largest=largest)


def _fewer(request: Request, index: int, starts: Starts) -> Iterator[_Edit]:
    """The largest number of pods that starts, by binary search."""
    pods = request.pod_sets[index]
    low, high = 0, pods.count
    while high - low > 1:
        middle = (low + high) // 2
        if starts(_with(request, index, replace(pods, count=middle))):
            low = middle
        else:
            high = middle
    if low:
        yield _so_many(index, pods, low)
