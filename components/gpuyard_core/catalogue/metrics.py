"""Metrics of a GPU platform: who serves them, with which type, unit and labels, and on which GPUs.

tables/metrics.csv has a row for each metric, also of Kueue 0.20 (metrics.kueue-0-20-metrics), tables/exporters.csv
one for each exporter.

Columns of a metric: `served` is empty if the exporter always serves it, `default` or `list` for the exporter's
default or a custom list of counters, otherwise the setting that enables it. `mig` and `shared` say what a series
measures on a GPU in MIG mode and on one that several pods share: a GPU as a whole, an instance, a process
(metrics.dcgm-modes). `products` is what a GPU needs. `field` is DCGM's number, `renamed` DCGM's new name of the field.

A label is `name`, `name@mode` if only such GPUs have it, `name=a|b` with all its values, or `name~regex` with the
form of its values. `*` stands for labels that the table does not know.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from gpuyard_core.catalogue.sources import Source
from gpuyard_core.catalogue.tables import read_rows

DEV, PROF = "DCGM_FI_DEV_", "DCGM_FI_PROF_"
DCGM = "dcgm-exporter"
STATE_METRICS = "kube-state-metrics"
ACTIVITY: Mapping[str, float] = {f"{PROF}GR_ENGINE_ACTIVE": 100.0, f"{DEV}GPU_UTIL": 1.0}
"""Metrics of GPU use, with the factor to percent. The first one also covers slices, but only on GPUs with
profiling; the second one covers whole GPUs."""
POD_LABELS = ("exported_namespace", "exported_pod")
"""Labels of the pod that uses the GPU, as named by Prometheus without honorLabels, the default of the
operator's chart (gpu-operator v26.7.0 values.yaml, dcgmExporter.serviceMonitor)."""
DEVICE_LABELS = ("UUID", "GPU_I_ID", "vgpu")
"""Labels that together identify one GPU, slice or share (the exporter's pull request 432 for the last)."""
PLACE_LABELS = frozenset({"namespace", "pod", "container"})
"""Labels that Prometheus adds for the pod that it scrapes."""
TARGET_LABELS = PLACE_LABELS | {"job", "instance", "service", "endpoint"}
"""All labels that Prometheus adds for the scraped target. Without honorLabels, an exporter's own label of the same name
becomes `exported_…`."""
PROMETHEUS_OPERATED = "http://prometheus-operated.monitoring.svc:9090"
"""The service that prometheus-operator creates for every Prometheus, in the namespace of Kueue's chart and
most guides (kube-prometheus-stack and Kueue 0.19.2 values.yaml)."""
KUEUE_PREFIX = "kueue_"
_LABEL = re.compile(r"([^@=~]+)(?:@(\w+))?(?:=([^~]+))?(?:~(.+))?")
_OF_HISTOGRAMS = ("_bucket", "_sum", "_count")


class MetricType(StrEnum):
    """The type of a metric."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"
    SUMMARY = "summary"


class Measured(StrEnum):
    """What one series measures."""

    GPU = "gpu"
    """The whole GPU: each instance and each pod on it has the same value."""
    INSTANCE = "instance"
    """The MIG instance."""
    PROCESS = "process"
    """The pod's processes, next to a series without a pod for the whole GPU."""
    NOTHING = "none"
    """Such GPUs do not have the metric."""
    UNRELATED = ""
    """The metric is not one of GPUs."""


@dataclass(frozen=True, slots=True)
class Label:
    """A label of a metric."""

    name: str
    mode: str = ""
    """Only GPUs in this mode have the label: mig, shared or dra."""
    values: tuple[str, ...] = ()
    """All its values; empty if they are unknown."""
    form: str = ""
    """A regular expression of its values; empty if any value is possible."""

    @staticmethod
    @cache
    def from_cell(cell: str) -> "Label":
        """`name`, `name@mode`, `name=a|b` or `name~regex`, for tables."""
        match = _LABEL.fullmatch(cell)
        name, mode, values, form = match.groups(default="") if match else (cell, "", "", "")
        return Label(name, mode, tuple(filter(None, values.split("|"))), form)


@dataclass(frozen=True, slots=True)
class Exporter:
    """A component that serves metrics."""

    name: str
    honors_labels: bool
    """Whether its usual ServiceMonitor sets honorLabels."""
    is_about_target: bool
    """Whether the scraped pod is what its metrics measure, rather than where the exporter runs."""
    labels: tuple[Label, ...]
    """Labels of all its metrics."""
    source: Source


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of an exporter; the module describes its columns."""

    exporter: str
    name: str
    type: MetricType
    unit: str
    labels: tuple[Label, ...]
    since: str
    """The first release that serves it; empty if all do."""
    removed: str
    """The release that removed it; empty if the newest serves it."""
    served: str
    mig: Measured
    shared: Measured
    products: str
    field: str
    renamed: str
    aliases: tuple[str, ...]
    note: str


@cache
def exporters() -> Mapping[str, Exporter]:
    """All exporters by name."""
    return {row.name: row for row in read_rows("exporters", Exporter)}


@cache
def metrics() -> Mapping[str, Metric]:
    """All metrics by name; a histogram has one entry, without the suffixes of its series."""
    return {row.name: row for row in read_rows("metrics", Metric)}


@cache
def metrics_of(exporter: str) -> Mapping[str, Metric]:
    """The metrics of one exporter by name."""
    return {name: each for name, each in metrics().items() if each.exporter == exporter}


@cache
def dcgm_default() -> Mapping[str, Metric]:
    """The metrics of the exporter's default list of counters."""
    return {n: each for n, each in metrics_of(DCGM).items() if each.served == "default"}


@cache
def kueue_names() -> tuple[str, ...]:
    """The names of Kueue's metrics without their prefix; MultiKueue has another prefix."""
    names = sorted(metrics_of("kueue"))
    return tuple(n.removeprefix(KUEUE_PREFIX) for n in names if n.startswith(KUEUE_PREFIX))


def metric_of_series(series: str) -> Metric | None:
    """The metric to which a series belongs: `…_seconds_bucket` belongs to the histogram `…_seconds`."""
    table = metrics()
    if series in table:
        return table[series]
    for suffix in _OF_HISTOGRAMS:
        each = table.get(series.removesuffix(suffix)) if series.endswith(suffix) else None
        if each is not None and (
            each.type is MetricType.HISTOGRAM
            or (each.type is MetricType.SUMMARY and suffix != "_bucket")
        ):
            return each
    return None


def kueue_type(series: str) -> MetricType | None:
    """The type of a Kueue series; those of a histogram are counters; None if Kueue has no such metric."""
    each = metric_of_series(series)
    if each is None or each.exporter != "kueue":
        return None
    return each.type if series == each.name else MetricType.COUNTER


def suggested_metric(name: str) -> str | None:
    """The exporter's field for a name in a guide: `dcgm_gpu_temp` is DCGM_FI_DEV_GPU_TEMP."""
    low = name.lower()
    for each in dcgm_default().values():
        if low in each.aliases:
            return each.name
    bare = low.removeprefix("dcgm_").removeprefix("fi_").removeprefix("dev_").removeprefix("prof_")
    for prefix in (DEV, PROF):
        if (field := f"{prefix}{bare.upper()}") in dcgm_default():
            return field
    return None
