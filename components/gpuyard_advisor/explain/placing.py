"""Placement of admitted pods on nodes, as the scheduler does it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.spec.sections import Provisioning
from gpuyard_advisor.explain.messages import cautions, nodes, places, queue, unfit
from gpuyard_advisor.explain.outcome import JobOutcome, impossible
from gpuyard_advisor.explain.records import Verdict
from gpuyard_advisor.explain.unfit_nodes import UnfitNodes, unfit_nodes
from gpuyard_advisor.scheduler.flavors import requests_with_quota
from gpuyard_advisor.scheduler.model import Pods, SchedulerModel
from gpuyard_advisor.scheduler.nodes import (
    FreeResources,
    Placement,
    missing_resources,
    place,
    planned_node_resources,
)
from gpuyard_advisor.scheduler.requests import PodSet, group_pod_sets
from gpuyard_advisor.scheduler.selectors import (
    accepts,
    find_discovered_label,
    labels_of,
    untolerated,
)
from gpuyard_advisor.scheduler.topology import TopologyPlacement, find_placement

Members = tuple[PodSet, ...]
"""Pods that are placed together: equal pods, and their leader if there is one."""
MAX_ENDS = 50
"""Maximum number of running jobs whose end is simulated, one by one."""


@dataclass(slots=True)
class _Placing:
    """Pod sets during placement."""

    rooms: dict[str, FreeResources]
    nodes: int = 0
    started: dict[str, int] = field(default_factory=dict[str, int])
    cautions: list[str] = field(default_factory=list[str])
    homes: list[Pods] = field(default_factory=list[Pods])


def place_on_nodes(
    desk: SchedulerModel, pod_sets: tuple[PodSet, ...], homes: Mapping[int, str | None]
) -> JobOutcome:
    """Place admitted pods on nodes, by pod set and pool."""
    placing = _Placing(dict(desk.rooms))
    for pool, members in _in_turn(desk.plan, pod_sets, homes):
        if pool is None:
            is_placed = _host(desk, members[0], placing)
            why = "" if is_placed else nodes.no_node_without_gpus(desk.plan, members[0])
        else:
            results = (_wrong_pool(desk, pool, pods, placing) for pods in members)
            why = next(filter(None, results), "")
        if why:
            return impossible(why)
        if pool is not None and not _into_pool(desk.plan, pool, members, placing):
            return _no_room(desk, pod_sets, homes, (pool, members))
    if _may_block_itself(desk, pod_sets, homes):
        placing.cautions.append(cautions.small_pods_block_large())
    pools = tuple(dict.fromkeys(p for p in homes.values() if p))
    pods_in_all = sum(p.count for p in pod_sets)
    return JobOutcome(
        verdict=Verdict.STARTS,
        message=nodes.where_job_starts(pools, placing.nodes, placing.started, pods_in_all),
        pools=pools,
        pods_started=pods_in_all,
        nodes=placing.nodes,
        nodes_to_start=dict(placing.started),
        conditions=(
            *nodes.after_nodes_have_started(desk, placing.started),
            *_provisioning_conditions(desk.plan, pools),
        ),
        cautions=tuple(dict.fromkeys(placing.cautions)),
        free_capacity=placing.rooms,
        placed_pods=tuple(placing.homes),
    )


def _in_turn(
    plan: PlatformPlan, pod_sets: tuple[PodSet, ...], homes: Mapping[int, str | None]
) -> list[tuple[str | None, Members]]:
    """Groups that are placed together: in queue order with a topology, else the largest pods first."""
    units: list[tuple[str | None, Members]] = []
    for indexes in group_pod_sets(pod_sets):
        members = [pod_sets[i] for i in indexes]
        if len(members) > 1 and members[1].count > members[0].count:
            members.reverse()  # the leader is the pod set with one pod
        units.append((homes.get(indexes[0]), tuple(members)))
    tied = [u for u in units if u[0] is not None and plan.pool(u[0]).topology is not None]
    untied = [u for u in units if u not in tied]
    return tied + sorted(untied, key=lambda u: _size(u[1][0]), reverse=True)


def _wrong_pool(desk: SchedulerModel, pool: str, pods: PodSet, placing: _Placing) -> str:
    """Why no node of the pool can ever run one of the pods; "" when one can."""
    plan = desk.plan
    match, about = accepts(labels_of(plan, plan.pool(pool)), pods.selector, pods.terms)
    if match is False:
        return nodes.pool_lacks_selected_labels(plan, pool, about)
    if match is None:
        placing.cautions.append(cautions.unknown_label(pool, about))
    one, topology_request = plan.pool(pool), pods.topology_request
    short = missing_resources(planned_node_resources(plan, one), pods.requests)
    if short and all(missing_resources(node, pods.requests) for node in desk.current_nodes(one)):
        return nodes.too_big_for_node(plan, pool, pods, short)
    if one.topology is not None and topology_request and pods.count % topology_request.slice_size:
        return places.pods_beyond_whole_slices(one, pods, topology_request.slice_size)
    return ""


def _provisioning_conditions(plan: PlatformPlan, pools: tuple[str, ...]) -> tuple[str, ...]:
    """Admission checks that come before the admission."""
    return tuple(
        places.when_autoscaler_confirms(plan, plan.pool(name))
        for name in pools
        if plan.pool(name).provisioning
    )


def _looked_at(pool: PoolPlan, free: FreeResources, members: Members) -> FreeResources:
    """Nodes for such pods that the queue or the autoscaler considers.

    Nodes that do not run yet are included only with an admission check.
    """
    free = tuple(n for n in free if not any(untolerated(n.taints, p.tolerations) for p in members))
    waits = pool.topology is not None or pool.provisioning is Provisioning.CHECK
    if not waits or pool.provisioning in {Provisioning.ATOMIC, Provisioning.QUEUED}:
        return free
    return tuple(n for n in free if n.running)


def _spot(pool: PoolPlan, free: FreeResources, members: Members) -> TopologyPlacement:
    """The topology placement of pods and their leader."""
    pods = members[0]
    leader = members[1].requests if members[1:] else None
    return find_placement(
        free, pool.topology_levels, pods.requests, pods.count, pods.topology_request, leader
    )


def _find(pool: PoolPlan, members: Members, placing: _Placing) -> Placement | TopologyPlacement:
    """Nodes for pods: assigned by the queue, or found by the scheduler."""
    pods = members[0]
    free = placing.rooms[pool.name]
    seen = _looked_at(pool, free, members)
    rest = tuple(n for n in free if n not in seen)
    if pool.topology is None:
        placed = place(seen, pods.requests, pods.count, who=pods.path, apart=pods.is_anti_affine)
        return replace(placed, free=(*placed.free, *rest))
    result = _spot(pool, seen, members)
    if result.is_estimated and pods.topology_request:
        placing.cautions.append(cautions.topology_labels_assumed(pool, pods.topology_request.level))
    if pods.is_anti_affine and pods.count > 1:
        placing.cautions.append(cautions.pod_anti_affinity_ignored())
    return replace(result, free=(*result.free, *rest))


def _into_pool(plan: PlatformPlan, pool: str, members: Members, placing: _Placing) -> bool:
    """Place pods on nodes of a pool; False when some do not fit."""
    placed = _find(plan.pool(pool), members, placing)
    if not placed.fits:
        return False
    runs = any(n.running and n.count for n in placing.rooms[pool])
    placing.rooms[pool] = placed.free
    placing.nodes += placed.nodes
    placing.homes += (Pods(pool=pool, requests=p.requests, count=p.count) for p in members)
    if placed.started:
        resources = [r for pods in members for r, n in pods.requests.items() if n]
        unknown = [
            r for r in plan.pool(pool).autoscaler_hints.undiscovered_resources if r in resources
        ]
        if unknown and not runs:
            placing.cautions.append(cautions.resources_unknown_to_autoscaler(pool, unknown))
        placing.started[pool] = placing.started.get(pool, 0) + placed.started
        run = sum(n.count for n in placed.free if n.running)
        if run > plan.pool(pool).nodes.high:
            placing.cautions.append(cautions.more_nodes_than_maximum(plan.pool(pool), run))
        for label in filter(None, (find_discovered_label(p.selector, p.terms) for p in members)):
            placing.cautions.append(cautions.label_set_after_start(pool, label))
    return True


def _size(pods: PodSet) -> tuple[int, ...]:
    """Sort key: pods with many devices first, because they are the hardest to place."""
    return (sum(requests_with_quota(pods.requests).values()), sum(pods.requests.values()))


def _no_room(
    desk: SchedulerModel,
    pod_sets: tuple[PodSet, ...],
    homes: Mapping[int, str | None],
    where: tuple[str, Members],
) -> JobOutcome:
    """The outcome with quota and without nodes, now or ever."""
    pool, members = where
    one = desk.plan.pool(pool)
    emptied = SchedulerModel(desk.plan, replace(desk.state, jobs=()))
    out = unfit_nodes(desk, one, members)
    if not fits_on_nodes(emptied, pod_sets, homes):
        out = out or unfit_nodes(desk, one, members, tight=False)
        if out and fits_on_nodes(emptied.with_healthy_nodes(), pod_sets, homes):
            ends = _repair_condition(desk, pod_sets, homes, out)
            return _waits(desk, one, members, ends, unfit.pool_differs_from_plan(one, out))
        if one.topology is None:
            return impossible(nodes.too_many_for_pool(desk.plan, pool, members[0]))
        return _never_near(emptied, one, members)
    ends = _whose_end(desk, pod_sets, homes)
    waits = _waits(desk, one, members, ends)
    return replace(waits, cautions=(unfit.unfit_nodes_not_counted(out),)) if out else waits


def _repair_condition(
    desk: SchedulerModel,
    pod_sets: tuple[PodSet, ...],
    homes: Mapping[int, str | None],
    out: tuple[UnfitNodes, ...],
) -> str:
    """The first faulty nodes that suffice once fixed, else all."""
    for some in out:
        if some.nodes and fits_on_nodes(desk.with_healthy_nodes(some.nodes), pod_sets, homes):
            return some.condition
    return unfit.all_fixed(out)


def _waits(
    desk: SchedulerModel, pool: PoolPlan, members: Members, ends: str, out: str = ""
) -> JobOutcome:
    """The outcome of waiting for nodes; `out`: because of faulty nodes, not of missing capacity."""
    free = _looked_at(pool, desk.rooms[pool.name], members)
    message = out or nodes.free_capacity_is_fragmented(free, pool.name, members[0])
    if pool.topology is not None or pool.provisioning:
        return _not_admitted(desk, pool, members, ends, message, out)
    return JobOutcome(
        verdict=Verdict.WAITS,
        message=message,
        conditions=(nodes.when_nodes_have_capacity(pool.name, members[0], ends),),
        waiting_meanwhile=nodes.admitted_but_pods_pending(desk.plan),
    )


def _never_near(emptied: SchedulerModel, pool: PoolPlan, members: Members) -> JobOutcome:
    """The outcome when it does not fit on an empty platform either."""
    result = _spot(pool, _looked_at(pool, emptied.rooms[pool.name], members), members)
    running = emptied.running_nodes(pool.name)
    cautions = (
        (places.only_running_nodes_considered(pool, running),) if running < pool.nodes.high else ()
    )
    return replace(
        impossible(places.topology_capacity_insufficient(pool, members, result)),
        unplaced=True,
        cautions=cautions,
    )


def _not_admitted(
    desk: SchedulerModel, pool: PoolPlan, members: Members, ends: str, message: str, out: str
) -> JobOutcome:
    """The outcome when its queue does not admit it: no placement now, or the autoscaler declines."""
    if pool.topology is None:
        return JobOutcome(
            verdict=Verdict.WAITS,
            unplaced=True,
            message=message,
            conditions=(nodes.when_nodes_have_capacity(pool.name, members[0], ends),),
            waiting_meanwhile=places.denied(desk.plan, pool),
        )
    result = _spot(pool, _looked_at(pool, desk.rooms[pool.name], members), members)
    return JobOutcome(
        verdict=Verdict.WAITS,
        unplaced=True,
        message=out
        or f"its quota is available, but {places.topology_capacity_insufficient(pool, members, result)}",
        conditions=(places.when_domain_has_capacity(pool, members, ends),),
        waiting_meanwhile=queue.job_stays_queued(),
    )


def _whose_end(
    desk: SchedulerModel, pod_sets: tuple[PodSet, ...], homes: Mapping[int, str | None]
) -> str:
    """The oldest job whose end frees enough capacity; "" when several must end."""
    pools = set(homes.values())
    for job in [j for j in desk.jobs if pools & {p.pool for p in j.pods}][:MAX_ENDS]:
        if fits_on_nodes(desk.without_jobs((job,)), pod_sets, homes):
            space = f" in namespace {job.namespace}" if job.namespace else ""
            return f"{job.name}{f' of team {job.team}' if job.team else space} ends"
    return ""


def fits_on_nodes(
    desk: SchedulerModel,
    pod_sets: tuple[PodSet, ...],
    homes: Mapping[int, str | None],
    *,
    tied: bool = False,
) -> bool:
    """Whether all pods fit on nodes; `tied`: only those that their queue places."""
    placing = _Placing(dict(desk.rooms))
    for pool, members in _in_turn(desk.plan, pod_sets, homes):
        if tied and (pool is None or desk.plan.pool(pool).topology is None):
            continue
        fits = (
            _into_pool(desk.plan, pool, members, placing)
            if pool
            else _host(desk, members[0], placing)
        )
        if not fits:
            return False
    return True


def _may_block_itself(
    desk: SchedulerModel, pod_sets: tuple[PodSet, ...], homes: Mapping[int, str | None]
) -> bool:
    """Whether small pods that are placed first may leave no node for the large ones."""
    rooms = dict(desk.rooms)
    for index in sorted((i for i in homes if homes[i]), key=lambda i: _size(pod_sets[i])):
        pods, pool = pod_sets[index], str(homes[index])
        if desk.plan.pool(pool).topology is not None:
            continue  # its queue assigns each pod to a node with capacity
        placed = place(
            rooms[pool],
            pods.requests,
            pods.count,
            who=pods.path,
            apart=pods.is_anti_affine,
            spread=True,
        )
        if placed.unplaced:
            return True
        rooms[pool] = placed.free
    return False


def _selects_a_pool(plan: PlatformPlan, pods: PodSet) -> bool:
    """Whether the pods select nodes of a pool."""
    return any(key in pool.node_selector for pool in plan.pools for key in pods.selector)


def _host(desk: SchedulerModel, pods: PodSet, placing: _Placing) -> bool:
    """Nodes for pods without quota: those whose taints they tolerate, or nodes outside the pools."""
    for pool in desk.plan.pools:
        if (
            untolerated(pool.taints, pods.tolerations)
            or not accepts(labels_of(desk.plan, pool), pods.selector, pods.terms)[0]
        ):
            continue
        if _into_pool(desk.plan, pool.name, (pods,), placing):
            return True
    if desk.plan.simulated or _selects_a_pool(desk.plan, pods):
        return False
    placing.cautions.append(cautions.capacity_outside_pools_unknown())
    return True
