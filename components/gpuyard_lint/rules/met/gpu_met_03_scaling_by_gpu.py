"""GPU-MET-03: autoscalers can read the metrics that they scale on."""

import re
from collections.abc import Iterator

from gpuyard_core.findings import Path, Severity
from gpuyard_lint.rules.rule import (
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    items,
    mapping,
    text,
)
from gpuyard_lint.rules.subjects.pods import POD_KINDS, VENDOR, is_gpu_pod, pods_of
from gpuyard_lint.rules.subjects.promql import Selector, read_promql
from gpuyard_lint.rules.subjects.queries import SCALERS, queries

HPA = "autoscaling/HorizontalPodAutoscaler"
VPA = "autoscaling.k8s.io/VerticalPodAutoscaler"
_BY_RESOURCE = {"Resource": "resource", "ContainerResource": "containerResource"}


_GONE = {"v2beta1": "1.25", "v2beta2": "1.26"}
_OF_GPUS = re.compile(r"gpu|dcgm|nvidia|vllm|triton", re.IGNORECASE)
_ONE_OF_MANY = ("DCGM_", "vllm:", "nv_inference_", "nv_gpu_")
"""Metrics with one series per pod or per GPU."""
_OF_EACH_SERIES = frozenset(
    {
        *("rate", "irate", "increase", "delta", "deriv", "histogram_quantile"),
        *("avg_over_time", "max_over_time", "min_over_time", "sum_over_time", "last_over_time"),
    }
)
"""Functions that return as many values as they take."""
_OF_SEVERAL = frozenset({"sum", "avg", "max", "min", "count"})
_ONE_EACH = frozenset({"pod", "instance", "UUID", "exported_pod", "exported_instance"})
"""Labels with a distinct value per pod or GPU; the index of a GPU repeats on every node."""
_WITHOUT = re.compile(r"\bwithout\b", re.IGNORECASE)
_NO_PATTERN = re.compile(r"[\w.-]+")


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if resource.group_kind == HPA:
        yield from _pods(resource)
    elif resource.group_kind == VPA:
        yield from _sizes(resource)
    else:
        yield from _many(resource)


def _check_together(stack: Stack, _: Parameters) -> Iterator[Violation]:
    for resource in stack.resources_of_kinds(HPA):
        version = resource.kind.split("/")[1]
        if version in _GONE and (_says_gpus(resource) or _scales_gpus(resource, stack)):
            yield Violation(
                ("apiVersion",),
                f"Kubernetes {_GONE[version]} and later do not serve {resource.kind}",
                "write autoscaling/v2, with metric.name and target for each metric",
                resource,
            )


def _says_gpus(resource: Resource) -> bool:
    """Autoscalers on GPU metrics; others are out of scope."""
    named = [str(each) for each in items(at(resource.properties, "spec", "metrics"))]
    named += [resource.name, text(at(resource.properties, "spec", "scaleTargetRef", "name"))]
    return any(map(_OF_GPUS.search, named))


def _scales_gpus(resource: Resource, stack: Stack) -> bool:
    """Whether its scale target is in the input and requests GPUs."""
    target = mapping(at(resource.properties, "spec", "scaleTargetRef"))
    kind = text(target.get("kind"))
    named = stack.resources_named(text(target.get("name")), *POD_KINDS)
    scaled = (each for each in named if each.group_kind.rpartition("/")[2] == kind)
    return any(is_gpu_pod(pod) for each in scaled for pod in pods_of(each))


def _many(resource: Resource) -> Iterator[Violation]:
    for path, query in queries(resource):
        result = read_promql(query)
        each = result.selectors[0] if len(result.selectors) == 1 else None
        if each is None or not each.metric.startswith(_ONE_OF_MANY):
            continue
        if by := _unselected_labels(each, query):
            yield Violation(
                path,
                f"by ({', '.join(by)}) returns several values, and KEDA accepts one:"
                " with more the scaler fails",
                f"write {each.functions[-1]}() without by, or wrap it in another aggregate",
            )
        elif not result.grouping_labels and _OF_EACH_SERIES.issuperset(each.functions):
            aggregate = f"sum({each.functions[-1]}(…))" if each.functions else f"sum({each.metric})"
            yield Violation(
                path,
                f"{each.metric} has one series per pod or GPU, and KEDA accepts one value:"
                " with more the scaler fails",
                f"write {aggregate} or another aggregate",
            )


def _unselected_labels(each: Selector, query: str) -> list[str]:
    """Labels by which an aggregation keeps one value per pod or GPU, if it selects none of them."""
    together = [name for name in each.functions if name not in _OF_EACH_SERIES]
    if each.functions[-1:] != tuple(together) or not _OF_SEVERAL.issuperset(together):
        return []  # more functions follow, so the result may be a single value
    named = (label for label in each.grouping_labels & _ONE_EACH if label in each.labels)
    if _WITHOUT.search(query) or any(_NO_PATTERN.fullmatch(each.labels[name]) for name in named):
        return []
    return sorted(each.grouping_labels & _ONE_EACH)


def _pods(resource: Resource) -> Iterator[Violation]:
    for index, metric in enumerate(items(at(resource.properties, "spec", "metrics"))):
        field = _BY_RESOURCE.get(text(mapping(metric).get("type")), "")
        name = text(mapping(mapping(metric).get(field)).get("name"))
        if name.startswith((VENDOR, "gpu")):
            path: Path = ("spec", "metrics", index, field, "name")
            yield Violation(
                path,
                f"a HorizontalPodAutoscaler has resource metrics of cpu and memory only, not of {name}",
                "use a Pods or External metric on DCGM_FI_DEV_GPU_UTIL, or a KEDA ScaledObject",
            )


def _sizes(resource: Resource) -> Iterator[Violation]:
    policies = items(at(resource.properties, "spec", "resourcePolicy", "containerPolicies"))
    for index, policy in enumerate(policies):
        for position, name in enumerate(items(mapping(policy).get("controlledResources"))):
            if text(name).startswith(VENDOR):
                yield Violation(
                    (
                        *("spec", "resourcePolicy", "containerPolicies", index),
                        *("controlledResources", position),
                    ),
                    f"a VerticalPodAutoscaler sets cpu and memory only, never {text(name)}",
                    "remove it; request the slice or share that the workload needs",
                )


RULE = Rule(
    id="GPU-MET-03",
    title="Autoscalers can read the metrics that they scale on",
    severity=Severity.ERROR,
    why="With a resource unknown to metrics-server or a query with several values, the workload never scales.",
    fix="Scale on one value of an exporter metric, through KEDA or an adapter.",
    sources=(
        "Kubernetes documentation, HorizontalPodAutoscaler: resource metrics are cpu and memory",
        "Kubernetes deprecation guide: autoscaling/v2beta1 until 1.24, v2beta2 until 1.25",
        "kedacore/keda pkg/scalers/prometheus_scaler.go: a query returns one element",
    ),
    kinds=(HPA, VPA, *SCALERS),
    check=_check,
    check_stack=_check_together,
)
