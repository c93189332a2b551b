"""Values and charts that commands next to the files pass to helm: the chart of a file, and its overrides.

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
from gpuyard_lint.languages.commands import AppliedRelease, HelmCommand
from gpuyard_lint.languages.hcl_values import UNKNOWN_PART, merge_overlays
from gpuyard_lint.languages.image_overrides import ScriptedImages
from gpuyard_lint.languages.node_label_hints import NodeLabelHints
from gpuyard_lint.languages.script_text import is_documentation
from gpuyard_lint.rules.rule import Resource
from gpuyard_lint.rules.subjects.installed_versions import COMMAND, IMAGES, NEWEST
from gpuyard_lint.rules.subjects.pools import NODE_LABELS

_CHART = "Chart.yaml"
_PACKED = re.compile(r"(.+?)-(v?\d+\.\d+.*)\.tgz")
_VERSION = re.compile(rb"^version:[ \t]*[\"']?v?([\w.+-]+)", re.MULTILINE)
_URL = "://"

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
    """The files of a repository that a script may name."""

    names: Collection[str]
    root: str
    """The linted path: scripts start there, or in their own folder."""
    bytes_of: Callable[[str], bytes]

    def file(self, named: str, script: str, folder: str) -> str | None:
        """A file by the path in a command; None if it is not in the input, or if that depends."""
        for each in self._candidates(named, script, folder):
            if each in self.names:
                return each
        return None

    def chart(self, named: str, script: str, folder: str) -> str | None:
        """The folder of a chart in the input."""
        result = self.file(f"{named.rstrip('/')}/{_CHART}", script, folder)
        return None if result is None else posixpath.dirname(result)

    def name_of(self, chart: str) -> str:
        """The name in the Chart.yaml of a folder."""
        return chart_name_in(self.bytes_of(posixpath.join(chart, _CHART)))

    def copy_of(self, name: str, version: object, script: str) -> str | None:
        """A copy of a chart next to a script, with the exact version that its command takes from elsewhere."""
        own = posixpath.dirname(script)
        for folder in (_joined(own, name), _joined(own, "charts", name)):
            if isinstance(version, str) and _joined(folder, _CHART) in self.names:
                match = _VERSION.search(self.bytes_of(_joined(folder, _CHART)))
                if match and match[1].decode() == version.removeprefix("v"):
                    return folder
        return None

    def _candidates(self, named: str, script: str, folder: str) -> Iterator[str]:
        own = posixpath.dirname(script)
        if named.startswith(f"{UNKNOWN_PART}/") and named.count(UNKNOWN_PART) == 1:
            rest = named[len(UNKNOWN_PART) :].lstrip("/")
            yield from (_joined(each, rest) for each in self._upwards(own))
            return
        if not named or UNKNOWN_PART in named or _URL in named or named.startswith(("/", "~", "-")):
            return
        below_root = folder.partition("/")[2] if folder.startswith(UNKNOWN_PART) else folder
        if UNKNOWN_PART not in below_root and not below_root.startswith("/"):
            yield from (_joined(each, below_root, named) for each in (own, self.root) if below_root)
        yield _joined(own, named)
        # in a document, a bare name is a file next to it
        if "/" in named or not is_documentation(script):
            yield _joined(self.root, named)

    def _upwards(self, folder: str) -> Iterator[str]:
        """A folder and its parents, up to the linted path."""
        while True:
            yield folder
            if folder in {self.root, "", "/"}:
                return
            folder = posixpath.dirname(folder)


def _joined(*parts: str) -> str:
    result = posixpath.normpath(posixpath.join(*parts))
    return "" if result == "." else result


def script_hints(
    scripts: Mapping[str, Sequence[HelmCommand | AppliedRelease | ScriptedImages | NodeLabelHints]],
    view_of: Callable[[str], RepositoryFiles],
) -> ScriptHints:
    """The content of the commands of scripts, by their names."""
    installs: dict[tuple[str, str], Resource] = {}
    values: list[ValuesOverlay] = []
    charts: dict[str, set[str]] = {}
    for script, commands in scripts.items():
        for each in commands:
            if isinstance(each, ScriptedImages):
                resource = _images(each, script)
            elif isinstance(each, NodeLabelHints):
                resource = Resource(NODE_LABELS, script, {"names": list(each.names)})
            elif isinstance(each, AppliedRelease):
                resource = _installed(each.program, each.version)
            else:
                program = _of_helm(each, script, view_of(script), values, charts)
                own = bool(each.sets or each.values)
                resource = _installed(program, each.version or NEWEST, own=own)
            if resource.name:
                installs[resource.name, str(resource.properties)] = resource
    sure = {file: min(names) for file, names in charts.items() if len(names) == 1}
    return ScriptHints(tuple(installs.values()), tuple(values), sure)


def _installed(program: str, version: str | UnknownValue, *, own: bool = False) -> Resource:
    """The chart that a command installs, with its own values or without."""
    return Resource(COMMAND, program, {"program": program, "version": version, "values": own})


def _images(overrides: ScriptedImages, script: str) -> Resource:
    pairs = [list(pair) for pair in overrides.image_targets]
    return Resource(IMAGES, script, {"names": list(overrides.names), "containers": pairs})


def _of_helm(
    command: HelmCommand,
    script: str,
    view: RepositoryFiles,
    values: list[ValuesOverlay],
    charts: dict[str, set[str]],
) -> str:
    """Records the values of one command by file; the name of its chart, "" if unknown."""
    resolved = [view.file(each, script, command.folder) for each in command.values]
    files = [each for each in resolved if each is not None]
    folder = view.chart(command.chart, script, command.folder) if command.chart else None
    name = view.name_of(folder) if folder is not None else _name(command.chart)
    if name:
        for each in files:
            charts.setdefault(each, set()).add(name)
    if folder is None and name:
        folder = view.copy_of(name, command.version, script)
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
