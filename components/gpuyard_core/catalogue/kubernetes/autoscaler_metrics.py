"""Metrics of autoscalers."""

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
