"""GPU-MET-01: a component serves every queried metric."""

import re
from collections.abc import Iterator

from gpuyard_core.catalogue.kubernetes.autoscaler_metrics import AUTOSCALERS, Autoscaler
from gpuyard_core.catalogue.kubernetes.dcgm_fields import DCGM_FIELDS, is_no_field
from gpuyard_core.catalogue.metrics import (
    AUTOSCALER_METRICS,
    DEV,
    KARPENTER_METRICS,
    KUEUE_0_20_METRICS,
    KUEUE_METRICS,
    KUEUE_PREFIX,
    PROF,
    dcgm_default,
    kueue_names,
    kueue_type,
    metrics_of,
    suggested_metric,
)
from gpuyard_core.findings import Severity
from gpuyard_core.suggestions import nearest_name
from gpuyard_lint.rules.rule import Parameters, Rule, Stack, Violation, items, text
from gpuyard_lint.rules.subjects.exporters import (
    serves_custom_metrics,
    serves_default_metrics,
    serves_legacy_names,
)
from gpuyard_lint.rules.subjects.promql import read_promql
from gpuyard_lint.rules.subjects.queries import COUNTERS, QUERY_KINDS, queries, recording_rules

_FIELD = re.compile(r"DCGM_(FI|EXP)_")
_OF_OTEL = "_total"
"""The suffix that an OpenTelemetry collector adds to counter names."""
_SUMS = {
    f"{DEV}FB_TOTAL": f"write {DEV}FB_USED + {DEV}FB_FREE + {DEV}FB_RESERVED, or add the field to the list"
}
"""A replacement for a field that no default list contains."""
_OF_A_LIST = ": no list of counters here contains it"
_OF_NVIDIAS = ": the exporter's default list does not contain it"
_OF_NONE = " unless your list contains it: the exporter's default list does not"
"""Without an exporter in the input, its list of counters is unknown."""


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    listed = {
        text(name)
        for counters in stack.resources_of_kinds(COUNTERS)
        for name in items(counters.properties.get("fields"))
        if _FIELD.match(text(name))
    }
    served = frozenset(listed or dcgm_default())
    default = serves_default_metrics(stack)
    in_view = bool(listed) or default
    custom_metrics = serves_custom_metrics(stack)  # a custom exporter may serve any
    own = recording_rules(stack)
    of_old = serves_legacy_names(stack)
    for resource in stack.resources_of_kinds(*QUERY_KINDS):
        for path, query in queries(resource):
            metrics = dict.fromkeys(each.metric for each in read_promql(query).selectors)
            for metric in metrics:
                is_field = _FIELD.match(metric) is not None
                sure = not custom_metrics and (metric in _SUMS or is_no_field(metric))
                if metric in own or not (in_view or sure or not is_field):
                    continue  # components outside the input may serve it
                if of_old and not is_field:
                    continue
                where = _OF_A_LIST if listed else _OF_NVIDIAS if default else _OF_NONE
                if (problem_and_fix := _unserved(metric, served, where)) is not None:
                    unsure = Severity.WARNING if is_field and not in_view else None
                    yield Violation(path, *problem_and_fix, resource, unsure)


def _unserved(metric: str, served: frozenset[str], where: str) -> tuple[str, str] | None:
    """The problem and fix for a name; None if it is served, or unknown."""
    if metric.startswith(KUEUE_PREFIX):
        return None if kueue_type(metric) else _unknown_of_kueue(metric)
    for autoscaler in AUTOSCALERS:
        if metric.startswith(autoscaler.prefix):
            return _slip_in(metric, autoscaler)
    if not metric.lower().startswith("dcgm_") or metric.removesuffix(_OF_OTEL) in served:
        return None
    if not _FIELD.match(metric):
        meant = suggested_metric(metric) or nearest_name(metric, sorted(dcgm_default()))
        fix = f"write {meant}" if meant else "write a name from the exporter's list of counters"
        return f"no exporter serves {metric}: the expression is always empty", fix
    if where == _OF_NONE and is_no_field(metric):
        problem = f"DCGM has no field {metric}: no list of counters can contain it"
        return problem, f"write {_field_for(metric)}"
    suggestion = nearest_name(metric, sorted(served))
    add = f"add {metric} to a list of counters"
    fix = _SUMS.get(metric) or (f"write {suggestion}, or {add}" if suggestion else add)
    return f"{metric} is not served{where}", fix


def _field_for(metric: str) -> str:
    """The intended field: of the other group, or one with this prefix."""
    profiled = metric.replace(DEV, PROF)
    if profiled != metric and not is_no_field(profiled):
        return profiled
    begun = [name for name in dcgm_default() if metric.startswith(name)]
    return max(begun, key=len, default="a name from DCGM's list of fields")


def _unknown_of_kueue(metric: str) -> tuple[str, str]:
    name = metric.removeprefix(KUEUE_PREFIX)
    suggestion = nearest_name(name, kueue_names())
    meant = name if name in metrics_of("kueue") else suggestion and f"{KUEUE_PREFIX}{suggestion}"
    fix = f"write {meant}" if meant else "write a name from Kueue's metrics reference"
    return f"Kueue serves no {metric}: the expression is always empty", fix


def _slip_in(metric: str, autoscaler: Autoscaler) -> tuple[str, str] | None:
    """Only names close to a served one: providers of other clouds serve more metrics of their own."""
    suggestion = nearest_name(metric.removeprefix(autoscaler.prefix), sorted(autoscaler.served))
    if suggestion is None or autoscaler.serves(metric):
        return None
    problem = f"{autoscaler.name} serves no {metric}: the expression is always empty"
    return problem, f"write {autoscaler.prefix}{suggestion}"


RULE = Rule(
    id="GPU-MET-01",
    title="Alerts, dashboards and scalers query metrics that exist",
    severity=Severity.ERROR,
    why="An alert on a metric that does not exist never fires, and a scaler on one never scales.",
    fix="Use names from the exporter's list of counters, or add fields to the list.",
    sources=(
        "NVIDIA/dcgm-exporter 4.6.0-4.8.3 etc/default-counters.csv",
        DCGM_FIELDS.title,
        KUEUE_METRICS.title,
        KUEUE_0_20_METRICS.title,
        KARPENTER_METRICS.title,
        AUTOSCALER_METRICS.title,
    ),
    kinds=QUERY_KINDS,
    check_stack=_check,
)
