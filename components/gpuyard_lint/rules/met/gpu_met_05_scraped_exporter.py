"""GPU-MET-05: the exporter has valid arguments and a scraped port."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from gpuyard_core.findings import Path, Severity
from gpuyard_core.manifests.pods import Pod
from gpuyard_lint.rules.rule import (
    NotEvaluatedError,
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    complete_mapping,
    enum_value,
    items,
    known_value,
    mapping,
    once_per_stack,
    text,
)
from gpuyard_lint.rules.subjects.components import CLUSTER_POLICY, OPERATOR_VALUES
from gpuyard_lint.rules.subjects.exporters import COLLECTORS, EXPORTER_VALUES, OPTIONS, is_exporter
from gpuyard_lint.rules.subjects.pods import POD_KINDS, pods_of
from gpuyard_lint.rules.subjects.queries import MONITOR

_OPERATORS = ("app", "nvidia-dcgm-exporter")
_PORTS = {
    _OPERATORS: "gpu-metrics",
    ("app.kubernetes.io/name", "dcgm-exporter"): "metrics",
}
"""The port name by label of the Service: of the operator and of the exporter's own chart."""
_POD_MONITORS = {
    "monitoring.coreos.com/PodMonitor": "podMetricsEndpoints",
    "monitoring.googleapis.com/PodMonitoring": "endpoints",
    "monitoring.googleapis.com/ClusterPodMonitoring": "endpoints",
}
"""Objects that scrape pods, and the path of their ports."""
_FIELD = "DCGM_"
_WORDS = ("command", "args")
_OPERATORS_AT: Mapping[str, Path] = {
    OPERATOR_VALUES: ("dcgmExporter", "env"),
    CLUSTER_POLICY: ("spec", "dcgmExporter", "env"),
}
"""The path at which an operator sets the variables of its exporter."""


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    for monitor in stack.resources_of_kinds(MONITOR):
        yield from _port(monitor, stack)
    for kind, field in _POD_MONITORS.items():
        for monitor in stack.resources_of_kinds(kind):
            seen = _pods_in_view(monitor, stack)
            yield from (
                _port_in_view(monitor, field, seen) if seen else _port_of_pods(monitor, field)
            )
    for values in stack.resources_of_kinds(EXPORTER_VALUES):
        yield from _collectors(values, ("arguments",))
        if not _has_an_option(values, ("arguments",)):
            yield from _variable(values, ("extraEnv",))
    for resource in stack.resources_of_kinds(*POD_KINDS):
        yield from _started(resource)
    for kind, path in _OPERATORS_AT.items():
        for resource in stack.resources_of_kinds(kind):
            yield from _operator_violations(resource, path)


def _started(resource: Resource) -> Iterator[Violation]:
    for pod in pods_of(resource):
        for path, container in pod.containers():
            if is_exporter(text(container.get("image"))):
                for field in _WORDS:
                    yield from _collectors(resource, (*path, field))
                if not any(_has_an_option(resource, (*path, each)) for each in _WORDS):
                    yield from _variable(resource, (*path, "env"))


def _operator_violations(resource: Resource, path: Path) -> list[Violation]:
    """Violations in the settings that an operator passes to its exporter; none if they are unknown."""
    try:
        return [*_variable(resource, path)]
    except NotEvaluatedError:
        return []


def _port(monitor: Resource, stack: Stack) -> Iterator[Violation]:
    labels = mapping(at(monitor.properties, "spec", "selector", "matchLabels"))
    named = next((port for (key, value), port in _PORTS.items() if labels.get(key) == value), "")
    if not named or _having(labels, _services(stack)):
        return  # a custom Service has other port names
    for index, each in enumerate(items(at(monitor.properties, "spec", "endpoints"))):
        port = text(mapping(each).get("port"))
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
        port = text(mapping(each).get("port"))
        if port == _PORTS[_OPERATORS]:
            yield Violation(
                ("spec", field, index, "port"),
                f"{port} is a port of the exporter's Service, not of its pods:"
                " Prometheus scrapes nothing and reports no error",
                "write port: metrics",
                monitor,
            )


