"""Objects that Helm renders from a chart, each at the corresponding line of its template.

This module runs nothing. It finds the charts to render, maps rendered objects to templates, and records
why a chart could not be rendered.
"""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher

from gpuyard_core.catalogue.cluster.machine_gpus import contains_gpu_machine_name
from gpuyard_lint.chart_dependencies import CHART
from gpuyard_lint.items import Item, LintInput, SkippedFile
from gpuyard_lint.read import read_rendered
from gpuyard_lint.skipped_files import split_documents

_ABOUT_GPUS = re.compile(rb"nvidia|gpu|dcgm", re.IGNORECASE)
NO_HELM = "a chart template: install `helm` in PATH to render it with the chart's default values"
RENDER_DISABLED = "a chart template: use --render to render it"
NO_GPU_CONTENT = "chart templates that do not mention GPUs"
_SOURCE = re.compile(rb"^# Source: [^/\n]+/(\S[^\n]*)$", re.MULTILINE)
_TEMPLATES = "templates"
_SUBCHARTS = "charts"
_MOST_LINES = 3000
"""Longer templates and results are located only as a whole."""


@dataclass(frozen=True, slots=True)
class UnreadChart:
    """A chart with templates that are not YAML before rendering."""

    folder: str
    templates: tuple[str, ...]
    """Its files, with those of subcharts."""
    files: tuple[str, ...]
    """All files that affect the result."""


@dataclass(slots=True)
class RenderedCharts:
    """The rendered charts."""

    items: list[Item] = field(default_factory=list[Item])
    skipped: list[SkippedFile] = field(default_factory=list[SkippedFile])
    rendered_templates: set[str] = field(default_factory=set[str])
    """Templates whose unrendered content no longer counts."""
    reported_templates: set[str] = field(default_factory=set[str])
    """Templates that are already reported as not read."""


def is_about_gpus(text: bytes) -> bool:
    """Whether a file of a chart mentions GPUs, or a GPU machine."""
    return _ABOUT_GPUS.search(text) is not None or contains_gpu_machine_name(text)


def charts_to_render(reading: LintInput) -> list[UnreadChart]:
    """Top-level charts with templates, in the order of their folders."""
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
    """The top-level chart of a template; a chart elsewhere inside another is separate."""
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
    """The files of a folder that Helm reads; a chart may be a whole repository."""
    own = {_joined(folder, name) for name in (CHART, "values.yaml")}
    below = tuple(f"{_joined(folder, name)}/" for name in (_TEMPLATES, _SUBCHARTS))
    return (each for each in files if each in own or each.startswith(below))


def rendered_items(
    chart: UnreadChart, output: bytes, templates: Mapping[str, bytes]
) -> Iterator[Item]:
    """All objects that Helm rendered from templates that cannot be read unrendered."""
    for _, part in split_documents(output):
        source = _SOURCE.search(part)
        file = _joined(chart.folder, source[1].rstrip().decode(errors="replace")) if source else ""
        if file in templates:
            yield from read_rendered(part, file, template_line_lookup(templates[file], part))


def template_line_lookup(template: bytes, output: bytes) -> Callable[[int], int]:
    """By rendered line: the template line with the same key, or the nearest one above."""
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
    """A line by the key that it sets: only the value may differ from the template."""
    return [_key(line) for line in text.split(b"\n")]


def _key(line: bytes) -> bytes:
    indent = len(line) - len(line.lstrip(b" -"))
    key, colon, _ = line.strip(b" -\r").partition(b":")
    return b"%d %s" % (indent, key) if colon and b"{{" not in key else line.strip()


def with_rendered(reading: LintInput, charts: RenderedCharts) -> LintInput:
    """The input with the rendered objects in place of the templates."""
    retained = [item for item in reading.items if item.place.file not in charts.rendered_templates]
    replaced_files = charts.rendered_templates | charts.reported_templates
    skipped = [
        each for each in reading.skipped if not (each.template and each.file in replaced_files)
    ]
    return replace(reading, items=(*retained, *charts.items), skipped=(*skipped, *charts.skipped))


def skip_chart(
    chart: UnreadChart, charts: RenderedCharts, reason: str, *, foreign: bool = False
) -> None:
    """The same reason for each skipped template, so that it is reported once."""
    charts.reported_templates |= set(chart.templates)
    charts.skipped += [
        SkippedFile(file, reason, template=True, is_unrecognized=foreign)
        for file in chart.templates
    ]


def skip_failed_chart(chart: UnreadChart, charts: RenderedCharts, problem: str) -> None:
    """The reason why Helm does not render a chart, once."""
    charts.reported_templates |= set(chart.templates)
    where = _joined(chart.folder, CHART)
    charts.skipped.append(SkippedFile(where, f"chart not rendered: {problem}", template=True))
