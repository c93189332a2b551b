"""Relabelings of the DCGM exporter: the labels that its monitor sets and drops, against which queries are checked."""

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.objects import Object

SET_POOL: Object = {
    "sourceLabels": ["__meta_kubernetes_node_label_gpuyard_dev_pool"],
    "targetLabel": "pool",
}
SET_NODE: Object = {"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node"}
DROP: Object = {"action": "labeldrop", "regex": "Hostname|hostname"}


def exporter_relabelings(plan: PlatformPlan) -> list[Object]:
    """The relabelings that set labels; managed collectors know no label of a node."""
    return [SET_POOL, SET_NODE] if has_pool(plan) else [SET_NODE]


def has_pool(plan: PlatformPlan) -> bool:
    """Whether the exporter's series have the pool."""
    return plan.observability is None or plan.observability.has_operator
