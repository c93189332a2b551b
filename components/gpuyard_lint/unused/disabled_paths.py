"""Folders with a name for disabled content, and files that only another program's tests use.

A folder with such a name is deployed anyway if a manifest or a command has its path, or if Flux or
Argo CD deploys everything below a parent of it.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence

from gpuyard_lint.items import LintInput
from gpuyard_lint.unused.argo import argo_sources
from gpuyard_lint.unused.referenced_files import parent_folders, unreferenced_paths

_WORDS = (
    r"(?:off|disabled|deactivated|retired|decommissioned|archived?|deprecated|obsolete|unused|old)"
)
_CALLED = re.compile(
    rf"[_.](?:{_WORDS}(?:[-_.].*)?|templates?|skeleton)"
    rf"|(?:z+|x+)[-_.]{_WORDS}(?:[-_.].*)?"
    r"|off|switched[-_]off|turned[-_]off"
    r"|(?:disabled|retired|decommissioned)[-_.](?!by[-_.]default).+"
    r"|.+[-_.](?:retired|decommissioned)",
    re.IGNORECASE,
)
"""Unambiguous names: a single one of these words may describe the content of the folder."""


def disabled_paths(
    reading: LintInput, view: Sequence[str], text_of: Callable[[str], bytes]
) -> set[str]:
    """Files in folders with such a name, unless they are deployed."""
    folders = {each for file in reading.files for each in _called_so(file)}
    if not folders:
        return set()
    sources = list(argo_sources(reading))
    deployed = {
        each for each in folders if any(source.takes(f"{each}/x.yaml") for source in sources)
    }
    within = tuple(
        f"{each}/" for each in unreferenced_paths(folders - deployed, reading, view, text_of)
    )
    return {file for file in reading.files if within and file.startswith(within)}


def _called_so(file: str) -> Iterator[str]:
    """The parents of a file with such a name."""
    for folder in parent_folders(posixpath.dirname(file)):
        if _CALLED.fullmatch(posixpath.basename(folder)):
            yield folder


def chart_testing_values(
    reading: LintInput, view: Sequence[str], text_of: Callable[[str], bytes]
) -> set[str]:
    """Values in the folder `ci` of a chart, only for chart-testing, if nothing else names them."""
    files = reading.files
    charts = {posixpath.dirname(each) for each in files if posixpath.basename(each) == "Chart.yaml"}
    results = {
        each for each in files if each.endswith("-values.yaml") and _chart_of(each) in charts
    }
    referenced = {each for command in reading.values_overlays for each in command.files}
    return unreferenced_paths(results - referenced, reading, view, text_of)


def _chart_of(file: str) -> str | None:
    """The chart in whose folder `ci` a file is."""
    chart, last = posixpath.split(posixpath.dirname(file))
    return chart if last == "ci" else None
