"""The query contract: a PromQL expression against the metric table, the pools and the scrape settings.

It finds expressions that would return nothing or count a GPU several times before they are deployed.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gpuyard.render.observability.copies import (
    EXPORTED,
    copies_of_replicas,
    copies_on_gpus,
    counted_twice,
    labels_by_name,
    labels_of,
    remaining,
)
from gpuyard.render.observability.scope import MIG, MeteredPool, QueryScope
from gpuyard.render.observability.series import Copies, Labels, Series
from gpuyard_core.catalogue.metrics import (
    DCGM,
    DEV,
    Label,
    Measured,
    Metric,
    MetricType,
    metric_of_series,
    metrics,
    suggested_metric,
)
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list
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


_VARIABLE = re.compile(
    r"\$(?:__(?:rate_interval|interval|range)\b|\{__(?:rate_interval|interval|range)\})"
)
_DURATION = "5m"
"""A duration in place of Grafana's variables, which the parser does not know."""
_FILLED = f"{FB_USED} / ({FB_USED} + {FB_FREE} + {DEV}FB_RESERVED)"
_SCALAR = Series(is_scalar=True)
_NAME = "__name__"
_GRAFANA_VARIABLE = "$"
"""A dashboard's variable in a value: any value is possible."""


def matchers_by_label(selector: Any) -> Mapping[str, list[Any]]:
    """The matchers of a selector by the label that they match."""
    found: defaultdict[str, list[Any]] = defaultdict(list)
    for each in selector.matchers.matchers:
        if each.name != _NAME:
            found[each.name].append(each)
    return found


def accepts(matchers: Iterable[Any], value: str) -> bool:
    """Whether all these matchers accept a value; "" for a series without the label."""
    return all(_GRAFANA_VARIABLE in each.value or _accepts(each, value) for each in matchers)


def can_match(matchers: Iterable[Any], label: Label) -> bool:
    """Whether any value of the label is accepted."""
    every = list(matchers)
    if label.values:
        return any(accepts(every, value) for value in label.values)
    exact = {each.value for each in every if kind_of(each) == "Equal"}
    if any(_GRAFANA_VARIABLE in value for value in exact):
        return True
    if len(exact) > 1 or (exact and not accepts(every, *exact)):
        return False
    return not (label.form and exact) or all(re.fullmatch(label.form, value) for value in exact)


def _accepts(matcher: Any, value: str) -> bool:
    kind = kind_of(matcher)
    if kind in {"Equal", "NotEqual"}:
        return (matcher.value == value) is (kind == "Equal")
    return (re.fullmatch(matcher.value, value) is not None) is (kind == "Re")


def kind_of(matcher: Any) -> str:
    """Equal, NotEqual, Re or NotRe."""
    return str(matcher.op).rpartition(".")[2]


def is_absence(matchers: Iterable[Any]) -> bool:
    """Whether the matchers ask for series without the label."""
    return any(kind_of(each) in {"Equal", "Re"} and each.value == "" for each in matchers)


@dataclass(frozen=True, slots=True)
class RecordingRule:
    """A recording rule: its name, its expression, and the labels that it sets."""

    record: str
    query: str
    labels: frozenset[str] = frozenset()
    is_apportioned: bool = False
    """Whether it divides the values of a GPU among its pods: a sum of its results counts no GPU twice."""


def check_recording_rules(
    rules: Iterable[RecordingRule], scope: QueryScope, path: Path = ()
) -> tuple[QueryScope, list[Diagnostic]]:
    """Problems of the rules, and the scope for queries that may use their results.

    A rule may use the results of those before it. Several rules may record series of one name.
    """
    findings: list[Diagnostic] = []
    for rule in rules:
        series, problems = _read(rule.query, scope, (*path, rule.record))
        findings += problems
        copies = () if rule.is_apportioned else series.copies
        made = Series(series.labels.plus(rule.labels), copies)
        if (earlier := scope.recorded.get(rule.record)) is not None:
            made = Series(made.labels.joined(earlier.labels), (*made.copies, *earlier.copies))
        scope = replace(scope, recorded={**scope.recorded, rule.record: made})
    return scope, findings


def check_query(query: str, scope: QueryScope, path: Path = ()) -> list[Diagnostic]:
    """Everything that makes the expression return nothing, a wrong value, or count a GPU several times."""
    return _read(query, scope, path)[1]


