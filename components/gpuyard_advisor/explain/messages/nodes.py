"""Nodes for pods: available, to be started, or missing."""

from collections.abc import Mapping, Sequence

from gpuyard.plan.capacity.capacity_options import max_nodes_total
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard_advisor.explain.messages import phrases, queue
from gpuyard_advisor.scheduler.flavors import requests_with_quota
from gpuyard_advisor.scheduler.model import SchedulerModel
from gpuyard_advisor.scheduler.nodes import (
    FreeResources,
    largest_free,
    planned_node_resources,
    with_pods_resource,
)
from gpuyard_advisor.scheduler.requests import PodSet
from gpuyard_core.manifests.quantities import format_amount


def no_node_without_gpus(plan: PlatformPlan, pods: PodSet) -> str:
    """Pods without GPUs on a platform with GPU nodes only."""
    some_pods = f"{phrases.format_count(pods.count, 'pod')} ({pods.path}) request{'s' if pods.count == 1 else ''}"
    where = (
        "every node of this platform is a GPU node with a taint that"
        if plan.simulated
        else "the nodes it selects are GPU nodes with a taint that"
    )
    return f"{some_pods} no GPU, and {where} such pods do not tolerate"


def pool_lacks_selected_labels(plan: PlatformPlan, pool: str, about: str) -> str:
    """A node selector that Kueue ignores."""
    return (
        f"its queue assigns it to {pool}, whose nodes do not have {about}:"
        f" Kueue matches only {phrases.join_with_and(plan.pool(pool).node_selector)}"
    )


def too_big_for_node(plan: PlatformPlan, pool: str, pods: PodSet, short: Sequence[str]) -> str:
    """A pod larger than a node."""
    return f"its queue assigns it to {pool}, where {pod_exceeds_node_capacity(plan, pool, pods, short)}"


def pod_exceeds_node_capacity(
    plan: PlatformPlan, pool: str, pods: PodSet, short: Sequence[str]
) -> str:
    """Resources of which a node has less than a pod requests."""
    node = planned_node_resources(plan, plan.pool(pool))
    wants = phrases.join_with_and(format_amount(r, pods.requests[r]) for r in short)
    has = phrases.join_with_and(
        format_amount(r, node[r]) if r in node else f"no {r}" for r in short
    )
    return f"one pod requests {wants}, and a node has {has}"


def too_many_for_pool(plan: PlatformPlan, pool: str, pods: PodSet) -> str:
    """More pods than all nodes of a pool can run."""
    one = plan.pool(pool)
    nodes = max_nodes_total(plan.cloud, one)
    scope = " (of all its capacity options together)" if nodes > one.nodes.high else ""
    apart = ", each on a separate node" if pods.is_anti_affine else ""
    return (
        f"its queue assigns it to {pool}, whose {phrases.format_count(nodes, 'node')}{scope} do not fit"
        f" {phrases.format_count(pods.count, 'pod')} with {requests_per_pod(pods)}{apart}"
    )


def requests_per_pod(pods: PodSet) -> str:
    """The requests of a pod, without zero requests and namespace defaults."""
    asks = [
        format_amount(r, n) for r, n in pods.requests.items() if n and r not in pods.unset_requests
    ]
    return phrases.join_with_and(asks or ["no requests"])


def _main(pods: PodSet) -> str:
    """The limiting resource: devices before CPU and memory."""
    return next(iter([*requests_with_quota(pods.requests), *pods.requests]))


def free_capacity_is_fragmented(free: FreeResources, pool: str, pods: PodSet) -> str:
    """Quota is available, but no node has the capacity."""
    resource = _main(pods)
    pieces = largest_free(free, resource)
    if not pieces:
        return f"its quota is available, but no node of {pool} has any {resource} left"
    shown = phrases.join_with_and(
        f"{format_amount(resource, size)} on {phrases.format_count(count, 'node')}"
        for size, count in pieces
    )
    some = sum(nodes.count * nodes.slots(with_pods_resource(pods.requests)) for nodes in free)
    but = f"not on one node: {pool} has"
    if 0 < some < pods.count:
        but = f"{pool} fits {some:,} of its {pods.count:,} pods:"
    return (
        f"its quota is available, but {but} {shown}, and one pod requests {requests_per_pod(pods)}"
    )


def when_nodes_have_capacity(pool: str, pods: PodSet, ends: str) -> str:
    """The condition for nodes with capacity, with an example."""
    subject = "nodes have" if pods.count > 1 else "a node has"
    example = f", for example when {ends}" if ends else ""
    count = phrases.format_count(pods.count, "pod")
    return f"when in {pool} {subject} capacity for {count} with {requests_per_pod(pods)}{example}"


def admitted_but_pods_pending(plan: PlatformPlan) -> str:
    """What Kueue does with an admitted gang whose pods stay pending."""
    return f"Kueue admits it, its pods stay pending and its quota stays in use. {queue.evicted_after_start_timeout(plan)}"


def where_job_starts(
    pools: Sequence[str], nodes: int, started: Mapping[str, int], pods: int
) -> str:
    """Where it starts."""
    if not pods:
        return "it requests no pods"
    if not pools:
        return "it requests no resource that a queue counts"
    running = nodes - sum(started.values())
    where = f"on {phrases.format_count(nodes, 'node')} of {phrases.join_with_and(pools)}"
    if not started:
        return f"{where}, running already"
    return f"{where}, {running} running already" if running > 0 else f"{where}, none running yet"


def after_nodes_have_started(desk: SchedulerModel, started: Mapping[str, int]) -> tuple[str, ...]:
    """Nodes that must start first."""
    return tuple(_first(desk, desk.plan.pool(pool), count) for pool, count in started.items())


def _first(desk: SchedulerModel, pool: PoolPlan, count: int) -> str:
    run, most = desk.running_nodes(pool.name), pool.nodes.high
    if run + count > most:
        most = max_nodes_total(desk.plan.cloud, pool)
    have = "has" if count == 1 else "have"
    return f"after {phrases.format_count(count, 'node')} of {pool.name} {have} started ({run} of at most {most} run)"


def format_node_count(nodes: int) -> str:
    """Nodes of one pool."""
    return phrases.format_count(nodes, "node")


def only_some_pods_start(why: str, started: int, expected: int) -> str:
    """How many replicas start, and why the next one does not."""
    return why if not started else f"{started:,} of {expected:,} pods start; for the next, {why}"
