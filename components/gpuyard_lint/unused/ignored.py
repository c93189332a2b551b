"""Files that Fleet and helmfile omit: those in a .fleetignore, and values of releases that are not installed."""

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from gpuyard_core.errors import UsageError
from gpuyard_core.manifests.fields import items, mappings
from gpuyard_core.yaml_tree import parse_documents
from gpuyard_lint.items import LintInput
from gpuyard_lint.unused.referenced_files import unreferenced_paths

_FLEET, _IGNORES = "fleet.yaml", ".fleetignore"
_RELEASES = "releases"
_OFF = b"installed:"


def fleet_ignored_files(
    reading: LintInput, view: Sequence[str], text_of: Callable[[str], bytes]
) -> set[str]:
    """Files in Fleet folders that a .fleetignore next to or above them lists, by name or pattern."""
    of_fleet = {posixpath.dirname(f) for f in view if posixpath.basename(f) == _FLEET}
    within = {f: of for f in reading.files if of_fleet & (of := {*_above(f)})} if of_fleet else {}
    patterns = {
        folder: list(_lines(text_of(posixpath.join(folder, _IGNORES))))
        for folder in {each for folders in within.values() for each in folders}
    }
    results = {
        file
        for file, folders in within.items()
        if any(_is_ignored(file, folder, patterns[folder]) for folder in folders)
    }
    return unreferenced_paths(results, reading, view, text_of)


def _above(file: str) -> Iterator[str]:
    """The parents of a file, the outermost last."""
    folder = posixpath.dirname(file)
    yield folder
    if folder not in {"", "/"}:
        yield from _above(folder)


def _lines(text: bytes) -> Iterator[str]:
    for line in text.decode(errors="replace").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line.strip().rstrip("/")


def _is_ignored(file: str, folder: str, patterns: Sequence[str]) -> bool:
    """Whether a pattern matches the file or a parent of it, at any level."""
    parts = posixpath.relpath(file, folder or ".").split("/")
    return any(
        fnmatchcase("/".join(parts[start : start + 1 + each.count("/")]), each)
        for each in patterns
        for start in range(len(parts))
    )


def disabled_release_values(
    reading: LintInput, view: Sequence[str], text_of: Callable[[str], bytes]
) -> set[str]:
    """Values of releases that helmfile would uninstall, if nothing else uses them."""
    files = [each for each in view if posixpath.basename(each).startswith("helmfile")]
    written = {file: text for file in files if _OFF in (text := text_of(file))}
    off: set[str] = set()
    on: set[str] = set()
    for file, text in written.items():
        for release in _releases(text):
            (off if release.get("installed") is False else on).update(_values(release, file))
    others = [each for each in view if each not in written]
    return unreferenced_paths((off - on) & {*reading.files}, reading, others, text_of)


def _releases(text: bytes) -> Iterator[Mapping[Any, Any]]:
    try:
        documents = parse_documents(text, "a helmfile")
    except UsageError:
        return  # a template
    for document in documents:
        yield from mappings(document.value, _RELEASES)


def _values(release: Mapping[Any, Any], file: str) -> Iterator[str]:
    for each in items(release, "values"):
        if isinstance(each, str):
            yield posixpath.normpath(posixpath.join(posixpath.dirname(file), each))
