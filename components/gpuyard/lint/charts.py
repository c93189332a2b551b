"""Values of charts that a GPU platform is made of, told apart by what they say."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpuyard.catalogue.software.operator_values import DEEPEST, OF_HELM, TOP_LEVEL, fields_of
from gpuyard.lint.embedded import embedded_configuration
from gpuyard.lint.items import FileLocation, Item
from gpuyard.rules.rule import PartlyKnown, Resource
from gpuyard.rules.subjects.components import OPERATOR_VALUES

_NAME = re.compile(rb"^name:[ \t]*[\"']?([\w.-]+)", re.MULTILINE)
_KEYS: Mapping[str, frozenset[str]] = {
    "gpu-operator": frozenset(
        {
            *("driver", "toolkit", "devicePlugin", "dcgm", "dcgmExporter", "gfd", "mig"),
            *("migManager", "nodeStatusExporter", "nfd", "validator", "cdi", "draDriver"),
            *("vgpuManager", "sandboxWorkloads", "gdrcopy", "gds", "daemonsets", "psa"),
        }
    ),
    "nvidia-device-plugin": frozenset(
        {
            *("config", "migStrategy", "failOnInitError", "compatWithCPUManager", "gfd", "mps"),
            *("deviceListStrategy", "deviceIDStrategy", "nvidiaDriverRoot", "gdrcopyEnabled"),
        }
    ),
    "dcgm-exporter": frozenset(
        {
            *("serviceMonitor", "customMetrics", "kubeletPath", "extraConfigMapVolumes"),
            *("arguments", "basicAuth", "tlsServerConfig", "podReplacement"),
        }
    ),
    "kueue": frozenset(
        {"managerConfig", "controllerManager", "enableKueueViz", "kueueViz", "enablePrometheus"}
    ),
    "karpenter": frozenset({"settings", "controller", "serviceMonitor", "logLevel", "replicas"}),
    "cluster-autoscaler": frozenset(
        {
            *("autoDiscovery", "autoscalingGroups", "expanderPriorities", "cloudProvider"),
            *("awsRegion", "extraArgs"),
        }
    ),
}
_LEAST = 2
"""So many keys of a chart's own have to be there; one alone, such as `driver`, may be anybody's."""
_MOST = 1000
"""Of more keys nobody wrote values: it is a list of words, and some are a chart's."""
_SURE: Mapping[str, frozenset[str]] = {
    "gpu-operator": frozenset({"devicePlugin", "dcgmExporter", "migManager"}),
    "kueue": frozenset({"managerConfig"}),
    "cluster-autoscaler": frozenset({"expanderPriorities", "autoDiscovery"}),
}
"""Keys of which one is enough."""
_OF_PLUGIN = _KEYS["nvidia-device-plugin"] - TOP_LEVEL
_OF_OPERATOR = _KEYS["gpu-operator"] - {"devicePlugin", "nfd"} - _KEYS["nvidia-device-plugin"]
"""Keys that only the plugin's own chart has, and that only the operator's has: both have a devicePlugin."""
_OF_SHARERS = frozenset({"scheduler", "schedulerName"})
"""Keys of HAMi's chart and its like, whose devicePlugin is another: the operator schedules nothing."""
_OF_PARENTS = frozenset({"enabled", "global", "tags"})
"""What Helm itself reads there, as the condition of a dependency."""
_APP = "app-template"
"""The chart of bjw-s for anybody's containers, which most home clusters use."""


def chart_name_in(chart_file: bytes) -> str:
    """What a chart calls itself, by its Chart.yaml; "" where nobody can say."""
    match = _NAME.search(chart_file)
    return match[1].decode() if match else ""


def is_known_chart(chart: str) -> bool:
    """Whether rules know the values of a chart of this name."""
    return chart in _KEYS or chart == _APP


