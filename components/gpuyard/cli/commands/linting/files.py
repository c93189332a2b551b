"""Which files are linted: those below a folder, of a pattern, or named; and which of them are samples."""

import math
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from time import monotonic

from gpuyard.cli.commands.linting.rendering import with_programs
from gpuyard.cli.stacks import STDIN, read_stdin
from gpuyard.cli.terminal.text import many
from gpuyard.errors import UsageError
from gpuyard.lint.ignores import Ignores, ignores_in
from gpuyard.lint.items import FilesRead, Item, Unread
from gpuyard.lint.languages.commands import (
    MOST_BYTES,
    AppliedRelease,
    HelmCommand,
    commands_in,
    is_script,
)
from gpuyard.lint.languages.images_said import ImagesSaid, images_said
from gpuyard.lint.languages.labels_said import LabelsSaid, labels_said
from gpuyard.lint.languages.versions_said import versions_said
from gpuyard.lint.layers.helmfile import helmfile_commands
from gpuyard.lint.layers.parents import taken_in
from gpuyard.lint.layers.versions import with_versions_elsewhere
from gpuyard.lint.read import LIST, TERRAFORM, TIMES, read, read_modules
from gpuyard.lint.together.handed import FilesInView, Handed, handed
from gpuyard.lint.together.kustomize import NAMES as KUSTOMIZATIONS
from gpuyard.lint.together.named_values import with_named_values
from gpuyard.lint.together.samples import is_sample, not_deployed, tests_of_charts
from gpuyard.lint.together.told_charts import with_told_charts
from gpuyard.lint.unused.dependencies import without_those_off
from gpuyard.local_files import read_regular
from gpuyard.spec.yaml.room import NO_ROOM, MemoryRoom
from gpuyard.spec.yaml_tree import MAX_BYTES

_YAML = (".yaml", ".yml", ".YAML", ".YML")
SUFFIXES = frozenset({*_YAML, ".json", ".jsonl", ".ndjson", ".tfstate", LIST, *TERRAFORM})
"""What is read of a folder; a file that is named itself is read whatever it is called."""
MOST_KEPT = 1_000_000
"""Parts of documents, of about 130 bytes each, that one run keeps: it stays below 300 MB by it."""
OF_ITEM, OF_TEXT = 8, 128
"""In such parts: what an item costs beside its values; bytes of text that cost as one."""
LINK = "a link that leads out of what was named: not followed"
_LEFT_OUT = frozenset({".git", ".terraform", "node_modules", ".venv", "__pycache__", ".pulumi"})
_SIGNS = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class WantedFiles:
    """What of the files is looked at."""

    exclude: Sequence[str] = ()
    samples: bool = True
    seconds: float = math.inf
    """So long reading and rendering may take."""

    def takes(self, name: str, *, sample: bool) -> bool:
        """Whether a file that was found below a folder is one of them."""
        return (self.samples or not sample) and not any(_fits(name, each) for each in self.exclude)


def _fits(name: str, pattern: str) -> bool:
    """A pattern of a whole path, of a folder with all below it, or of one name anywhere."""
    clean = pattern.removeprefix("./").rstrip("/")
    path = os.path.normpath(name)
    if "/" in clean:
        return fnmatch(path, clean) or fnmatch(path, f"{clean}/*") or fnmatch(path, f"*/{clean}/*")
    return any(fnmatch(part, clean) for part in Path(path).parts)


EVERYTHING = WantedFiles()


@dataclass(slots=True)
class TimeLimit:
    """The clock of a run, and the files for which no time was left."""

    seconds: float
    end: float = field(init=False)
    late: dict[str, None] = field(default_factory=dict[str, None])
    """In order, each once."""

    def __post_init__(self) -> None:
        """Start the clock."""
        self.end = monotonic() + self.seconds

    def is_over(self) -> bool:
        """Whether the time limit is reached."""
        return monotonic() > self.end

    def allows(self, name: str) -> bool:
        """Whether the time limit is not reached yet; records the file where it is."""
        if not self.is_over():
            return True
        self.late[name] = None
        return False

    def unread(self, named: str) -> Iterator[Unread]:
        """One entry for all files that the time limit left out."""
        if self.late:
            files = f"{many(len(self.late), 'file')}, from {_shown(next(iter(self.late)))} on"
            reason = f"the time limit of {self.seconds:g} s leaves out {files}: raise --time-limit"
            yield Unread(named, reason)


