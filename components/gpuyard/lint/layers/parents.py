"""Charts that others take in from a folder beside them: `repository: file://../name` of a dependency.

Such a chart is deployed with what the chart around it has for it, under its name or alias, and with no
command: what it says by itself alone is nobody's.
"""

import posixpath
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from gpuyard.findings import Path
from gpuyard.lint.items import HandedValues
from gpuyard.lint.layers.view import parsed
from gpuyard.manifests.fields import mapping, mappings, text
from gpuyard.rules.subjects.components import at_path

_CHART, _VALUES = "Chart.yaml", "values.yaml"
_BESIDE = "file://"


def taken_in(names: Collection[str], text_of: Callable[[str], str]) -> Iterator[HandedValues]:
    """What charts in view lay over the values of others in view."""
    for chart in sorted(names):
        folder, _, name = chart.rpartition("/")
        written = text_of(chart) if name == _CHART else ""
        given = parsed(written) if _BESIDE in written else {}
        own = _joined(folder, _VALUES)
        for each in mappings(given, "dependencies") if isinstance(given, Mapping) else ():
            child = _folder(text(each, "repository"), folder)
            around = parsed(text_of(own)) if own in names else {}
            if _joined(child, _CHART) in names and decided(each, around) is not False:
                yield HandedValues((_joined(child, _VALUES),), (_values_for(each, around),))


def _joined(folder: str, name: str) -> str:
    return posixpath.join(folder, name) if folder else name


def _folder(repository: str, beside: str) -> str:
    """The folder of a chart that is named by its path; a name that nothing has where it is elsewhere."""
    if not repository.startswith(_BESIDE):
        return repository
    found = posixpath.normpath(posixpath.join(beside, repository.removeprefix(_BESIDE)))
    return "" if found == "." else found


def switches_of(dependency: Mapping[Any, Any]) -> list[Path]:
    """Where in the values of the chart around it a dependency is switched, the first that is there counts."""
    return [tuple(part.strip().split(".")) for part in text(dependency, "condition").split(",")]


def decided(dependency: Mapping[Any, Any], around: Any) -> bool | None:
    """What those values say of it; None where they say nothing."""
    said = (at_path(around, path) for path in switches_of(dependency))
    return next((value for value in said if isinstance(value, bool)), None)


def _values_for(dependency: Mapping[Any, Any], around: Any) -> Any:
    """What stands under its name, and for all charts; UNKNOWN where nobody knows what is there."""
    if not isinstance(around, Mapping):
        return around
    own = mapping(around, text(dependency, "alias") or text(dependency, "name"))
    shared = {"global": around["global"]} if mapping(around, "global") else {}
    return {**own, **shared}
