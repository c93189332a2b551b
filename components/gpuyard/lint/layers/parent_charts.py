"""Charts that others take in from a folder beside them: `repository: file://../name` of a dependency.

Such a chart is deployed with what the chart around it has for it, under its name or alias, and with no
command: what it says by itself alone is nobody's.
"""

import posixpath
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from gpuyard.findings import Path
from gpuyard.lint.items import ValuesOverlay
from gpuyard.lint.layers.view import parsed
from gpuyard.manifests.fields import mapping, mappings, text
from gpuyard.rules.subjects.components import at_path

_CHART, _VALUES = "Chart.yaml", "values.yaml"
_BESIDE = "file://"


def parent_chart_overrides(
    names: Collection[str], text_of: Callable[[str], str]
) -> Iterator[ValuesOverlay]:
    """What charts in view lay over the values of others in view."""
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
    """The folder of a chart that is named by its path; a name that nothing has where it is elsewhere."""
    if not repository.startswith(_BESIDE):
        return repository
    result = posixpath.normpath(posixpath.join(sibling, repository.removeprefix(_BESIDE)))
    return "" if result == "." else result


def subchart_conditions(dependency: Mapping[Any, Any]) -> list[Path]:
    """Where in the values of the chart around it a dependency is switched, the first that is there counts."""
    return [tuple(part.strip().split(".")) for part in text(dependency, "condition").split(",")]


def is_subchart_enabled(dependency: Mapping[Any, Any], parent_values: Any) -> bool | None:
    """What those values say of it; None where they say nothing."""
    settings = (at_path(parent_values, path) for path in subchart_conditions(dependency))
    return next((value for value in settings if isinstance(value, bool)), None)


def _values_for(dependency: Mapping[Any, Any], parent_values: Any) -> Any:
    """What stands under its name, and for all charts; UNKNOWN where nobody knows what is there."""
    if not isinstance(parent_values, Mapping):
        return parent_values
    own = mapping(parent_values, text(dependency, "alias") or text(dependency, "name"))
    shared = {"global": parent_values["global"]} if mapping(parent_values, "global") else {}
    return {**own, **shared}