def metric_names(query: str) -> frozenset[str]:
    """The names of the series that a valid expression selects; none of an invalid one."""
    import promql_parser

    try:
        tree = promql_parser.parse(_VARIABLE.sub(_DURATION, query))
    except ValueError:
        return frozenset()
    return frozenset(filter(None, map(_name_of, _selectors(tree))))


def _read(query: str, scope: QueryScope, path: Path) -> tuple[Series, list[Diagnostic]]:
    import promql_parser

    try:
        tree = promql_parser.parse(_VARIABLE.sub(_DURATION, query))
    except ValueError as exc:
        problem = f"not a PromQL expression: {exc}"
        return Series(Labels(is_open=True)), [error("metric.query", path, problem, given=query)]
    reader = _Reader(scope, path)
    series = reader.read(tree)
    return series, list(dict.fromkeys(reader.findings))


class _Reader:
    """Reads one expression from the outside in, and collects findings."""

    def __init__(self, scope: QueryScope, path: Path) -> None:
        self.scope = scope
        self.path = path
        self.findings: list[Diagnostic] = []
        self.covered: frozenset[str] = frozenset()
        """Pools that the other side of an `or` returns series for."""

    def read(self, node: Any, within: str = "") -> Series:
        """The result of a node; `within` is the function or aggregation directly around it."""
        readers: Mapping[str, Callable[[Any, str], Series]] = {
            "VectorSelector": self._selector,
            "MatrixSelector": lambda each, of: self._selector(each.vector_selector, of),
            "SubqueryExpr": lambda each, of: self.read(each.expr, of),
            "ParenExpr": lambda each, of: self.read(each.expr, of),
            "UnaryExpr": lambda each, _: self.read(each.expr),
            "AggregateExpr": lambda each, _: self._aggregation(each),
            "BinaryExpr": self._binary,
            "Call": lambda each, _: self._call(each),
        }
        reader = readers.get(type(node).__name__)
        return reader(node, within) if reader else _SCALAR

    def _report(self, kind: str, problem: str, fix: str) -> None:
        self.findings.append(error(kind, self.path, problem, fix=Fix(message=fix)))

    # ── selectors ────────────────────────────────────────────────────────────────────────────────

    def _selector(self, node: Any, within: str) -> Series:
        name, by_label = _name_of(node), matchers_by_label(node)
        if name in self.scope.recorded:
            return self._recorded(name, by_label)
        metric = metric_of_series(name)
        if metric is None or metric.removed:
            self._report("metric.unknown", *unknown_metric(name, metric, self.scope))
            return Series(Labels(is_open=True))
        if problem_and_fix := unserved_metric(metric, self.scope):
            self._report("metric.unlisted", *problem_and_fix)
        if problem_and_fix := wrong_type(metric, name, within):
            self._report("metric.type", *problem_and_fix)
        stored = labels_by_name(metric, name, self.scope)
        self._check_matchers(name, stored, by_label)
        if metric.exporter != DCGM:
            return Series(labels_of(stored), tuple(self._replicas(metric, by_label)))
        pools = self._selected_pools(name, stored, by_label)
        self._check_modes(metric, pools)
        copies = copies_on_gpus(
            metric,
            pools,
            by_pod=self.scope.has_virtual_gpus,
            by_process=_chooses_pods(by_label),
        )
        return Series(labels_of(stored), tuple(copies))

    def _replicas(self, metric: Metric, by_label: Mapping[str, list[Any]]) -> Iterator[Copies]:
        by_role = by_label.get("replica_role", [])
        has_both = accepts(by_role, "leader") and accepts(by_role, "follower")
        if (
            metric.exporter in self.scope.replicated
            and metric.type is MetricType.GAUGE
            and has_both
        ):
            yield copies_of_replicas(metric)

    def _recorded(self, name: str, by_label: Mapping[str, list[Any]]) -> Series:
        series = self.scope.recorded[name]
        for label in by_label:
            self._check_label(label, series.labels, name)
        return series

    def _check_matchers(
        self, name: str, stored: Mapping[str, Label], by_label: Mapping[str, list[Any]]
    ) -> None:
        labels = labels_of(stored)
        for label, matchers in by_label.items():
            known = stored.get(label, Label(label))
            if self._check_label(label, labels, name) and not can_match(matchers, known):
                problem = f"no series of {name} matches {_shown(label, matchers)}"
                self._report("metric.matcher", problem, _matching_fix(known, matchers))

    def _check_label(self, label: str, labels: Labels, of: str) -> bool:
        if labels.has(label):
            return True
        exported = f"{EXPORTED}{label}"
        bare = label.removeprefix(EXPORTED)
        if labels.has(exported):
            problem = (
                f"{label} is not the label of {of}: without honorLabels, Prometheus renames it"
            )
            fix = f"write {exported}, or scrape its exporter with honorLabels: true"
        elif bare != label and labels.has(bare):
            problem, fix = (
                f"{of} has no label {label}: its exporter is scraped with honorLabels",
                f"write {bare}",
            )
        else:
            meant = nearest_name(label, sorted(labels.names))
            problem = f"{of} has no label {label}"
            fix = f"write {meant}" if meant else f"use one of: {format_list(sorted(labels.names))}"
        self._report("metric.label", problem, fix)
        return False

    # ── pools ────────────────────────────────────────────────────────────────────────────────────

    def _selected_pools(
        self, name: str, stored: Mapping[str, Label], by_label: Mapping[str, list[Any]]
    ) -> list[MeteredPool]:
        """The pools whose series match: by the pool's name, and by labels that only some modes have."""
        found = [p for p in self.scope.pools if _is_selected(p, stored, by_label, self.scope)]
        if not found:
            problem = f"no pool has series of {name} that match"
            self._report("metric.absent", problem, "remove the query or a matcher")
        return found

    def _check_modes(self, metric: Metric, pools: Iterable[MeteredPool]) -> None:
        every = list(pools)
        unserved = [pool for pool in every if pool.lacks(metric)]
        silent = (
            unserved
            if len(unserved) == len(every)
            else [p for p in unserved if p.lacks_by_mode(metric)]
        )
        if missing := [pool.name for pool in silent if pool.name not in self.covered]:
            self._report(
                "metric.absent",
                f"{metric.name} has no series in {format_list(missing)}",
                absent_fix(metric),
            )

    # ── operations ───────────────────────────────────────────────────────────────────────────────

    def _aggregation(self, node: Any) -> Series:
        operation = str(node.op)
        inner = self.read(node.expr, operation)
        if node.param is not None:
            self.read(node.param)
        if operation in {"topk", "bottomk", "limitk", "limit_ratio"}:
            self._check_grouping(node.modifier, inner.labels, operation)
            return inner
        labels = self._check_grouping(node.modifier, inner.labels, operation)
        for each in counted_twice(operation, inner.copies, labels):
            self._report(
                "metric.counted_twice",
                f"{operation}() of {each.metric} counts {each.counted} several times: {each.reason}",
                each.fix,
            )
        if operation == "count_values":
            labels = labels.plus({node.param.val})
        return Series(labels, remaining(inner.copies, labels))

    def _check_grouping(self, modifier: Any, labels: Labels, operation: str) -> Labels:
        if modifier is None:
            return Labels()
        named = list(modifier.labels)
        for label in named:
            self._check_label(label, labels, f"the series in {operation}()")
        is_without = str(modifier.type).endswith("Without")
        return labels.minus(named) if is_without else Labels(frozenset(named))

    def _binary(self, node: Any, _: str) -> Series:
        operation, before = str(node.op), self.covered
        if operation == "or":
            self.covered = before | self._pools_of(node.rhs)
        left = self.read(node.lhs)
        if operation == "or":
            self.covered = before | self._pools_of(node.lhs)
        right = self.read(node.rhs, "exists" if operation in {"and", "unless"} else "")
        self.covered = before
        self._check_memory(node, operation)
        if left.is_scalar or right.is_scalar:
            return right if left.is_scalar else left
        self._check_matching(node.modifier, operation, left.labels, right.labels)
        if operation == "or":
            return Series(left.labels.joined(right.labels), (*left.copies, *right.copies))
        return self._joined(node.modifier, operation, left, right)

    def _check_matching(self, modifier: Any, operation: str, left: Labels, right: Labels) -> None:
        matching = modifier.matching if modifier else None
        for label in matching.labels if matching else ():
            for labels in (left, right) if _is_on(matching) else (left.joined(right),):
                self._check_label(label, labels, f"a side of {operation}")

    def _joined(self, modifier: Any, operation: str, left: Series, right: Series) -> Series:
        if operation in {"and", "unless"}:
            return left
        card = str(modifier.card).rpartition(".")[2] if modifier else ""
        if card in {"ManyToOne", "OneToMany"}:
            many, one = (left, right) if card == "ManyToOne" else (right, left)
            for label in modifier.group_labels or ():
                self._check_label(label, one.labels, f"the one side of {operation}")
            return Series(many.labels.plus(modifier.group_labels or ()), many.copies)
        labels, matching = left.labels, modifier.matching if modifier else None
        if matching is not None:
            named = frozenset(matching.labels)
            labels = Labels(named) if _is_on(matching) else labels.minus(named)
        return Series(labels, remaining((*left.copies, *right.copies), labels))

    def _check_memory(self, node: Any, operation: str) -> None:
        sides = (_name_of(_bare(node.lhs)), operation, _name_of(_bare(node.rhs)))
        if sides in {(FB_USED, "/", FB_FREE), (FB_FREE, "-", FB_USED)}:
            self._report(
                "metric.ratio",
                f"{' '.join(sides)} is not the part of memory in use",
                f"write {_FILLED}",
            )

    def _call(self, node: Any) -> Series:
        name = node.func.name
        results = [self.read(each, name) for each in node.args]
        vectors = [each for each in results if not each.is_scalar]
        if not vectors or name == "scalar":
            return _SCALAR
        inner = vectors[0]
        words = [each.val for each in node.args if type(each).__name__ == "StringLiteral"]
        if name == "label_replace":
            return self._relabelled(inner, words[0], [words[2]])
        if name == "label_join":
            return self._relabelled(inner, words[0], words[2:])
        if name == "histogram_quantile":
            self._check_label("le", inner.labels, "the series in histogram_quantile()")
            return Series(inner.labels.minus({"le"}), inner.copies)
        return Series(inner.labels) if name.startswith("absent") else inner

    def _relabelled(self, inner: Series, made: str, sources: Iterable[str]) -> Series:
        for source in filter(None, sources):
            self._check_label(source, inner.labels, "the series in label_replace()")
        return Series(inner.labels.plus({made}), inner.copies)

    def _pools_of(self, node: Any) -> frozenset[str]:
        """The pools for which an expression has series of a GPU metric."""
        found = (metric_of_series(_name_of(each)) for each in _selectors(node))
        served = [each for each in found if each is not None and each.exporter == DCGM]
        return frozenset(p.name for p in self.scope.pools for each in served if not p.lacks(each))


