"""Problems of a metric in an expression: nothing serves it, or a function does not suit its type."""

from gpuyard.render.observability.scope import QueryScope
from gpuyard_core.catalogue.metrics import (
    DCGM,
    DEV,
    Measured,
    Metric,
    MetricType,
    metrics,
    suggested_metric,
)
from gpuyard_core.suggestions import nearest_name

_OF_COUNTERS = frozenset({"rate", "irate", "increase", "resets"})
_OF_EITHER = frozenset(
    {
        *("absent", "absent_over_time", "changes", "count", "count_over_time", "group"),
        *("present_over_time", "timestamp", "exists"),
    }
)
"""Functions and aggregations that do not use the values of their series."""
_LEVELS = frozenset({"lifetime count", "state"})
"""Units of counters that are also read as levels: remapped rows never fall."""
_IN_WINDOW = frozenset({"count in window", "state"})
"""Units of counters of the exporter's own, which fall when a window ends."""
FB_FREE, FB_USED = f"{DEV}FB_FREE", f"{DEV}FB_USED"
_SUMS = {f"{DEV}FB_TOTAL": f"write {FB_USED} + {FB_FREE} + {DEV}FB_RESERVED"}


def unknown_metric(name: str, removed: Metric | None, scope: QueryScope) -> tuple[str, str]:
    """The problem and the fix for a series that nothing serves."""
    if not name:
        return "a selector names no metric", "write the name of a metric"
    meant = suggested_metric(name) or _of_new_name(name) or nearest_name(name, _served_names(scope))
    if removed is not None:
        problem = f"{removed.exporter} does not serve {name} since {removed.removed}"
    else:
        problem = f"no exporter and no recording rule serves {name}"
    return problem, f"write {meant}" if meant else "write a name from the metric table"


def _of_new_name(name: str) -> str | None:
    """The name in the list of counters of a field that DCGM 4.6 renamed."""
    return next((each.name for each in metrics().values() if each.renamed == name), None)


def _served_names(scope: QueryScope) -> list[str]:
    return sorted({*(n for n, each in metrics().items() if not each.removed), *scope.recorded})


def unserved_metric(metric: Metric, scope: QueryScope) -> tuple[str, str] | None:
    """The problem and the fix for a metric that its exporter serves only on request; None if it is served."""
    if metric.exporter == DCGM:
        if metric.name in scope.counters:
            return None
        add = f"add {metric.name} to the list of counters"
        fix = _SUMS.get(metric.name)
        return (
            f"the list of counters does not contain {metric.name}",
            f"{fix}, or {add}" if fix else add,
        )
    if not metric.served or metric.served in scope.settings:
        return None
    return (
        f"{metric.exporter} serves {metric.name} only with {metric.served}",
        f"set {metric.served}",
    )


def wrong_type(metric: Metric, series: str, within: str) -> tuple[str, str] | None:
    """The problem and the fix for a function that the type does not allow; None if it does."""
    if metric.type is MetricType.HISTOGRAM and series == metric.name:
        return (
            f"{series} is a histogram: no series has this name",
            f"write histogram_quantile(0.95, sum by (le) (rate({series}_bucket[5m])))",
        )
    of_counters = within in _OF_COUNTERS
    is_counter = metric.type is MetricType.COUNTER or series != metric.name
    if of_counters and (not is_counter or metric.unit in _IN_WINDOW):
        return (
            f"{within}() requires a counter, and {series} falls at times",
            "use deriv(), delta() or avg_over_time()",
        )
    is_raw = is_counter and not of_counters and within not in _OF_EITHER
    if is_raw and metric.unit not in _LEVELS | _IN_WINDOW:
        return (
            f"{series} is a counter, and its value depends on when the process started",
            f"write rate({series}[5m]) or increase({series}[1h])",
        )
    return None


def absent_fix(metric: Metric) -> str:
    """The fix for a metric that GPUs of a pool do not have."""
    if metric.mig is not Measured.NOTHING:
        return f"remove the query: GPUs there do not support {metric.products}"
    better = "DRAM_ACTIVE" if "MEM_COPY" in metric.name else "GR_ENGINE_ACTIVE"
    return f"use DCGM_FI_PROF_{better}, a ratio from 0 to 1, or combine both with `or`"
