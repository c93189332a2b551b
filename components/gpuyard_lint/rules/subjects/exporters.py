"""Exporters of GPU metrics in a stack, and their lists of counters."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.catalogue.software.versions import is_version, parse_version
from gpuyard_core.manifests.fields import at, if_known, items, known_value, mapping, text
from gpuyard_lint.rules.rule import Stack
from gpuyard_lint.rules.subjects.components import (
    OPERATORS,
    VERSIONED_KINDS,
    components_in,
    is_switched_off,
)
from gpuyard_lint.rules.subjects.pods import POD_KINDS, pods_of

EXPORTER_VALUES = "values:dcgm-exporter"
_NAME = "dcgm-exporter"
_IMAGE = re.compile(r"(^|/)dcgm-exporter(:|@|$)")
COLLECTORS = "DCGM_EXPORTER_COLLECTORS"
_VARIABLES = {COLLECTORS, "DCGM_EXPORTER_CONFIGMAP_DATA", "DCGM_EXPORTER_CONFIG_FILE"}
_OF_OLD = "1.x-compatibility-metrics.csv"
"""A list in the image that names metrics as its first release line did."""
OPTIONS = ("-f", "--collectors")
_OPTIONS = (*OPTIONS, "-m", "--configmap-data", "--config-file")
"""Other options name a ConfigMap with a list, literally "none", or a configuration file."""
_NO_CONFIG_MAP = "none"
_FOLDER = "/etc/dcgm-exporter"
"""The folder of lists in the image: a mount there replaces them."""
_OF_THE_IMAGE = ("default-counters.csv", "dcp-metrics-included.csv")
"""Lists in the exporter's image: the defaults, with profiling metrics or without."""


def is_exporter(image: str) -> bool:
    """Whether a container with this image is an exporter."""
    return _IMAGE.search(image) is not None


def serves_default_metrics(stack: Stack) -> bool:
    """Whether an exporter without its own list is in the input: its metrics are known."""
    return any(not any(map(_is_own, lists)) for lists in _lists(stack))


def serves_custom_metrics(stack: Stack) -> bool:
    """Whether an exporter with another list is in the input: its metrics are known only from that list."""
    return any(any(map(_is_own, lists)) for lists in _lists(stack))


def serves_legacy_names(stack: Stack) -> bool:
    """Whether an exporter serves metrics of its first release line, dcgm_gpu_utilization and similar."""
    return any(name.endswith(_OF_OLD) for lists in _lists(stack) for name in lists)


def _is_own(name: str) -> bool:
    return name != _NO_CONFIG_MAP and not name.endswith(_OF_THE_IMAGE)


def exporter_versions(stack: Stack) -> list[tuple[int, ...]]:
    """The known versions of the exporters; the exporter's own, not DCGM's."""
    results: list[tuple[int, ...]] = []
    for resource in stack.resources_of_kinds(*VERSIONED_KINDS):
        # an unknown version is like a missing one
        parts = if_known(each for each in components_in(resource) if each.component == _NAME)
        results += [
            parse_version(_NAME, p.version)[0] for p in parts if is_version(_NAME, p.version)
        ]
    return [*results, *_of_copies(stack)]


def _of_copies(stack: Stack) -> Iterator[tuple[int, ...]]:
    """Images of other publishers, which no bulletin covers."""
    for resource in stack.resources_of_kinds(*POD_KINDS):
        images = if_known(
            text(c, "image") for pod in pods_of(resource) for _, c in pod.containers()
        )
        tags = [each.partition("@")[0].rpartition(":")[2] for each in images if is_exporter(each)]
        yield from (parse_version(_NAME, tag)[0] for tag in tags if is_version(_NAME, tag))


def _lists(stack: Stack) -> Iterator[list[str]]:
    """The lists of each exporter."""
    for resource in stack.resources_of_kinds(*OPERATORS):
        path = OPERATORS[resource.group_kind]
        exporter = mapping(at(resource.properties, *path, "dcgmExporter"))
        if not is_switched_off(known_value(exporter.get("enabled"))):
            config = text(exporter, "config", "name")
            yield [*([config] if config else []), *_of_variables(exporter)]
    for resource in stack.resources_of_kinds(EXPORTER_VALUES):
        properties = resource.properties
        custom = ["customMetrics"] if properties.get("customMetrics") else []
        yield [
            *custom,
            *_of_arguments(properties, "arguments"),
            *_of_variables(properties, "extraEnv"),
        ]
    for resource in stack.resources_of_kinds(*POD_KINDS):
        for pod in pods_of(resource):
            for _, container in pod.containers():
                if is_exporter(text(container, "image")):
                    yield [*_of_container(container)]


def _of_container(container: Mapping[str, Any]) -> Iterator[str]:
    for field in ("command", "args"):
        yield from _of_arguments(container, field)
    yield from _of_variables(container)
    for each in items(container, "volumeMounts"):
        if (path := text(each, "mountPath")).startswith(_FOLDER):
            yield f"{path}/"


def _of_variables(within: Mapping[str, Any], field: str = "env") -> Iterator[str]:
    for each in items(within.get(field)):
        if text(each, "name") in _VARIABLES:
            yield text(each, "value")


def _of_arguments(within: Mapping[str, Any], field: str) -> Iterator[str]:
    """The values of options, as separate arguments or in a shell command."""
    words = [word for each in items(within.get(field)) for word in text(each).split()]
    for word, after in zip(words, [*words, ""][1:], strict=True):
        name, _, value = word.partition("=")
        if name in _OPTIONS:
            yield value or after
