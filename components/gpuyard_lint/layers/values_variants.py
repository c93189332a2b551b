"""Values as releases deploy them: those of a file for each release that names it, and inline ones."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from gpuyard_core.manifests.fields import UNKNOWN, NotEvaluatedError, PartlyKnown, mapping, text
from gpuyard_lint.items import Item, ReleasePart
from gpuyard_lint.languages.hcl_values import merge_overlays
from gpuyard_lint.layers.order import OVERLAY_ORDER, values_layers, values_layers_by_release
from gpuyard_lint.layers.view import LayersView, ValuesLayer
from gpuyard_lint.rules.subjects.components import CHART_FIELDS, at_path, chart_references

_MOST = 32
"""Maximum number of variants per file."""


def values_variants(
    results: Sequence[Item], samples: Collection[str], view: LayersView
) -> dict[str, tuple[Any, ...]]:
    """By values file: the result for each release, as far as the other layers are in the input."""
    forms: dict[str, list[Any]] = {}
    for item in results:
        if item.place.file not in samples and item.resource.group_kind in OVERLAY_ORDER:
            for layers in _releases(item, view):
                _keep([each for each in layers if each.value is not UNKNOWN], forms)
    return {file: tuple(each) for file, each in forms.items()}


def _keep(layers: Sequence[ValuesLayer], forms: dict[str, list[Any]]) -> None:
    files = [each.file for each in layers if each.file]
    form = merge_overlays([each.value for each in layers], deep=True) if files else None
    for file in files:
        known = forms.setdefault(file, [])
        if len(known) < _MOST and form not in known:
            known.append(form)


def referenced_values_files(item: Item, view: LayersView) -> Iterator[tuple[str, str]]:
    """Values files that a release names, with their chart, if all its layers are in the input."""
    kind, properties = item.resource.group_kind, item.resource.properties
    try:
        for base in chart_references(kind, properties) if kind in OVERLAY_ORDER else ():
            value = text(mapping(at_path(properties, base)), CHART_FIELDS.get(kind, "chart"))
            for layers in values_layers_by_release(kind, properties, base, item.place.file, view):
                known = all(each.value is not UNKNOWN for each in layers)
                for each in layers if known and value else ():
                    yield each.file, value.rpartition("/")[2]
    except NotEvaluatedError:
        return  # the charts or files are unknown


def _releases(item: Item, view: LayersView) -> Iterator[list[ValuesLayer]]:
    kind, properties = item.resource.group_kind, item.resource.properties
    try:
        for base in chart_references(kind, properties):
            yield from values_layers_by_release(kind, properties, base, item.place.file, view)
    except NotEvaluatedError:
        return  # the charts are unknown


def merged_release_values(part: ReleasePart, file: str) -> Any:
    """Values in a release, merged with all layers over and under them; None if the order is unknown."""
    kind, properties = part.release.group_kind, part.release.properties
    if kind not in OVERLAY_ORDER:
        return None
    try:
        layers = values_layers(kind, properties, part.base, file, LayersView())
    except NotEvaluatedError:
        return None
    return merge_overlays([each.value for each in layers], deep=True)


def is_complete_values(value: Any) -> bool:
    """Whether its whole content is known."""
    if isinstance(value, Mapping):
        return not isinstance(value, PartlyKnown) and all(map(is_complete_values, value.values()))
    return value is not UNKNOWN


def as_complete_values(value: Any) -> Any:
    """The same value, treated as complete."""
    if isinstance(value, Mapping):
        return {key: as_complete_values(each) for key, each in value.items()}
    return value
