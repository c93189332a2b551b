"""Series that repeat the value of one GPU: sums and counts over them count the GPU several times."""

from collections.abc import Iterable, Iterator, Mapping

from gpuyard.render.observability.scope import MIG, SHARED, MeteredPool, QueryScope
from gpuyard.render.observability.series import Copies, Labels
from gpuyard_core.catalogue.metrics import (
    PLACE_LABELS,
    TARGET_LABELS,
    Label,
    Measured,
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


_POD = ("pod", f"{EXPORTED}pod", "pod_uid")
_OF_THE_POD = tuple(
    f"{prefix}{name}" for prefix in ("", EXPORTED) for name in ("namespace", "container")
)
ADDS = frozenset({"sum", "count", "avg", "stddev", "stdvar", "quantile"})
"""Aggregations whose result depends on how often a value occurs."""
_TOTALS = frozenset({"sum", "count"})
_DEVICE = "UUID"


def copies_on_gpus(
    metric: Metric, pools: Iterable[MeteredPool], *, by_pod: bool, by_process: bool
) -> Iterator[Copies]:
    """The copies of a metric's series in these pools.

    `by_pod`: each pod on a shared GPU has a series; `by_process`: the matchers leave the series of pods or
    those of whole GPUs, not both.
    """
    for pool in pools:
        if MIG in pool.modes and metric.mig is Measured.GPU:
            yield _of_instances(metric, pool)
        if (
            SHARED in pool.modes
            and by_pod
            and not (by_process and metric.shared is Measured.PROCESS)
        ):
            yield _of_pods(metric, pool)


def copies_of_replicas(metric: Metric) -> Copies:
    """The copies of a gauge that each replica of its exporter reports."""
    apart = frozenset({"replica_role", "instance"})
    return Copies(
        metric.name,
        "an object",
        f"each replica of {metric.exporter} reports it",
        apart,
        apart,
        'select replica_role!="follower"',
        are_even=True,
    )


def _of_instances(metric: Metric, pool: MeteredPool) -> Copies:
    apart = frozenset({"GPU_I_ID", *_POD})
    return Copies(
        metric.name,
        f"a GPU of {pool.name}",
        "each MIG instance repeats the value of its GPU",
        apart,
        apart | {"GPU_I_PROFILE", "vgpu", *_OF_THE_POD},
        "aggregate max by (UUID) first",
    )


def _of_pods(metric: Metric, pool: MeteredPool) -> Copies:
    apart = frozenset({"vgpu", *_POD})
    carried = apart.union(_OF_THE_POD)
    counted = f"a GPU of {pool.name}"
    if metric.shared is Measured.PROCESS:
        reason = "a shared GPU has a series of its own next to those of its pods"
        fix = f'select pods with {EXPORTED}pod!="", or GPUs with {EXPORTED}pod=""'
        return Copies(metric.name, counted, reason, apart, carried, fix, are_equal=False)
    reason = "each pod on a shared GPU repeats the value of the GPU"
    return Copies(
        metric.name, counted, reason, apart, carried, "aggregate max by (UUID, GPU_I_ID) first"
    )


def remaining(copies: Iterable[Copies], labels: Labels) -> tuple[Copies, ...]:
    """The copies that are still apart after only these labels remain."""
    return tuple(each for each in copies if any(map(labels.has, each.carried)))


def counted_twice(operation: str, copies: Iterable[Copies], labels: Labels) -> Iterator[Copies]:
    """The copies that an aggregation to these labels counts more than once."""
    if operation not in ADDS:
        return
    for each in copies:
        per_device = operation == "avg" and each.are_equal and labels.has(_DEVICE)
        averaged = per_device or (each.are_even and operation not in _TOTALS)
        if not averaged and not any(map(labels.has, each.apart)):
            yield each
