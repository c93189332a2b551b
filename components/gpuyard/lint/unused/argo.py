"""What Argo CD passes over in a folder that it takes: by patterns, or because it stands in a folder below.

A source of a plain folder takes the files right there, those below only with `recurse`, none that `exclude`
fits, and with `include` only what that fits. Its patterns are gobwas' without separators: a star goes over
slashes. The directories of a set's generator may be excluded too; there a star is a part of a path. An
Application may be applied by hand: it is out only where a pattern is its very name.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from gpuyard.lint.combined.kustomize import FLUX
from gpuyard.lint.combined.kustomize import NAMES as KUSTOMIZATIONS
from gpuyard.lint.embedded_values import OF_ARGO
from gpuyard.lint.items import LintInput
from gpuyard.lint.unused.referenced_files import parent_folders, unreferenced_paths
from gpuyard.manifests.fields import NotEvaluatedError, is_true, mapping, mappings, text

_APPLICATION, _SET = OF_ARGO
_CHOOSES = (*KUSTOMIZATIONS, "Chart.yaml")
_EITHER = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class _Source:
    """A folder of the repository that Argo CD or Flux takes, and what of it."""

    path: str
    recurses: bool
    include: str = ""
    exclude: str = ""

    def below(self, file: str) -> str:
        """Where in the folder a file is, "" where it is elsewhere."""
        return f"/{file}".partition(f"/{self.path}/")[2]

    def holds(self, folder: str) -> bool:
        """Whether a folder is the one that it takes, or around that."""
        return not self.below(f"{folder}/x")[1:]

    def passes_over(self, file: str) -> bool:
        """Whether it takes the folder and not the file."""
        below = self.below(file)
        return bool(below) and not self._takes(below)

    def names(self, file: str) -> bool:
        """Whether its pattern is the very name of a file."""
        return self.below(file) in re.split(r"[{},]", self.exclude.replace(" ", ""))

    def takes(self, file: str) -> bool:
        """Whether it takes the file."""
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
    """Files that nobody deploys, since who takes their folder passes over them."""
    sources = list(argo_sources(reading))
    chosen = {posixpath.dirname(f) for f in reading.files if posixpath.basename(f) in _CHOOSES}
    plain = [each for each in sources if not _is_chosen(each.path, chosen)]
    files = _objects(reading)
    # one that takes nothing there is was to take what is below
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
    """Files with objects, and whether these tell Argo CD something: who applies those, nobody knows."""
    results: dict[str, bool] = {}
    for item in reading.items:
        own = "/" in item.resource.kind and ":" not in item.resource.kind
        if own and not item.described:
            tells = item.resource.group_kind in OF_ARGO
            results[item.place.file] = results.get(item.place.file, False) or tells
    return results


def _is_chosen(path: str, chosen: set[str]) -> bool:
    return any(f"/{each}".endswith(f"/{path}") for each in chosen)


def _above(file: str) -> Iterator[str]:
    return parent_folders(posixpath.dirname(file))


def argo_sources(reading: LintInput) -> Iterator[_Source]:
    """Folders that Applications, and Kustomizations of Flux, take."""
    for item in reading.items:
        kind = item.resource.group_kind
        if kind not in {_APPLICATION, FLUX}:
            continue
        with suppress(NotEvaluatedError):  # in Terraform, what a variable decides
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
    """Whether a pattern, with alternatives in braces, is of all of a path."""
    either = _EITHER.search(pattern)
    if either is None:
        return fnmatchcase(below, pattern)
    before, after = pattern[: either.start()], pattern[either.end() :]
    return any(_fits(below, f"{before}{each.strip()}{after}") for each in either[1].split(","))


# ── the directories of a set ──


def _excluded(reading: LintInput, view: Sequence[str], text_of: Callable[[str], bytes]) -> set[str]:
    """Files in folders that the generator of a set leaves out, where nothing else names these."""
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
    """Of each generator from directories: the patterns that it takes, and those that it leaves out."""
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
    """Whether a folder, from the top of the repository, is one of a pattern."""
    pattern_parts, parts = pattern.split("/"), folder.split("/")
    if len(pattern_parts) > len(parts) or (len(pattern_parts) == 1 and len(parts) != 1):
        return False
    return all(map(fnmatchcase, parts[len(parts) - len(pattern_parts) :], pattern_parts))
