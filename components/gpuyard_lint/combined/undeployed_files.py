"""Folders and files next to those that a kustomization lists, and that nothing in the input deploys.

A folder that its parent's kustomization omits or comments out is on no cluster, unless an
Application of Argo CD, a Kustomization of Flux, a script or a command in a document names it.
"""

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property

from gpuyard_lint.combined.kustomize import NAMES as KUSTOMIZATIONS
from gpuyard_lint.combined.kustomize import Kustomization, kustomizations
from gpuyard_lint.items import Item, LintInput
from gpuyard_lint.languages.script_text import LONGEST_LINE, is_documentation
from gpuyard_lint.rules.rule import NotEvaluatedError
from gpuyard_lint.rules.subjects.components import RELEASES, releases_of
from gpuyard_lint.unused.referenced_files import unapplied_files

_FEW = 2
"""Minimum number of siblings that shows that a kustomization selects among its folders."""
_ENTRY = r"^[ \t]*#[ \t#]*-[ \t]+[\"']?(?:\./)?{name}(?:/[^\s\"'#]*)?[\"']?[ \t\r]*(?:#.*)?$"
"""A list item in a comment."""
_COMMENT = re.compile(rb"(?:^|(?<=[ \t]))#.*$", re.MULTILINE)
_TERRAFORM = (".tf", ".tofu", ".hcl")
_OBJECTS = (".yaml", ".yml", ".json")
_APPLIES = re.compile(r"\b(?:kubectl|kustomize|oc|flux|argocd|helm|make|task|apply)\b")
_DEPLOYS = ("ApplicationSet", "kind: Application", "kustomize.toolkit", "fleet.cattle.io")
_LISTED = r"(?:-[ \t]+)?(?:[\w.-]*(?:name|path|app|folder|dir|directory|component)[\w.-]*:[ \t]*)?"
_PATHS = re.compile(r"\b(?:path|directory|basePath)[\"']?:[ \t]*[\"']?([^\s\"'#,}\]]+)")
_FILLED = re.compile(r"\{\{[^{}]*\}\}|\$\{[^{}]*\}|\$\w+")
_RECURSES = re.compile(r"\brecurse[\"']?:[ \t]*true")


def undeployed_files(
    reading: LintInput, view: Sequence[str], text_of: Callable[[str], bytes]
) -> Iterator[str]:
    """Files that are not deployed; `view` also contains scripts and texts."""
    yield from unapplied_files(_files(reading, text_of), view, text_of)
    yield from _values(reading, view, text_of)
    yield from _of_folders(reading, view, text_of)


def superseded_files(
    reading: LintInput, view: Sequence[str], text_of: Callable[[str], bytes]
) -> Iterator[str]:
    """Files whose objects are in another file that Terraform references, if nothing references them."""
    of_files: dict[str, set[tuple[str, str, str]]] = defaultdict(set)
    for item in reading.items:
        key = (item.resource.group_kind, item.resource.namespace, item.resource.name)
        own = ":" not in key[0] and not item.place.prefix and not item.is_described_by_values
        if item.place.file.endswith(_OBJECTS) and own:
            of_files[item.place.file].add(key)
    files: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for file, keys in of_files.items():
        for key in keys:
            files[key].append(file)
    twins = {file for named in files.values() if len(named) > 1 for file in named}
    terraform = [each for each in view if twins and each.endswith(_TERRAFORM)]
    by_terraform = {
        file
        for text in map(text_of, terraform)
        for file in twins
        if posixpath.basename(file).encode() in text
    }
    results = {
        file
        for file in twins - by_terraform
        if all(by_terraform & set(files[key]) for key in of_files[file])
    }
    for each in view if results else ():
        text = text_of(each).decode(errors="replace")
        results = {file for file in results if each == file or not _is_mentioned(text, each, file)}
    yield from results


def _is_mentioned(text: str, of: str, file: str) -> bool:
    """Whether a text names a file, or its folder."""
    folder, _, name = file.rpartition("/")
    last = posixpath.basename(folder)
    if name not in text and last not in text:
        return False
    if is_documentation(of):
        text = "\n".join(filter(_APPLIES.search, text.splitlines()))
    name, last = re.escape(name), re.escape(last)
    path = rf"/{last}(?![\w.-])|(?<![\w.-]){last}/|-[fkR] {last}(?![\w.-])"
    return re.search(rf"(?<![\w.-]){name}\b|{path}", text) is not None


def _files(reading: LintInput, text_of: Callable[[str], bytes]) -> Iterator[str]:
    """Objects next to a kustomization that does not name their file: a deployment of the folder omits them."""
    kustomized = _kustomized(reading, text_of)
    # a kustomization elsewhere lists it by its path and applies it
    listed = {name for each in kustomizations(reading).values() for name in each.folders}
    for item in reading.items:
        file = item.place.file
        kustomization = kustomized.get(posixpath.dirname(file))
        if (
            kustomization is None
            or not _is_object(item)
            or file == kustomization[0]
            or file in listed
        ):
            continue
        if posixpath.basename(file).encode() not in kustomization[1]:
            yield file


