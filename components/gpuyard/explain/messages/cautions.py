"""Cautions: what an answer leaves unjudged, and what may still come between."""

from collections.abc import Sequence

from gpuyard import names
from gpuyard.explain.messages import phrases, queue
from gpuyard.plan.records import PoolPlan, TeamPlan


def past_its_queues(team: TeamPlan) -> str:
    """The same where taints let it in."""
    return f"{queue.without_label(team)}: the job passes by every queue and quota"


def unknown_label(pool: str, about: str) -> str:
    """A label that only a live node could show."""
    return f"whether nodes of {pool} have {about} is not known here"


def hidden(pool: str, resources: Sequence[str]) -> str:
    """Resources that an autoscaler does not know of yet."""
    return (
        f"no node of {pool} runs, and whoever adds nodes learns of {phrases.listed(resources)} only from one:"
        " nothing may start"
    )


def discovered_late(pool: str, label: str) -> str:
    """A label that nodes which do not run yet lack."""
    return (
        f"nodes of {pool} get the label {label} only when they run:"
        " whoever starts nodes may not know that one would fit"
    )


def blocks_itself() -> str:
    """A gang that may take its own place away."""
    return (
        "its pods differ in size and share nodes: small ones may be placed so that a large one finds none;"
        " required anti-affinity or a pool of its own for one kind prevents it"
    )


def past_the_fabric(pool: str, pods: int, adapter: str, per_pod: int) -> str:
    """Pods that get no adapter of the fabric, for a device plugin gives it to who asks."""
    return (
        f"{phrases.some(pods, 'pod')} of it would take whole nodes of {pool} without {adapter}: what they"
        f" say to each other goes over TCP, and NCCL tells nobody. Add {adapter}: {per_pod} to the limits"
    )


def beyond_its_bound(pool: PoolPlan, run: int) -> str:
    """More nodes than the stack file says, for no autoscaler bounds all rungs of a ladder together."""
    return (
        f"{pool.name} has {phrases.some(run, 'node')} then, more than its {pool.nodes.high}: each rung of its"
        " ladder is bounded by itself, and its queues count GPUs, not nodes; where a rung has no machines"
        " left, it does not start"
    )


def not_judged(resources: Sequence[str]) -> str:
    """Resources of which the plan does not know what nodes have."""
    return f"whether its nodes have {phrases.listed(resources)} is not known here"


def many_replicas(judged: int) -> str:
    """Where the trying ended."""
    return f"only the first {judged:,} pods were tried"


def past_the_queues(namespace: str) -> str:
    """A namespace without a queue, and nodes that let it in."""
    return f"{queue.of_no_team(namespace)}: the job passes by every queue and quota"


def unknown_priority(name: str) -> str:
    """A priority that the platform did not make."""
    return (
        f"the priority class {name} is not of this platform: counted as 0;"
        " if the cluster has none of that name, nothing is queued"
    )


def priority_by_label_only(team: TeamPlan) -> str:
    """A default that nobody writes into jobs yet."""
    return (
        f"the priority {team.priority} of team {team.name} is not given to jobs by itself: without the label"
        f" {names.PRIORITY_LABEL} it counts as 0"
    )


def others_wait(count: int) -> str:
    """Jobs that are in the queues already."""
    return f"{phrases.some(count, 'job')} wait{'s' if count == 1 else ''} already, and may go first"


def use_orders(team: str) -> str:
    """Kueue asks what each of a team's queues has used before it asks for priority and age."""
    return (
        f"of the queues of {team} the one that used less is first, whatever the priority; what each has used"
        " is not known here"
    )


def use_evicts(team: str) -> str:
    """And so it does among those who could be evicted."""
    return (
        f"of the jobs of {team} those of the queue that used more are evicted first, whatever the priority;"
        " what each has used is not known here"
    )


def outside_pools() -> str:
    """Nodes that the plan knows nothing about."""
    return (
        "pods without GPUs go to nodes outside the pools; whether there is room is not known here"
    )


def guessed(pool: PoolPlan, level: str) -> str:
    """Labels that no plan knows."""
    return (
        f"which nodes of {pool.name} share a {level} is known where they run only: counted as if all did;"
        " give --running with `kubectl get nodes,pods,workloads -A -o json`"
    )


def may_evict(jobs: int) -> str:
    """Pre-empting for a place, where too many run to try it."""
    return (
        "Kueue may evict jobs of lower priority, or of borrowers, to make a place:"
        f" not judged where {phrases.some(jobs, 'job')} run"
    )


def apart_unseen() -> str:
    """Pods that keep apart, tied to the same node."""
    return (
        "queues do not see that its pods keep apart: two may be tied to one node, where the second waits;"
        " ask for a whole node's GPUs instead"
    )
