"""Resources inside resources: configuration in a ConfigMap, values in a release."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpuyard.findings import Path
from gpuyard.lint.charts import values
from gpuyard.lint.embedded import embedded, priorities, text_documents
from gpuyard.lint.items import FilePlace, Item
from gpuyard.lint.languages.bottlerocket import USER_DATA, shared

_VALUES: Mapping[str, tuple[tuple[Path, Path], ...]] = {
    "helm.toolkit.fluxcd.io/HelmRelease": (
        (("spec", "chart", "spec", "chart"), ("spec", "values")),
    ),
    "argoproj.io/Application": (
        (("spec", "source", "chart"), ("spec", "source", "helm", "valuesObject")),
        (("spec", "source", "chart"), ("spec", "source", "helm", "values")),
    ),
    "helm.cattle.io/HelmChart": ((("spec", "chart"), ("spec", "valuesContent")),),
    "helm:Release": ((("chart",), ("values",)),),
    "helm:Chart": ((("chart",), ("values",)),),
}
"""By kind: where the name of a chart and its values stand."""
_CONFIGURED = frozenset({"ConfigMap", "monitoring.coreos.com/PrometheusRule"})


def with_inside(item: Item) -> Iterator[Item]:
    """The item, and everything inside it."""
    yield item
    kind, properties = item.resource.group_kind, item.resource.properties
    if kind in _CONFIGURED:
        yield from embedded(properties, item.place)
        yield from priorities(properties, item.place)
    if kind in USER_DATA and isinstance(text := _at(properties, USER_DATA[kind]), str):
        yield from shared(text, item.place, USER_DATA[kind])
    for to_chart, to_values in _VALUES.get(kind, ()):
        chart = _at(properties, to_chart)
        yield from _values(_at(properties, to_values), item, to_values, chart)


def _values(value: Any, item: Item, path: Path, chart: Any) -> Iterator[Item]:
    """Values as a mapping, as text, or as the list of texts that Terraform's helm_release takes."""
    name = str(chart).rpartition("/")[2] if isinstance(chart, str) else None
    if isinstance(value, Mapping):
        below = replace(
            item.place, prefix=(*item.place.prefix, *path), pulumi_name=None, own_name=None
        )
        yield from values(value, below, name)
    elif isinstance(value, str):
        yield from _text(value, item.place, path, name)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _values(each, item, (*path, index), chart)


def _text(text: str, place: FilePlace, path: Path, chart: str | None) -> Iterator[Item]:
    for document, inside in text_documents(text, place, path):
        if isinstance(document.value, Mapping):
            yield from values(document.value, inside, chart)


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value
