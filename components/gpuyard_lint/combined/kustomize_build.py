"""Kustomizations that only kustomize can build, and the result of the build.

This module runs nothing. A kustomization is built if all its fields are in `_PLAIN`, `_LISTS` or `_PARTS`,
and each path in them is in the input: kustomize fetches URLs and runs plugins.
"""

import posixpath
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gpuyard_core.catalogue.cluster.machine_gpus import contains_gpu_machine_name
from gpuyard_core.errors import UsageError
from gpuyard_core.yaml_tree import parse_documents
from gpuyard_lint.combined.kustomize import KUSTOMIZATION_KINDS, NAMES, kustomizations
from gpuyard_lint.combined.scopes import overlay_chains, overlay_roots
from gpuyard_lint.items import LintInput, SkippedFile
from gpuyard_lint.kubernetes import is_object
from gpuyard_lint.kubernetes import resource as kubernetes_resource
from gpuyard_lint.read import TIMES
from gpuyard_lint.rules.rule import Resource

BUILD_SKIPPED = "a kustomization that only kustomize can build: use --render"
_ONLY_A_RUN = ("replacements", "vars", "helmCharts", "generators", "transformers", "validators")
_PLAIN = frozenset(
    {
        *("apiVersion", "buildMetadata", "commonAnnotations", "commonLabels", "generatorOptions"),
        *("images", "kind", "labels", "metadata", "namePrefix", "nameSuffix", "namespace"),
        *("replicas", "sortOptions", "vars"),
    }
)
"""Fields without file names."""
_LISTS = frozenset({"resources", "bases", "components", "crds", "configurations"})
"""Lists of files and folders."""
_STRATEGIC = "patchesStrategicMerge"
_PATCH = frozenset({"path", "patch", "target", "options"})
_FILES = ("files", "envs", "env")
_GENERATOR = frozenset({"name", "namespace", "behavior", "options", "type", "literals", *_FILES})
_PARTS: Mapping[str, frozenset[str]] = {
    "patches": _PATCH,
    "patchesJson6902": _PATCH,
    "replacements": frozenset({"path", "source", "targets"}),
    "configMapGenerator": _GENERATOR,
    "secretGenerator": _GENERATOR,
}
"""Lists of mappings, and their permitted keys. Go reads `Path` as `path`, so case counts here."""
_LOCAL_PATH = re.compile(r"[\w.+ -][\w.+ /-]*")
"""No scheme, no `user@host`, no query, no absolute path."""
_ABOUT_GPUS = re.compile(r"nvidia\.com/|dcgm", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class KustomizationToBuild:
    """A kustomization that no other includes and that only a run of kustomize resolves."""

    folder: str
    file: str
    files: frozenset[str] = frozenset()
    """All files that it uses."""
    written: Mapping[str, Mapping[str, Any]] = field(
        default_factory=dict[str, Mapping[str, Any]], hash=False
    )
    """By file: the content of each of its kustomizations, as checked."""
    problem: str = ""
    """The reason why it must not be built."""


def kustomizations_to_build(reading: LintInput) -> list[KustomizationToBuild]:
    """In the order of their files."""
    of_folders = kustomizations(reading)
    written = {
        item.place.file: item.resource.properties
        for item in reading.items
        if posixpath.basename(item.place.file) in NAMES
        and item.resource.group_kind in KUSTOMIZATION_KINDS
    }
    files_in_view = frozenset(reading.files)
    about: set[str] = set()
    for item in reading.items if written else ():
        content = str(item.resource.properties)
        if _ABOUT_GPUS.search(content) or contains_gpu_machine_name(content.encode()):
            about.add(item.place.file)
    results: list[KustomizationToBuild] = []
    for folder in overlay_roots(of_folders):
        files = frozenset(overlay_chains(folder, of_folders))
        documents = {each: written[each] for each in files if each in written}
        needs_build = any(each.get(key) for each in documents.values() for key in _ONLY_A_RUN)
        if not needs_build or not files & about:
            continue
        checked = [
            _checked(file, documents[file], files_in_view, of_folders) for file in sorted(documents)
        ]
        problem = next((each for each in checked if isinstance(each, str)), "")
        named = [name for each in checked if not isinstance(each, str) for name in each]
        results.append(
            KustomizationToBuild(
                folder, of_folders[folder].file, files.union(named), documents, problem
            )
        )
    return results


def _checked(
    file: str, kustomization: Mapping[str, Any], files: Container[str], folders: Container[str]
) -> list[str] | str:
    """The files that it names, or the reason why it must not be built."""
    folder = posixpath.dirname(file)
    results: list[str] = []
    for key, value in kustomization.items():
        if key in _PLAIN or not value:
            continue
        parts = value if isinstance(value, list) else [value]
        generators: list[Mapping[Any, Any]] = []
        if key in _LISTS:
            names = parts
        elif key == _STRATEGIC:
            # a text with several lines is an inline patch: no path and no URL
            names = [e for e in parts if not (isinstance(e, str) and "\n" in e.strip())]
        elif key in _PARTS and all(isinstance(e, Mapping) and set(e) <= _PARTS[key] for e in parts):
            names = [each["path"] for each in parts if "path" in each]
            generators = parts
        else:
            return f"{file}: lint does not build `{key}`"
        for name in names:
            if (path := _in_view(name, folder, files, folders)) is None:
                return f"{file}: {key}: {name!r} is not a file or folder among the linted files"
            results += [path] if path in files else ()
        for name in _generator_files(generators):
            path = posixpath.normpath(name.partition("=")[2] or name)
            if not _LOCAL_PATH.fullmatch(path) or any(p.startswith(".") for p in path.split("/")):
                return f"{file}: {key}: {name!r} is not a file below its folder"
            results.append(posixpath.join(folder, path))
    return results


def _generator_files(generators: list[Mapping[Any, Any]]) -> Iterator[str]:
    for each in generators:
        for key in _FILES:
            value = each.get(key) or []
            yield from map(str, value if isinstance(value, list) else [value])


def _in_view(name: Any, folder: str, files: Container[str], folders: Container[str]) -> str | None:
    """The file or folder in the input that kustomize reads; None if there is none, or if it would clone it.

    It clones `github.com/a/b` even if such a folder exists.
    """
    if not isinstance(name, str) or not _LOCAL_PATH.fullmatch(name):
        return None
    path = posixpath.normpath(posixpath.join(folder, name))
    first = name.partition("/")[0]
    plain = first in {".", ".."} or "." not in first
    is_in_view = path in files or (plain and ("" if path == "." else path) in folders)
    return path if is_in_view else None


def with_kustomize_output(
    reading: LintInput, outputs: Mapping[KustomizationToBuild, bytes | str]
) -> LintInput:
    """The input with the built kustomizations, or the reason why one was not built."""
    built: dict[str, tuple[Resource, ...]] = {}
    skipped: list[SkippedFile] = []
    for each, output in outputs.items():
        if isinstance(output, str):
            reason = output if output == BUILD_SKIPPED else f"kustomization not built: {output}"
            skipped.append(SkippedFile(each.file, reason, template=True))
            continue
        built[each.folder] = tuple(_objects(output))
    return replace(
        reading,
        skipped=(*reading.skipped, *skipped),
        kustomizations={**reading.kustomizations, **built},
    )


def _objects(output: bytes) -> Iterator[Resource]:
    try:
        documents = parse_documents(output, "kustomize build output", TIMES)
    except UsageError:
        return
    for document in documents:
        if is_object(document.value):
            yield kubernetes_resource(document.value)