def _values(
    reading: LintInput, view: Sequence[str], text_of: Callable[[str], bytes]
) -> Iterator[str]:
    """Unreferenced values next to a kustomization whose chart is installed with others."""
    installed = {chart for item in reading.items for chart in _charts(item)}
    named = {file for each in reading.values_overlays for file in each.files}
    kustomized = _kustomized(reading, text_of)
    result = {
        item.place.file
        for item in reading.items
        if item.resource.kind.removeprefix("values:") in installed
        and not item.place.prefix
        and _is_passed_over(item.place.file, kustomized, reading.files)
    } - named
    for file in view if result else ():
        text = text_of(file).decode(errors="replace")
        result = {
            each for each in result if each == file or "/".join(each.split("/")[-2:]) not in text
        }
    yield from result


def _kustomized(
    reading: LintInput, text_of: Callable[[str], bytes]
) -> Mapping[str, tuple[str, bytes]]:
    """By folder: its kustomization and its entries; an entry in a comment does not count."""
    return {
        posixpath.dirname(file): (file, _COMMENT.sub(b"", text_of(file)))
        for file in reading.files
        if posixpath.basename(file) in KUSTOMIZATIONS
    }


def _is_passed_over(
    file: str, kustomized: Mapping[str, tuple[str, bytes]], files: Collection[str]
) -> bool:
    """Whether the kustomization next to it does not name it, and no chart there would."""
    folder, _, name = file.rpartition("/")
    return (
        folder in kustomized
        and name.encode() not in kustomized[folder][1]
        and posixpath.join(folder, "Chart.yaml") not in files
    )


def _charts(item: Item) -> Iterator[str]:
    if item.resource.group_kind in RELEASES:
        with suppress(NotEvaluatedError):
            yield from (chart for chart, _, _ in releases_of(item.resource))


def _is_object(item: Item) -> bool:
    return (
        "/" in item.resource.kind
        and ":" not in item.resource.kind
        and not item.is_described_by_values
    )


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder that the kustomization above it omits."""

    path: str
    in_comment: bool
    """Whether that kustomization names it in a comment: it was removed deliberately."""
    name: str
    within: str
    """The path prefix of files below it."""

    @property
    def parent(self) -> str:
        return posixpath.dirname(self.path)


class _Text:
    """The content of a file that may name folders; it is searched for many of them."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.deploys = file.endswith(_OBJECTS) and any(each in text for each in _DEPLOYS)
        self.is_prose = is_documentation(file)

    @cached_property
    def recurses(self) -> bool:
        return _RECURSES.search(self.text) is not None

    @cached_property
    def paths(self) -> list[list[str]]:
        """Every path as its parts, with a marker for placeholders."""
        return [
            [part for part in match[1].split("/") if part not in {"", "."}]
            for match in _PATHS.finditer(_FILLED.sub("*", self.text))
        ]


def _of_folders(
    reading: LintInput, view: Sequence[str], text_of: Callable[[str], bytes]
) -> Iterator[str]:
    of_folders = kustomizations(reading)
    results = list(_candidates(reading, of_folders, text_of))
    top = _top(reading.files) if results else ""
    for file in view if results else ():
        document = _Text(text_of(file).decode(errors="replace"), file)
        results = [
            each
            for each in results
            if file.startswith(each.within)
            or not _names(document, each, top=top, kustomized=of_folders)
        ]
    undeployed = tuple(each.within for each in results)
    yield from (file for file in reading.files if undeployed and file.startswith(undeployed))


def _top(files: Sequence[str]) -> str:
    try:
        return posixpath.commonpath([posixpath.dirname(file) for file in files])
    except ValueError:  # of files in the input and elsewhere
        return ""


def _candidates(
    reading: LintInput,
    of_folders: Mapping[str, Kustomization],
    text_of: Callable[[str], bytes],
) -> Iterator[_Folder]:
    """Folders in no kustomization, below one that includes similar folders next to them."""
    owners: dict[str, set[str]] = defaultdict(set)
    for owner, each in of_folders.items():
        for name in (*each.folders, *each.components):
            owners[name].add(owner)
    present = set(reading.files)
    folders = {posixpath.dirname(file) for file in present}
    below: dict[str, set[str]] = defaultdict(set)
    for folder in folders:
        below[posixpath.dirname(folder)].add(folder)
    alone = {*of_folders} | {
        posixpath.dirname(item.place.file) for item in reading.items if _is_object(item)
    }
    for parent, each in of_folders.items():
        ways = _ways(parent, each, folders)
        content = text_of(each.file).decode(errors="replace")
        out = sorted(below[parent] - set(ways) - {parent})
        for folder in out:
            name = posixpath.basename(folder)
            files = {f"{folder}/{way}" for way in set(ways.values()) if way}
            # objects without a kustomization are in no list of folders either
            is_alike = folder in alone if "" in ways.values() else files & present
            entry = re.search(_ENTRY.format(name=re.escape(name)), content, re.MULTILINE)
            sure = entry or _is_the_other(folder, ways, out, of_folders)
            is_candidate = is_alike if len(ways) >= _FEW else folder in of_folders and sure
            if is_candidate and not _is_taken(folder, owners):
                listed = rf"^[ \t]*#[ \t#]*-?[ \t]*(?:\./)?{re.escape(name)}\b"
                in_comment = re.search(listed, content, re.MULTILINE) is not None
                yield _Folder(folder, in_comment, name, f"{folder}/")


