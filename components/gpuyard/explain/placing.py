"""Placing of admitted pods on nodes, as the scheduler does it, and whether there is room."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gpuyard.explain.messages import cautions, nodes, places, queue, unfit
from gpuyard.explain.outcome import JobOutcome, impossible
from gpuyard.explain.records import Verdict
from gpuyard.explain.unfit_nodes import UnfitNodes, unfit_nodes
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.scheduler.flavors import counted
from gpuyard.scheduler.model import Pods, SchedulerModel
from gpuyard.scheduler.nodes import FreeResources, Placement, missing_resources, node_of, place
from gpuyard.scheduler.requests import PodSet, group_pod_sets
from gpuyard.scheduler.selectors import accepts, discovered, labels_of, untolerated
from gpuyard.scheduler.topology import TopologyPlacement, find_placement
from gpuyard.spec.sections import Provisioning

Members = tuple[PodSet, ...]
"""Pods that are placed together: those that are alike, and where there is one their leader."""
MAX_ENDS = 50
"""Running jobs whose end is tried, one by one."""


@dataclass(slots=True)
class _Placing:
    """Pod sets on their way to nodes."""

    rooms: dict[str, FreeResources]
    nodes: int = 0
    started: dict[str, int] = field(default_factory=dict[str, int])
    cautions: list[str] = field(default_factory=list[str])
    homes: list[Pods] = field(default_factory=list[Pods])


def place_on_nodes(
    desk: SchedulerModel, pod_sets: tuple[PodSet, ...], homes: Mapping[int, str | None]
) -> JobOutcome:
    """What the scheduler does with pods that were admitted, by pod set and pool."""
    placing = _Placing(dict(desk.rooms))
    for pool, members in _in_turn(desk.plan, pod_sets, homes):
        if pool is None:
            is_placed = _host(desk, members[0], placing)
            why = "" if is_placed else nodes.no_plain_node(desk.plan, members[0])
        else:
            results = (_wrong_pool(desk, pool, pods, placing) for pods in members)
            why = next(filter(None, results), "")
        if why:
            return impossible(why)
        if pool is not None and not _into_pool(desk.plan, pool, members, placing):
            return _no_room(desk, pod_sets, homes, (pool, members))
    if _may_block_itself(desk, pod_sets, homes):
        placing.cautions.append(cautions.blocks_itself())
    pools = tuple(dict.fromkeys(p for p in homes.values() if p))
    pods_in_all = sum(p.count for p in pod_sets)
    return JobOutcome(
        verdict=Verdict.STARTS,
        message=nodes.starts(pools, placing.nodes, placing.started, pods_in_all),
        pools=pools,
        pods_started=pods_in_all,
        nodes=placing.nodes,
        nodes_to_start=dict(placing.started),
        conditions=(
            *nodes.nodes_first(desk, placing.started),
            *_provisioning_conditions(desk.plan, pools),
        ),
        cautions=tuple(dict.fromkeys(placing.cautions)),
        free_capacity=placing.rooms,
        placed_pods=tuple(placing.homes),
    )


def _in_turn(
    plan: PlatformPlan, pod_sets: tuple[PodSet, ...], homes: Mapping[int, str | None]
) -> list[tuple[str | None, Members]]:
    """What is placed together, and where: what queues place in their order, else the largest pods first."""
    units: list[tuple[str | None, Members]] = []
    for indexes in group_pod_sets(pod_sets):
        members = [pod_sets[i] for i in indexes]
        if len(members) > 1 and members[1].count > members[0].count:
            members.reverse()  # the leader is the one that is alone
        units.append((homes.get(indexes[0]), tuple(members)))
    tied = [u for u in units if u[0] is not None and plan.pool(u[0]).topology is not None]
    untied = [u for u in units if u not in tied]
    return tied + sorted(untied, key=lambda u: _size(u[1][0]), reverse=True)


def _wrong_pool(desk: SchedulerModel, pool: str, pods: PodSet, placing: _Placing) -> str:
    """Why no node of the pool can ever take one of the pods, "" when one can."""
    plan = desk.plan
    match, about = accepts(labels_of(plan, plan.pool(pool)), pods.selector, pods.terms)
    if match is False:
        return nodes.wrong_nodes(plan, pool, about)
    if match is None:
        placing.cautions.append(cautions.unknown_label(pool, about))
    one, topology_request = plan.pool(pool), pods.topology_request
    short = missing_resources(node_of(plan, one), pods.requests)
    if short and all(missing_resources(node, pods.requests) for node in desk.current_nodes(one)):
        return nodes.too_big_for_node(plan, pool, pods, short)
    if one.topology is not None and topology_request and pods.count % topology_request.slice_size:
        return places.left_over(one, pods, topology_request.slice_size)
    return ""


def _provisioning_conditions(plan: PlatformPlan, pools: tuple[str, ...]) -> tuple[str, ...]:
    """Answers that come before the job is admitted."""
    return tuple(
        places.asked_first(plan, plan.pool(name)) for name in pools if plan.pool(name).provisioning
    )


def _looked_at(pool: PoolPlan, free: FreeResources, members: Members) -> FreeResources:
    """Nodes that take such pods, and that a queue or an autoscaler's look reckons with.

    Others only where they are asked for first.
    """
    free = tuple(n for n in free if not any(untolerated(n.taints, p.tolerations) for p in members))
    waits = pool.topology is not None or pool.provisioning is Provisioning.CHECK
    if not waits or pool.provisioning in {Provisioning.ATOMIC, Provisioning.QUEUED}:
        return free
    return tuple(n for n in free if n.running)


def _spot(pool: PoolPlan, free: FreeResources, members: Members) -> TopologyPlacement:
    """What its queue finds for pods, and for their leader."""
    pods = members[0]
    leader = members[1].requests if members[1:] else None
    return find_placement(
        free, pool.topology_levels, pods.requests, pods.count, pods.topology_request, leader
    )


def _find(pool: PoolPlan, members: Members, placing: _Placing) -> Placement | TopologyPlacement:
    """Nodes for pods: those that the queue ties them to, or those that the scheduler finds."""
    pods = members[0]
    free = placing.rooms[pool.name]
    seen = _looked_at(pool, free, members)
    rest = tuple(n for n in free if n not in seen)
    if pool.topology is None:
        placed = place(seen, pods.requests, pods.count, who=pods.path, apart=pods.is_anti_affine)
        return replace(placed, free=(*placed.free, *rest))
    result = _spot(pool, seen, members)
    if result.is_estimated and pods.topology_request:
        placing.cautions.append(cautions.guessed(pool, pods.topology_request.level))
    if pods.is_anti_affine and pods.count > 1:
        placing.cautions.append(cautions.apart_unseen())
    return replace(result, free=(*result.free, *rest))


def _into_pool(plan: PlatformPlan, pool: str, members: Members, placing: _Placing) -> bool:
    """Put pods on nodes of a pool; False when some find none."""
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
            placing.cautions.append(cautions.hidden(pool, unknown))
        placing.started[pool] = placing.started.get(pool, 0) + placed.started
        run = sum(n.count for n in placed.free if n.running)
        if run > plan.pool(pool).nodes.high:
            placing.cautions.append(cautions.beyond_its_bound(plan.pool(pool), run))
        for label in filter(None, (discovered(p.selector, p.terms) for p in members)):
            placing.cautions.append(cautions.discovered_late(pool, label))
    return True


def _size(pods: PodSet) -> tuple[int, ...]:
    """Pods with many devices first, they are the hardest to place."""
    return (sum(counted(pods.requests).values()), sum(pods.requests.values()))


def _no_room(
    desk: SchedulerModel,
    pod_sets: tuple[PodSet, ...],
    homes: Mapping[int, str | None],
    where: tuple[str, Members],
) -> JobOutcome:
    """Quota is there and nodes are not: for now, or for good."""
    pool, members = where
    one = desk.plan.pool(pool)
    emptied = SchedulerModel(desk.plan, replace(desk.state, jobs=()))
    out = unfit_nodes(desk, one, members)
    if not fits_on_nodes(emptied, pod_sets, homes):
        out = out or unfit_nodes(desk, one, members, tight=False)
        if out and fits_on_nodes(emptied.with_healthy_nodes(), pod_sets, homes):
            ends = _repair_condition(desk, pod_sets, homes, out)
            return _waits(desk, one, members, ends, unfit.says(one, out))
        if one.topology is None:
            return impossible(nodes.too_many_for_pool(desk.plan, pool, members[0]))
        return _never_near(emptied, one, members)
    ends = _whose_end(desk, pod_sets, homes)
    waits = _waits(desk, one, members, ends)
    return replace(waits, cautions=(unfit.not_counted(out),)) if out else waits


def _repair_condition(
    desk: SchedulerModel,
    pod_sets: tuple[PodSet, ...],
    homes: Mapping[int, str | None],
    out: tuple[UnfitNodes, ...],
) -> str:
    """The first nodes that suffice when they are as planned, else all of them."""
    for some in out:
        if some.nodes and fits_on_nodes(desk.with_healthy_nodes(some.nodes), pod_sets, homes):
            return some.condition
    return unfit.all_mended(out)


def _waits(
    desk: SchedulerModel, pool: PoolPlan, members: Members, ends: str, out: str = ""
) -> JobOutcome:
    """It has quota, and its pods no nodes now; `out`: for what ails the nodes, not for want of room."""
    free = _looked_at(pool, desk.rooms[pool.name], members)
    message = out or nodes.fragmented(free, pool.name, members[0])
    if pool.topology is not None or pool.provisioning:
        return _not_admitted(desk, pool, members, ends, message, out)
    return JobOutcome(
        verdict=Verdict.WAITS,
        message=message,
        conditions=(nodes.room_first(pool.name, members[0], ends),),
        waiting_meanwhile=nodes.admitted_in_vain(desk.plan),
    )


def _never_near(emptied: SchedulerModel, pool: PoolPlan, members: Members) -> JobOutcome:
    """Not even with nobody else there."""
    result = _spot(pool, _looked_at(pool, emptied.rooms[pool.name], members), members)
    running = emptied.running_nodes(pool.name)
    cautions = (places.only_running(pool, running),) if running < pool.nodes.high else ()
    return replace(
        impossible(places.no_place(pool, members, result)), unplaced=True, cautions=cautions
    )


def _not_admitted(
    desk: SchedulerModel, pool: PoolPlan, members: Members, ends: str, message: str, out: str
) -> JobOutcome:
    """Its queue does not let it go: no place is free for it now, or the autoscaler says no."""
    if pool.topology is None:
        return JobOutcome(
            verdict=Verdict.WAITS,
            unplaced=True,
            message=message,
            conditions=(nodes.room_first(pool.name, members[0], ends),),
            waiting_meanwhile=places.denied(desk.plan, pool),
        )
    result = _spot(pool, _looked_at(pool, desk.rooms[pool.name], members), members)
    return JobOutcome(
        verdict=Verdict.WAITS,
        unplaced=True,
        message=out or f"its quota is free, but {places.no_place(pool, members, result)}",
        conditions=(places.place_first(pool, members, ends),),
        waiting_meanwhile=queue.queued(),
    )


def _whose_end(
    desk: SchedulerModel, pod_sets: tuple[PodSet, ...], homes: Mapping[int, str | None]
) -> str:
    """The first job, by age, without which there would be room; "" when it takes several."""
    pools = set(homes.values())
    for job in [j for j in desk.jobs if pools & {p.pool for p in j.pods}][:MAX_ENDS]:
        if fits_on_nodes(desk.without((job,)), pod_sets, homes):
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
    """Whether all pods find nodes; `tied`: only those for which their queue does so."""
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
    """Pods of different size, small ones placed first and far apart: might the large ones find no node?"""
    rooms = dict(desk.rooms)
    for index in sorted((i for i in homes if homes[i]), key=lambda i: _size(pod_sets[i])):
        pods, pool = pod_sets[index], str(homes[index])
        if desk.plan.pool(pool).topology is not None:
            continue  # its queue ties each pod to a node that holds it
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
    """Whether only nodes of a pool can be meant."""
    return any(key in pool.node_selector for pool in plan.pools for key in pods.selector)


def _host(desk: SchedulerModel, pods: PodSet, placing: _Placing) -> bool:
    """Pods that no quota counts: nodes whose taints they bear, or nodes outside the pools."""
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
    placing.cautions.append(cautions.outside_pools())
    return True
