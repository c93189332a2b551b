"""Values of charts of a GPU platform, recognised by their keys."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpuyard_core.catalogue.software.operator_values import DEEPEST, OF_HELM, TOP_LEVEL, fields_of
from gpuyard_lint.embedded import embedded_configuration
from gpuyard_lint.items import FileLocation, Item
from gpuyard_lint.rules.rule import PartlyKnown, Resource, read_table
from gpuyard_lint.rules.subjects.components import OPERATOR_VALUES

_NAME = re.compile(rb"^name:[ \t]*[\"']?([\w.-]+)", re.MULTILINE)
_KEYS: Mapping[str, frozenset[str]] = {
    chart: frozenset(keys) for chart, keys in read_table("chart_keys").items()
}
_LEAST = 2
"""Minimum number of a chart's own keys; a single one, such as `driver`, may belong to any chart."""
_MOST = 1000
"""With more keys these are not values but a list of names, some of which are keys of a chart."""
_SURE: Mapping[str, frozenset[str]] = {
    "gpu-operator": frozenset({"devicePlugin", "dcgmExporter", "migManager"}),
    "kueue": frozenset({"managerConfig"}),
    "cluster-autoscaler": frozenset({"expanderPriorities", "autoDiscovery"}),
}
"""Keys of which one is sufficient."""
_OF_PLUGIN = _KEYS["nvidia-device-plugin"] - TOP_LEVEL
_OF_OPERATOR = _KEYS["gpu-operator"] - {"devicePlugin", "nfd"} - _KEYS["nvidia-device-plugin"]
"""Keys only of the device plugin's chart, and only of the operator's: both have a devicePlugin."""
_OF_SHARERS = frozenset({"scheduler", "schedulerName"})
"""Keys of HAMi's and similar charts, which have another devicePlugin: the operator has no scheduler."""
_OF_PARENTS = frozenset({"enabled", "global", "tags"})
"""Keys that Helm itself reads there, such as the condition of a dependency."""


def chart_name_in(chart_file: bytes) -> str:
    """The name of a chart from its Chart.yaml; "" if unknown."""
    match = _NAME.search(chart_file)
    return match[1].decode() if match else ""


def is_known_chart(chart: str) -> bool:
    """Whether rules know the values of a chart with this name."""
    return chart in _KEYS


def chart_of(value: Any) -> str | None:
    """The chart these values are for, None if none is known."""
    if not isinstance(value, Mapping) or "apiVersion" in value or len(value) > _MOST:
        return None
    keys = set(value)
    results = {
        chart: len(keys & own) + (_LEAST if keys & _SURE.get(chart, frozenset()) else 0)
        for chart, own in _KEYS.items()
    }
    # karpenter's only distinctive key is `settings`, with the cluster name in it
    settings = value.get("settings")
    if not (isinstance(settings, Mapping) and {"clusterName", "interruptionQueue"} & set(settings)):
        results.pop("karpenter")
    if _is_another_chart(keys) or (keys & _OF_PLUGIN and not keys & _OF_OPERATOR):
        results.pop("gpu-operator")
    best = max(results, key=lambda chart: results[chart], default=None)
    return best if best is not None and results[best] >= _LEAST else None


def keep_known_operator_values(resource: Resource) -> Resource:
    """Values next to a custom chart: its templates may read keys that the vendor's chart does not know."""
    if resource.kind != OPERATOR_VALUES:
        return resource
    return replace(resource, properties=_read_by_the_operators(resource.properties))


def _read_by_the_operators(
    chart_values: Mapping[str, Any], path: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The values that the operator's chart reads; others have no effect."""
    read = fields_of(path)
    result = {
        key: _read_by_the_operators(below, (*path, key))
        if isinstance(below, Mapping) and len(path) < DEEPEST
        else below
        for key, below in chart_values.items()
        if read is None or key in read
    }
    return PartlyKnown(result) if isinstance(chart_values, PartlyKnown) else result


def _is_another_chart(keys: set[str]) -> bool:
    """Whether most keys are not of the operator's chart, or one is of another: others have a devicePlugin."""
    most = len(keys - TOP_LEVEL) > len(keys & (TOP_LEVEL - OF_HELM))
    return most or bool(keys & _OF_SHARERS)


def chart_values_items(value: Any, place: FileLocation, chart: str | None = None) -> Iterator[Item]:
    """The values themselves, and every configuration inside them."""
    named = chart or chart_of(value)
    if named is not None:
        yield Item(Resource(f"values:{named}", named, value), place)
    of_operator = f"values:{named}" == OPERATOR_VALUES and isinstance(value, Mapping)
    yield from embedded_configuration(
        _read_by_the_operators(value) if of_operator else value, place
    )


def values_of_chart(value: Mapping[str, Any], place: FileLocation, chart: str) -> Iterator[Item]:
    """Values with a known chart name; values of unknown charts are ignored."""
    own = is_known_chart(chart) and not isinstance(value.get(chart), Mapping)
    if own:  # otherwise it is a chart that wraps the vendor's, under the vendor's name
        yield from chart_values_items(value, place, chart)
    elif any(isinstance(each, Mapping) and is_known_chart(key) for key, each in value.items()):
        yield from subcharts(value, place)
    else:
        yield from embedded_configuration(value, place)


def subcharts(
    value: Any, place: FileLocation, aliases: Mapping[str, str] | None = None
) -> Iterator[Item]:
    """Values of charts under their names or aliases in the values of an umbrella chart."""
    for key, each in value.items():
        chart = str((aliases or {}).get(key, key))
        if isinstance(each, Mapping) and is_known_chart(chart):
            own = {name: options for name, options in each.items() if name not in _OF_PARENTS}
            yield from chart_values_items(own, replace(place, prefix=(*place.prefix, key)), chart)


def is_values(value: Any) -> bool:
    """True for values of a known chart, alone or under its name."""
    if not isinstance(value, Mapping) or "apiVersion" in value:
        return False
    return chart_of(value) is not None or any(
        isinstance(each, Mapping) and is_known_chart(key) for key, each in value.items()
    )


def values_or_subcharts(value: Any, place: FileLocation) -> Iterator[Item]:
    """The resources in a values file."""
    if chart_of(value) is not None:
        yield from chart_values_items(value, place)
    else:
        yield from subcharts(value, place)
