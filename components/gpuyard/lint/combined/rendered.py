"""What Helm makes of a chart: each object at the line of the template that it comes from.

Nothing is run here. Which charts there are to render, what their templates became, and what is said of
a chart that could not be rendered.
"""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher

from gpuyard.catalogue.cluster.machine_gpus import contains_gpu_machine_name
from gpuyard.lint.combined.scopes import CHART
from gpuyard.lint.items import Item, LintInput, SkippedFile
from gpuyard.lint.read import read_rendered
from gpuyard.lint.skipped_files import split_documents

_ABOUT_GPUS = re.compile(rb"nvidia|gpu|dcgm", re.IGNORECASE)
NO_HELM = "a template of a chart: with `helm` in PATH it is rendered with the chart's own values"
RENDER_DISABLED = "a template of a chart: it is rendered with --render"
NO_GPU_CONTENT = "templates of a chart in which nothing is said of GPUs"
_SOURCE = re.compile(rb"^# Source: [^/\n]+/(\S[^\n]*)$", re.MULTILINE)
_TEMPLATES = "templates"
_SUBCHARTS = "charts"
_MOST_LINES = 3000
"""A longer template, or what was made of it, is pointed at as a whole."""


@dataclass(frozen=True, slots=True)
class UnreadChart:
    """A chart with templates that are no YAML yet."""

    folder: str
    templates: tuple[str, ...]
    """Files, those of charts inside it too."""
    files: tuple[str, ...]
    """All that decide what becomes of them."""


@dataclass(slots=True)
class RenderedCharts:
    """What became of charts."""

    items: list[Item] = field(default_factory=list[Item])
    skipped: list[SkippedFile] = field(default_factory=list[SkippedFile])
    rendered_templates: set[str] = field(default_factory=set[str])
    """Templates of which what was read before does not count any more."""
    reported_templates: set[str] = field(default_factory=set[str])
    """Those of which it is said in another way that they are not read."""


def is_about_gpus(text: bytes) -> bool:
    """Whether a file of a chart names GPUs, or a machine that has them."""
    return _ABOUT_GPUS.search(text) is not None or contains_gpu_machine_name(text)


def charts_to_render(reading: LintInput) -> list[UnreadChart]:
    """Outermost charts that have templates, in the order of their folders."""
    folders = {posixpath.dirname(f) for f in reading.files if posixpath.basename(f) == CHART}
    templates: dict[str, list[str]] = {}
    for each in reading.skipped:
        folder = _chart_of(each.file, folders) if each.template else None
        if folder is not None:
            templates.setdefault(folder, []).append(each.file)
    return [
        UnreadChart(folder, tuple(dict.fromkeys(result)), tuple(_parts(folder, reading.files)))
        for folder, result in sorted(templates.items())
    ]


def _chart_of(file: str, folders: Iterable[str]) -> str | None:
    """The outermost chart of which it is a template; a chart that lies elsewhere in another is its own."""
    above, below = [], posixpath.dirname(file)
    inside = posixpath.basename(below) == _TEMPLATES or f"/{_TEMPLATES}/" in f"/{below}/"
    while inside:
        if below in folders:
            above.append(below)
        if not below.strip("/"):
            break
        below = posixpath.dirname(below)
    result = next(iter(above), None)
    for each in above[1:]:
        if result is not None and f"{result}/".startswith(f"{_joined(each, _SUBCHARTS)}/"):
            result = each
    return result


def _joined(folder: str, name: str) -> str:
    return posixpath.join(folder, name) if folder else name


def _parts(folder: str, files: Iterable[str]) -> Iterator[str]:
    """What Helm reads of a folder; a chart may be a whole repository."""
    own = {_joined(folder, name) for name in (CHART, "values.yaml")}
    below = tuple(f"{_joined(folder, name)}/" for name in (_TEMPLATES, _SUBCHARTS))
    return (each for each in files if each in own or each.startswith(below))


def rendered(chart: UnreadChart, output: bytes, templates: Mapping[str, bytes]) -> Iterator[Item]:
    """Everything that Helm made of the templates that could not be read as they are."""
    for _, part in split_documents(output):
        source = _SOURCE.search(part)
        file = _joined(chart.folder, source[1].rstrip().decode(errors="replace")) if source else ""
        if file in templates:
            yield from read_rendered(part, file, written_at(templates[file], part))


def written_at(template: bytes, output: bytes) -> Callable[[int], int]:
    """By a line of what was made: the line of the template that has the same key, or the nearest above."""
    ours, theirs = (_keys(text) for text in (template, output))
    if max(len(ours), len(theirs)) > _MOST_LINES:
        return lambda _: 1
    results: dict[int, int] = {}
    for block in SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks():
        results |= {block.b + step + 1: block.a + step + 1 for step in range(block.size)}
    last = 1
    lines = [1]
    for number in range(1, len(theirs) + 1):
        last = results.get(number, last)
        lines.append(last)
    return lambda line: lines[min(line, len(lines) - 1)]


def _keys(text: bytes) -> list[bytes]:
    """A line as what it sets: whatever the value, the key is the template's own."""
    return [_key(line) for line in text.split(b"\n")]


def _key(line: bytes) -> bytes:
    indent = len(line) - len(line.lstrip(b" -"))
    key, colon, _ = line.strip(b" -\r").partition(b":")
    return b"%d %s" % (indent, key) if colon and b"{{" not in key else line.strip()


def with_rendered(reading: LintInput, charts: RenderedCharts) -> LintInput:
    """What was read, with what became of templates in place of them."""
    retained = [item for item in reading.items if item.place.file not in charts.rendered_templates]
    replaced_files = charts.rendered_templates | charts.reported_templates
    skipped = [
        each for each in reading.skipped if not (each.template and each.file in replaced_files)
    ]
    return replace(reading, items=(*retained, *charts.items), skipped=(*skipped, *charts.skipped))


def skip_chart(
    chart: UnreadChart, charts: RenderedCharts, reason: str, *, foreign: bool = False
) -> None:
    """Say of each of its templates why it is not read: the same of all, so that it is told once."""
    charts.reported_templates |= set(chart.templates)
    charts.skipped += [
        SkippedFile(file, reason, template=True, is_unrecognized=foreign)
        for file in chart.templates
    ]


def skip_failed_chart(chart: UnreadChart, charts: RenderedCharts, problem: str) -> None:
    """Say of a chart once why Helm makes nothing of it."""
    charts.reported_templates |= set(chart.templates)
    where = _joined(chart.folder, CHART)
    charts.skipped.append(
        SkippedFile(where, f"a chart that is not rendered: {problem}", template=True)
    )
