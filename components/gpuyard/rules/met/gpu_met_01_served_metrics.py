"""GPU-MET-01: every metric that is asked for is served by somebody."""

import re
from collections.abc import Iterator

from gpuyard.catalogue.kubernetes.autoscaler_metrics import (
    AUTOSCALER_METRICS,
    AUTOSCALERS,
    KARPENTER_METRICS,
    Autoscaler,
)
from gpuyard.catalogue.kubernetes.dcgm_fields import DCGM_FIELDS, is_no_field
from gpuyard.catalogue.metrics import (
    DCGM_DEFAULT,
    DEV,
    KUEUE,
    KUEUE_0_20_METRICS,
    KUEUE_METRICS,
    KUEUE_PREFIX,
    MULTIKUEUE,
    PROF,
    kueue_type,
    suggested_metric,
)
from gpuyard.findings import Severity
from gpuyard.rules.rule import Parameters, Rule, Stack, Violation, items, text
from gpuyard.rules.subjects.exporters import (
    serves_custom_metrics,
    serves_default_metrics,
    serves_legacy_names,
)
from gpuyard.rules.subjects.promql import read_promql
from gpuyard.rules.subjects.queries import COUNTERS, QUERY_KINDS, queries, recording_rules
from gpuyard.spec.suggestions import nearest_name

_FIELD = re.compile(r"DCGM_(FI|EXP)_")
_OF_OTEL = "_total"
"""What a collector of OpenTelemetry puts behind the names of counters that it brings."""
_SUMS = {
    f"{DEV}FB_TOTAL": f"write {DEV}FB_USED + {DEV}FB_FREE + {DEV}FB_RESERVED, or list the field"
}
"""What can be had without the field; no list that an exporter comes with has it."""
_OF_A_LIST = ": no list of counters here has it"
_OF_NVIDIAS = ": the exporter's own list has it not"
_OF_NONE = ", unless your list has it: the exporter's own has it not"
"""Where no exporter is in view, and so nobody here knows which list it is given."""


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    listed = {
        text(name)
        for counters in stack.of(COUNTERS)
        for name in items(counters.properties.get("fields"))
        if _FIELD.match(text(name))
    }
    served = frozenset(listed or DCGM_DEFAULT)
    default = serves_default_metrics(stack)
    in_view = bool(listed) or default
    anybodys = serves_custom_metrics(stack)  # and so is an exporter of one's own
    own = recording_rules(stack)
    of_old = serves_legacy_names(stack)
    for resource in stack.of(*QUERY_KINDS):
        for path, query in queries(resource):
            metrics = dict.fromkeys(each.metric for each in read_promql(query).selectors)
            for metric in metrics:
                is_field = _FIELD.match(metric) is not None
                sure = not anybodys and (metric in _SUMS or is_no_field(metric))
                if metric in own or not (in_view or sure or not is_field):
                    continue  # what nobody here serves, somebody elsewhere may
                if of_old and not is_field:
                    continue
                where = _OF_A_LIST if listed else _OF_NVIDIAS if default else _OF_NONE
                if (problem_and_fix := _unserved(metric, served, where)) is not None:
                    unsure = Severity.WARNING if is_field and not in_view else None
                    yield Violation(path, *problem_and_fix, resource, unsure)


def _unserved(metric: str, served: frozenset[str], where: str) -> tuple[str, str] | None:
    """What is wrong with the name, and what to do; None when somebody serves it, or nobody here knows it."""
    if metric.startswith(KUEUE_PREFIX):
        return None if kueue_type(metric) else _unknown_of_kueue(metric)
    for autoscaler in AUTOSCALERS:
        if metric.startswith(autoscaler.prefix):
            return _slip_in(metric, autoscaler)
    if not metric.lower().startswith("dcgm_") or metric.removesuffix(_OF_OTEL) in served:
        return None
    if not _FIELD.match(metric):
        meant = suggested_metric(metric) or nearest_name(metric, sorted(DCGM_DEFAULT))
        fix = (
            f"write {meant}" if meant else "write a name as the exporter's list of counters has it"
        )
        return f"no exporter serves {metric}: the expression is empty, and says nothing", fix
    if where == _OF_NONE and is_no_field(metric):
        problem = f"DCGM has no field {metric}: no list of counters can serve it"
        return problem, f"write {_field_for(metric)}"
    suggestion = nearest_name(metric, sorted(served))
    add = f"add {metric} to a list of counters"
    fix = _SUMS.get(metric) or (f"write {suggestion}, or {add}" if suggestion else add)
    return f"{metric} is not served{where}", fix


def _field_for(metric: str) -> str:
    """The field that a name was to be: of the other group, or one that it begins with."""
    profiled = metric.replace(DEV, PROF)
    if profiled != metric and not is_no_field(profiled):
        return profiled
    begun = [name for name in DCGM_DEFAULT if metric.startswith(name)]
    return max(begun, key=len, default="a name as DCGM's list of fields has it")


def _unknown_of_kueue(metric: str) -> tuple[str, str]:
    name = metric.removeprefix(KUEUE_PREFIX)
    suggestion = nearest_name(name, sorted(KUEUE))
    meant = name if name in MULTIKUEUE else suggestion and f"{KUEUE_PREFIX}{suggestion}"
    fix = f"write {meant}" if meant else "write a name as Kueue's reference has it"
    return f"Kueue serves no {metric}: the expression is empty, and says nothing", fix


def _slip_in(metric: str, autoscaler: Autoscaler) -> tuple[str, str] | None:
    """Only what is near a name that it serves: providers of other clouds serve more of their own."""
    suggestion = nearest_name(metric.removeprefix(autoscaler.prefix), sorted(autoscaler.served))
    if suggestion is None or autoscaler.serves(metric):
        return None
    problem = f"{autoscaler.name} serves no {metric}: the expression is empty, and says nothing"
    return problem, f"write {autoscaler.prefix}{suggestion}"


RULE = Rule(
    id="GPU-MET-01",
    title="Alerts, dashboards and scalers query metrics that exist",
    severity=Severity.ERROR,
    why="An alert on a name that nobody serves never fires, and a scaler on one never scales.",
    fix="Write names as the exporter's list of counters has them; what is not in it has to be added.",
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
