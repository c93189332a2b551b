"""What an explanation says of places and of answers from an autoscaler; the rest is in `words`."""

from gpuyard.plan.explain.needs import PodSet
from gpuyard.plan.explain.topology import Near, Spot
from gpuyard.plan.explain.words import each_asks, some
from gpuyard.plan.pool_records import CheckPlan
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.spec.sections import Provisioning


def not_taken(near: Near) -> str:
    """Annotations that Kueue's webhook refuses."""
    return f"Kueue does not accept its topology annotations: {near.wrong}"


def _asks(pods: PodSet) -> str:
    return f"{some(pods.count, 'pod')} with {each_asks(pods)}"


def no_place(pool: PoolPlan, pods: PodSet, found: Spot) -> str:
    """No domain that holds them, or no nodes."""
    near = pods.near
    holds = "none" if not found.best else f"{found.best:,}"
    if near and near.how == "required":
        return (
            f"it requires all pods within one {near.level}, and the best of {pool.name} holds {holds}"
            f" of {_asks(pods)}"
        )
    slices = (
        f" in slices of {near.slice_size} within one {near.slice_level}"
        if near and near.slice_level
        else ""
    )
    return f"the nodes of {pool.name} hold {holds} of {_asks(pods)}{slices}"


def place_first(pool: PoolPlan, pods: PodSet, ends: str) -> str:
    """The condition under which they find a place."""
    near = pods.near
    where = (
        f"one {near.level} of {pool.name} has"
        if near and near.how == "required"
        else f"nodes of {pool.name} have"
    )
    example = f", for example when {ends} ends" if ends else ""
    return f"when {where} room for {_asks(pods)}{example}"


def only_running(pool: PoolPlan, running: int) -> str:
    """A queue does not reckon with nodes that nobody was asked for."""
    return (
        f"its queue looks at nodes of {pool.name} that run ({running:,} of at most {pool.nodes.high:,}),"
        " and starts none"
    )


def guessed(pool: PoolPlan, level: str) -> str:
    """Labels that no plan knows."""
    return (
        f"which nodes of {pool.name} share a {level} is known where they run only: counted as if all did;"
        " give --running with `kubectl get nodes,pods,workloads -A -o json`"
    )


def may_evict(pool: PoolPlan) -> str:
    """Pre-empting for a place, which is not tried here."""
    return (
        f"Kueue may evict jobs of lower priority, or of borrowers, to make a place in {pool.name}:"
        " not judged here"
    )


def apart_unseen() -> str:
    """Pods that keep apart, tied to the same node."""
    return (
        "queues do not see that its pods keep apart: two may be tied to one node, where the second waits;"
        " ask for a whole node's GPUs instead"
    )


def asked_first(plan: PlatformPlan, pool: PoolPlan) -> str:
    """Admission depends on an answer."""
    what = (
        "has said that there is room"
        if pool.provisioning == Provisioning.CHECK.value
        else "has made its nodes"
    )
    check = _check(plan, pool)
    return f"when the autoscaler of {pool.name} {what} (admission check {check.name})"


def denied(plan: PlatformPlan, pool: PoolPlan) -> str:
    """What Kueue does after a no."""
    check = _check(plan, pool)
    times = some(check.retries, "time")
    return (
        "The autoscaler says no, and the job gives its quota back. Kueue asks again after"
        f" {check.first_wait_seconds} seconds, then after twice as long, {times} in all;"
        " then it gives the job up: it is deactivated until somebody sets the workload's `active` again."
    )


def _check(plan: PlatformPlan, pool: PoolPlan) -> CheckPlan:
    """The admission check of a pool."""
    return next(c for c in plan.queueing.checks if c.word == pool.provisioning)
