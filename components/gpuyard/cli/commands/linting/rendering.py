"""Renders charts with the `helm` at hand, and builds kustomizations with `kustomize` or `kubectl`.

`helm template` of a folder reads that folder alone, and shows its hooks without running them. A kustomization
that takes anything from elsewhere is left as it is: its program would fetch it.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpuyard.cli.commands.linting.programs import ProgramError, ProgramTime, output_of
from gpuyard.errors import UsageError
from gpuyard.lint.items import FilesRead, HandedValues
from gpuyard.lint.read import TIMES
from gpuyard.lint.together.built import KustomizationToBuild, kustomizations_to_build, with_built
from gpuyard.lint.together.handed import laid_over
from gpuyard.lint.together.rendered import (
    ABOUT_GPUS,
    NO_HELM,
    NOT_ABOUT_GPUS,
    NOT_ASKED,
    Renderings,
    UnreadChart,
    charts_to_render,
    failed,
    leave,
    rendered,
    with_rendered,
)
from gpuyard.local_files import read_regular
from gpuyard.manifests.fields import UNKNOWN
from gpuyard.spec.yaml_tree import MAX_BYTES, parse_documents

MOST_TO_BUILD = 512 * 1024
"""Definitions of kinds make a kustomization large, and a run of it slow."""
HEAD = 64 * 1024
_MISSING = "missing in charts/ directory: "


def with_programs(reading: FilesRead, *, wanted: bool) -> FilesRead:
    """What was read, and what Helm and kustomize make of it."""
    budget = ProgramTime()
    reading = _with_charts(reading, budget, wanted=wanted)
    return _with_kustomizations(reading, budget) if wanted else reading


def _with_charts(reading: FilesRead, budget: ProgramTime, *, wanted: bool) -> FilesRead:
    charts = charts_to_render(reading)
    helm = shutil.which("helm") if wanted and charts else None
    made = Renderings()
    for chart in charts:
        if not wanted:
            leave(chart, made, NOT_ASKED)
        elif not any(ABOUT_GPUS.search(_head(file)) for file in chart.files):
            leave(chart, made, NOT_ABOUT_GPUS, foreign=True)
        elif helm is None:
            leave(chart, made, NO_HELM)
        elif budget.spent:
            leave(chart, made, budget.says("chart"))
        else:
            _render(helm, chart, reading.handed, made)
    return with_rendered(reading, made)


def _size(file: str) -> int:
    path = Path(file)
    return path.stat().st_size if path.is_file() else 0


def _head(file: str) -> bytes:
    """As much of a file as says what it is about; definitions of kinds go on for long."""
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
    helm: str, chart: UnreadChart, handed: Sequence[HandedValues], made: Renderings
) -> None:
    own = os.path.join(chart.folder, "values.yaml")  # noqa: PTH118  a name as it is
    over = laid_over(own, handed, _values)
    try:
        output = _template(helm, chart, over if isinstance(over, Mapping) else {})
    except ProgramError as e:
        problem = str(e)
        if _MISSING in problem:
            missing = problem.rpartition(_MISSING)[2]
            problem = f"charts that it depends on are not here ({missing}); fetch them first"
        failed(chart, made, problem)
        return
    templates = {file: _bytes(file) for file in chart.templates}
    made.items += rendered(chart, output, templates)
    made.done |= set(templates)


def _template(helm: str, chart: UnreadChart, over: Mapping[str, Any]) -> bytes:
    """What a chart makes with values over its own, or with these alone where it takes no sign for one."""
    folder = str(Path(chart.folder or ".").resolve())
    if not over:
        return output_of(helm, "template", "release", folder)
    with tempfile.TemporaryDirectory() as home:
        file = Path(home) / "values.json"
        file.write_text(json.dumps(over, default=str))
        try:
            return output_of(helm, "template", "release", folder, "--values", str(file))
        except ProgramError:
            return output_of(helm, "template", "release", folder)


def _values(file: str) -> Any:
    """What stands in a file of values; of one that cannot be read nobody knows."""
    try:
        found = parse_documents(_bytes(file), file)
    except UsageError:
        return UNKNOWN
    return found[0].value if found else {}


def _with_kustomizations(reading: FilesRead, budget: ProgramTime) -> FilesRead:
    """Those of which only a run tells what they make."""
    found = kustomizations_to_build(reading)
    program = _kustomize() if found else ()
    made: dict[KustomizationToBuild, bytes | str] = {}
    for each in found:
        if not program:
            made[each] = "with `kustomize` or `kubectl` in PATH it is built"
        elif sum(map(_size, each.files)) > MOST_TO_BUILD:
            made[each] = f"it takes more than {MOST_TO_BUILD // 1024} KiB of files: build it first"
        elif budget.spent:
            made[each] = budget.says("folder")
        else:
            made[each] = _build(program, each)
    return with_built(reading, made)


def _kustomize() -> tuple[str, ...]:
    own, kubectl = shutil.which("kustomize"), shutil.which("kubectl")
    return (own, "build") if own else (kubectl, "kustomize") if kubectl else ()


def _build(program: tuple[str, ...], each: KustomizationToBuild) -> bytes | str:
    """What it makes, or why it makes nothing."""
    helm = shutil.which("helm")
    if each.charts and helm is None:
        return "with `helm` in PATH its charts are rendered"
    more = ("--enable-helm", "--helm-command", str(helm)) if each.charts else ()
    try:
        return output_of(*program, str(Path(each.folder or ".").resolve()), *more)
    except ProgramError as e:
        return str(e)