def chart_of(value: Any) -> str | None:
    """The chart these values are for, None when they are for none of ours."""
    if not isinstance(value, Mapping) or "apiVersion" in value or len(value) > _MOST:
        return None
    if _has_containers(value.get("controllers")):
        return _APP
    keys = set(value)
    results = {
        chart: len(keys & own) + (_LEAST if keys & _SURE.get(chart, frozenset()) else 0)
        for chart, own in _KEYS.items()
    }
    # karpenter has no key of its own but `settings`: with a cluster's name in it
    settings = value.get("settings")
    if not (isinstance(settings, Mapping) and {"clusterName", "interruptionQueue"} & set(settings)):
        results.pop("karpenter")
    if _is_another_chart(keys) or (keys & _OF_PLUGIN and not keys & _OF_OPERATOR):
        results.pop("gpu-operator")
    best = max(results, key=lambda chart: results[chart], default=None)
    return best if best is not None and results[best] >= _LEAST else None


def normalize_values(resource: Resource) -> Resource:
    """Values beside a chart of somebody's own: what the vendor's chart does not know, that one reads."""
    if resource.kind != OPERATOR_VALUES:
        return resource
    return replace(resource, properties=_read_by_the_operators(resource.properties))


def _read_by_the_operators(
    chart_values: Mapping[str, Any], path: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Of values those that the operator's chart reads: nothing is made of the others."""
    read = fields_of(path)
    result = {
        key: _read_by_the_operators(below, (*path, key)) if _is_known(below, path) else below
        for key, below in chart_values.items()
        if read is None or key in read
    }
    return PartlyKnown(result) if isinstance(chart_values, PartlyKnown) else result


def _is_known(below: Any, path: tuple[str, ...]) -> bool:
    """Whether there may be fields of the chart's own below."""
    return isinstance(below, Mapping) and len(path) < DEEPEST


def _has_containers(controllers: Any) -> bool:
    """Whether these are controllers as app-template has them, by name, each with its containers."""
    return isinstance(controllers, Mapping) and any(
        isinstance(each, Mapping) and isinstance(each.get("containers"), Mapping)
        for each in controllers.values()
    )


def _is_another_chart(keys: set[str]) -> bool:
    """Whether most keys are none of the operator's chart, or one is another's: others have a devicePlugin."""
    most = len(keys - TOP_LEVEL) > len(keys & (TOP_LEVEL - OF_HELM))
    return most or bool(keys & _OF_SHARERS)


def values(value: Any, place: FileLocation, chart: str | None = None) -> Iterator[Item]:
    """The values themselves, and every configuration inside them."""
    named = chart or chart_of(value)
    if named is not None:
        yield Item(Resource(f"values:{named}", named, value), place)
    of_operator = f"values:{named}" == OPERATOR_VALUES and isinstance(value, Mapping)
    yield from embedded_configuration(
        _read_by_the_operators(value) if of_operator else value, place
    )


def values_of_chart(value: Mapping[str, Any], place: FileLocation, chart: str) -> Iterator[Item]:
    """Values of which it is said for which chart they are; those of a chart we do not know are nobody's."""
    own = is_known_chart(chart) and not isinstance(value.get(chart), Mapping)
    if own:  # else it is a chart around the vendor's, under the vendor's name
        yield from values(value, place, chart)
    elif any(isinstance(each, Mapping) and is_known_chart(key) for key, each in value.items()):
        yield from subcharts(value, place)
    else:
        yield from embedded_configuration(value, place)


def subcharts(
    value: Any, place: FileLocation, aliases: Mapping[str, str] | None = None
) -> Iterator[Item]:
    """Values of charts that stand under their names, or under aliases, in the values of an umbrella chart."""
    for key, each in value.items():
        chart = str((aliases or {}).get(key, key))
        if isinstance(each, Mapping) and is_known_chart(chart):
            own = {name: options for name, options in each.items() if name not in _OF_PARENTS}
            yield from values(own, replace(place, prefix=(*place.prefix, key)), chart)


def is_values(value: Any) -> bool:
    """True for values of a chart of ours, alone or under its name."""
    if not isinstance(value, Mapping) or "apiVersion" in value:
        return False
    return chart_of(value) is not None or any(
        isinstance(each, Mapping) and is_known_chart(key) for key, each in value.items()
    )


def values_or_subcharts(value: Any, place: FileLocation) -> Iterator[Item]:
    """What a values file holds."""
    if chart_of(value) is not None:
        yield from values(value, place)
    else:
        yield from subcharts(value, place)
