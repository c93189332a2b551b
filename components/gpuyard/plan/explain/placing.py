"""What the scheduler does with pods that their queue let go: nodes, and whether there is room."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpuyard.plan.explain import words
from gpuyard.plan.explain.flavors import counted
from gpuyard.plan.explain.needs import PodSet
from gpuyard.plan.explain.nodes import Room, lacking, node_of, place
from gpuyard.plan.explain.outcome import Outcome, never
from gpuyard.plan.explain.records import Verdict
from gpuyard.plan.explain.running import EMPTY, Desk, Pods
from gpuyard.plan.explain.selectors import accepts, discovered, labels_of, untolerated
from gpuyard.plan.records import PlatformPlan
from gpuyard.spec.platform import Cloud

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


def on_nodes(desk: Desk, pod_sets: tuple[PodSet, ...], homes: Mapping[int, str | None]) -> Outcome:
    """What the scheduler does with pods that were admitted, by pod set and pool."""
    placing = _Placing(dict(desk.rooms))
    order = (i for i, p in enumerate(pod_sets) if p.count)
    for index in sorted(order, key=lambda i: _size(pod_sets[i]), reverse=True):
        pods, pool = pod_sets[index], homes.get(index)
        if pool is None:
            why = "" if _host(desk, pods, placing) else words.no_plain_node(desk.plan, pods)
        else:
            why = _wrong_pool(desk.plan, pool, pods, placing)
        if why:
            return never(why)
        if pool is not None and not _into_pool(desk.plan, pool, pods, placing):
            return _no_room(desk, pod_sets, homes, index)
    if _may_block_itself(desk, pod_sets, homes):
        placing.cautions.append(words.blocks_itself())
    pools = tuple(dict.fromkeys(p for p in homes.values() if p))
    pods_in_all = sum(p.count for p in pod_sets)
    return Outcome(
        verdict=Verdict.STARTS,
        says=words.starts(pools, placing.nodes, placing.started, pods_in_all),
        pools=pools,
        pods_started=pods_in_all,
        nodes=placing.nodes,
        nodes_to_start=dict(placing.started),
        conditions=words.nodes_first(desk, placing.started),
        cautions=tuple(dict.fromkeys(placing.cautions)),
        rooms=placing.rooms,
        homes=tuple(placing.homes),
    )


def _wrong_pool(plan: PlatformPlan, pool: str, pods: PodSet, placing: _Placing) -> str:
    """Why no node of the pool can ever take one of the pods, "" when one can."""
    met, about = accepts(labels_of(plan, plan.pool(pool)), pods.selector, pods.terms)
    if met is False:
        return words.wrong_nodes(plan, pool, about)
    if met is None:
        placing.cautions.append(words.unknown_label(pool, about))
    short = lacking(node_of(plan, plan.pool(pool)), pods.requests)
    return words.too_big_for_node(plan, pool, pods, short) if short else ""


def _into_pool(plan: PlatformPlan, pool: str, pods: PodSet, placing: _Placing) -> bool:
    """Put pods on nodes of a pool; False when some find none."""
    placed = place(placing.rooms[pool], pods.requests, pods.count, who=pods.path, apart=pods.apart)
    if placed.left:
        return False
    runs = any(n.running and n.count for n in placing.rooms[pool])
    placing.rooms[pool] = placed.room
    placing.nodes += placed.nodes
    placing.homes.append(Pods(pool=pool, requests=pods.requests, count=pods.count))
    if placed.started:
        unknown = [r for r in plan.pool(pool).scale.hidden if pods.requests.get(r)]
        if unknown and not runs:
            placing.cautions.append(words.hidden(pool, unknown))
        placing.started[pool] = placing.started.get(pool, 0) + placed.started
        if label := discovered(pods.selector, pods.terms):
            placing.cautions.append(words.discovered_late(pool, label))
    return True


def _size(pods: PodSet) -> tuple[int, ...]:
    """Pods with many devices first, they are the hardest to place."""
    return (sum(counted(pods.requests).values()), sum(pods.requests.values()))


def _no_room(
    desk: Desk, pod_sets: tuple[PodSet, ...], homes: Mapping[int, str | None], index: int
) -> Outcome:
    """Quota is there and nodes are not: for now, or for good."""
    pool = str(homes[index])
    if desk.is_empty or on_nodes(Desk(desk.plan, EMPTY), pod_sets, homes).verdict is not (
        Verdict.STARTS
    ):
        return never(words.too_many_for_pool(desk.plan, pool, pod_sets[index]))
    return Outcome(
        verdict=Verdict.WAITS,
        says=words.fragmented(desk, pool, pod_sets[index]),
        conditions=(words.room_first(pool, pod_sets[index], _whose_end(desk, pod_sets, homes)),),
        meanwhile=words.admitted_in_vain(desk.plan),
    )


def _whose_end(desk: Desk, pod_sets: tuple[PodSet, ...], homes: Mapping[int, str | None]) -> str:
    """The first job, by age, without which there would be room; "" when it takes several."""
    used = set(homes.values())
    for job in [j for j in desk.jobs if used & {p.pool for p in j.pods}][:MAX_ENDS]:
        placing = _Placing(dict(desk.without((job,)).rooms))
        if all(
            _into_pool(desk.plan, str(homes[i]), pods, placing)
            for i, pods in enumerate(pod_sets)
            if homes.get(i) and pods.count
        ):
            return f"{job.name} of team {job.team}" if job.team else job.name
    return ""


def _may_block_itself(
    desk: Desk, pod_sets: tuple[PodSet, ...], homes: Mapping[int, str | None]
) -> bool:
    """Pods of different size, small ones placed first and far apart: might the large ones find no node?"""
    rooms = dict(desk.rooms)
    for index in sorted((i for i in homes if homes[i]), key=lambda i: _size(pod_sets[i])):
        pods, pool = pod_sets[index], str(homes[index])
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
        if _into_pool(desk.plan, pool.name, pods, placing):
            return True
    if desk.plan.cloud == Cloud.SIMULATED.value or _selects_a_pool(desk.plan, pods):
        return False
    placing.cautions.append(words.outside_pools())
    return True
