"""Cautions: what an explanation does not evaluate, and what may still prevent the start."""

from collections.abc import Sequence

from gpuyard.plan.records import PoolPlan, TeamPlan
from gpuyard_advisor.explain.messages import phrases, queue
from gpuyard_core import names


def bypasses_queues_without_label(team: TeamPlan) -> str:
    """A job without a queue whose pods tolerate the taints."""
    return f"{queue.queue_label_missing(team)}: the job bypasses every queue and quota"


def unknown_label(pool: str, about: str) -> str:
    """A label that only a running node shows."""
    return f"it is unknown whether nodes of {pool} have {about}"


def resources_unknown_to_autoscaler(pool: str, resources: Sequence[str]) -> str:
    """Resources that the autoscaler does not know yet."""
    return (
        f"pool {pool} has no node, and the autoscaler discovers {phrases.join_with_and(resources)} only from a running"
        " node: the job may never start"
    )


def label_set_after_start(pool: str, label: str) -> str:
    """A label that new nodes get late."""
    return (
        f"nodes of {pool} get the label {label} only after they start:"
        " the autoscaler may not know that a new node would fit"
    )


def small_pods_block_large() -> str:
    """A gang whose small pods may take the nodes of its large ones."""
    return (
        "its pods differ in size and share nodes: small pods may take the node that a large pod needs;"
        " required anti-affinity or a separate pool for one size prevents it"
    )


def pods_without_fabric_adapter(pool: str, pods: int, adapter: str, per_pod: int) -> str:
    """Pods without the fabric's network adapter, which they must request."""
    return (
        f"{phrases.format_count(pods, 'pod')} of the job would use whole nodes of {pool} without {adapter}: their"
        f" traffic falls back to TCP, and NCCL does not report it. Add {adapter}: {per_pod} to the limits"
    )


def more_nodes_than_maximum(pool: PoolPlan, run: int) -> str:
    """More nodes than the maximum: no autoscaler limits all capacity options together."""
    return (
        f"{pool.name} has {phrases.format_count(run, 'node')} then, above its maximum of {pool.nodes.high}: each capacity"
        " option has its own limit, and queues count GPUs, not nodes; where an option has no machines"
        " left, the job does not start"
    )


def node_resources_unknown(resources: Sequence[str]) -> str:
    """Resources whose amount on nodes is unknown to the plan."""
    return f"it is unknown whether its nodes have {phrases.join_with_and(resources)}"


def many_replicas(judged: int) -> str:
    """The limit of the simulation."""
    return f"only the first {judged:,} pods were simulated"


def bypasses_queues_without_team(namespace: str) -> str:
    """A namespace without a queue, and pods that tolerate the taints."""
    return f"{queue.namespace_without_team(namespace)}: the job bypasses every queue and quota"


def unknown_priority(name: str) -> str:
    """A priority class that is not part of the platform."""
    return (
        f"the priority class {name} is not part of this platform and counts as 0;"
        " if the cluster has no such class, Kueue queues nothing"
    )


def priority_by_label_only(team: TeamPlan) -> str:
    """A default priority that is not applied automatically."""
    return (
        f"the priority {team.priority} of team {team.name} is not applied automatically: a job without the label"
        f" {names.PRIORITY_LABEL} has priority 0"
    )


def pending_jobs_ahead(count: int) -> str:
    """Jobs that are already pending."""
    return f"{phrases.format_count(count, 'job')} {'is' if count == 1 else 'are'} already pending and may be admitted first"


def queue_usage_orders_admission(team: str) -> str:
    """Kueue orders a team's queues by usage before priority and age."""
    return (
        f"among the queues of {team}, the one with less usage is admitted first, whatever the priority; the usage"
        " is not known here"
    )


def queue_usage_orders_eviction(team: str) -> str:
    """Kueue also orders preemption candidates by the usage of their queues."""
    return (
        f"among the jobs of {team}, those of the queue with more usage are evicted first, whatever the priority;"
        " the usage of each queue is unknown"
    )


def capacity_outside_pools_unknown() -> str:
    """Nodes outside the plan."""
    return (
        "pods without GPUs run on nodes outside the pools; whether those have capacity is unknown"
    )


def topology_labels_assumed(pool: PoolPlan, level: str) -> str:
    """Topology labels that are known only at runtime."""
    return (
        f"which nodes of {pool.name} share a {level} is known only once they run; the answer assumes that all do."
        " Pass --running with the output of `kubectl get nodes,pods,workloads -A -o json`"
    )


def preemption_not_simulated(jobs: int) -> str:
    """Preemption for a topology placement that is not simulated."""
    return (
        "Kueue may preempt jobs of lower priority or of borrowers to free a place:"
        f" not simulated with {phrases.format_count(jobs, 'job')} running"
    )


def pod_anti_affinity_ignored() -> str:
    """Pods with anti-affinity that Kueue assigns to the same node."""
    return (
        "Kueue ignores pod anti-affinity: it may assign two of its pods to one node, where the second stays pending;"
        " request all GPUs of a node instead"
    )