def _is_the_other(
    folder: str, ways: Collection[str], out: Sequence[str], of_folders: Mapping[str, Kustomization]
) -> bool:
    """Whether of two folders with kustomizations the list has one: it is independent of its siblings."""
    own = of_folders.get(folder)
    return (
        len(ways) == 1
        and own is not None
        and all(each in of_folders for each in ways)
        and sum(each in of_folders for each in out) == 1
        and all(f"{name}/".startswith(f"{folder}/") for name in (*own.folders, *own.components))
    )


def _is_taken(folder: str, owners: Mapping[str, set[str]]) -> bool:
    """Whether a kustomization elsewhere includes it, or part of it."""
    within = f"{folder}/"
    return any(
        f"{name}/".startswith(within) and not all(f"{by}/".startswith(within) for by in owned)
        for name, owned in owners.items()
    )


def _ways(parent: str, by: Kustomization, folders: Collection[str]) -> dict[str, str]:
    """By direct subfolder that it includes: the part, "" for the folder and its own kustomization."""
    results: dict[str, str] = {}
    for name in (*by.folders, *by.components):
        rest = posixpath.relpath(name, parent or ".").split("/", 1)
        if rest[0] in {"..", "."}:
            continue
        folder = posixpath.join(parent, rest[0])
        if folder in folders:
            results[folder] = rest[1] if len(rest) > 1 else ""
    return results


def _names(
    document: _Text, folder: _Folder, *, top: str, kustomized: Mapping[str, Kustomization]
) -> bool:
    """Whether a file deploys the folder."""
    if document.deploys and _is_generated(document, folder, top, kustomized):
        return True
    if folder.name not in document.text:
        return False
    for line in document.text.splitlines():
        if folder.name not in line or len(line) > LONGEST_LINE:
            continue
        if not document.is_prose and line.lstrip().startswith("#"):
            continue
        if document.is_prose and not _APPLIES.search(line):
            continue
        if _is_path_of(line, folder):
            return True
        if not folder.in_comment and _is_word_of(
            line, folder, document.file, deploys=document.deploys
        ):
            return True
    return False


def _is_path_of(line: str, folder: _Folder) -> bool:
    """Whether a path in a line ends in the folder or goes through it: `./a`, `../a`, `$X/a/b`, `parent/a`."""
    above = posixpath.basename(folder.parent)
    name = re.escape(folder.name)
    for each in re.finditer(rf"(?<![\w.-])([^\s\"'=,:]*/)?{name}(/)?(?![\w.-])", line):
        before = [part for part in (each[1] or "").split("/") if part]
        if not before and not each[2]:
            continue
        last = before[-1] if before else "."
        if last in {".", "..", above} or not re.fullmatch(r"[\w.-]+", last):
            return True
    return False


def _is_word_of(line: str, folder: _Folder, file: str, *, deploys: bool) -> bool:
    """Whether the bare name is used to deploy something."""
    name = re.escape(folder.name)
    if "namespace" in line or not re.search(rf"(?<![\w./-]){name}(?![\w.-])", line):
        return False
    if is_documentation(file):
        return re.search(rf"(?:-k|-f|--kustomize|build)[ =]{name}\b", line) is not None
    if not file.endswith(_OBJECTS) or deploys:
        return True
    return re.fullmatch(rf"[ \t]*{_LISTED}[\"']?{name}[\"']?,?[ \t]*", line) is not None


def _is_generated(
    document: _Text, folder: _Folder, top: str, kustomized: Mapping[str, Kustomization]
) -> bool:
    """Whether a path with wildcards, or one that includes everything below, covers the folder."""
    parts = folder.path.split("/")
    begins = {0, len(top.split("/")) if top else 0}
    for pattern in document.paths:
        if any("*" in part for part in pattern):
            sure = "*" not in pattern[0]
            starts = range(len(parts)) if sure else begins
            if any(_covers(pattern, parts[at:]) for at in starts):
                return True
        elif document.recurses and _takes_all(pattern, parts, kustomized):
            return True
    return False


def _takes_all(
    pattern: Sequence[str], parts: Sequence[str], kustomized: Mapping[str, Kustomization]
) -> bool:
    """Whether a path ends in a parent folder, which has no kustomization that would select."""
    ends = (parts[:end] for end in range(len(parts)))
    return any(
        above[len(above) - len(pattern) :] == list(pattern) and "/".join(above) not in kustomized
        for above in ends
    )


def _covers(pattern: Sequence[str], folder: Sequence[str]) -> bool:
    """Whether a pattern of folders, or of files, matches a folder or its content."""
    if not folder:
        return True
    if not pattern:
        return False
    if pattern[0] == "**":
        return True
    return fnmatchcase(folder[0], pattern[0]) and _covers(pattern[1:], folder[1:])
