"""Charts that others take in from a folder beside them: `repository: file://../name` of a dependency.

Such a chart is deployed with what the chart around it has for it, under its name or alias, and with no
command: what it says by itself alone is nobody's.
"""

import posixpath
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from gpuyard.lint.items import HandedValues
from gpuyard.lint.layers.view import parsed
from gpuyard.manifests.fields import mapping, mappings, text

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
            if _joined(child, _CHART) in names and _is_taken(each, around):
                yield HandedValues((_joined(child, _VALUES),), (_values_for(each, around),))


def _joined(folder: str, name: str) -> str:
    return posixpath.join(folder, name) if folder else name


def _folder(repository: str, beside: str) -> str:
    """The folder of a chart that is named by its path; a name that nothing has where it is elsewhere."""
    if not repository.startswith(_BESIDE):
        return repository
    found = posixpath.normpath(posixpath.join(beside, repository.removeprefix(_BESIDE)))
    return "" if found == "." else found


def _is_taken(dependency: Mapping[Any, Any], around: Any) -> bool:
    """Whether no condition leaves it out; of several the first that is there counts."""
    for path in text(dependency, "condition").split(","):
        value: Any = around
        for step in path.strip().split("."):
            value = value.get(step) if isinstance(value, Mapping) else None
        if isinstance(value, bool):
            return value
    return True


def _values_for(dependency: Mapping[Any, Any], around: Any) -> Any:
    """What stands under its name, and for all charts; UNKNOWN where nobody knows what is there."""
    if not isinstance(around, Mapping):
        return around
    own = mapping(around, text(dependency, "alias") or text(dependency, "name"))
    shared = {"global": around["global"]} if mapping(around, "global") else {}
    return {**own, **shared}
