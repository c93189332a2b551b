"""Rules on autoscalers and exporters."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from gpuyard_core.findings import Path, Severity
from gpuyard_core.manifests.fields import (
    at,
    complete_mapping,
    enum_value,
    if_known,
    items,
    known_value,
    mapping,
    text,
)
from gpuyard_core.manifests.pods import VENDOR, Pod
from gpuyard_lint.rules.rule import (
    Parameters,
    Resource,
    Stack,
    Violation,
    load_rule,
    once_per_stack,
    read_table,
)
from gpuyard_lint.rules.subjects.components import OPERATORS
from gpuyard_lint.rules.subjects.exporters import COLLECTORS, EXPORTER_VALUES, OPTIONS, is_exporter
from gpuyard_lint.rules.subjects.pods import POD_KINDS, is_gpu_pod, pods_of
from gpuyard_lint.rules.subjects.promql import Selector, read_promql
from gpuyard_lint.rules.subjects.queries import (
    ADAPTER,
    ADAPTER_RULES,
    MONITOR,
    OF_PODS,
    SCALERS,
    queries,
)

# GPU-MET-03
HPA = "autoscaling/HorizontalPodAutoscaler"
VPA = "autoscaling.k8s.io/VerticalPodAutoscaler"
_BY_RESOURCE = {"Resource": "resource", "ContainerResource": "containerResource"}


_GONE = {"v2beta1": "1.25", "v2beta2": "1.26"}
_OF_GPUS = re.compile(r"gpu|dcgm|nvidia|vllm|triton", re.IGNORECASE)
_ONE_OF_MANY = ("DCGM_", "vllm:", "nv_inference_", "nv_gpu_")
"""Metrics with one series per pod or per GPU."""
_OF_EACH_SERIES = frozenset(read_table("functions_of_series"))
"""Functions that return as many values as they take."""
_OF_SEVERAL = frozenset({"sum", "avg", "max", "min", "count"})
_ONE_EACH = frozenset({"pod", "instance", "UUID", "exported_pod", "exported_instance"})
"""Labels with a distinct value per pod or GPU; the index of a GPU repeats on every node."""
_WITHOUT = re.compile(r"\bwithout\b", re.IGNORECASE)
_NO_PATTERN = re.compile(r"[\w.-]+")


def _check_autoscaler(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if resource.group_kind == HPA:
        yield from _resource_metrics(resource)
    elif resource.group_kind == VPA:
        yield from _sizes(resource)
    else:
        yield from _many(resource)


def _check_served_versions(stack: Stack, _: Parameters) -> Iterator[Violation]:
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
    kind = text(target, "kind")
    named = stack.resources_named(text(target, "name"), *POD_KINDS)
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


def _resource_metrics(resource: Resource) -> Iterator[Violation]:
    for index, metric in enumerate(items(at(resource.properties, "spec", "metrics"))):
        field = _BY_RESOURCE.get(text(metric, "type"), "")
        name = text(mapping(metric, field).get("name"))
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
        for position, name in enumerate(items(policy, "controlledResources")):
            if text(name).startswith(VENDOR):
                yield Violation(
                    (
                        *("spec", "resourcePolicy", "containerPolicies", index),
                        *("controlledResources", position),
                    ),
                    f"a VerticalPodAutoscaler sets cpu and memory only, never {text(name)}",
                    "remove it; request the slice or share that the workload needs",
                )


# GPU-MET-04
_MISNAMED = tuple(f"autoscaling.{kind}" for kind in SCALERS)
_MATCHERS = "<<.LabelMatchers>>"
_TEMPLATE_FIELDS = frozenset(
    {"Series", "LabelMatchers", "LabelValuesByName", "GroupBy", "GroupBySlice"}
)
_TEMPLATE_FIELD = re.compile(r"<<-?\s*\.(\w+)")
_SUMMED = re.compile(r"\b(?:sum|avg|min|max|count|topk|bottomk|quantile|stddev|group)\b")
"""Functions that remove labels; `avg_over_time` and others keep them."""


def _check_scaler(resource: Resource, _: Parameters) -> Iterator[Violation]:
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
        if text(trigger, "type") != "aws-sqs-queue" or trigger.get("authenticationRef"):
            continue
        if text(at(trigger, "metadata", "identityOwner")) != "operator":
            yield Violation(
                ("spec", "triggers", index),
                "the scaler has no credentials to read the queue: it fails, and nothing scales",
                "name a TriggerAuthentication in authenticationRef",
            )


def _of_namespaces(rule: Mapping[str, Any]) -> bool:
    """Values of whole namespaces differ by the label that they are grouped by."""
    overrides = mapping(rule, "resources", "overrides")
    kinds = {text(each, "resource") for each in overrides.values()}
    return bool(kinds) and kinds <= {"namespace", "namespaces"}


def _labels(rule: Mapping[str, Any]) -> list[str]:
    """Labels that assign a series to an object, not to a namespace; any label if a template decides."""
    resources = mapping(rule, "resources")
    overrides = mapping(resources, "overrides")
    of_template = [" by"] if text(resources, "template") else []
    return of_template + [
        str(label)
        for label, each in overrides.items()
        if text(each, "resource") not in {"namespace", "namespaces"}
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
            query = text(rule, "metricsQuery")
            path = (key, index, "metricsQuery")
            for name in _TEMPLATE_FIELD.findall(query):
                if name not in _TEMPLATE_FIELDS:
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


# GPU-MET-05
_OPERATORS = ("app", "nvidia-dcgm-exporter")
_PORTS = {_OPERATORS: "gpu-metrics", ("app.kubernetes.io/name", "dcgm-exporter"): "metrics"}
"""The port name by label of the Service: of the operator and of the exporter's own chart."""
_POD_MONITORS = {
    "monitoring.coreos.com/PodMonitor": "podMetricsEndpoints",
    "monitoring.googleapis.com/PodMonitoring": "endpoints",
    "monitoring.googleapis.com/ClusterPodMonitoring": "endpoints",
}
"""Objects that scrape pods, and the path of their ports."""
_METRIC = "DCGM_"
_WORDS = ("command", "args")