def _pods_in_view(monitor: Resource, stack: Stack) -> list[Pod]:
    """The exporters that it selects; none if it selects others too, or if unknown."""
    try:
        return [*_selected(monitor, stack)]
    except NotEvaluatedError:
        return []


def _selected(monitor: Resource, stack: Stack) -> Iterator[Pod]:
    selector = mapping(at(monitor.properties, "spec", "selector"))
    labels = complete_mapping(selector.get("matchLabels"))
    selectors = (
        selector.get("matchExpressions"),
        at(monitor.properties, "spec", "namespaceSelector"),
    )
    if not labels or any(known_value(each) for each in selectors):
        return
    everywhere = monitor.group_kind.endswith("/ClusterPodMonitoring")
    results = _having(labels, _pods(stack, None if everywhere else monitor.namespace))
    if all(any(is_exporter(text(c.get("image"))) for _, c in pod.containers()) for pod in results):
        yield from results


def _port_in_view(monitor: Resource, field: str, pods: Sequence[Pod]) -> Iterator[Violation]:
    """A port name that no container has."""
    containers = [container for pod in pods for _, container in pod.containers()]
    ports = [mapping(port) for each in containers for port in items(each.get("ports"))]
    names = sorted({name for port in ports if (name := enum_value(port.get("name")))})
    for index, each in enumerate(items(at(monitor.properties, "spec", field))):
        port = enum_value(mapping(each).get("port"))
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
def _pods(stack: Stack, namespace: str | None) -> _ByLabel[Pod]:
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
    for index in _fields(words):
        yield _no_path((*where, index), resource)


def _has_an_option(resource: Resource, where: Path) -> bool:
    """Whether a command-line option names the list: the variable then has no effect."""
    words = (text(each).partition("=")[0] for each in items(at(resource.properties, *where)))
    return any(each in OPTIONS for each in words)


def _variable(resource: Resource, where: Path) -> Iterator[Violation]:
    """The option by its variable."""
    for index, each in enumerate(items(at(resource.properties, *where))):
        value = mapping(each)
        named = text(value.get("name")) == COLLECTORS
        if named and text(value.get("value")).startswith(_FIELD):
            yield _no_path((*where, index, "value"), resource)


def _no_path(where: Path, resource: Resource) -> Violation:
    return Violation(
        where,
        "the exporter expects the path of a list here, not fields: it exits at startup",
        "write the fields into a list of counters, and set its path",
        resource,
    )


def _fields(words: Sequence[str]) -> Iterator[int]:
    for index, each in enumerate(words):
        name, _, value = each.partition("=")
        after = name in OPTIONS and not value
        option_value = words[index + 1] if after and index + 1 < len(words) else value
        if name in OPTIONS and option_value.startswith(_FIELD):
            yield index


RULE = Rule(
    id="GPU-MET-05",
    title="The DCGM exporter has a counter list and a scraped port",
    severity=Severity.ERROR,
    why="A monitor of a missing port scrapes nothing; an exporter that exits serves nothing.",
    fix="Use the port name of the Service; set --collectors to the path of a file.",
    sources=(
        "NVIDIA/gpu-operator assets/state-dcgm-exporter/0400_service.yaml: port gpu-metrics",
        "NVIDIA/gpu-operator assets/state-dcgm-exporter/0800_daemonset.yaml: the container's port metrics",
        "NVIDIA/dcgm-exporter deployment/templates/service.yaml",
        "GoogleCloudPlatform/prometheus-engine doc/api.md, ScrapeEndpoint: a port by its name or number",
        "prometheus-operator CRD monitoring.coreos.com_podmonitors.yaml: port, the name of the pod's",
        "NVIDIA/dcgm-exporter pkg/cmd/app.go: --collectors, and DCGM_EXPORTER_COLLECTORS for it",
    ),
    kinds=(MONITOR, *_POD_MONITORS, EXPORTER_VALUES, OPERATOR_VALUES, CLUSTER_POLICY, *POD_KINDS),
    check_stack=_check,
)
