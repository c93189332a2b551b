"""Rules on queries of metrics."""

import re
from collections.abc import Iterator

from gpuyard_core.catalogue.kubernetes.autoscaler_metrics import AUTOSCALERS, Autoscaler
from gpuyard_core.catalogue.kubernetes.dcgm_fields import is_no_field
from gpuyard_core.catalogue.metrics import (
    DEV,
    KUEUE_PREFIX,
    PROF,
    Measured,
    MetricType,
    dcgm_default,
    kueue_names,
    kueue_type,
    metrics_of,
    suggested_metric,
)
from gpuyard_core.findings import Path, Severity
from gpuyard_core.manifests.fields import at, items, mapping, text
from gpuyard_core.suggestions import nearest_name
from gpuyard_lint.rules.rule import Parameters, Stack, Violation, load_rule
from gpuyard_lint.rules.subjects.components import OPERATORS
from gpuyard_lint.rules.subjects.exporters import (
    exporter_versions,
    serves_custom_metrics,
    serves_default_metrics,
    serves_legacy_names,
)
from gpuyard_lint.rules.subjects.installed_versions import version_if_all_older
from gpuyard_lint.rules.subjects.promql import DEEPEST, Expression, Selector, read_promql
from gpuyard_lint.rules.subjects.queries import (
    COUNTERS,
    QUERY_KINDS,
    exporter_keeps_labels,
    honors_labels,
    is_label_created,
    is_scraped_here,
    queries,
    recording_rules,
    rule_words,
)

# GPU-MET-01
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