def _check_exporter(stack: Stack, _: Parameters) -> Iterator[Violation]:
    for monitor in stack.resources_of_kinds(MONITOR):
        yield from _port(monitor, stack)
    for kind, field in _POD_MONITORS.items():
        for monitor in stack.resources_of_kinds(kind):
            seen = if_known(_selected(monitor, stack))
            yield from (
                _port_in_view(monitor, field, seen) if seen else _port_of_pods(monitor, field)
            )
    for values in stack.resources_of_kinds(EXPORTER_VALUES):
        yield from _collectors(values, ("arguments",))
        if not _has_an_option(values, ("arguments",)):
            yield from _variable(values, ("extraEnv",))
    for resource in stack.resources_of_kinds(*POD_KINDS):
        yield from _started(resource)
    for resource in stack.resources_of_kinds(*OPERATORS):
        path = (*OPERATORS[resource.group_kind], "dcgmExporter", "env")
        yield from if_known(_variable(resource, path))


def _started(resource: Resource) -> Iterator[Violation]:
    for pod in pods_of(resource):
        for path, container in pod.containers():
            if is_exporter(text(container, "image")):
                for field in _WORDS:
                    yield from _collectors(resource, (*path, field))
                if not any(_has_an_option(resource, (*path, each)) for each in _WORDS):
                    yield from _variable(resource, (*path, "env"))


def _port(monitor: Resource, stack: Stack) -> Iterator[Violation]:
    labels = mapping(at(monitor.properties, "spec", "selector", "matchLabels"))
    named = next((port for (key, value), port in _PORTS.items() if labels.get(key) == value), "")
    if not named or _having(labels, _services(stack)):
        return  # a custom Service has other port names
    for index, each in enumerate(items(at(monitor.properties, "spec", "endpoints"))):
        port = text(each, "port")
        if port and port != named:
            yield Violation(
                ("spec", "endpoints", index, "port"),
                f"the exporter's Service has no port {port}: Prometheus scrapes nothing and reports no error",
                f"write port: {named}",
                monitor,
            )


def _port_of_pods(monitor: Resource, field: str) -> Iterator[Violation]:
    """Monitors of pods bypass the Service: they use the port name of the container."""
    labels = mapping(at(monitor.properties, "spec", "selector", "matchLabels"))
    if labels.get(_OPERATORS[0]) != _OPERATORS[1]:
        return
    for index, each in enumerate(items(at(monitor.properties, "spec", field))):
        port = text(each, "port")
        if port == _PORTS[_OPERATORS]:
            yield Violation(
                ("spec", field, index, "port"),
                f"{port} is a port of the exporter's Service, not of its pods:"
                " Prometheus scrapes nothing and reports no error",
                "write port: metrics",
                monitor,
            )


def _selected(monitor: Resource, stack: Stack) -> Iterator[Pod]:
    """The exporters that it selects; none if it selects others too."""
    selector = mapping(at(monitor.properties, "spec", "selector"))
    labels = complete_mapping(selector.get("matchLabels"))
    selectors = (
        selector.get("matchExpressions"),
        at(monitor.properties, "spec", "namespaceSelector"),
    )
    if not labels or any(known_value(each) for each in selectors):
        return
    everywhere = monitor.group_kind.endswith("/ClusterPodMonitoring")
    results = _having(labels, _pods_by_label(stack, None if everywhere else monitor.namespace))
    if all(any(is_exporter(text(c, "image")) for _, c in pod.containers()) for pod in results):
        yield from results