def read_all(
    paths: Sequence[str], wanted: WantedFiles = EVERYTHING, *, render: bool = False
) -> tuple[FilesRead, Ignores]:
    """Everything in the files and folders, each file once, in the order given and by name."""
    clock = TimeLimit(wanted.seconds)
    with (space := MemoryRoom(MOST_KEPT)).shared():
        reading, ignores = _read_all(paths, wanted, space, clock)
        space.short = False
        reading = with_programs(reading, wanted=render, seconds=clock.end - monotonic())
    tests = tests_of_charts(reading).difference(shown_names(paths))
    reading = replace(reading, samples=reading.samples | tests)
    if space.short:
        more = Unread(paths[0], f"a chart or kustomization: {NO_ROOM}")
        reading = replace(reading, unread=(*reading.unread, more))
    return reading, ignores


def _read_all(
    paths: Sequence[str], wanted: WantedFiles, space: MemoryRoom, clock: TimeLimit
) -> tuple[FilesRead, Ignores]:
    items: list[Item] = []
    ignores = Ignores()
    samples: set[str] = set()
    modules: dict[str, dict[str, bytes]] = {}
    chosen = _chosen(paths, wanted)
    unread = _without_links(chosen, paths)
    files = [each.file for each in unread]
    said, scripts = _said_by_scripts(chosen, paths, clock)
    for name, sample in chosen.items():
        if name in scripts or not clock.allows(name):
            continue
        try:
            data = _bytes(name)
        except UsageError as e:
            if name in paths:
                raise
            unread.append(Unread(_shown(name), _shown(str(e)).removeprefix(f"{_shown(name)}: ")))
            files.append(_shown(name))
            continue
        shown = shown_names((name,))[0]
        if shown.endswith(TERRAFORM) and not space.take(len(data) // OF_TEXT):
            reading = FilesRead((), (Unread(shown, NO_ROOM),), (shown,))
        elif shown.endswith(TERRAFORM):
            modules.setdefault(os.path.dirname(shown), {})[shown] = data  # noqa: PTH120  a name as it is
            reading = FilesRead(files=(shown,))
        else:
            reading = _kept(partial(read, chart=said.charts.get(shown, "")), data, shown, space)
        items += reading.items
        unread += reading.unread
        files += reading.files
        # of a template others are made later, with its places
        judged = bool(reading.items) or shown.endswith(TERRAFORM) or b"{{" in data[:MOST_BYTES]
        ignores += ignores_in(data, shown, judged=judged)
        samples |= {shown} if sample else set()
    chosen = {name: sample for name, sample in chosen.items() if name not in clock.late}
    unread += clock.unread(shown_names(paths)[0])
    space.short = False
    view = _texts(chosen, paths)
    named = shown_names(paths)
    reading = read_modules(modules, samples, view, named=named)
    if space.short and not any(each.reason == NO_ROOM for each in reading.unread):
        unread.append(Unread(min(map(min, modules.values())), NO_ROOM))
    items += reading.items
    unread += reading.unread
    # who names a file wants to know why it is not read
    unread = [replace(u, foreign=u.foreign and u.file not in named) for u in unread]
    found = FilesRead(
        tuple(items), tuple(unread), tuple(files), frozenset(samples), handed=reading.handed
    )
    names = {_shown(name): name for name in chosen}
    opened = _named_by_releases(reading, paths, wanted)
    found, more = _with_told(found, said.charts, names, opened, view)
    unused = not_deployed(found, list(names), lambda file: view(file).encode())
    found = replace(found, samples=found.samples | {each for each in unused if each not in paths})
    found = with_named_values(with_versions_elsewhere(found, names, view), names, view)
    return _with_handed(found, said, names, view), ignores + more


def _with_handed(
    found: FilesRead, said: Handed, names: Mapping[str, str], view: Callable[[str], str]
) -> FilesRead:
    """With what commands, charts around others, and releases of Terraform hand to helm."""
    handed = (*said.values, *taken_in(names.keys() - found.samples, view), *found.handed)
    return replace(found, installs=said.installs, handed=handed)


def _texts(chosen: Iterable[str], paths: Sequence[str]) -> Callable[[str], str]:
    """What stands in a file that another names: one that is looked at, or below a folder that is."""
    names = {_shown(name): name for name in chosen}
    inside = NamedFolders(paths)

    def text_of(file: str) -> str:
        if file not in names and (_LEFT_OUT & set(Path(file).parts) or not inside.holds(file)):
            return ""
        return _few_bytes(names.get(file, file)).decode(errors="replace")

    return text_of


def _with_told(
    found: FilesRead,
    said: Collection[str],
    names: Collection[str],
    opened: Mapping[str, bool],
    view: Callable[[str], str],
) -> tuple[FilesRead, Ignores]:
    """With values whose chart is told, those of files too that only a release names, as a `.tftpl`.

    Without those that are switched off.
    """
    told = with_told_charts(found, said, {*names, *opened}, view)
    ignores = Ignores()
    for file in told.files[len(found.files) :]:
        ignores += ignores_in(_few_bytes(file), file, judged=True)
    samples = found.samples | {file for file, sample in opened.items() if sample}
    return replace(without_those_off(told, names, view), samples=samples), ignores


def _named_by_releases(
    reading: FilesRead, paths: Sequence[str], wanted: WantedFiles
) -> dict[str, bool]:
    """Files of values that Terraform opens, whatever they are called, and whether they are samples."""
    found: dict[str, bool] = {}
    roots, inside = _roots(paths), NamedFolders(paths)
    for file in {file for release in reading.handed for file in release.files}:
        below = [root for root in roots if file.startswith(f"{root}/" if root else "")]
        if not inside.holds(file):
            continue
        sample = bool(below) and is_sample(os.path.relpath(file, max(below, key=len) or "."))
        if wanted.takes(file, sample=sample):
            found[file] = sample
    return found


def _said_by_scripts(
    chosen: Mapping[str, bool], paths: Sequence[str], clock: TimeLimit
) -> tuple[Handed, frozenset[str]]:
    """What commands of scripts and texts say, samples left out, and which files are nothing else."""
    scripts = [name for name in chosen if is_script(name)]
    found = {
        _shown(name): said
        for name, sample in chosen.items()
        if not sample and name != STDIN and clock.allows(name) and (said := _commands(name))
    }
    only = frozenset(
        name
        for name in scripts
        if Path(name).suffix not in SUFFIXES and (name not in paths or _shown(name) in found)
    )
    names = {_shown(name): name for name, sample in chosen.items() if not sample and found}
    roots = _roots(paths)

    def view(script: str) -> FilesInView:
        above = [root for root in roots if not root or script.startswith(f"{root}/")]
        root = max(above, key=len, default=os.path.dirname(script))  # noqa: PTH120  a name as it is
        return FilesInView(names, root, lambda name: _few_bytes(names[name]))

    return handed(found, view), only


def _roots(paths: Sequence[str]) -> list[str]:
    """The folders among what was named."""
    return [_root(each) for each in paths if each and "\0" not in each and _is(each, Path.is_dir)]


class NamedFolders:
    """The folders that were named, by their real paths: a link must not lead out of them."""

    def __init__(self, paths: Iterable[str]) -> None:
        """Of a pattern: the folder before its first sign."""
        starts = [each for each in paths if each and "\0" not in each and _is(each, Path.is_dir)]
        starts += [_start(each) for each in paths if not _is(each, Path.exists)]
        self._roots = tuple(os.path.join(os.path.realpath(each), "") for each in starts if each)  # noqa: PTH118
        self._real: dict[str, str] = {}

    def holds(self, name: str) -> bool:
        """Whether a file really lies below one of them."""
        folder, base = os.path.split(os.path.normpath(name))
        if folder not in self._real:
            self._real[folder] = os.path.realpath(folder)
        real = os.path.join(self._real[folder], base)  # noqa: PTH118  a name as it is
        real = os.path.realpath(real) if Path(real).is_symlink() else real
        return real.startswith(self._roots)


def _start(pattern: str) -> str:
    """The folder that a pattern writes out; "" of what is no pattern."""
    parts = Path(pattern).parts
    signs = [index for index, part in enumerate(parts) if _SIGNS & set(part)]
    return str(Path(*parts[: signs[0]])) if signs else ""


def _root(path: str) -> str:
    clean = _shown(str(Path(path)))
    return "" if clean == "." else clean


def _commands(name: str) -> list[HelmCommand | AppliedRelease | ImagesSaid | LabelsSaid]:
    data, shown = _few_bytes(name), _shown(name)
    script = is_script(name)
    commands = [*(commands_in(data, shown) if script else []), *helmfile_commands(data, shown)]
    images = images_said(data, shown, script=script)
    return [*commands, *versions_said(data, shown), *images, *labels_said(data, shown)]


def _few_bytes(name: str) -> bytes:
    """A file that a hand wrote; nothing of one that is larger, or that cannot be read."""
    try:
        return read_regular(Path(name), MOST_BYTES)
    except UsageError:
        return b""


def _kept(
    reader: Callable[[bytes, str], FilesRead], data: bytes, shown: str, space: MemoryRoom
) -> FilesRead:
    """What a file holds; of what nobody keeps, the room is free again."""
    before, space.short = space.left, False
    reading = reader(data, shown)
    documents = {id(item.place.document): item.place.document for item in reading.items}
    parts = sum(len(document.lines) for document in documents.values())
    text = len(data) // OF_TEXT if documents else 0
    space.left = before - parts - text - OF_ITEM * len(reading.items)
    if space.short and not any(NO_ROOM in each.reason for each in reading.unread):
        return replace(reading, unread=(*reading.unread, Unread(shown, NO_ROOM)))
    return reading


def _chosen(paths: Iterable[str], wanted: WantedFiles) -> dict[str, bool]:
    """Every file that is looked at, and whether it is a sample; one that is named itself is none."""
    found: dict[str, bool] = {}
    for name, below in _files(paths):
        sample = below is not None and is_sample(below)
        if below is None or wanted.takes(name, sample=sample):
            found[name] = found.get(name, True) and sample
    return found


def _without_links(chosen: dict[str, bool], paths: Sequence[str]) -> list[Unread]:
    """Leave out files below folders whose links lead out of what was named."""
    inside = NamedFolders(paths)
    out = [each for each in chosen if each not in paths and not inside.holds(each)]
    for name in out:
        del chosen[name]
    return [Unread(_shown(name), LINK) for name in out]


def _shown(name: str) -> str:
    """A name as it can be written anywhere: what of it is no text in UTF-8, by its numbers."""
    return os.fsencode(name).decode(errors="backslashreplace")


def shown_names(paths: Iterable[str]) -> tuple[str, ...]:
    """What files are called in a report; standard input has no name of its own."""
    return tuple("<stdin>" if each == STDIN else _shown(each) for each in paths)


def _bytes(name: str) -> bytes:
    if name == STDIN:
        return read_stdin(MAX_BYTES * TIMES)
    if _is(name, Path.is_dir):
        raise UsageError(f"{name}: a folder that may not be listed: nothing in it is read")
    return read_regular(Path(name), MAX_BYTES * TIMES, "a file, a folder, a pattern, or -")


def _files(paths: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """Names of files, and where they stand below what was asked for; None for one that is named itself."""
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
    """False as well where nobody can tell, as of a name that is too long; reading it says why."""
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
    for each in closed:  # it is said, as a file that may not be read
        yield str(each.filename), os.path.relpath(each.filename, folder)


def _matching(pattern: str) -> Iterator[tuple[str, str]]:
    start = _start(pattern)  # folders that are written out are asked for
    below = Path(pattern).relative_to(start)
    if below.name == "**":
        below /= "*"  # files as well, in every version of Python
    hidden = any(part.startswith(".") for part in below.parts)
    found = [
        (str(each), name)
        for each in sorted(Path(start).glob(str(below)))  # `**` follows no link
        if hidden or not any(p.startswith(".") for p in each.relative_to(start).parts)
        for name in (os.path.relpath(each, start),)
    ]
    if not found:
        raise UsageError(f"{pattern}: no file matches. Give a file, a folder, a pattern, or -.")
    yield from ((each, name) for each, name in found if Path(each).is_file())
