"""Values as releases deploy them: those of a file for each that names it, those in a release itself."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from gpuyard.lint.items import Item, ReleasePart
from gpuyard.lint.languages.hcl_values import overlaid
from gpuyard.lint.layers.order import LAID, layers_of, layers_of_each
from gpuyard.lint.layers.view import Layer, LayersView
from gpuyard.manifests.fields import UNKNOWN, NotEvaluatedError, PartlyKnown, mapping, text
from gpuyard.rules.subjects.components import CHART_FIELDS, at_path, charts_at

_MOST = 32
"""Of one file so many different forms are looked at."""


def forms_of_files(
    found: Sequence[Item], samples: Collection[str], view: LayersView
) -> dict[str, tuple[Any, ...]]:
    """By file of values: what each release makes of it, as far as the other layers are in view."""
    forms: dict[str, list[Any]] = {}
    for item in found:
        if item.place.file not in samples and item.resource.group_kind in LAID:
            for layers in _releases(item, view):
                _keep([each for each in layers if each.value is not UNKNOWN], forms)
    return {file: tuple(each) for file, each in forms.items()}


def _keep(layers: Sequence[Layer], forms: dict[str, list[Any]]) -> None:
    files = [each.file for each in layers if each.file]
    form = overlaid([each.value for each in layers], deep=True) if files else None
    for file in files:
        known = forms.setdefault(file, [])
        if len(known) < _MOST and form not in known:
            known.append(form)


def told_files(item: Item, view: LayersView) -> Iterator[tuple[str, str]]:
    """Files of values that a release names, with their chart, where all that it has is in view."""
    kind, properties = item.resource.group_kind, item.resource.properties
    try:
        for base in charts_at(kind, properties) if kind in LAID else ():
            given = text(mapping(at_path(properties, base)), CHART_FIELDS.get(kind, "chart"))
            for layers in layers_of_each(kind, properties, base, item.place.file, view):
                known = all(each.value is not UNKNOWN for each in layers)
                for each in layers if known and given else ():
                    yield each.file, given.rpartition("/")[2]
    except NotEvaluatedError:
        return  # which charts or files there are, nobody knows


def _releases(item: Item, view: LayersView) -> Iterator[list[Layer]]:
    kind, properties = item.resource.group_kind, item.resource.properties
    try:
        for base in charts_at(kind, properties):
            yield from layers_of_each(kind, properties, base, item.place.file, view)
    except NotEvaluatedError:
        return  # which charts there are, nobody knows


def values_there(part: ReleasePart, file: str) -> Any:
    """Values in a release, with all that this lays over and under them; None where nobody knows the order."""
    kind, properties = part.release.group_kind, part.release.properties
    if kind not in LAID:
        return None
    try:
        layers = layers_of(kind, properties, part.base, file, LayersView())
    except NotEvaluatedError:
        return None
    return overlaid([each.value for each in layers], deep=True)


def is_whole(value: Any) -> bool:
    """Whether all is known that stands in it."""
    if isinstance(value, Mapping):
        return not isinstance(value, PartlyKnown) and all(map(is_whole, value.values()))
    return value is not UNKNOWN


def as_whole(value: Any) -> Any:
    """The same as if there were no more in it."""
    if isinstance(value, Mapping):
        return {key: as_whole(each) for key, each in value.items()}
    return value
