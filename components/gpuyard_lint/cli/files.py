"""Selection of the files to lint: below a folder, by pattern or by name; and which are samples."""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path
from time import monotonic

from gpuyard_core.errors import UsageError
from gpuyard_core.local_files import read_regular
from gpuyard_core.stack_files import STDIN, read_stdin_one_byte_past
from gpuyard_core.terminal.text import pluralize
from gpuyard_core.yaml.parse_budget import BUDGET_EXCEEDED, ParseBudget
from gpuyard_core.yaml_tree import MAX_BYTES
from gpuyard_lint.cli.rendering import with_programs
from gpuyard_lint.combined.example_files import chart_tests, is_example_file
from gpuyard_lint.combined.kustomize import NAMES as KUSTOMIZATIONS
from gpuyard_lint.ignores import Ignores
from gpuyard_lint.items import LintInput, SkippedFile
from gpuyard_lint.languages.commands import MOST_BYTES, is_script
from gpuyard_lint.read import TIMES
from gpuyard_lint.stages import SUFFIXES, InputFile, ReadingView, read_view

MOST_KEPT = 1_000_000
"""Document parts of about 130 bytes each that one run keeps, so that it stays below 300 MB."""
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
    chosen = _chosen(paths, selection)
    links = _without_links(chosen, paths)
    with (space := ParseBudget(MOST_KEPT)).active_in_context():
        view = read_view(_view(chosen, paths, space, clock))
        space.short = False
        skipped = (*links, *view.input.skipped, *clock.unread(shown_names(paths)[0]))
        files = (*(each.file for each in links), *view.input.files)
        reading = replace(view.input, skipped=skipped, files=files)
        reading = with_programs(reading, wanted=render, seconds=clock.end - monotonic())
    tests = chart_tests(reading).difference(shown_names(paths))
    reading = replace(reading, example_files=reading.example_files | tests)
    if space.short:
        more = SkippedFile(paths[0], f"a chart or kustomization: {BUDGET_EXCEEDED}")
        reading = replace(reading, skipped=(*reading.skipped, more))
    return reading, view.ignores


def _view(
    chosen: Mapping[str, bool], paths: Sequence[str], space: ParseBudget, clock: TimeLimit
) -> ReadingView:
    names = {shown_names((name,))[0]: name for name in chosen}
    inside = NamedFolders(paths)

    def text_of(file: str) -> str:
        """Content of a referenced file that is selected, or below a selected folder."""
        if file not in names and (_LEFT_OUT & set(Path(file).parts) or not inside.contains(file)):
            return ""
        try:
            return read_regular(Path(names.get(file, file)), MOST_BYTES).decode(errors="replace")
        except UsageError:  # too large or unreadable
            return ""

    return ReadingView(
        tuple(InputFile(shown, chosen[name], name in paths) for shown, name in names.items()),
        lambda file: _bytes(names[file]),
        text_of,
        tuple(_roots(paths)),
        space,
        clock.has_time_for,
    )


def _roots(paths: Sequence[str]) -> list[str]:
    """The folders among the given paths."""
    folders = (each for each in paths if each and "\0" not in each and _is(each, Path.is_dir))
    return ["" if each == "." else each for each in (_shown(str(Path(e))) for e in folders)]


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
            if name.endswith(SUFFIXES) or name in KUSTOMIZATIONS or is_script(name):
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
