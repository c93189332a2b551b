"""Charts that their parent chart disables: by the condition of a dependency, or by its tags.

Helm uses the first path of `condition` that the values have; if they have none, `tags`: one true tag
is enough. Values in other files of the input count too: a production release may enable it.
"""

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import items, mappings, text
from gpuyard_core.yaml_tree import Document
from gpuyard_lint.items import Item, LintInput
from gpuyard_lint.languages.script_text import is_documentation
from gpuyard_lint.layers.parent_charts import is_subchart_enabled, subchart_conditions
from gpuyard_lint.layers.view import documents_in
from gpuyard_lint.rules.subjects.components import at_path

_CHART = "Chart.yaml"
_VALUES = ("values.yaml", "values.yml")
_WORDS = ("condition:", "tags:")
_TAGS = "tags"
_END = 10**9
_OFF = re.compile(r"[\"']?[ \t]*[=:,][ \t]*[\"']?false\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Dependency:
    """A dependency that the values of its parent chart disable."""

    folder: str
    key: str
    """The key of its own values."""
    switches: tuple[Path, ...]
    """The paths that would enable it."""


def drop_disabled_subcharts(
    result: LintInput, names: Collection[str], text_of: Callable[[str], str]
) -> LintInput:
    """The same without the values of charts that are not installed."""
    charts = sorted(each for each in names if posixpath.basename(each) == _CHART)
    off = [each for chart in charts for each in _off(chart, names, text_of)]
    off = _left_off(off, names, text_of)
    files = {item.place.file for item in result.items} if off else ()
    parts = {
        file: [
            part for each in off if _is_beside(file, each) for part in _lines(each, text_of(file))
        ]
        for file in files
    }
    retained = [
        item for item in result.items if not _is_within(item, parts.get(item.place.file, ()))
    ]
    return result if len(retained) == len(result.items) else replace(result, items=tuple(retained))


def _off(
    chart: str, names: Collection[str], text_of: Callable[[str], str]
) -> Iterator[_Dependency]:
    """Dependencies that the values next to a chart disable."""
    written, folder = text_of(chart), posixpath.dirname(chart)
    values_files = [name for each in _VALUES if (name := posixpath.join(folder, each)) in names]
    if not values_files or not any(word in written for word in _WORDS):
        return
    values = _value(text_of(values_files[0]))
    dependencies = mappings(_value(written), "dependencies")
    several = Counter(str(each.get("name")) for each in dependencies)
    for each in dependencies:
        if several[str(each.get("name"))] > 1:
            continue  # variants, of which each installation uses one
        tags = [(_TAGS, tag) for tag in items(each, _TAGS) if isinstance(tag, str)]
        first = is_subchart_enabled(each, values)
        tag_values = [at_path(values, path) for path in tags]
        off = first is False or (first is None and False in tag_values and True not in tag_values)
        if off and (key := text(each, "alias") or text(each, "name")):
            switch_paths = [path for path in (*subchart_conditions(each), *tags) if path != ("",)]
            yield _Dependency(folder, key, tuple(switch_paths))


def _value(written: str) -> Any:
    documents = documents_in(written, _CHART)
    return documents[0].value if len(documents) == 1 else {}


def _is_beside(file: str, of: _Dependency) -> bool:
    """Whether a file has values of the parent chart."""
    folder, name = posixpath.split(file)
    return folder == of.folder and name.startswith("values")


def _lines(of: _Dependency, written: str) -> Iterator[range]:
    """The paths of a dependency's values in other values."""
    for document in documents_in(written, _CHART):
        keys = document.value if isinstance(document.value, Mapping) else {}
        begins = [line for key in keys if (line := document.lines.get((key,))) is not None]
        first = document.lines.get((of.key,))
        if first is not None:  # up to the next: a text at the end has its own lines
            yield range(first, min((each for each in begins if each > first), default=_END))


def _is_within(item: Item, parts: Sequence[range]) -> bool:
    return bool(parts) and any(item.place.position(())[0] in part for part in parts)


# ── enabling ──


@dataclass(slots=True)
class _Text:
    """The content of a file, read and parsed once for all dependencies."""

    file: str
    written: str
    _parsed: list[Document] | None = None

    def documents(self) -> list[Document]:
        if self._parsed is None:
            self._parsed = documents_in(self.written, _CHART)
        return self._parsed


def _left_off(
    off: list[_Dependency], names: Collection[str], text_of: Callable[[str], str]
) -> list[_Dependency]:
    """The dependencies that nothing in the input enables."""
    words = {_search_key(path) for each in off for path in each.switches}
    for file in names:
        if not off:
            break
        document = _Text(file, text_of(file))
        # a repository may have a hundred of them, and most files name none
        present = {word for word in words if word in document.written}
        if present:
            off = [each for each in off if not _switches_on(document, each, present)]
    return off


def _search_key(path: Path) -> str:
    """The content that may mention a condition: `enabled` alone is in most."""
    return str(path[-2:][0])


def _switches_on(document: _Text, of: _Dependency, present: Collection[str]) -> bool:
    """Whether a file may set it; templates of the chart only read it."""
    switches = [path for path in of.switches if _search_key(path) in present]
    templates = posixpath.join(of.folder, "templates", "")
    if document.file.startswith(templates) or document.file == posixpath.join(of.folder, _CHART):
        return False
    return any(_says_on(document, path) for path in switches)


def _says_on(document: _Text, path: Path) -> bool:
    last, above = str(path[-1]), str(path[-2]) if len(path) > 1 else ""
    if last not in document.written:
        return False
    prose = is_documentation(document.file)
    if _is_set_in(document.written, ".".join(map(str, path)), prose=prose):
        return True
    return not prose and any(_has(each.value, above, last) for each in document.documents())


def _is_set_in(written: str, dotted: str, *, prose: bool) -> bool:
    """Whether a line has the path in the form of `--set` or a parameter, without false."""
    if dotted not in written:
        return False
    for line in written.splitlines():
        start = line.find(dotted)
        skipped = start < 0 or line.lstrip(" -").startswith(("#", "condition"))
        if skipped or line[:start].endswith(".Values."):
            continue
        rest = line[start + len(dotted) :]
        if not _OFF.match(rest) and (not prose or rest.startswith("=")):
            return True
    return False


def _has(value: Any, above: str, last: str) -> bool:
    """Whether any value below, also in texts, has the condition, without false."""
    if isinstance(value, Mapping):
        here = value.get(above) if above else value
        if isinstance(here, Mapping) and here.get(last, False) is not False:
            return True
        return any(_has(each, above, last) for each in value.values())
    if isinstance(value, list):
        return any(_has(each, above, last) for each in value)
    if isinstance(value, str) and "\n" in value and last in value and above in value:
        return any(_has(document.value, above, last) for document in documents_in(value, _CHART))
    return False
