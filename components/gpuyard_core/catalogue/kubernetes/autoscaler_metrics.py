"""Metrics of autoscalers, and those that show that a capacity option had no machine."""

from dataclasses import dataclass

from gpuyard_core.catalogue.metrics import metrics_of

PER_GROUP_FLAG = "emit-per-nodegroup-metrics"
"""The flag without which Cluster Autoscaler has no metrics of single groups (its proposals/metrics.md)."""
_OF_HISTOGRAMS = ("_bucket", "_sum", "_count")


@dataclass(frozen=True, slots=True)
class Autoscaler:
    """An autoscaler, its name in the table of metrics, and the prefix of its metrics."""

    name: str
    exporter: str
    prefix: str

    @property
    def served(self) -> frozenset[str]:
        """Metrics of the release in the catalogue, without the prefix."""
        rows = metrics_of(self.exporter).values()
        return frozenset(each.name.removeprefix(self.prefix) for each in rows if not each.removed)

    def serves(self, metric: str) -> bool:
        """Whether any of its releases serves this metric."""
        bare = next((metric.removesuffix(s) for s in _OF_HISTOGRAMS if metric.endswith(s)), metric)
        return not {metric, bare}.isdisjoint(metrics_of(self.exporter))


AUTOSCALERS = (
    Autoscaler("Karpenter", "karpenter", "karpenter_"),
    Autoscaler("Cluster Autoscaler", "cluster-autoscaler", "cluster_autoscaler_"),
)


@dataclass(frozen=True, slots=True)
class Shortage:
    """PromQL of alerts for capacity options without machines."""

    autoscaler: str
    description: str
    query: str
    """PromQL that returns series as long as the shortage lasts."""


_DISRUPTED = "karpenter_nodeclaims_disrupted_total"
SHORTAGES = (
    Shortage(
        "Karpenter",
        "EC2 has no capacity for NodePool `nodepool`",
        f'sum by (nodepool) (increase({_DISRUPTED}{{reason="insufficient_capacity"}}[15m])) > 0',
    ),
    Shortage(
        "Karpenter",
        "machines of NodePool `nodepool` do not start, or do not join in time",
        f'sum by (nodepool) (increase({_DISRUPTED}{{reason=~"launch_timeout|registration_timeout"}}[30m])) > 0',
    ),
    Shortage(
        "Cluster Autoscaler",
        "node group `node_group` is in backoff for `reason`",
        "max by (node_group, reason) (cluster_autoscaler_node_group_backoff_status) == 1",
    ),
)
"""A NodePool or node group is one capacity option. GKE's own autoscaler has no such metric."""