def _port_in_view(monitor: Resource, field: str, pods: Sequence[Pod]) -> Iterator[Violation]:
    """A port name that no container has."""
    containers = [container for pod in pods for _, container in pod.containers()]
    ports = [mapping(port) for each in containers for port in items(each, "ports")]
    names = sorted({name for port in ports if (name := enum_value(port, "name"))})
    for index, each in enumerate(items(at(monitor.properties, "spec", field))):
        port = enum_value(each, "port")
        if port and not port.isdigit() and port not in names:
            yield Violation(
                ("spec", field, index, "port"),
                f"no selected pod has a port {port}: Prometheus scrapes nothing and reports no error",
                f"write port: {names[0]}" if names else "name the container port",
                monitor,
            )


_Labels = Mapping[str, Any]
_Labelled = TypeVar("_Labelled")
_ByLabel = Mapping[str, list[tuple[_Labels, _Labelled]]]


@once_per_stack
def _services(stack: Stack) -> _ByLabel[Resource]:
    services = stack.resources_of_kinds("Service")
    return _by_label((mapping(at(s.properties, "metadata", "labels")), s) for s in services)


@once_per_stack
def _pods_by_label(stack: Stack, namespace: str | None) -> _ByLabel[Pod]:
    """The pods of a namespace, or all."""
    named = (
        stack.resources_of_kinds(*POD_KINDS)
        if namespace is None
        else _by_namespace(stack).get(namespace, ())
    )
    pods = (pod for resource in named for pod in pods_of(resource))
    return _by_label((complete_mapping(pod.metadata.get("labels")), pod) for pod in pods)


@once_per_stack
def _by_namespace(stack: Stack) -> Mapping[str, list[Resource]]:
    found: dict[str, list[Resource]] = {}
    for resource in stack.resources_of_kinds(*POD_KINDS):
        found.setdefault(resource.namespace, []).append(resource)
    return found


def _by_label(labelled: Iterable[tuple[_Labels, _Labelled]]) -> _ByLabel[_Labelled]:
    found: dict[str, list[tuple[_Labels, _Labelled]]] = {}
    for labels, each in labelled:
        for key, value in labels.items():
            found.setdefault(f"{key}={known_value(value)}", []).append((labels, each))
    return found


def _having(labels: _Labels, by_label: _ByLabel[_Labelled]) -> list[_Labelled]:
    """The objects with all these labels, searched among those with the rarest label."""
    fewest = min((by_label.get(f"{key}={labels[key]}", []) for key in labels), key=len)
    return [each for given, each in fewest if labels.items() <= given.items()]


def _collectors(resource: Resource, where: Path) -> Iterator[Violation]:
    words = [text(each) for each in items(at(resource.properties, *where))]
    for index, each in enumerate(words):
        name, _, value = each.partition("=")
        after = words[index + 1] if index + 1 < len(words) else ""
        if name in OPTIONS and (value or after).startswith(_METRIC):
            yield _no_path((*where, index), resource)


def _has_an_option(resource: Resource, where: Path) -> bool:
    """Whether a command-line option names the list: the variable then has no effect."""
    words = (text(each).partition("=")[0] for each in items(at(resource.properties, *where)))
    return any(each in OPTIONS for each in words)


def _variable(resource: Resource, where: Path) -> Iterator[Violation]:
    """The option by its variable."""
    for index, each in enumerate(items(at(resource.properties, *where))):
        value = mapping(each)
        named = text(value, "name") == COLLECTORS
        if named and text(value, "value").startswith(_METRIC):
            yield _no_path((*where, index, "value"), resource)


def _no_path(where: Path, resource: Resource) -> Violation:
    return Violation(
        where,
        "the exporter expects the path of a list here, not fields: it exits at startup",
        "write the fields into a list of counters, and set its path",
        resource,
    )


RULES = (
    load_rule(
        "GPU-MET-03",
        kinds=(HPA, VPA, *SCALERS),
        check=_check_autoscaler,
        check_stack=_check_served_versions,
    ),
    load_rule("GPU-MET-04", kinds=(*SCALERS, *_MISNAMED, ADAPTER), check=_check_scaler),
    load_rule(
        "GPU-MET-05",
        kinds=(MONITOR, *_POD_MONITORS, EXPORTER_VALUES, *OPERATORS, *POD_KINDS),
        check_stack=_check_exporter,
    ),
)
