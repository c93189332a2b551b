"""GPU-MET-04: KEDA scalers and adapter rules have the fields that they need."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.findings import Path, Severity
from gpuyard_lint.rules.rule import Parameters, Resource, Rule, Violation, at, items, mapping, text
from gpuyard_lint.rules.subjects.queries import ADAPTER, ADAPTER_RULES, OF_PODS, SCALERS

_MISNAMED = tuple(f"autoscaling.{kind}" for kind in SCALERS)
_MATCHERS = "<<.LabelMatchers>>"
_FIELDS = frozenset({"Series", "LabelMatchers", "LabelValuesByName", "GroupBy", "GroupBySlice"})
_FIELD = re.compile(r"<<-?\s*\.(\w+)")
_SUMMED = re.compile(r"\b(?:sum|avg|min|max|count|topk|bottomk|quantile|stddev|group)\b")
"""Functions that remove labels; `avg_over_time` and others keep them."""


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    kind = resource.group_kind
    if kind == ADAPTER:
        yield from _adapter(resource)
    elif kind in _MISNAMED:
        problem = f"no API serves {resource.kind}: KEDA's group is keda.sh"
        yield Violation(("apiVersion",), problem, "write keda.sh/v1alpha1")
    else:
        yield from _queues(resource)


def _queues(resource: Resource) -> Iterator[Violation]:
    for index, each in enumerate(items(at(resource.properties, "spec", "triggers"))):
        trigger = mapping(each)
        if text(trigger.get("type")) != "aws-sqs-queue" or trigger.get("authenticationRef"):
            continue
        if text(at(trigger, "metadata", "identityOwner")) != "operator":
            yield Violation(
                ("spec", "triggers", index),
                "the scaler has no credentials to read the queue: it fails, and nothing scales",
                "name a TriggerAuthentication in authenticationRef",
            )


def _of_namespaces(rule: Mapping[str, Any]) -> bool:
    """Values of whole namespaces differ by the label that they are grouped by."""
    overrides = mapping(mapping(rule.get("resources")).get("overrides"))
    kinds = {text(mapping(each).get("resource")) for each in overrides.values()}
    return bool(kinds) and kinds <= {"namespace", "namespaces"}


def _labels(rule: Mapping[str, Any]) -> list[str]:
    """Labels that assign a series to an object, not to a namespace; any label if a template decides."""
    resources = mapping(rule.get("resources"))
    overrides = mapping(resources.get("overrides"))
    of_template = [" by"] if text(resources.get("template")) else []
    return of_template + [
        str(label)
        for label, each in overrides.items()
        if text(mapping(each).get("resource")) not in {"namespace", "namespaces"}
    ]


def _without_matchers(path: Path, query: str, rule: Mapping[str, Any]) -> Violation:
    """The adapter finds objects by a label of the result: the query may have kept it."""
    match = not _SUMMED.search(query) or any(
        label in query for label in (*_labels(rule), "GroupBy")
    )
    if match:
        problem = (
            f"without {_MATCHERS} the query reads all namespaces:"
            " two objects with the same name may get each other's value"
        )
    else:
        problem = f"without {_MATCHERS} the query returns one value for all pods, which no pod gets"
    fix = f"write <<.Series>>{{{_MATCHERS}}}, by (<<.GroupBy>>)"
    return Violation(path, problem, fix, severity=Severity.WARNING if match else None)


def _adapter(resource: Resource) -> Iterator[Violation]:
    for key in ADAPTER_RULES:
        for index, rule in enumerate(items(resource.properties.get(key))):
            query = text(mapping(rule).get("metricsQuery"))
            path = (key, index, "metricsQuery")
            for name in _FIELD.findall(query):
                if name not in _FIELDS:
                    problem = f"<<.{name}>> is not a template field of metricsQuery: the rule fails"
                    yield Violation(path, problem, "group by <<.GroupBy>>")
            if (
                key in OF_PODS
                and query
                and not _of_namespaces(mapping(rule))
                and _MATCHERS not in query
                and ".LabelValuesByName" not in query
            ):
                yield _without_matchers(path, query, mapping(rule))


RULE = Rule(
    id="GPU-MET-04",
    title="KEDA scalers have their API group and permissions; adapter rules have matchers",
    severity=Severity.ERROR,
    why="A scaler that cannot read its metric leaves GPUs idle and reports it only in its status.",
    fix="Use keda.sh/v1alpha1 with authenticationRef; keep <<.LabelMatchers>> in every metricsQuery.",
    sources=(
        "kedacore/keda v2.20 CRDs, scaler aws-sqs-queue",
        "kubernetes-sigs/prometheus-adapter docs/config.md and MatchValuesToNames",
    ),
    kinds=(*SCALERS, *_MISNAMED, ADAPTER),
    check=_check,
)
