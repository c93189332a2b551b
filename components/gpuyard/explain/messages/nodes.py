"""Nodes that pods find, need first, or do not find."""

from collections.abc import Mapping, Sequence

from gpuyard.explain.messages import phrases, queue
from gpuyard.manifests.quantities import format_amount
from gpuyard.plan.capacity.capacity_options import max_nodes_total
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.scheduler.flavors import counted
from gpuyard.scheduler.model import SchedulerModel
from gpuyard.scheduler.nodes import FreeResources, largest_free, node_of, with_own_pod
from gpuyard.scheduler.requests import PodSet


def no_plain_node(plan: PlatformPlan, pods: PodSet) -> str:
    """Pods without GPUs where every node has some."""
    some_pods = (
        f"{phrases.some(pods.count, 'pod')} ({pods.path}) ask{'s' if pods.count == 1 else ''}"
    )
    where = (
        "every node here is a GPU node, whose taint"
        if plan.simulated
        else "the nodes it selects are GPU nodes, whose taint"
    )
    return f"{some_pods} for no GPU, and {where} such pods do not tolerate"


def wrong_nodes(plan: PlatformPlan, pool: str, about: str) -> str:
    """A selector that queues do not see."""
    return (
        f"its queue sends it to {pool}, whose nodes do not have {about}:"
        f" a queue looks only at {phrases.listed(plan.pool(pool).node_selector)}"
    )


def too_big_for_node(plan: PlatformPlan, pool: str, pods: PodSet, short: Sequence[str]) -> str:
    """One pod is more than a node."""
    return f"its queue sends it to {pool}, where {lacks(plan, pool, pods, short)}"


def lacks(plan: PlatformPlan, pool: str, pods: PodSet, short: Sequence[str]) -> str:
    """What a node has less of than one pod wants."""
    node = node_of(plan, plan.pool(pool))
    wants = phrases.listed(format_amount(r, pods.requests[r]) for r in short)
    has = phrases.listed(format_amount(r, node[r]) if r in node else f"no {r}" for r in short)
    return f"one pod wants {wants}, and a node has {has}"


def too_many_for_pool(plan: PlatformPlan, pool: str, pods: PodSet) -> str:
    """All pods are more than all nodes."""
    one = plan.pool(pool)
    nodes = max_nodes_total(plan.cloud, one)
    rungs = ", those of all its rungs together," if nodes > one.nodes.high else ""
    apart = ", each on a node of its own" if pods.is_anti_affine else ""
    return (
        f"its queue sends it to {pool}, whose {phrases.some(nodes, 'node')}{rungs} do not hold"
        f" {phrases.some(pods.count, 'pod')} with {each_asks(pods)}{apart}"
    )


def each_asks(pods: PodSet) -> str:
    """What one pod asks for, without what it leaves at nothing, or to the defaults of its namespace."""
    asks = [
        format_amount(r, n) for r, n in pods.requests.items() if n and r not in pods.unset_requests
    ]
    return phrases.listed(asks or ["no requests"])


def _main(pods: PodSet) -> str:
    """The resource that decides about the room: devices before CPU and memory."""
    return next(iter([*counted(pods.requests), *pods.requests]))


def fragmented(free: FreeResources, pool: str, pods: PodSet) -> str:
    """Quota that is free, on nodes that are not."""
    resource = _main(pods)
    pieces = largest_free(free, resource)
    if not pieces:
        return f"its quota is free, but no node of {pool} has any {resource} left"
    shown = phrases.listed(
        f"{format_amount(resource, size)} on {phrases.some(count, 'node')}"
        for size, count in pieces
    )
    some = sum(nodes.count * nodes.slots(with_own_pod(pods.requests)) for nodes in free)
    but = f"not in one piece: {pool} has"
    if 0 < some < pods.count:
        but = f"{pool} has room for {some:,} of its {pods.count:,} pods:"
    return f"its quota is free, but {but} {shown}, and one pod wants {each_asks(pods)}"


def room_first(pool: str, pods: PodSet, ends: str) -> str:
    """The condition under which pods find nodes, and one event that would do."""
    subject = "nodes have" if pods.count > 1 else "a node has"
    example = f", for example when {ends}" if ends else ""
    return f"when in {pool} {subject} room for {phrases.some(pods.count, 'pod')} with {each_asks(pods)}{example}"


def admitted_in_vain(plan: PlatformPlan) -> str:
    """What Kueue does with a gang whose pods find no node."""
    return f"Kueue admits it, its pods stay pending and hold the quota. {queue.evicted_later(plan)}"


def starts(pools: Sequence[str], nodes: int, started: Mapping[str, int], pods: int) -> str:
    """Where it starts."""
    if not pods:
        return "it asks for no pods at all"
    if not pools:
        return "it asks for nothing that a queue counts"
    running = nodes - sum(started.values())
    where = f"on {phrases.some(nodes, 'node')} of {phrases.listed(pools)}"
    if not started:
        return f"{where}, running already"
    return f"{where}, {running} running already" if running > 0 else f"{where}, none running yet"


def nodes_first(desk: SchedulerModel, started: Mapping[str, int]) -> tuple[str, ...]:
    """Nodes that must start first."""
    return tuple(_first(desk, desk.plan.pool(pool), count) for pool, count in started.items())


def _first(desk: SchedulerModel, pool: PoolPlan, count: int) -> str:
    run, most = desk.running_nodes(pool.name), pool.nodes.high
    if run + count > most:
        most = max_nodes_total(desk.plan.cloud, pool)
    have = "has" if count == 1 else "have"
    return f"after {phrases.some(count, 'node')} of {pool.name} {have} started ({run} of at most {most} run)"


def nodes_taken(nodes: int) -> str:
    """Nodes of one pool."""
    return phrases.some(nodes, "node")


def some_replicas(why: str, started: int, expected: int) -> str:
    """How far the pods come that queue one by one."""
    return why if not started else f"{started:,} of {expected:,} pods start; for the next, {why}"