# ── selectors ────────────────────────────────────────────────────────────────────────────────────────


def _is_selected(
    pool: MeteredPool,
    stored: Mapping[str, Label],
    by_label: Mapping[str, list[Any]],
    scope: QueryScope,
) -> bool:
    for label, matchers in by_label.items():
        if label == scope.pool_label:
            possible = accepts(matchers, pool.name)
        elif (mode := stored.get(label, Label(label)).mode) and mode not in pool.modes:
            possible = accepts(matchers, "")
        elif mode == MIG:
            possible = not is_absence(matchers)
        else:
            continue
        if not possible:
            return False
    return True


def _chooses_pods(by_label: Mapping[str, list[Any]]) -> bool:
    """Whether the matchers leave either the series of pods or those of whole GPUs."""
    of_pods = [
        by_label[name] for name in by_label if name.removeprefix(EXPORTED) in {"pod", "namespace"}
    ]
    return any(not accepts(matchers, "") or is_absence(matchers) for matchers in of_pods)


def _name_of(node: Any) -> str:
    if type(node).__name__ != "VectorSelector":
        return ""
    named = [each.value for each in node.matchers.matchers if each.name == "__name__"]
    return str(node.name or next(iter(named), ""))


def _is_on(matching: Any) -> bool:
    return str(matching.type).endswith("Include")


def _bare(node: Any) -> Any:
    while type(node).__name__ == "ParenExpr":
        node = node.expr
    return node


def _selectors(node: Any) -> Iterator[Any]:
    if type(node).__name__ == "VectorSelector":
        yield node
        return
    children = (getattr(node, each, None) for each in ("expr", "lhs", "rhs", "vector_selector"))
    for child in (*children, *getattr(node, "args", ())):
        if child is not None:
            yield from _selectors(child)


def _shown(label: str, matchers: Iterable[Any]) -> str:
    signs = {"Equal": "=", "NotEqual": "!=", "Re": "=~", "NotRe": "!~"}
    return ", ".join(f'{label}{signs[kind_of(m)]}"{m.value}"' for m in matchers)


def _matching_fix(known: Label, matchers: list[Any]) -> str:
    if known.values:
        return f"use one of: {format_list(known.values)}"
    if known.form and len(matchers) == 1:
        return f"write {re.sub('[^a-zA-Z0-9_]', '_', matchers[0].value)}"
    return "remove one of the matchers"
