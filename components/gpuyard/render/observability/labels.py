"""Labels of a metric's series as Prometheus stores them."""

from collections.abc import Mapping

from gpuyard.render.observability.scope import QueryScope
from gpuyard.render.observability.series import Labels
from gpuyard_core.catalogue.metrics import (
    PLACE_LABELS,
    TARGET_LABELS,
    Label,
    Metric,
    MetricType,
    exporters,
)

EXPORTED = "exported_"
_ANY = "*"


def labels_by_name(metric: Metric, series: str, scope: QueryScope) -> Mapping[str, Label]:
    """The labels of a metric's series as Prometheus stores them."""
    exporter = exporters()[metric.exporter]
    own = [*metric.labels, *exporter.labels, *_of_type(metric, series)]
    honored = exporter.name in scope.honors_labels
    exported = frozenset() if honored else {each.name for each in own} & TARGET_LABELS
    stored = {
        f"{EXPORTED}{each.name}" if each.name in exported else each.name: each for each in own
    }
    of_target = TARGET_LABELS if exporter.is_about_target else TARGET_LABELS - PLACE_LABELS
    of_target = (of_target - exported).union(scope.target_labels.get(exporter.name, ()))
    return {**{name: Label(name) for name in of_target}, **stored}


def labels_of(stored: Mapping[str, Label]) -> Labels:
    """The same as a set of names."""
    names = [name for name in stored if not name.endswith(_ANY)]
    prefixes = [name.removesuffix(_ANY) for name in stored if name.endswith(_ANY) and name != _ANY]
    return Labels(frozenset(names), tuple(prefixes), is_open=_ANY in stored)


def _of_type(metric: Metric, series: str) -> list[Label]:
    if metric.type is MetricType.HISTOGRAM and series.endswith("_bucket"):
        return [Label("le")]
    if metric.type is MetricType.SUMMARY and series == metric.name:
        return [Label("quantile")]
    return []
