"""`--render`: render charts with `helm`, and build kustomizations with `kustomize` or `kubectl`.

Programs never access the linted tree: they get a copy of the checked files, without links.
`helm template` shows hooks without running them. `combined/kustomize_build.py` limits what a kustomization may contain.
"""

import json
import math
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from gpuyard_core.errors import UsageError
from gpuyard_core.local_files import read_regular
from gpuyard_core.manifests.fields import UNKNOWN
from gpuyard_core.yaml_tree import MAX_BYTES, parse_documents
from gpuyard_lint.cli.programs import ProgramError, ProgramTime, output_of
from gpuyard_lint.combined.kustomize_build import (
    BUILD_SKIPPED,
    KustomizationToBuild,
    kustomizations_to_build,
    with_kustomize_output,
)
from gpuyard_lint.combined.rendered import (
    NO_GPU_CONTENT,
    NO_HELM,
    RENDER_DISABLED,
    RenderedCharts,
    UnreadChart,
    charts_to_render,
    is_about_gpus,
    rendered_items,
    skip_chart,
    skip_failed_chart,
    with_rendered,
)
from gpuyard_lint.combined.script_hints import overlay_values
from gpuyard_lint.items import LintInput, ValuesOverlay
from gpuyard_lint.read import TIMES

MOST_TO_BUILD = 512 * 1024
"""CRDs make a kustomization large, and its build slow."""
MOST_TO_RENDER = 16 * 1024 * 1024
_CHART_FILES = (
    ".helmignore",
    "Chart.yaml",
    "Chart.lock",
    "requirements.yaml",
    "requirements.lock",
    "values.yaml",
)
_CHART_FOLDERS = ("templates", "charts", "crds")
"""Files of a chart that Helm gets. `.Files` finds no others: they may be credentials of a pipeline."""
HEAD = 64 * 1024
_MISSING = "missing in charts/ directory: "


def with_programs(reading: LintInput, *, wanted: bool, seconds: float = math.inf) -> LintInput:
    """Add the output of Helm and kustomize, within the time limit."""
    budget = ProgramTime(seconds)
    reading = _with_charts(reading, budget, wanted=wanted)
    return _with_kustomizations(reading, budget, wanted=wanted)


def _with_charts(reading: LintInput, budget: ProgramTime, *, wanted: bool) -> LintInput:
    charts = charts_to_render(reading)
    helm = _program("helm") if wanted and charts else None
    rendered_charts = RenderedCharts()
    for chart in charts:
        if not wanted:
            skip_chart(chart, rendered_charts, RENDER_DISABLED)
        elif not any(is_about_gpus(_head(file)) for file in chart.files):
            skip_chart(chart, rendered_charts, NO_GPU_CONTENT, foreign=True)
        elif helm is None:
            skip_chart(chart, rendered_charts, NO_HELM)
        elif budget.is_exhausted:
            skip_chart(chart, rendered_charts, budget.message("chart"))
        else:
            _render(helm, chart, reading.values_overlays, rendered_charts)
    return with_rendered(reading, rendered_charts)


def _head(file: str) -> bytes:
    """The start of a file, enough to tell its kind; CRDs are long."""
    path = Path(file)
    if not path.is_file():
        return b""
    with path.open("rb") as opened:
        return opened.read(HEAD)


def _bytes(file: str) -> bytes:
    try:
        return read_regular(Path(file), MAX_BYTES * TIMES, "a file of a chart")
    except UsageError:
        return b""


def _render(
    helm: str,
    chart: UnreadChart,
    overlays: Sequence[ValuesOverlay],
    rendered_charts: RenderedCharts,
) -> None:
    own = os.path.join(chart.folder, "values.yaml")  # noqa: PTH118  a name as it is
    over = overlay_values(own, overlays, _values)
    try:
        output = _template(helm, chart, over if isinstance(over, Mapping) else {})
    except ProgramError as e:
        problem = str(e)
        if _MISSING in problem:
            missing = problem.rpartition(_MISSING)[2]
            problem = (
                f"chart dependencies are missing ({missing}); run `helm dependency build` first"
            )
        skip_failed_chart(chart, rendered_charts, problem)
        return
    templates = {file: _bytes(file) for file in chart.templates}
    rendered_charts.items += rendered_items(chart, output, templates)
    rendered_charts.rendered_templates |= set(templates)


