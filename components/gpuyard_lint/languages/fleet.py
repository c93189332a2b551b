"""The chart of a Rancher Fleet bundle, `fleet.yaml`, with its inline values.

    helm: {repo: https://…, chart: gpu-operator, version: v26.7.0, values: {driver: {…}}}

Overrides for some clusters in `targetCustomizations` are unknown for all.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpuyard_core.manifests.fields import UNKNOWN, mapping, mappings, text
from gpuyard_lint.items import FileLocation, Item
from gpuyard_lint.languages.hcl_values import merge_overlays
from gpuyard_lint.rules.rule import Resource

_ELSEWHERE = ("valuesFiles", "valuesFrom", "templateValues")


def is_bundle(value: Any) -> bool:
    """Whether it names a chart in the form of Fleet."""
    helm = value.get("helm") if isinstance(value, Mapping) and "apiVersion" not in value else None
    return isinstance(helm, Mapping) and all(
        isinstance(helm.get(key), str) for key in ("chart", "version")
    )


def bundle_release(value: Mapping[str, Any], place: FileLocation) -> Iterator[Item]:
    """The chart, if it is from a repository: a chart in a folder has no version here."""
    helm = mapping(value, "helm")
    chart = text(helm, "chart")
    if helm.get("repo") or chart.startswith("oci://"):
        chart_values: Any = mapping(helm, "values")
        if any(helm.get(key) for key in _ELSEWHERE):
            chart_values = UNKNOWN
        else:
            more = [each.get("helm") for each in mappings(value, "targetCustomizations")]
            over = [_unknown(mapping(each, "values")) for each in more if isinstance(each, Mapping)]
            chart_values = merge_overlays([chart_values, *over], deep=True)
        properties = {"chart": chart, "version": text(helm, "version"), "values": chart_values}
        below = replace(place, prefix=(*place.prefix, "helm"))
        yield Item(Resource("helm:Chart", text(helm, "releaseName") or chart, properties), below)


def _unknown(value: Any) -> Any:
    """The same keys, with unknown values."""
    if isinstance(value, Mapping):
        return {key: _unknown(each) for key, each in value.items()}
    return UNKNOWN