def _check_metric_names(stack: Stack, _: Parameters) -> Iterator[Violation]:
    listed = {
        text(name)
        for counters in stack.resources_of_kinds(COUNTERS)
        for name in items(counters.properties, "fields")
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


# GPU-MET-02
_OF_COUNTERS = frozenset({"rate", "irate", "increase"})
_POD = ("pod", "namespace", "container")
_OF_EXPORTERS = re.compile(r"gpu|nvidia|dcgm|exporter|monitoring", re.IGNORECASE)
"""Namespaces, and variables for them, in which exporters run."""
_FREE, _USED = f"{DEV}FB_FREE", f"{DEV}FB_USED"
_WHOLE = f"divide by {_USED} + {_FREE} + {DEV}FB_RESERVED"
_BY_FREE = "used divided by free is not utilisation: it is 1 at half full and infinite at full"
_THE_EXPORTERS = (
    " is the exporter's own here, because honorLabels is off: not that of the pod using the GPU"
)
_TRAFFIC = f"{DEV}MEM_COPY_UTIL"
_FILLED = re.compile(
    r"\b(?:memory|mem|vram|framebuffer|frame buffer|fb)\b(?:\s+\w+){0,3}\s+(?:full|used|exhausted|bytes)\b"
    r"|\bout of (?:gpu |device |video )?(?:memory|vram)\b|\boom\b"
)
"""Words for used memory; NVIDIA itself uses "use" and "utilisation" for traffic."""
_OF_TRAFFIC = re.compile(
    r"\b(?:bandwidth|copy|copies|traffic|controller|bus|interface|read|written|not|idle)\b"
)
_TAKEN_FOR = (
    " is time in which memory was read or written, not memory used: it is 0 on an idle, full GPU"
)
_NO_FILL = (
    f"{_TRAFFIC}{_TAKEN_FOR}",
    f"write 100 * {_USED} / ({_USED} + {_FREE} + {DEV}FB_RESERVED)",
)
_ODDS = re.compile(r">=?\s*(?:[2-9]|\d\d+)(?:\.\d+)?\s*$")
_MADE = re.compile(
    r"""["'](pod|namespace|container)["']\s*,\s*["'][^"']*["']\s*,\s*["'](exported_\1)["']"""
)
"""The end of `label_replace(…, "pod", "$1", "exported_pod", "(.+)")`."""

_NVIDIAS = "default-mig-parted-config"
_ON_EVERY_CLUSTER = {"all-disabled", "all-1g.5gb", "all-balanced"}
_ACTIVE = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
_UNDER_MIG = {_TRAFFIC: "DCGM_FI_PROF_DRAM_ACTIVE"}
"""The closest metric for a slice."""

_OLD_LABEL = "Hostname"
_RENAMED_IN = (4, 8, 3)
_OPERATOR_SINCE = (26,)
"""Earlier operators bring an exporter before 4.8.3."""
_LABEL_GONE = (
    f"since exporter 4.8.3 the label is {_OLD_LABEL.lower()}: no series has {_OLD_LABEL}",
    f"write {_OLD_LABEL.lower()}; older exporters use {_OLD_LABEL}",
)

_NONE_OF_SLICES = "GPUs in MIG mode do not report "

_DEEP = (
    f"more than {DEEPEST} nested parentheses: the rules read the expression only up to there",
    "move parts of it into recording rules",
)

_Said = tuple[str, str]


def _check_metric_use(stack: Stack, parameters: Parameters) -> Iterator[Violation]:
    keeps = parameters["honor_labels"] or honors_labels(stack)
    keeps_labels, scraped = exporter_keeps_labels(stack), is_scraped_here(stack)
    old = _hostname_gone(stack)
    cut = _are_cut(stack)
    for resource in stack.resources_of_kinds(*QUERY_KINDS):
        renamed: list[Path] = []
        for path, query in queries(resource):
            result = read_promql(query)
            problems = [*_problems(result, keeps=keeps, slices=cut is not None)]
            problems += _renamed(result, query) if keeps_labels else ()
            problems += [_NO_FILL] if _means_filled(result, rule_words(resource, path)) else []
            problems = [
                each
                for each in dict.fromkeys(problems)
                if not (_is_made(each, query) or _of_odds(each, query))
            ]
            if not result.is_fully_read:
                yield Violation(path, *_DEEP, resource, Severity.INFO)
            for problem, fix in problems:
                maybe = problem.startswith(_NONE_OF_SLICES) and not cut
                maybe |= problem.endswith(_THE_EXPORTERS) and not scraped
                yield Violation(path, problem, fix, resource, is_advisory=maybe)
            if old is not None and _by_hostname(result):
                renamed.append(path)
        if renamed and old is not None:  # one message for all of them
            problem, fix = _LABEL_GONE
            often = f", in {len(renamed)} expressions here" if renamed[1:] else ""
            unsure = old is Severity.INFO  # the exporter is not in the input
            yield Violation(renamed[0], problem, f"{fix}{often}", resource, old, is_advisory=unsure)


def _is_made(problem: _Said, query: str) -> bool:
    """Whether the expression creates the label itself."""
    made_labels = {label for label, _ in _MADE.findall(query)}
    return problem[0].partition(" ")[0] in made_labels


def _of_odds(problem: _Said, query: str) -> bool:
    """Whether used divided by free memory is compared with odds: above 9 means above nine tenths."""
    return problem[0] == _BY_FREE and "100" not in query and _ODDS.search(query) is not None


def _means_filled(result: Expression, words: str) -> bool:
    """Whether a rule presents memory traffic as used memory."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_:.,-]+", " ", words).lower()
    fields = {_field(each) for each in result.selectors}
    return fields == {_TRAFFIC} and bool(_FILLED.search(spaced)) and not _OF_TRAFFIC.search(spaced)


def _by_hostname(result: Expression) -> bool:
    """Whether it selects or groups GPUs by only the old label name."""
    of_gpus = [each for each in result.selectors if _field(each)]
    named = (
        {name for each in of_gpus for name in each.labels} | result.grouping_labels
        if of_gpus
        else set()
    )
    return _OLD_LABEL in named and _OLD_LABEL.lower() not in named


def _hostname_gone(stack: Stack) -> Severity | None:
    """The severity for the old label: error if the exporter is known, else info; None if it exists."""
    versions = exporter_versions(stack)
    older = any(each < _RENAMED_IN for each in versions)
    older |= not versions and bool(version_if_all_older(stack, "gpu-operator", _OPERATOR_SINCE))
    if older or is_label_created(stack, _OLD_LABEL):
        return None
    return Severity.WARNING if versions else Severity.INFO


def _are_cut(stack: Stack) -> bool | None:
    """Whether GPUs are partitioned: False if they may be, None if not."""
    operators = [
        at(each.properties, *OPERATORS[each.group_kind])
        for each in stack.resources_of_kinds(*OPERATORS)
    ]
    strategies = {text(mapping(at(each, "mig")).get("strategy")) for each in operators}
    own = any(  # layouts written by the user; every cluster has a list of NVIDIA's
        not mapping(layouts.properties, "mig-configs").keys() >= _ON_EVERY_CLUSTER
        for layouts in stack.resources_of_kinds("config:mig-parted")
    )
    # with NVIDIA's default layouts, others belong to another cluster
    names = (text(at(each, "migManager", "config", "name")) for each in operators)
    everywhere = _NVIDIAS not in names
    if "none" not in strategies and (
        "mixed" in strategies or (own and everywhere and "single" in strategies)
    ):
        return True
    return False if "mixed" in strategies or (own and strategies != {"none"}) else None


def _field(each: Selector) -> str:
    return each.metric if each.metric in dcgm_default() else suggested_metric(each.metric) or ""


def _problems(result: Expression, *, keeps: bool, slices: bool) -> Iterator[_Said]:
    for before, each in zip((None, *result.selectors), result.selectors, strict=False):
        field = _field(each)
        real = field if _may_be_served(each.metric) else ""
        served = dcgm_default().get(real)
        if served and served.type is MetricType.GAUGE:
            yield from _rates(each)
        if slices and served and served.mig is Measured.NOTHING:
            yield (
                f"{_NONE_OF_SLICES}{each.metric}",
                f"use {_UNDER_MIG.get(field, _ACTIVE)}, a ratio from 0 to 1",
            )
        if kueue_type(each.metric) is MetricType.HISTOGRAM and each.metric.startswith(KUEUE_PREFIX):
            yield (
                f"{each.metric} is a histogram: no series has this name",
                f"write histogram_quantile(0.95, sum by (le) (rate({each.metric}_bucket[5m])))",
            )
        if before is not None:
            yield from _memory(_field(before), each.preceding_operator, field)
        if field and not keeps:
            yield from _labels(each)


def _may_be_served(metric: str) -> bool:
    """Whether series of this name exist: an exporter's, or in small letters those of its first release line.

    A series that does not exist has no type; GPU-MET-01 reports it.
    """
    return metric in dcgm_default() or metric.islower()


def _rates(each: Selector) -> Iterator[_Said]:
    for function in _OF_COUNTERS & set(each.functions[:1]):
        yield (
            f"{function}() requires a counter, and {each.metric} is a gauge: each decrease counts as a reset",
            "use deriv(), or avg_over_time()",
        )


def _memory(before: str, operator: str, field: str) -> Iterator[_Said]:
    if (before, operator, field) == (_USED, "/", _FREE):
        yield _BY_FREE, _WHOLE
    elif (before, operator, field) == (_FREE, "-", _USED):
        yield "free minus used is neither value: it is negative once more than half is used", _WHOLE


def _renamed(result: Expression, query: str) -> Iterator[_Said]:
    """Labels that Prometheus adds only for a conflict, in which it keeps its own.

    Other series may have the label and add it in a join; an expression with both names is correct.
    """
    alone = all(map(_field, result.selectors))
    unquoted = [each for each in _POD if not re.search(f"[\"']exported_{each}[\"']", query)]
    for each in filter(_field, result.selectors):
        named = {*each.labels, *(each.grouping_labels if alone else ())}
        for label in unquoted:
            exported_label = f"exported_{label}"
            if exported_label in named and label not in named:
                yield (
                    f"the exporter is scraped with honorLabels: true here: no series has {exported_label}",
                    f"write {label}",
                )


def _labels(each: Selector) -> Iterator[_Said]:
    for label in _POD:
        meant = label == "namespace" and _OF_EXPORTERS.search(each.labels.get(label, ""))
        if (label in each.labels and not meant) or label in each.grouping_labels:
            yield (
                f"{label}{_THE_EXPORTERS}",
                f"write exported_{label}, or set honorLabels: true in the exporter's ServiceMonitor or PodMonitor",
            )


RULES = (
    load_rule("GPU-MET-01", kinds=QUERY_KINDS, check_stack=_check_metric_names),
    load_rule(
        "GPU-MET-02", kinds=QUERY_KINDS, check_stack=_check_metric_use, is_stack_wide=True
    ),  # a dashboard and the MIG layouts are rarely in the same folder
)
