"""Selection of the files to lint: below a folder, by pattern or by name; and which are samples."""

import math
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from time import monotonic

from gpuyard_core.errors import UsageError
from gpuyard_core.local_files import read_regular
from gpuyard_core.stack_files import STDIN, read_stdin_one_byte_past
from gpuyard_core.terminal.text import pluralize
from gpuyard_core.yaml.parse_budget import BUDGET_EXCEEDED, ParseBudget
from gpuyard_core.yaml_tree import MAX_BYTES
from gpuyard_lint.cli.rendering import with_programs
from gpuyard_lint.combined.chart_references import resolve_chart_references
from gpuyard_lint.combined.example_files import chart_tests, is_example_file, undeployed_examples
from gpuyard_lint.combined.kustomize import NAMES as KUSTOMIZATIONS
from gpuyard_lint.combined.named_values import with_referenced_values
from gpuyard_lint.combined.script_hints import RepositoryFiles, ScriptHints, script_hints
from gpuyard_lint.ignores import Ignores, parse_ignores
from gpuyard_lint.items import Item, LintInput, SkippedFile
from gpuyard_lint.languages.commands import (
    MOST_BYTES,
    AppliedRelease,
    HelmCommand,
    helm_commands,
    is_script,
)
from gpuyard_lint.languages.image_overrides import ScriptedImages, scripted_images
from gpuyard_lint.languages.node_label_hints import NodeLabelHints, node_label_hints
from gpuyard_lint.languages.version_detection import detect_versions
from gpuyard_lint.layers.helmfile import helmfile_commands
from gpuyard_lint.layers.parent_charts import parent_chart_overrides
from gpuyard_lint.layers.versions import with_releases_versioned_elsewhere
from gpuyard_lint.read import LIST, TERRAFORM, TIMES, read, read_modules
from gpuyard_lint.unused.dependencies import drop_disabled_subcharts

_YAML = (".yaml", ".yml", ".YAML", ".YML")
SUFFIXES = frozenset({*_YAML, ".json", ".jsonl", ".ndjson", ".tfstate", LIST, *TERRAFORM})
"""Files read from a folder; a file given by name is read whatever its extension."""
MOST_KEPT = 1_000_000
"""Document parts of about 130 bytes each that one run keeps, so that it stays below 300 MB."""
OF_ITEM, OF_TEXT = 8, 128
"""In these parts: the overhead of an item, and the bytes of text that count as one part."""
LINK = "symbolic link to a target outside the given paths: not followed"
_LEFT_OUT = frozenset({".git", ".terraform", "node_modules", ".venv", "__pycache__", ".pulumi"})
_SIGNS = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class FileSelection:
    """Which files are linted."""

    exclude: Sequence[str] = ()
    samples: bool = True
    seconds: float = math.inf
    """Time limit for reading and rendering, in seconds."""

    def includes(self, name: str, *, sample: bool) -> bool:
        """Whether a file found below a folder is selected."""
        return (self.samples or not sample) and not any(_fits(name, each) for each in self.exclude)


def _fits(name: str, pattern: str) -> bool:
    """Match a pattern against a whole path, a folder with all below it, or a name anywhere."""
    clean = pattern.removeprefix("./").rstrip("/")
    path = os.path.normpath(name)
    if "/" in clean:
        return fnmatch(path, clean) or fnmatch(path, f"{clean}/*") or fnmatch(path, f"*/{clean}/*")
    return any(fnmatch(part, clean) for part in Path(path).parts)


ALL_FILES = FileSelection()


@dataclass(slots=True)
class TimeLimit:
    """The time limit of a run, and the files that it left out."""

    seconds: float
    end: float = field(init=False)
    unfinished_steps: dict[str, None] = field(default_factory=dict[str, None])
    """Files that were left out, in order."""

    def __post_init__(self) -> None:
        """Start the clock."""
        self.end = monotonic() + self.seconds

    def is_over(self) -> bool:
        """Whether the time limit is reached."""
        return monotonic() > self.end

    def has_time_for(self, name: str) -> bool:
        """Whether the time limit is not reached yet; records the file where it is."""
        if not self.is_over():
            return True
        self.unfinished_steps[name] = None
        return False

    def unread(self, named: str) -> Iterator[SkippedFile]:
        """One entry for all files that the time limit left out."""
        if self.unfinished_steps:
            files = f"{pluralize(len(self.unfinished_steps), 'file')}, from {_shown(next(iter(self.unfinished_steps)))} on"
            reason = f"the time limit of {self.seconds:g} s leaves out {files}: raise --time-limit"
            yield SkippedFile(named, reason)


