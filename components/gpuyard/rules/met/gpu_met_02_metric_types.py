"""GPU-MET-02: expressions mean what their metrics are."""

import re
from collections.abc import Iterator

from gpuyard.catalogue.metrics import (
    DCGM_DEFAULT,
    DEV,
    KUEUE_PREFIX,
    NOT_UNDER_MIG,
    kueue_type,
    suggested_metric,
)
from gpuyard.findings import Path, Severity
from gpuyard.rules.rule import Parameters, Resource, Rule, Stack, Violation, at, mapping, text
from gpuyard.rules.subjects.exporters import exporter_versions
from gpuyard.rules.subjects.installed_versions import version_if_all_older
from gpuyard.rules.subjects.promql import DEEPEST, Expression, Selector, read_promql
from gpuyard.rules.subjects.queries import (
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
"""Namespaces, and variables for them, in which exporters run: who names one means the exporter's."""
_FREE, _USED = f"{DEV}FB_FREE", f"{DEV}FB_USED"
_WHOLE = f"divide by {_USED} + {_FREE} + {DEV}FB_RESERVED"
_BY_FREE = "used by free is no utilisation: at half full it is 1, at the end endless"
_THE_EXPORTERS = " is the exporter's own here, honorLabels being off: not that of who uses the GPU"
_TRAFFIC = f"{DEV}MEM_COPY_UTIL"
_FILLED = re.compile(
    r"\b(?:memory|mem|vram|framebuffer|frame buffer|fb)\b(?:\s+\w+){0,3}\s+(?:full|used|exhausted|bytes)\b"
    r"|\bout of (?:gpu |device |video )?(?:memory|vram)\b|\boom\b"
)
"""Words for how much memory is taken; of use and utilisation NVIDIA itself speaks where it means traffic."""
_OF_TRAFFIC = re.compile(
    r"\b(?:bandwidth|copy|copies|traffic|controller|bus|interface|read|written|not|idle)\b"
)
_TAKEN_FOR = " is how long memory was read or written, not how much is used: it is 0 on a full GPU that idles"
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
"""What says nearly the same of a slice."""

_OLD_LABEL = "Hostname"
_RENAMED_IN = (4, 8, 3)
_OPERATOR_SINCE = (26,)
"""Operators before it bring an exporter of before."""
_LABEL_GONE = (
    f"since exporter 4.8.3 the label is {_OLD_LABEL.lower()}: of {_OLD_LABEL} it serves no series",
    f"write {_OLD_LABEL.lower()}; the older exporters have {_OLD_LABEL}",
)

_NONE_OF_SLICES = "of GPUs cut by MIG there is no "

_DEEP = (
    f"more than {DEEPEST} parentheses are open at one place: the rules read the expression up to there",
    "record parts of it by rules of their own",
)

_Said = tuple[str, str]


def _check(stack: Stack, parameters: Parameters) -> Iterator[Violation]:
    keeps = parameters["honor_labels"] or honors_labels(stack)
    keeps_labels, scraped = exporter_keeps_labels(stack), is_scraped_here(stack)
    old = _hostname_gone(stack)
    cut = _are_cut(stack)
    for resource in stack.of(*QUERY_KINDS):
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
            if not result.whole:
                yield Violation(path, *_DEEP, resource, Severity.INFO)
            for problem, fix in problems:
                maybe = problem.startswith(_NONE_OF_SLICES) and not cut
                maybe |= problem.endswith(_THE_EXPORTERS) and not scraped
                yield Violation(path, problem, fix, resource, is_advisory=maybe)
            if old is not None and _by_hostname(result):
                renamed.append(path)
        if renamed and old is not None:  # one word in all of them
            problem, fix = _LABEL_GONE
            often = f", in {len(renamed)} expressions here" if renamed[1:] else ""
            unsure = old is Severity.INFO  # which exporter it is no file says
            yield Violation(renamed[0], problem, f"{fix}{often}", resource, old, is_advisory=unsure)


def _is_made(problem: _Said, query: str) -> bool:
    """Whether the expression itself makes the label of what the exporter was given."""
    made_labels = {label for label, _ in _MADE.findall(query)}
    return problem[0].partition(" ")[0] in made_labels


def _of_odds(problem: _Said, query: str) -> bool:
    """Whether used is held by free against odds: above 9 is above nine tenths, as who wrote it knew."""
    return problem[0] == _BY_FREE and "100" not in query and _ODDS.search(query) is not None


def _means_filled(result: Expression, words: str) -> bool:
    """Whether a rule says of memory's traffic that it is how much of the memory is used."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_:.,-]+", " ", words).lower()
    fields = {_field(each) for each in result.selectors}
    return fields == {_TRAFFIC} and bool(_FILLED.search(spaced)) and not _OF_TRAFFIC.search(spaced)


def _by_hostname(result: Expression) -> bool:
    """Whether it finds or groups GPUs by the old name of the label, and not by both."""
    of_gpus = [each for each in result.selectors if _field(each)]
    named = (
        {name for each in of_gpus for name in each.labels} | result.grouped if of_gpus else set()
    )
    return _OLD_LABEL in named and _OLD_LABEL.lower() not in named


def _hostname_gone(stack: Stack) -> Severity | None:
    """How grave the old label is: a fact where the exporter is known, else a note; None where it is there."""
    versions = exporter_versions(stack)
    older = any(each < _RENAMED_IN for each in versions)
    older |= not versions and bool(version_if_all_older(stack, "gpu-operator", _OPERATOR_SINCE))
    if older or is_label_created(stack, _OLD_LABEL):
        return None
    return Severity.WARNING if versions else Severity.INFO


def _are_cut(stack: Stack) -> bool | None:
    """Whether GPUs are cut: False where they may be, as by layouts of one's own, and None where not."""
    strategies = set(_strategies(stack))
    own = any(map(_of_ones_own, stack.of("config:mig-parted")))
    everywhere = not any(map(_keeps_nvidias, stack.of(*_STRATEGIES)))
    if "none" not in strategies and (
        "mixed" in strategies or (own and everywhere and "single" in strategies)
    ):
        return True
    return False if "mixed" in strategies or (own and strategies != {"none"}) else None


def _of_ones_own(layouts: Resource) -> bool:
    """Somebody wrote these layouts; a list with all of NVIDIA's is in every cluster, cut or not."""
    return not mapping(layouts.properties.get("mig-configs")).keys() >= _ON_EVERY_CLUSTER


def _keeps_nvidias(operator: Resource) -> bool:
    """Whether an operator says that the layouts are NVIDIA's: others then belong to another cluster."""
    path = ("migManager",) if operator.kind.startswith("values:") else ("spec", "migManager")
    return text(at(operator.properties, *path, "config", "name")) == _NVIDIAS


def _strategies(stack: Stack) -> Iterator[str]:
    for operator in stack.of(*_STRATEGIES):
        path = ("mig",) if operator.kind.startswith("values:") else ("spec", "mig")
        yield text(mapping(at(operator.properties, *path)).get("strategy"))


def _field(each: Selector) -> str:
    return each.metric if each.metric in DCGM_DEFAULT else suggested_metric(each.metric) or ""


def _problems(result: Expression, *, keeps: bool, slices: bool) -> Iterator[_Said]:
    for before, each in zip((None, *result.selectors), result.selectors, strict=False):
        field = _field(each)
        real = field if _may_be_served(each.metric) else ""
        if DCGM_DEFAULT.get(real) == "gauge":
            yield from _rates(each)
        if slices and real in NOT_UNDER_MIG:
            yield (
                f"{_NONE_OF_SLICES}{each.metric}",
                f"use {_UNDER_MIG.get(field, _ACTIVE)}, a ratio from 0 to 1",
            )
        if kueue_type(each.metric) == "histogram" and each.metric.startswith(KUEUE_PREFIX):
            yield (
                f"{each.metric} is a histogram: there is no series of that name",
                f"write histogram_quantile(0.95, sum by (le) (rate({each.metric}_bucket[5m])))",
            )
        if before is not None:
            yield from _memory(_field(before), each.before, field)
        if field and not keeps:
            yield from _labels(each)


def _may_be_served(metric: str) -> bool:
    """Whether there are series of this name: an exporter's, or one's of its first line, in small letters.

    Of any other there is nothing that could be of a type; GPU-MET-01 says so.
    """
    return metric in DCGM_DEFAULT or metric.islower()


def _rates(each: Selector) -> Iterator[_Said]:
    for function in _OF_COUNTERS & set(each.functions[:1]):
        yield (
            f"{function}() is for counters, and {each.metric} is a gauge: each fall counts as a restart",
            "use deriv(), or avg_over_time()",
        )


def _memory(before: str, operator: str, field: str) -> Iterator[_Said]:
    if (before, operator, field) == (_USED, "/", _FREE):
        yield _BY_FREE, _WHOLE
    elif (before, operator, field) == (_FREE, "-", _USED):
        yield "free less used is neither: it is negative once half is used", _WHOLE


def _renamed(result: Expression, query: str) -> Iterator[_Said]:
    """Labels that Prometheus makes only where two of one name meet, and it keeps its own.

    Series of others beside them may have the label and give it in a join; who reads both names knows.
    """
    alone = all(map(_field, result.selectors))
    unquoted = [each for each in _POD if not re.search(f"[\"']exported_{each}[\"']", query)]
    for each in filter(_field, result.selectors):
        named = {*each.labels, *(each.grouped if alone else ())}
        for label in unquoted:
            exported_label = f"exported_{label}"
            if exported_label in named and label not in named:
                yield (
                    f"with honorLabels: true, as the exporter is scraped here, no series has {exported_label}",
                    f"write {label}",
                )


def _labels(each: Selector) -> Iterator[_Said]:
    for label in _POD:
        meant = label == "namespace" and _OF_EXPORTERS.search(each.labels.get(label, ""))
        if (label in each.labels and not meant) or label in each.grouped:
            yield (
                f"{label}{_THE_EXPORTERS}",
                f"write exported_{label}, or set honorLabels: true in the exporter's monitor",
            )


RULE = Rule(
    id="GPU-MET-02",
    title="Expressions use GPU metrics by their type and labels",
    severity=Severity.WARNING,
    why="A rate of a gauge, a ratio of the wrong parts or the wrong pod gives numbers that look right.",
    fix="Use deriv() for gauges, quantiles for histograms, exported_pod for whose work it is.",
    sources=(
        "NVIDIA/dcgm-exporter issues 27, 85, 216, 342, 430; etc/default-counters.csv for the types",
        "NVIDIA/dcgm-exporter pull request 655: the label Hostname is hostname since 4.8.3",
        "Prometheus documentation, honor_labels and rate()",
        "NVIDIA NVML API reference, nvmlUtilization_t: memory is time in which it was read or written",
    ),
    kinds=QUERY_KINDS,
    parameters={"honor_labels": False},
    check_stack=_check,
    is_stack_wide=True,  # a dashboard stands beside others, far from where GPUs are cut
)
