"""Placing of admitted pods on nodes, as the scheduler does it, and whether there is room."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gpuyard.explain.outcome import JobOutcome, never
from gpuyard.explain.records import Verdict
from gpuyard.explain.sentences import cautions, nodes, places, queue, unfit
from gpuyard.explain.unfit_nodes import UnfitNodes, unfit_nodes
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.scheduler.desk import Desk, Pods
from gpuyard.scheduler.flavors import counted
from gpuyard.scheduler.nodes import Placed, Room, lacking, node_of, place
from gpuyard.scheduler.requests import PodSet, grouped
from gpuyard.scheduler.selectors import accepts, discovered, labels_of, untolerated
from gpuyard.scheduler.topology import Spot, spot
from gpuyard.spec.sections import Provisioning

Members = tuple[PodSet, ...]
"""Pods that are placed together: those that are alike, and where there is one their leader."""
MAX_ENDS = 50
"""Running jobs whose end is tried, one by one."""


@dataclass(slots=True)
class _Placing:
    """Pod sets on their way to nodes."""

    rooms: dict[str, Room]
    nodes: int = 0
    started: dict[str, int] = field(default_factory=dict[str, int])
    cautions: list[str] = field(default_factory=list[str])
    homes: list[Pods] = field(default_factory=list[Pods])


def on_nodes(
    desk: Desk, pod_sets: tuple[PodSet, ...], homes: Mapping[int, str | None]
) -> JobOutcome:
    """What the scheduler does with pods that were admitted, by pod set and pool."""
    placing = _Placing(dict(desk.rooms))
    for pool, members in _in_turn(desk.plan, pod_sets, homes):
        if pool is None:
            taken = _host(desk, members[0], placing)
            why = "" if taken else nodes.no_plain_node(desk.plan, members[0])
        else:
            found = (_wrong_pool(desk, pool, pods, placing) for pods in members)
            why = next(filter(None, found), "")
        if why:
            return never(why)
        if pool is not None and not _into_pool(desk.plan, pool, members, placing):
            return _no_room(desk, pod_sets, homes, (pool, members))
    if _may_block_itself(desk, pod_sets, homes):
        placing.cautions.append(cautions.blocks_itself())
    pools = tuple(dict.fromkeys(p for p in homes.values() if p))
    pods_in_all = sum(p.count for p in pod_sets)
    return JobOutcome(
        verdict=Verdict.STARTS,
        says=nodes.starts(pools, placing.nodes, placing.started, pods_in_all),
        pools=pools,
        pods_started=pods_in_all,
        nodes=placing.nodes,
        nodes_to_start=dict(placing.started),
        conditions=(*nodes.nodes_first(desk, placing.started), *_asked(desk.plan, pools)),
        cautions=tuple(dict.fromkeys(placing.cautions)),
        rooms=placing.rooms,
        homes=tuple(placing.homes),
    )


def _in_turn(
    plan: PlatformPlan, pod_sets: tuple[PodSet, ...], homes: Mapping[int, str | None]
) -> list[tuple[str | None, Members]]:
    """What is placed together, and where: what queues place in their order, else the largest pods first."""
    units: list[tuple[str | None, Members]] = []
    for indexes in grouped(pod_sets):
        members = [pod_sets[i] for i in indexes]
        if len(members) > 1 and members[1].count > members[0].count:
            members.reverse()  # the leader is the one that is alone
        units.append((homes.get(indexes[0]), tuple(members)))
    tied = [u for u in units if u[0] is not None and plan.pool(u[0]).topology is not None]
    free = [u for u in units if u not in tied]
    return tied + sorted(free, key=lambda u: _size(u[1][0]), reverse=True)


def _wrong_pool(desk: Desk, pool: str, pods: PodSet, placing: _Placing) -> str:
    """Why no node of the pool can ever take one of the pods, "" when one can."""
    plan = desk.plan
    met, about = accepts(labels_of(plan, plan.pool(pool)), pods.selector, pods.terms)
    if met is False:
        return nodes.wrong_nodes(plan, pool, about)
    if met is None:
        placing.cautions.append(cautions.unknown_label(pool, about))
    one, near = plan.pool(pool), pods.near
    short = lacking(node_of(plan, one), pods.requests)
    if short and all(lacking(node, pods.requests) for node in desk.nodes_as_they_are(one)):
        return nodes.too_big_for_node(plan, pool, pods, short)
    if one.topology is not None and near and pods.count % near.slice_size:
        return places.left_over(one, pods, near.slice_size)
    return ""


def _asked(plan: PlatformPlan, pools: tuple[str, ...]) -> tuple[str, ...]:
    """Answers that come before the job is admitted."""
    return tuple(
        places.asked_first(plan, plan.pool(name)) for name in pools if plan.pool(name).provisioning
    )


def _looked_at(pool: PoolPlan, room: Room, members: Members) -> Room:
    """Nodes that take such pods, and that a queue or an autoscaler's look reckons with.

    Others only where they are asked for first.
    """
    room = tuple(n for n in room if not any(untolerated(n.taints, p.tolerations) for p in members))
    waits = pool.topology is not None or pool.provisioning is Provisioning.CHECK
    if not waits or pool.provisioning in {Provisioning.ATOMIC, Provisioning.QUEUED}:
        return room
    return tuple(n for n in room if n.running)


def _spot(pool: PoolPlan, room: Room, members: Members) -> Spot:
    """What its queue finds for pods, and for their leader."""
    pods = members[0]
    leader = members[1].requests if members[1:] else None
    return spot(room, pool.topology_levels, pods.requests, pods.count, pods.near, leader)


def _find(pool: PoolPlan, members: Members, placing: _Placing) -> Placed | Spot:
    """Nodes for pods: those that the queue ties them to, or those that the scheduler finds."""
    pods = members[0]
    room = placing.rooms[pool.name]
    seen = _looked_at(pool, room, members)
    rest = tuple(n for n in room if n not in seen)
    if pool.topology is None:
        placed = place(seen, pods.requests, pods.count, who=pods.path, apart=pods.apart)
        return replace(placed, room=(*placed.room, *rest))
    found = _spot(pool, seen, members)
    if found.guessed and pods.near:
        placing.cautions.append(cautions.guessed(pool, pods.near.level))
    if pods.apart and pods.count > 1:
        placing.cautions.append(cautions.apart_unseen())
    return replace(found, room=(*found.room, *rest))


def _into_pool(plan: PlatformPlan, pool: str, members: Members, placing: _Placing) -> bool:
    """Put pods on nodes of a pool; False when some find none."""
    placed = _find(plan.pool(pool), members, placing)
    if not placed.fits:
        return False
    runs = any(n.running and n.count for n in placing.rooms[pool])
    placing.rooms[pool] = placed.room
    placing.nodes += placed.nodes
    placing.homes += (Pods(pool=pool, requests=p.requests, count=p.count) for p in members)
    if placed.started:
        asked = [r for pods in members for r, n in pods.requests.items() if n]
        unknown = [r for r in plan.pool(pool).scale.hidden if r in asked]
        if unknown and not runs:
            placing.cautions.append(cautions.hidden(pool, unknown))
        placing.started[pool] = placing.started.get(pool, 0) + placed.started
        run = sum(n.count for n in placed.room if n.running)
        if run > plan.pool(pool).nodes.high:
            placing.cautions.append(cautions.beyond_its_bound(plan.pool(pool), run))
        for label in filter(None, (discovered(p.selector, p.terms) for p in members)):
            placing.cautions.append(cautions.discovered_late(pool, label))
    return True


def _size(pods: PodSet) -> tuple[int, ...]:
    """Pods with many devices first, they are the hardest to place."""
    return (sum(counted(pods.requests).values()), sum(pods.requests.values()))


def _no_room(
    desk: Desk,
    pod_sets: tuple[PodSet, ...],
    homes: Mapping[int, str | None],
    where: tuple[str, Members],
) -> JobOutcome:
    """Quota is there and nodes are not: for now, or for good."""
    pool, members = where
    one = desk.plan.pool(pool)
    emptied = Desk(desk.plan, replace(desk.state, jobs=()))
    out = unfit_nodes(desk, one, members)
    if not has_place(emptied, pod_sets, homes):
        out = out or unfit_nodes(desk, one, members, tight=False)
        if out and has_place(emptied.mended(), pod_sets, homes):
            ends = _which_mended(desk, pod_sets, homes, out)
            return _waits(desk, one, members, ends, unfit.says(one, out))
        if one.topology is None:
            return never(nodes.too_many_for_pool(desk.plan, pool, members[0]))
        return _never_near(emptied, one, members)
    ends = _whose_end(desk, pod_sets, homes)
    waits = _waits(desk, one, members, ends)
    return replace(waits, cautions=(unfit.not_counted(out),)) if out else waits


def _which_mended(
    desk: Desk,
    pod_sets: tuple[PodSet, ...],
    homes: Mapping[int, str | None],
    out: tuple[UnfitNodes, ...],
) -> str:
    """The first nodes that suffice when they are as planned, else all of them."""
    for some in out:
        if some.nodes and has_place(desk.mended(some.nodes), pod_sets, homes):
            return some.mended
    return unfit.all_mended(out)


def _waits(desk: Desk, pool: PoolPlan, members: Members, ends: str, out: str = "") -> JobOutcome:
    """It has quota, and its pods no nodes now; `out`: for what ails the nodes, not for want of room."""
    room = _looked_at(pool, desk.rooms[pool.name], members)
    says = out or nodes.fragmented(room, pool.name, members[0])
    if pool.topology is not None or pool.provisioning:
        return _kept(desk, pool, members, ends, says, out)
    return JobOutcome(
        verdict=Verdict.WAITS,
        says=says,
        conditions=(nodes.room_first(pool.name, members[0], ends),),
        meanwhile=nodes.admitted_in_vain(desk.plan),
    )


def _never_near(emptied: Desk, pool: PoolPlan, members: Members) -> JobOutcome:
    """Not even with nobody else there."""
    found = _spot(pool, _looked_at(pool, emptied.rooms[pool.name], members), members)
    running = emptied.running_nodes(pool.name)
    cautions = (places.only_running(pool, running),) if running < pool.nodes.high else ()
    return replace(never(places.no_place(pool, members, found)), unplaced=True, cautions=cautions)


def _kept(
    desk: Desk, pool: PoolPlan, members: Members, ends: str, says: str, out: str
) -> JobOutcome:
    """Its queue does not let it go: no place is free for it now, or the autoscaler says no."""
    if pool.topology is None:
        return JobOutcome(
            verdict=Verdict.WAITS,
            unplaced=True,
            says=says,
            conditions=(nodes.room_first(pool.name, members[0], ends),),
            meanwhile=places.denied(desk.plan, pool),
        )
    found = _spot(pool, _looked_at(pool, desk.rooms[pool.name], members), members)
    return JobOutcome(
        verdict=Verdict.WAITS,
        unplaced=True,
        says=out or f"its quota is free, but {places.no_place(pool, members, found)}",
        conditions=(places.place_first(pool, members, ends),),
        meanwhile=queue.queued(),
    )


def _whose_end(desk: Desk, pod_sets: tuple[PodSet, ...], homes: Mapping[int, str | None]) -> str:
    """The first job, by age, without which there would be room; "" when it takes several."""
    used = set(homes.values())
    for job in [j for j in desk.jobs if used & {p.pool for p in j.pods}][:MAX_ENDS]:
        if has_place(desk.without((job,)), pod_sets, homes):
            space = f" in namespace {job.namespace}" if job.namespace else ""
            return f"{job.name}{f' of team {job.team}' if job.team else space} ends"
    return ""


def has_place(
    desk: Desk, pod_sets: tuple[PodSet, ...], homes: Mapping[int, str | None], *, tied: bool = False
) -> bool:
    """Whether all pods find nodes; `tied`: only those for which their queue does so."""
    placing = _Placing(dict(desk.rooms))
    for pool, members in _in_turn(desk.plan, pod_sets, homes):
        if tied and (pool is None or desk.plan.pool(pool).topology is None):
            continue
        if pool is None:
            found = _host(desk, members[0], placing)
        else:
            found = _into_pool(desk.plan, pool, members, placing)
        if not found:
            return False
    return True


def _may_block_itself(
    desk: Desk, pod_sets: tuple[PodSet, ...], homes: Mapping[int, str | None]
) -> bool:
    """Pods of different size, small ones placed first and far apart: might the large ones find no node?"""
    rooms = dict(desk.rooms)
    for index in sorted((i for i in homes if homes[i]), key=lambda i: _size(pod_sets[i])):
        pods, pool = pod_sets[index], str(homes[index])
        if desk.plan.pool(pool).topology is not None:
            continue  # its queue ties each pod to a node that holds it
        placed = place(
            rooms[pool], pods.requests, pods.count, who=pods.path, apart=pods.apart, spread=True
        )
        if placed.left:
            return True
        rooms[pool] = placed.room
    return False


def _selects_a_pool(plan: PlatformPlan, pods: PodSet) -> bool:
    """Whether only nodes of a pool can be meant."""
    return any(key in pool.node_selector for pool in plan.pools for key in pods.selector)


def _host(desk: Desk, pods: PodSet, placing: _Placing) -> bool:
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