def _template(helm: str, chart: UnreadChart, over: Mapping[str, Any]) -> bytes:
    """Render a chart with additional values; without a value file where Helm would misread its name."""
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "chart"
        _copy(_chart_files(chart.folder), chart.folder, folder, MOST_TO_RENDER)
        # a schema may refer to an address or to a file
        words = (helm, "template", "--skip-schema-validation", "release", str(folder))
        file = Path(home) / "values.json"
        file.write_text(json.dumps(over, default=str))
        try:
            with suppress(ProgramError):
                if over:
                    return output_of(*words, "--values", str(file))
            return output_of(*words)
        except ProgramError as e:
            raise ProgramError(str(e).replace(str(folder), chart.folder or ".")) from e


def _chart_files(folder: str) -> Iterator[str]:
    top = folder or "."
    yield from (
        file
        for name in _CHART_FILES
        if os.path.lexists(file := os.path.join(top, name))  # noqa: PTH118  a name as it is
    )
    for name in _CHART_FOLDERS:
        start = os.path.join(top, name)  # noqa: PTH118
        if Path(start).is_symlink():
            yield start
        for at, folders, files in os.walk(start):
            folders[:], names = ([e for e in result if e[0] != "."] for result in (folders, files))
            links = [each for each in folders if (Path(at) / each).is_symlink()]
            yield from (os.path.join(at, each) for each in (*names, *links))  # noqa: PTH118


def _copy(files: Iterable[str], top: str, into: Path, most: int) -> None:
    """Copy regular files below a folder; ProgramError for a link, or when they are too large."""
    real, remaining = os.path.realpath(top or "."), most
    for file in files:
        below = os.path.relpath(file, top or ".")
        if os.path.realpath(file) != os.path.normpath(os.path.join(real, below)):  # noqa: PTH118
            raise ProgramError(f"{file} is a link: replace it with the file")
        try:
            data = read_regular(Path(file), most, "a file of it")
        except UsageError as e:
            raise ProgramError(str(e)) from e
        remaining -= len(data)
        if remaining < 0:
            raise ProgramError(f"its files exceed {most:,} bytes: render it first")
        (into / below).parent.mkdir(parents=True, exist_ok=True)
        (into / below).write_bytes(data)


def _values(file: str) -> Any:
    """Content of a values file; unknown when it is unreadable."""
    try:
        result = parse_documents(_bytes(file), file)
    except UsageError:
        return UNKNOWN
    return result[0].value if result else {}


def _with_kustomizations(reading: LintInput, budget: ProgramTime, *, wanted: bool) -> LintInput:
    """Build the kustomizations whose output only a build shows."""
    result = kustomizations_to_build(reading)
    program = _kustomize() if result and wanted else ()
    outputs: dict[KustomizationToBuild, bytes | str] = {}
    for each in result:
        if not wanted:
            outputs[each] = BUILD_SKIPPED
        elif each.problem:
            outputs[each] = each.problem
        elif not program:
            outputs[each] = "to build it, put `kustomize` or `kubectl` on PATH"
        elif budget.is_exhausted:
            outputs[each] = budget.message("folder")
        else:
            outputs[each] = _build(program, each)
    return with_kustomize_output(reading, outputs)


def _program(name: str) -> str | None:
    """A program on PATH; never one in the current directory, which may be the linted tree."""
    result = shutil.which(name)
    return result if result and Path(result).is_absolute() else None


def _kustomize() -> tuple[str, ...]:
    own, kubectl = _program("kustomize"), _program("kubectl")
    return (own, "build") if own else (kubectl, "kustomize") if kubectl else ()


def _build(program: tuple[str, ...], each: KustomizationToBuild) -> bytes | str:
    """Build it; the output, or the reason of the failure."""
    top = os.path.commonpath([os.path.dirname(file) for file in each.files])  # noqa: PTH120
    with tempfile.TemporaryDirectory() as home:
        try:
            _copy(sorted(each.files), top, Path(home), MOST_TO_BUILD)
            for file, content in each.written.items():  # only what was checked
                copy = Path(home) / os.path.relpath(file, top or ".")
                copy.write_text(json.dumps(content, default=str))
            return output_of(
                *program, str(Path(home) / os.path.relpath(each.folder or ".", top or "."))
            )
        except ProgramError as e:
            return str(e).replace(f"{home}/", "")