def read_all(
    paths: Sequence[str], selection: FileSelection = ALL_FILES, *, render: bool = False
) -> tuple[LintInput, Ignores]:
    """Read all files and folders, each file once, in the given order and then by name."""
    clock = TimeLimit(selection.seconds)
    with (space := ParseBudget(MOST_KEPT)).active_in_context():
        reading, ignores = _read_all(paths, selection, space, clock)
        space.short = False
        reading = with_programs(reading, wanted=render, seconds=clock.end - monotonic())
    tests = chart_tests(reading).difference(shown_names(paths))
    reading = replace(reading, example_files=reading.example_files | tests)
    if space.short:
        more = SkippedFile(paths[0], f"a chart or kustomization: {BUDGET_EXCEEDED}")
        reading = replace(reading, skipped=(*reading.skipped, more))
    return reading, ignores


def _read_all(
    paths: Sequence[str], selection: FileSelection, space: ParseBudget, clock: TimeLimit
) -> tuple[LintInput, Ignores]:
    items: list[Item] = []
    ignores = Ignores()
    samples: set[str] = set()
    modules: dict[str, dict[str, bytes]] = {}
    chosen = _chosen(paths, selection)
    skipped = _without_links(chosen, paths)
    files = [each.file for each in skipped]
    hints, scripts = _said_by_scripts(chosen, paths, clock)
    for name, sample in chosen.items():
        if name in scripts or not clock.has_time_for(name):
            continue
        try:
            data = _bytes(name)
        except UsageError as e:
            if name in paths:
                raise
            skipped.append(
                SkippedFile(_shown(name), _shown(str(e)).removeprefix(f"{_shown(name)}: "))
            )
            files.append(_shown(name))
            continue
        shown = shown_names((name,))[0]
        if shown.endswith(TERRAFORM) and not space.take(len(data) // OF_TEXT):
            reading = LintInput((), (SkippedFile(shown, BUDGET_EXCEEDED),), (shown,))
        elif shown.endswith(TERRAFORM):
            modules.setdefault(os.path.dirname(shown), {})[shown] = data  # noqa: PTH120  a name as it is
            reading = LintInput(files=(shown,))
        else:
            reading = _read_within_budget(
                partial(read, chart=hints.charts.get(shown, "")), data, shown, space
            )
        items += reading.items
        skipped += reading.skipped
        files += reading.files
        # copies of a template are made later, with its locations
        judged = bool(reading.items) or shown.endswith(TERRAFORM) or b"{{" in data[:MOST_BYTES]
        ignores += parse_ignores(data, shown, judged=judged)
        samples |= {shown} if sample else set()
    chosen = {name: sample for name, sample in chosen.items() if name not in clock.unfinished_steps}
    skipped += clock.unread(shown_names(paths)[0])
    space.short = False
    view = _texts(chosen, paths)
    named = shown_names(paths)
    reading = read_modules(modules, samples, view, named=named)
    if space.short and not any(each.reason == BUDGET_EXCEEDED for each in reading.skipped):
        skipped.append(SkippedFile(min(map(min, modules.values())), BUDGET_EXCEEDED))
    items += reading.items
    skipped += reading.skipped
    # a file given by name is reported when it is not read
    skipped = [
        replace(u, is_unrecognized=u.is_unrecognized and u.file not in named) for u in skipped
    ]
    result = LintInput(
        tuple(items),
        tuple(skipped),
        tuple(files),
        frozenset(samples),
        values_overlays=reading.values_overlays,
    )
    names = {_shown(name): name for name in chosen}
    opened = _named_by_releases(reading, paths, selection)
    result, more = _with_resolved_charts(result, hints.charts, names, opened, view)
    unused = undeployed_examples(result, list(names), lambda file: view(file).encode())
    result = replace(
        result, example_files=result.example_files | {each for each in unused if each not in paths}
    )
    result = with_referenced_values(
        with_releases_versioned_elsewhere(result, names, view), names, view
    )
    return _with_handed(result, hints, names, view), ignores + more


def _with_handed(
    result: LintInput, hints: ScriptHints, names: Mapping[str, str], view: Callable[[str], str]
) -> LintInput:
    """Add the values that commands, parent charts and Terraform releases pass to Helm."""
    overlays = (
        *hints.values,
        *parent_chart_overrides(names.keys() - result.example_files, view),
        *result.values_overlays,
    )
    return replace(result, installs=hints.installs, values_overlays=overlays)


def _texts(chosen: Iterable[str], paths: Sequence[str]) -> Callable[[str], str]:
    """Content of a referenced file that is selected, or below a selected folder."""
    names = {_shown(name): name for name in chosen}
    inside = NamedFolders(paths)

    def text_of(file: str) -> str:
        if file not in names and (_LEFT_OUT & set(Path(file).parts) or not inside.contains(file)):
            return ""
        return _few_bytes(names.get(file, file)).decode(errors="replace")

    return text_of


def _with_resolved_charts(
    result: LintInput,
    known_charts: Collection[str],
    names: Collection[str],
    opened: Mapping[str, bool],
    view: Callable[[str], str],
) -> tuple[LintInput, Ignores]:
    """Add values files whose chart is known, also those that only a release names, such as a `.tftpl`.

    Disabled values are left out.
    """
    resolved = resolve_chart_references(result, known_charts, {*names, *opened}, view)
    ignores = Ignores()
    for file in resolved.files[len(result.files) :]:
        ignores += parse_ignores(_few_bytes(file), file, judged=True)
    samples = result.example_files | {file for file, sample in opened.items() if sample}
    return replace(drop_disabled_subcharts(resolved, names, view), example_files=samples), ignores


def _named_by_releases(
    reading: LintInput, paths: Sequence[str], selection: FileSelection
) -> dict[str, bool]:
    """Values files that Terraform opens, whatever their name, and whether they are samples."""
    results: dict[str, bool] = {}
    roots, inside = _roots(paths), NamedFolders(paths)
    for file in {file for release in reading.values_overlays for file in release.files}:
        below = [root for root in roots if file.startswith(f"{root}/" if root else "")]
        if not inside.contains(file):
            continue
        sample = bool(below) and is_example_file(os.path.relpath(file, max(below, key=len) or "."))
        if selection.includes(file, sample=sample):
            results[file] = sample
    return results


def _said_by_scripts(
    chosen: Mapping[str, bool], paths: Sequence[str], clock: TimeLimit
) -> tuple[ScriptHints, frozenset[str]]:
    """Commands in scripts and texts, without samples, and the files that contain nothing else."""
    scripts = [name for name in chosen if is_script(name)]
    results = {
        _shown(name): commands
        for name, sample in chosen.items()
        if not sample
        and name != STDIN
        and clock.has_time_for(name)
        and (commands := _commands(name))
    }
    only = frozenset(
        name
        for name in scripts
        if Path(name).suffix not in SUFFIXES and (name not in paths or _shown(name) in results)
    )
    names = {_shown(name): name for name, sample in chosen.items() if not sample and results}
    roots = _roots(paths)

    def view(script: str) -> RepositoryFiles:
        above = [root for root in roots if not root or script.startswith(f"{root}/")]
        root = max(above, key=len, default=os.path.dirname(script))  # noqa: PTH120  a name as it is
        return RepositoryFiles(names, root, lambda name: _few_bytes(names[name]))

    return script_hints(results, view), only


def _roots(paths: Sequence[str]) -> list[str]:
    """The folders among the given paths."""
    return [_root(each) for each in paths if each and "\0" not in each and _is(each, Path.is_dir)]


class NamedFolders:
    """The given folders by their real paths: links must not lead out of them."""

    def __init__(self, paths: Iterable[str]) -> None:
        """For a pattern, use the folder before its first wildcard."""
        starts = [each for each in paths if each and "\0" not in each and _is(each, Path.is_dir)]
        starts += [_start(each) for each in paths if not _is(each, Path.exists)]
        self._roots = tuple(os.path.join(os.path.realpath(each), "") for each in starts if each)  # noqa: PTH118
        self._real: dict[str, str] = {}

    def contains(self, name: str) -> bool:
        """Whether the real path of a file is below one of them."""
        folder, base = os.path.split(os.path.normpath(name))
        if folder not in self._real:
            self._real[folder] = os.path.realpath(folder)
        real = os.path.join(self._real[folder], base)  # noqa: PTH118  a name as it is
        real = os.path.realpath(real) if Path(real).is_symlink() else real
        return real.startswith(self._roots)


def _start(pattern: str) -> str:
    """The folder before the first wildcard of a pattern; "" without wildcard."""
    parts = Path(pattern).parts
    signs = [index for index, part in enumerate(parts) if _SIGNS & set(part)]
    return str(Path(*parts[: signs[0]])) if signs else ""


def _root(path: str) -> str:
    clean = _shown(str(Path(path)))
    return "" if clean == "." else clean


def _commands(name: str) -> list[HelmCommand | AppliedRelease | ScriptedImages | NodeLabelHints]:
    data, shown = _few_bytes(name), _shown(name)
    script = is_script(name)
    commands = [*(helm_commands(data, shown) if script else []), *helmfile_commands(data, shown)]
    images = scripted_images(data, shown, script=script)
    return [*commands, *detect_versions(data, shown), *images, *node_label_hints(data, shown)]


def _few_bytes(name: str) -> bytes:
    """Content of a file; empty when it is too large or unreadable."""
    try:
        return read_regular(Path(name), MOST_BYTES)
    except UsageError:
        return b""


def _read_within_budget(
    reader: Callable[[bytes, str], LintInput], data: bytes, shown: str, space: ParseBudget
) -> LintInput:
    """Read a file within the memory budget; the budget of discarded files is released."""
    before, space.short = space.left, False
    reading = reader(data, shown)
    documents = {id(item.place.document): item.place.document for item in reading.items}
    parts = sum(len(document.lines) for document in documents.values())
    text = len(data) // OF_TEXT if documents else 0
    space.left = before - parts - text - OF_ITEM * len(reading.items)
    if space.short and not any(BUDGET_EXCEEDED in each.reason for each in reading.skipped):
        return replace(reading, skipped=(*reading.skipped, SkippedFile(shown, BUDGET_EXCEEDED)))
    return reading


def _chosen(paths: Iterable[str], selection: FileSelection) -> dict[str, bool]:
    """Every selected file, and whether it is a sample; a file given by name is not."""
    results: dict[str, bool] = {}
    for name, below in _files(paths):
        sample = below is not None and is_example_file(below)
        if below is None or selection.includes(name, sample=sample):
            results[name] = results.get(name, True) and sample
    return results


def _without_links(chosen: dict[str, bool], paths: Sequence[str]) -> list[SkippedFile]:
    """Leave out files whose links lead out of the given folders."""
    inside = NamedFolders(paths)
    out = [each for each in chosen if each not in paths and not inside.contains(each)]
    for name in out:
        del chosen[name]
    return [SkippedFile(_shown(name), LINK) for name in out]


def _shown(name: str) -> str:
    """A printable file name: bytes that are not UTF-8 are escaped."""
    return os.fsencode(name).decode(errors="backslashreplace")


def shown_names(paths: Iterable[str]) -> tuple[str, ...]:
    """Names of files in a report; standard input is shown as such."""
    return tuple("<stdin>" if each == STDIN else _shown(each) for each in paths)


def _bytes(name: str) -> bytes:
    if name == STDIN:
        return read_stdin_one_byte_past(MAX_BYTES * TIMES)
    if _is(name, Path.is_dir):
        raise UsageError(f"{name}: permission denied: the folder is not read")
    return read_regular(Path(name), MAX_BYTES * TIMES, "a file, a folder, a pattern, or -")


def _files(paths: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """Names of files, and their paths below the given folder; None for a file given by name."""
    for path in paths:
        if path == STDIN or not path or "\0" in path:
            yield path, None
        elif _is(path, Path.is_dir):
            yield from _below(path)
        elif any(sign in path for sign in _SIGNS) and not _is(path, Path.exists):
            yield from _matching(path)
        else:
            yield path, None


def _is(path: str, what: Callable[[Path], bool]) -> bool:
    """False also when it cannot be determined, for example for a too long name; reading reports why."""
    try:
        return what(Path(path))
    except OSError:
        return False


def _below(folder: str) -> Iterator[tuple[str, str]]:
    closed: list[OSError] = []
    for at, folders, names in os.walk(folder, onerror=closed.append):
        folders[:] = sorted(set(folders) - _LEFT_OUT)
        for name in sorted(names):
            if Path(name).suffix in SUFFIXES or name in KUSTOMIZATIONS or is_script(name):
                yield str(Path(at) / name), os.path.relpath(Path(at) / name, folder)
    for each in closed:  # reported as an unreadable file
        yield str(each.filename), os.path.relpath(each.filename, folder)


def _matching(pattern: str) -> Iterator[tuple[str, str]]:
    start = _start(pattern)  # the folder before the wildcard is read
    below = Path(pattern).relative_to(start)
    if below.name == "**":
        below /= "*"  # also matches files, in every Python version
    hidden = any(part.startswith(".") for part in below.parts)
    results = [
        (str(each), name)
        for each in sorted(Path(start).glob(str(below)))  # `**` follows no link
        if hidden or not any(p.startswith(".") for p in each.relative_to(start).parts)
        for name in (os.path.relpath(each, start),)
    ]
    if not results:
        raise UsageError(f"{pattern}: no file matches. Give a file, a folder, a pattern, or -.")
    yield from ((each, name) for each, name in results if Path(each).is_file())
