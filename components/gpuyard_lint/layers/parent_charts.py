"""Charts that other charts include from a folder next to them: `repository: file://../name` of a dependency.

Such a chart is deployed with the values of its parent chart, under its name or alias, and not by a
command: its own default values alone are not deployed.
"""

import posixpath
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import mapping, mappings, text
from gpuyard_lint.items import ValuesOverlay
from gpuyard_lint.layers.view import parsed
from gpuyard_lint.rules.subjects.components import at_path

_CHART, _VALUES = "Chart.yaml", "values.yaml"
_BESIDE = "file://"


def parent_chart_overrides(
    names: Collection[str], text_of: Callable[[str], str]
) -> Iterator[ValuesOverlay]:
    """Values of charts in the input that override those of others in the input."""
    for chart in sorted(names):
        folder, _, name = chart.rpartition("/")
        written = text_of(chart) if name == _CHART else ""
        value = parsed(written) if _BESIDE in written else {}
        own = _joined(folder, _VALUES)
        for each in mappings(value, "dependencies") if isinstance(value, Mapping) else ():
            child = _folder(text(each, "repository"), folder)
            parent_values = parsed(text_of(own)) if own in names else {}
            if (
                _joined(child, _CHART) in names
                and is_subchart_enabled(each, parent_values) is not False
            ):
                yield ValuesOverlay((_joined(child, _VALUES),), (_values_for(each, parent_values),))


def _joined(folder: str, name: str) -> str:
    return posixpath.join(folder, name) if folder else name


def _folder(repository: str, sibling: str) -> str:
    """The folder of a chart referenced by path; a nonexistent name if it is elsewhere."""
    if not repository.startswith(_BESIDE):
        return repository
    result = posixpath.normpath(posixpath.join(sibling, repository.removeprefix(_BESIDE)))
    return "" if result == "." else result


def subchart_conditions(dependency: Mapping[Any, Any]) -> list[Path]:
    """The paths of a dependency's condition in its parent's values; the first existing one counts."""
    return [tuple(part.strip().split(".")) for part in text(dependency, "condition").split(",")]


def is_subchart_enabled(dependency: Mapping[Any, Any], parent_values: Any) -> bool | None:
    """The value of the condition; None if it is not set."""
    settings = (at_path(parent_values, path) for path in subchart_conditions(dependency))
    return next((value for value in settings if isinstance(value, bool)), None)


def _values_for(dependency: Mapping[Any, Any], parent_values: Any) -> Any:
    """The values under its name, and the global ones; UNKNOWN if they are unknown."""
    if not isinstance(parent_values, Mapping):
        return parent_values
    own = mapping(parent_values, text(dependency, "alias") or text(dependency, "name"))
    shared = {"global": parent_values["global"]} if mapping(parent_values, "global") else {}
    return {**own, **shared}
