"""Values and charts that commands in scripts pass to helm: the chart of a file, and its overrides.

Such a command excuses and identifies, and never causes a finding: a finding must hold for the file as
written and as passed. Files outside the input, and commands in examples, change nothing.
"""

import posixpath
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import UNKNOWN, PartlyKnown, UnknownValue
from gpuyard_lint.charts import chart_name_in
from gpuyard_lint.items import Item, ValuesOverlay
from gpuyard_lint.languages.commands import HelmCommand
from gpuyard_lint.languages.hcl_values import UNKNOWN_PART, merge_overlays
from gpuyard_lint.rules.rule import Resource
from gpuyard_lint.rules.subjects.installed_versions import COMMAND, NEWEST

_CHART = "Chart.yaml"
_PACKED = re.compile(r"(.+?)-(v?\d+\.\d+.*)\.tgz")
_SIGN = "${SET_BY_A_COMMAND}"


@dataclass(frozen=True, slots=True)
class ScriptHints:
    """The content of commands in some scripts."""

    installs: tuple[Resource, ...] = ()
    values: tuple[ValuesOverlay, ...] = ()
    charts: Mapping[str, str] = field(default_factory=dict[str, str])
    """By values file: the name of its chart."""


@dataclass(frozen=True, slots=True)
class RepositoryFiles:
    """The files that a script may name."""

    names: Collection[str]
    roots: Sequence[str]
    """The linted folders: scripts start there, or in their own folder."""
    bytes_of: Callable[[str], bytes]

    def file(self, named: str, script: str) -> str | None:
        """A file by the path in a command; None if it is not in the input."""
        return next((each for each in self._candidates(named, script) if each in self.names), None)

    def chart(self, named: str, script: str) -> str | None:
        """The folder of a chart in the input."""
        result = self.file(f"{named.rstrip('/')}/{_CHART}", script)
        return None if result is None else posixpath.dirname(result)

    def name_of(self, chart: str) -> str:
        """The name in the Chart.yaml of a folder."""
        return chart_name_in(self.bytes_of(posixpath.join(chart, _CHART)))

    def _candidates(self, named: str, script: str) -> Iterator[str]:
        own = posixpath.dirname(script)
        above = [root for root in self.roots if not root or script.startswith(f"{root}/")]
        root = max(above, key=len, default=own)
        if named.startswith(f"{UNKNOWN_PART}/") and named.count(UNKNOWN_PART) == 1:
            rest = named[len(UNKNOWN_PART) :].lstrip("/")
            yield from (_joined(each, rest) for each in _upwards(own, root))
        elif named and UNKNOWN_PART not in named and not named.startswith(("/", "~", "-")):
            yield from (_joined(own, named), _joined(root, named))


def _upwards(folder: str, root: str) -> Iterator[str]:
    """A folder and its parents, up to the linted path."""
    while folder not in {root, "", "/"}:
        yield folder
        folder = posixpath.dirname(folder)
    yield folder


def _joined(*parts: str) -> str:
    result = posixpath.normpath(posixpath.join(*parts))
    return "" if result == "." else result


def script_hints(
    scripts: Mapping[str, Sequence[HelmCommand]], view: RepositoryFiles
) -> ScriptHints:
    """The content of the commands of scripts, by their names."""
    installs: dict[tuple[str, str], Resource] = {}
    values: list[ValuesOverlay] = []
    charts: dict[str, set[str]] = {}
    for script, commands in scripts.items():
        for each in commands:
            program = _of_helm(each, script, view, values, charts)
            if program:
                properties = {
                    "program": program,
                    "version": each.version or NEWEST,
                    "values": bool(each.sets or each.values),
                }
                installs[program, str(properties)] = Resource(COMMAND, program, properties)
    sure = {file: min(names) for file, names in charts.items() if len(names) == 1}
    return ScriptHints(tuple(installs.values()), tuple(values), sure)


def _of_helm(
    command: HelmCommand,
    script: str,
    view: RepositoryFiles,
    values: list[ValuesOverlay],
    charts: dict[str, set[str]],
) -> str:
    """Records the values of one command by file; the name of its chart, "" if unknown."""
    files = [file for each in command.values if (file := view.file(each, script)) is not None]
    folder = view.chart(command.chart, script) if command.chart else None
    name = view.name_of(folder) if folder is not None else _name(command.chart)
    if name:
        for each in files:
            charts.setdefault(each, set()).add(name)
    own = [] if folder is None else [posixpath.join(folder, "values.yaml")]
    values.append(ValuesOverlay((*own, *files), command.sets))
    return name


def _name(chart: str) -> str:
    """For a chart outside the input: the last part of its address, if known."""
    last = chart.rstrip("/").rpartition("/")[2]
    if packed := _PACKED.fullmatch(last):
        last = packed[1]
    last = last.partition("@")[0].partition(":")[0]
    return "" if UNKNOWN_PART in last or last.startswith((".", "[")) else last


def apply_script_hints(
    values: Sequence[ValuesOverlay], by_file: Mapping[str, Sequence[Item]]
) -> dict[str, Any]:
    """By file: the values as helm gets them; values that differ between commands are unknown."""
    forms: dict[str, list[Any]] = {}
    for each in values:
        known = [(file, _written(by_file.get(file, ()))) for file in each.files]
        layers = [(file, value) for file, value in known if value is not None]
        form = merge_overlays([*(value for _, value in layers), *each.set_values], deep=True)
        for file, _ in layers:
            forms.setdefault(file, []).append(form)
    return {file: _shared(result) for file, result in forms.items()}


def overlay_values(own: str, values: Sequence[ValuesOverlay], parsed: Callable[[str], Any]) -> Any:
    """Values from commands for a chart in the input; if several differ, a marker for unknown."""
    forms = [
        merge_overlays(
            [*(parsed(file) for file in each.files if file != own), *each.set_values], deep=True
        )
        for each in values
        if own in each.files[:1]
    ]
    return _signed(_shared(forms)) if forms else {}


def _signed(value: Any) -> Any:
    """With a placeholder for unknown values."""
    if isinstance(value, Mapping):
        return {str(key): _signed(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_signed(each) for each in value]
    return _SIGN if isinstance(value, UnknownValue) else value


def values_with_overrides(resource: Resource, prefix: Path, form: Any) -> Resource:
    """Values of a chart, also below its name, as a command passes them; others unchanged."""
    if not resource.kind.startswith("values:") or len(prefix) > 1:
        return resource
    for step in prefix:
        form = form.get(step, UNKNOWN) if isinstance(form, Mapping) else UNKNOWN
    return replace(resource, properties=form) if isinstance(form, Mapping) else resource


def _written(results: Sequence[Item]) -> Any:
    """All text of a values file."""
    items = [item for item in results if item.resource.kind.startswith("values:")]
    value = items[0].place.document.value if items else None
    return value if isinstance(value, Mapping) else None


def _shared(values: Sequence[Any]) -> Any:
    first = values[0]
    if all(each == first for each in values[1:]):
        return first
    if not all(isinstance(each, Mapping) for each in values):
        return UNKNOWN
    keys = dict.fromkeys(key for each in values for key in each)
    results = {key: _shared([each.get(key, UNKNOWN) for each in values]) for key in keys}
    partly = any(isinstance(each, PartlyKnown) for each in values)
    return PartlyKnown(results) if partly else results
