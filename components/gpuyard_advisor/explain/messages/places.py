"""Topology placement and admission checks of autoscalers."""

from collections.abc import Sequence

from gpuyard.plan.records import AdmissionCheckPlan, PlatformPlan, PoolPlan
from gpuyard.spec.sections import Provisioning
from gpuyard_advisor.explain.messages import nodes, phrases
from gpuyard_advisor.scheduler.requests import PodSet
from gpuyard_advisor.scheduler.topology import GROUP, TopologyPlacement, TopologyRequest


def topology_annotations_rejected(wrong: str) -> str:
    """Annotations that Kueue's webhook rejects."""
    return f"Kueue does not accept its topology annotations: {wrong}"


def no_pool_without_gpus(pods: PodSet) -> str:
    """Pods without GPUs in a queue with topology-aware scheduling."""
    return (
        f"{phrases.format_count(pods.count, 'pod')} ({pods.path}) request{'s' if pods.count == 1 else ''} no GPU,"
        " and a queue with topology-aware scheduling has no pool for such pods: it does not admit the job."
        f" One such pod may lead pods that request GPUs if both have the same {GROUP}"
    )


def pods_beyond_whole_slices(pool: PoolPlan, pods: PodSet, size: int) -> str:
    """Pods beyond the last whole slice."""
    rest = pods.count % size
    pending = f"{phrases.format_count(rest, 'pod')} stay{'s' if rest == 1 else ''} pending"
    return (
        f"{phrases.format_count(pods.count, 'pod')} do not divide into slices of {size}: in {pool.name} Kueue admits all"
        f" and finds nodes for {pods.count - rest:,}, and {pending}"
    )


def _requests(pods: PodSet) -> str:
    return f"{phrases.format_count(pods.count, 'pod')} with {nodes.requests_per_pod(pods)}"


def _leader_text(members: Sequence[PodSet]) -> str:
    """The leader pod with the same placement."""
    return f" next to their leader with {nodes.requests_per_pod(members[1])}" if members[1:] else ""


def _in_slices(topology_request: TopologyRequest | None) -> str:
    layers = (
        [f"slices of {size} within one {level}" for level, size in topology_request.layers]
        if topology_request
        else []
    )
    return f" in {phrases.join_with_and(layers)}" if layers else ""


def topology_capacity_insufficient(
    pool: PoolPlan, members: Sequence[PodSet], result: TopologyPlacement
) -> str:
    """No topology domain or nodes that fit them."""
    pods = members[0]
    topology_request = pods.topology_request
    holds = "none" if not result.best else f"{result.best:,}"
    if topology_request and topology_request.mode == "required":
        return (
            f"it requires all pods within one {topology_request.level}, and the best of {pool.name} fits {holds}"
            f" of {_requests(pods)}{_in_slices(topology_request)}{_leader_text(members)}"
        )
    return f"the nodes of {pool.name} fit {holds} of {_requests(pods)}{_in_slices(topology_request)}{_leader_text(members)}"


def when_domain_has_capacity(pool: PoolPlan, members: Sequence[PodSet], ends: str) -> str:
    """The condition for a placement."""
    pods = members[0]
    topology_request = pods.topology_request
    where = (
        f"one {topology_request.level} of {pool.name} has"
        if topology_request and topology_request.mode == "required"
        else f"nodes of {pool.name} have"
    )
    example = f", for example when {ends}" if ends else ""
    return f"when {where} capacity for {_requests(pods)}{_in_slices(topology_request)}{_leader_text(members)}{example}"


def when_pools_have_quota(pools: Sequence[str]) -> str:
    """Pools with a placement, but without quota."""
    return f"when {phrases.join_with_and(pools)} {'has' if len(pools) == 1 else 'have'} enough unused quota for it"


def only_running_nodes_considered(pool: PoolPlan, running: int) -> str:
    """A queue that considers only running nodes."""
    return (
        f"its queue considers only running nodes of {pool.name} ({running:,} of at most {pool.nodes.high:,})"
        " and starts no node"
    )


def preemption_is_insufficient(reason: str) -> str:
    """No placement, and preemption does not free one."""
    return f"{reason}; preemption cannot free enough capacity there"


def preempted_for_nodes(why: str) -> str:
    """Preempted for its nodes, although quota is available."""
    return f"{why}; quota is available, but its nodes are needed"


def when_autoscaler_confirms(plan: PlatformPlan, pool: PoolPlan) -> str:
    """Admission depends on an admission check."""
    what = (
        "has confirmed capacity"
        if pool.provisioning is Provisioning.CHECK
        else "has created its nodes"
    )
    check = _check(plan, pool)
    return f"when the autoscaler of {pool.name} {what} (admission check {check.name})"


def denied(plan: PlatformPlan, pool: PoolPlan) -> str:
    """What Kueue does after a rejection by the autoscaler."""
    check = _check(plan, pool)
    times = phrases.format_count(check.retries, "time")
    return (
        "If the autoscaler declines, the job releases its quota. Kueue retries after"
        f" {check.first_wait_seconds} seconds, then after twice as long, {times} in all;"
        " then it deactivates the workload until you set its `active` field again."
    )


def _check(plan: PlatformPlan, pool: PoolPlan) -> AdmissionCheckPlan:
    """The admission check of a pool."""
    return next(c for c in plan.queueing.checks if c.provisioning is pool.provisioning)
