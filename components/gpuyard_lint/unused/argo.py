"""Files that Argo CD skips in a folder that it deploys: by patterns, or because they are in a subfolder.

A source of plain manifests includes the files in its folder, those below only with `recurse`, none that
`exclude` matches, and with `include` only those that it matches. Patterns are gobwas' without separators:
a star matches slashes. The directory generator of a set can exclude too; there a star is part of a path
segment. An Application can be applied directly: it is excluded only if a pattern is exactly its name.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from gpuyard_core.manifests.fields import NotEvaluatedError, is_true, mapping, mappings, text
from gpuyard_lint.combined.kustomize import FLUX
from gpuyard_lint.combined.kustomize import NAMES as KUSTOMIZATIONS
from gpuyard_lint.embedded_values import OF_ARGO
from gpuyard_lint.items import LintInput
from gpuyard_lint.unused.referenced_files import parent_folders, unreferenced_paths

_APPLICATION, _SET = OF_ARGO
_CHOOSES = (*KUSTOMIZATIONS, "Chart.yaml")
_EITHER = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class _Source:
    """A folder of the repository that Argo CD or Flux deploys, and its included files."""

    path: str
    recurses: bool
    include: str = ""
    exclude: str = ""

    def below(self, file: str) -> str:
        """The path of a file in the folder, "" if it is elsewhere."""
        return f"/{file}".partition(f"/{self.path}/")[2]

    def holds(self, folder: str) -> bool:
        """Whether a folder is this one, or a parent of it."""
        return not self.below(f"{folder}/x")[1:]

    def passes_over(self, file: str) -> bool:
        """Whether it deploys the folder but not the file."""
        below = self.below(file)
        return bool(below) and not self._takes(below)

    def names(self, file: str) -> bool:
        """Whether its pattern is exactly the name of a file."""
        return self.below(file) in re.split(r"[{},]", self.exclude.replace(" ", ""))

    def takes(self, file: str) -> bool:
        """Whether it includes the file."""
        below = self.below(file)
        return bool(below) and self._takes(below)

    def _takes(self, below: str) -> bool:
        if "/" in below and not self.recurses:
            return False
        if self.exclude and _fits(below, self.exclude):
            return False
        return not self.include or _fits(below, self.include)


def undeployed_by_argo(
    reading: LintInput, view: Sequence[str], text_of: Callable[[str], bytes]
) -> set[str]:
    """Files that are not deployed, because the deployer of their folder excludes them."""
    sources = list(argo_sources(reading))
    chosen = {posixpath.dirname(f) for f in reading.files if posixpath.basename(f) in _CHOOSES}
    plain = [each for each in sources if not _is_chosen(each.path, chosen)]
    files = _objects(reading)
    # a source without included files was meant for subfolders
    plain = [each for each in plain if each.exclude or any(map(each.takes, files))]
    results = {
        file: {file, *(each for each in _above(file) if not any(s.holds(each) for s in by))}
        for file, applied in files.items()
        if (by := [each for each in plain if each.passes_over(file)])
        and (not applied or any(each.names(file) for each in by))
        and not any(above in chosen for above in _above(file))
        and not any(each.takes(file) for each in sources)
    }
    paths = {path for within in results.values() for path in within}
    unreferenced = unreferenced_paths(paths, reading, view, text_of)
    undeployed = {file for file, within in results.items() if within <= unreferenced}
    return undeployed | _excluded(reading, view, text_of)


def _objects(reading: LintInput) -> dict[str, bool]:
    """Files with objects, and whether these are for Argo CD: they may be applied in any way."""
    results: dict[str, bool] = {}
    for item in reading.items:
        own = "/" in item.resource.kind and ":" not in item.resource.kind
        if own and not item.is_described_by_values:
            tells = item.resource.group_kind in OF_ARGO
            results[item.place.file] = results.get(item.place.file, False) or tells
    return results


def _is_chosen(path: str, chosen: set[str]) -> bool:
    return any(f"/{each}".endswith(f"/{path}") for each in chosen)


def _above(file: str) -> Iterator[str]:
    return parent_folders(posixpath.dirname(file))


def argo_sources(reading: LintInput) -> Iterator[_Source]:
    """Folders of Applications and Flux Kustomizations."""
    for item in reading.items:
        kind = item.resource.group_kind
        if kind not in {_APPLICATION, FLUX}:
            continue
        with suppress(NotEvaluatedError):  # in Terraform, a value from a variable
            spec = mapping(item.resource.properties, "spec")
            sources = [mapping(spec, "source"), *mappings(spec, "sources")]
            for each in (
                sources if kind == _APPLICATION else [{**spec, "directory": {"recurse": True}}]
            ):
                yield from _source(each)


def _source(source: Mapping[Any, Any]) -> Iterator[_Source]:
    directory = mapping(source, "directory")
    path = posixpath.normpath(text(source, "path") or ".").strip("/")
    if path != "." and not set("${*") & set(path):
        yield _Source(
            path,
            is_true(directory.get("recurse")),
            text(directory, "include"),
            text(directory, "exclude"),
        )


def _fits(below: str, pattern: str) -> bool:
    """Whether a pattern, with alternatives in braces, matches the whole path."""
    either = _EITHER.search(pattern)
    if either is None:
        return fnmatchcase(below, pattern)
    before, after = pattern[: either.start()], pattern[either.end() :]
    return any(_fits(below, f"{before}{each.strip()}{after}") for each in either[1].split(","))


# ── directory generators of a set ──


def _excluded(reading: LintInput, view: Sequence[str], text_of: Callable[[str], bytes]) -> set[str]:
    """Files in folders that the generator of a set excludes, if nothing else names them."""
    generators = list(_generators(reading))
    folders = {above for file in reading.files for above in _above(file)} if generators else set()
    excluded = {
        each
        for each in folders
        if any(_is_one(each, out) for _, out in generators)
        and not any(
            _is_one(each, included) and not _is_one(each, out) for included, out in generators
        )
    }
    within = tuple(f"{each}/" for each in unreferenced_paths(excluded, reading, view, text_of))
    return {file for file in reading.files if within and file.startswith(within)}


def _generators(reading: LintInput) -> Iterator[tuple[list[str], list[str]]]:
    """For each directory generator: its included and excluded patterns."""
    for item in reading.items:
        if item.resource.group_kind == _SET:
            with suppress(NotEvaluatedError):
                for each in mappings(mapping(item.resource.properties, "spec"), "generators"):
                    included: list[str] = []
                    out: list[str] = []
                    for value in mappings(each, "git", "directories"):
                        named = posixpath.normpath(text(value, "path") or ".").strip("/")
                        (out if is_true(value.get("exclude")) else included).append(named)
                    yield included, out


def _is_one(folder: str, patterns: Sequence[str]) -> bool:
    return any(_is_like(folder, each) for each in patterns)


def _is_like(folder: str, pattern: str) -> bool:
    """Whether a folder, from the root of the repository, matches a pattern."""
    pattern_parts, parts = pattern.split("/"), folder.split("/")
    if len(pattern_parts) > len(parts) or (len(pattern_parts) == 1 and len(parts) != 1):
        return False
    return all(map(fnmatchcase, parts[len(parts) - len(pattern_parts) :], pattern_parts))
