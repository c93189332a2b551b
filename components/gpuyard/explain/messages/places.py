"""Places by topology, and answers from an autoscaler."""

from collections.abc import Sequence

from gpuyard.explain.messages import nodes, phrases
from gpuyard.plan.records import CheckPlan, PlatformPlan, PoolPlan
from gpuyard.scheduler.requests import PodSet
from gpuyard.scheduler.topology import GROUP, TopologyPlacement, TopologyRequest
from gpuyard.spec.sections import Provisioning


def not_taken(wrong: str) -> str:
    """Annotations that Kueue's webhook refuses."""
    return f"Kueue does not accept its topology annotations: {wrong}"


def without_flavor(pods: PodSet) -> str:
    """Pods that a queue must place, and has no pool for."""
    return (
        f"{phrases.some(pods.count, 'pod')} ({pods.path}) ask{'s' if pods.count == 1 else ''} for no GPU,"
        " and a queue that finds nodes for pods itself knows no pool for such: it admits nothing of the job."
        f" One such pod may lead others that ask for GPUs, where both name the same {GROUP}"
    )


def left_over(pool: PoolPlan, pods: PodSet, size: int) -> str:
    """Pods beyond the last whole slice."""
    rest = pods.count % size
    pending = f"{phrases.some(rest, 'pod')} stay{'s' if rest == 1 else ''} pending"
    return (
        f"{phrases.some(pods.count, 'pod')} make no whole slices of {size}: in {pool.name} Kueue admits all"
        f" and finds nodes for {pods.count - rest:,}, and {pending}"
    )


def _requests(pods: PodSet) -> str:
    return f"{phrases.some(pods.count, 'pod')} with {nodes.each_asks(pods)}"


def _leader_text(members: Sequence[PodSet]) -> str:
    """The leader that shares their place."""
    return f" beside their leader with {nodes.each_asks(members[1])}" if members[1:] else ""


def _in_slices(topology_request: TopologyRequest | None) -> str:
    layers = (
        [f"slices of {size} within one {level}" for level, size in topology_request.layers]
        if topology_request
        else []
    )
    return f" in {phrases.listed(layers)}" if layers else ""


def no_place(pool: PoolPlan, members: Sequence[PodSet], result: TopologyPlacement) -> str:
    """No domain that holds them, or no nodes."""
    pods = members[0]
    topology_request = pods.topology_request
    holds = "none" if not result.best else f"{result.best:,}"
    if topology_request and topology_request.mode == "required":
        return (
            f"it requires all pods within one {topology_request.level}, and the best of {pool.name} holds {holds}"
            f" of {_requests(pods)}{_in_slices(topology_request)}{_leader_text(members)}"
        )
    return f"the nodes of {pool.name} hold {holds} of {_requests(pods)}{_in_slices(topology_request)}{_leader_text(members)}"


def place_first(pool: PoolPlan, members: Sequence[PodSet], ends: str) -> str:
    """The condition under which they find a place."""
    pods = members[0]
    topology_request = pods.topology_request
    where = (
        f"one {topology_request.level} of {pool.name} has"
        if topology_request and topology_request.mode == "required"
        else f"nodes of {pool.name} have"
    )
    example = f", for example when {ends}" if ends else ""
    return f"when {where} room for {_requests(pods)}{_in_slices(topology_request)}{_leader_text(members)}{example}"


def elsewhere_first(pools: Sequence[str]) -> str:
    """The pools that would have a place, and whose quota others have."""
    return f"when {phrases.listed(pools)} {'has' if len(pools) == 1 else 'have'} enough quota free for it"


def only_running(pool: PoolPlan, running: int) -> str:
    """A queue does not reckon with nodes that nobody was asked for."""
    return (
        f"its queue looks at nodes of {pool.name} that run ({running:,} of at most {pool.nodes.high:,}),"
        " and starts none"
    )


def nobody_gives_way(reason: str) -> str:
    """No place, and nobody who would have to make one."""
    return f"{reason}; nobody there has to give way to it, or not enough of them"


def for_its_place(why: str) -> str:
    """Evicted though there is quota."""
    return f"{why}; quota is free, its place is wanted"


def asked_first(plan: PlatformPlan, pool: PoolPlan) -> str:
    """Admission depends on an answer."""
    what = (
        "has said that there is room"
        if pool.provisioning is Provisioning.CHECK
        else "has made its nodes"
    )
    check = _check(plan, pool)
    return f"when the autoscaler of {pool.name} {what} (admission check {check.name})"


def denied(plan: PlatformPlan, pool: PoolPlan) -> str:
    """What Kueue does after a no."""
    check = _check(plan, pool)
    times = phrases.some(check.retries, "time")
    return (
        "The autoscaler says no, and the job gives its quota back. Kueue asks again after"
        f" {check.first_wait_seconds} seconds, then after twice as long, {times} in all;"
        " then it gives the job up: it is deactivated until somebody sets the workload's `active` again."
    )


def _check(plan: PlatformPlan, pool: PoolPlan) -> CheckPlan:
    """The admission check of a pool."""
    return next(c for c in plan.queueing.checks if c.provisioning is pool.provisioning)
