"""GPU-MET-02: expressions use metrics by their type and labels."""

import re
from collections.abc import Iterator

from gpuyard_core.catalogue.metrics import (
    DEV,
    KUEUE_PREFIX,
    Measured,
    MetricType,
    dcgm_default,
    kueue_type,
    suggested_metric,
)
from gpuyard_core.findings import Path, Severity
from gpuyard_lint.rules.rule import Parameters, Resource, Rule, Stack, Violation, at, mapping, text
from gpuyard_lint.rules.subjects.exporters import exporter_versions
from gpuyard_lint.rules.subjects.installed_versions import version_if_all_older
from gpuyard_lint.rules.subjects.promql import DEEPEST, Expression, Selector, read_promql
from gpuyard_lint.rules.subjects.queries import (
    QUERY_KINDS,
    exporter_keeps_labels,
    honors_labels,
    is_label_created,
    is_scraped_here,
    queries,
    rule_words,
)

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
_STRATEGIES = ("values:gpu-operator", "nvidia.com/ClusterPolicy")

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


def _check(stack: Stack, parameters: Parameters) -> Iterator[Violation]:
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
    strategies = set(_strategies(stack))
    own = any(map(_of_ones_own, stack.resources_of_kinds("config:mig-parted")))
    everywhere = not any(map(_keeps_nvidias, stack.resources_of_kinds(*_STRATEGIES)))
    if "none" not in strategies and (
        "mixed" in strategies or (own and everywhere and "single" in strategies)
    ):
        return True
    return False if "mixed" in strategies or (own and strategies != {"none"}) else None


def _of_ones_own(layouts: Resource) -> bool:
    """Layouts written by the user; every cluster has a list of NVIDIA's, partitioned or not."""
    return not mapping(layouts.properties.get("mig-configs")).keys() >= _ON_EVERY_CLUSTER


def _keeps_nvidias(operator: Resource) -> bool:
    """Whether an operator uses NVIDIA's default layouts: others then belong to another cluster."""
    path = ("migManager",) if operator.kind.startswith("values:") else ("spec", "migManager")
    return text(at(operator.properties, *path, "config", "name")) == _NVIDIAS


def _strategies(stack: Stack) -> Iterator[str]:
    for operator in stack.resources_of_kinds(*_STRATEGIES):
        path = ("mig",) if operator.kind.startswith("values:") else ("spec", "mig")
        yield text(mapping(at(operator.properties, *path)).get("strategy"))


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


RULE = Rule(
    id="GPU-MET-02",
    title="Expressions use GPU metrics by their type and labels",
    severity=Severity.WARNING,
    why="A rate of a gauge, a wrong ratio or the wrong pod label gives plausible but wrong numbers.",
    fix="Use deriv() for gauges, quantiles for histograms, exported_pod for the pod that uses the GPU.",
    sources=(
        "NVIDIA/dcgm-exporter issues 27, 85, 216, 342, 430; etc/default-counters.csv for the types",
        "NVIDIA/dcgm-exporter pull request 655: the label Hostname is hostname since 4.8.3",
        "Prometheus documentation, honor_labels and rate()",
        "NVIDIA NVML API reference, nvmlUtilization_t: memory is time in which it was read or written",
    ),
    kinds=QUERY_KINDS,
    parameters={"honor_labels": False},
    check_stack=_check,
    is_stack_wide=True,  # a dashboard and the MIG layouts are rarely in the same folder
)
