"""Files that Flux and Argo CD do not deploy, because the kustomization above does not list them.

If a folder has a kustomization, Flux applies what it lists. A file with a Flux Kustomization, usually
`ks.yaml`, that is below and in no list is disabled, and so is the folder that it names.
An Application of Argo CD can be applied directly: it is disabled only if the list has it in a comment.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import PurePosixPath

from gpuyard_core.manifests.fields import NotEvaluatedError, is_true, mappings, text
from gpuyard_lint.combined.kustomize import FLUX, kustomizations
from gpuyard_lint.combined.kustomize import NAMES as KUSTOMIZATIONS
from gpuyard_lint.items import LintInput

_ARGO = "argoproj.io/Application"
_ARGO_SET = "argoproj.io/ApplicationSet"


def undeployed_by_flux(reading: LintInput, text_of: Callable[[str], bytes]) -> Iterator[str]:
    """Files that Flux would apply only by a Kustomization that is not applied."""
    chosen = {
        str(PurePosixPath(file).parent): file
        for file in reading.files
        if posixpath.basename(file) in KUSTOMIZATIONS
    }
    folders: dict[str, list[str]] = {}
    by_hand: set[str] = set()
    for item in reading.items:
        spec, file = item.resource.properties.get("spec"), item.place.file
        if item.resource.group_kind == FLUX and (named := _folder(spec)):
            folders.setdefault(file, []).append(named)
        elif item.resource.group_kind == _ARGO:
            by_hand.add(file)
            folders.setdefault(file, []).extend(filter(None, map(_folder, _sources(spec))))
        elif item.resource.group_kind == _ARGO_SET:
            by_hand.add(file)
            folders.setdefault(file, [])
            with suppress(NotEvaluatedError):  # in Terraform, a value from a variable
                folders[file] += _generated(spec)
    # a kustomization elsewhere lists it by its path and applies it
    listed = {name for each in kustomizations(reading).values() for name in each.folders}
    undeployed = {
        file
        for file in folders
        if file not in listed
        and _is_passed_over(file, chosen, text_of)
        and (file not in by_hand or _is_in_a_comment(file, chosen, text_of))
    }
    stays = [each for file in folders if file not in undeployed for each in folders[file]]
    for file in sorted(undeployed):
        if any(_is_in(file, folder) for folder in stays if not _is_above(file, folder, chosen)):
            continue  # Flux applies the folder that contains it
        yield file
        undeployed_folders = [each for each in folders[file] if each not in stays]
        yield from (
            each for each in reading.files if any(_is_in(each, name) for name in undeployed_folders)
        )


def _sources(spec: object) -> list[object]:
    """The path of an Application's manifests."""
    value = spec if isinstance(spec, Mapping) else {}
    several = value.get("sources")
    return [value.get("source"), *(several if isinstance(several, list) else ())]


def _generated(spec: object) -> Iterator[str]:
    """The folders above all that a set creates Applications for: `apps` of `apps/*`."""
    value = spec if isinstance(spec, Mapping) else {}
    for generator in mappings(value, "generators"):
        for each in mappings(generator, "git", "directories"):
            folder = _folder({"path": text(each, "path").partition("*")[0]})
            if folder and not is_true(each.get("exclude")):
                yield folder


def _is_in_a_comment(file: str, chosen: Mapping[str, str], text_of: Callable[[str], bytes]) -> bool:
    """Whether the kustomization that decides on a file has it in a comment."""
    name = re.escape(posixpath.basename(file))
    text = text_of(_nearest(file, chosen) or "").decode(errors="replace")
    entry = rf"^[ \t]*#.*(?<![\w.-]){name}[\"']?[ \t\r]*(?:#.*)?$"
    return re.search(entry, text, re.MULTILINE) is not None


def _folder(spec: object) -> str:
    path = spec.get("path") if isinstance(spec, Mapping) else None
    named = posixpath.normpath(path).strip("/") if isinstance(path, str) else "."
    return "" if named == "." or "$" in named else named


def _is_in(file: str, folder: str) -> bool:
    """Whether a file is below a folder, given by its path in the repository."""
    return f"/{folder}/" in f"/{file}"


def _nearest(file: str, chosen: Mapping[str, str]) -> str | None:
    """The kustomization that decides on a file: of its folder, or of the next one above that has one."""
    above = map(str, PurePosixPath(file).parents)
    return next((chosen[each] for each in above if each in chosen), None)


def _is_passed_over(file: str, chosen: Mapping[str, str], text_of: Callable[[str], bytes]) -> bool:
    by = _nearest(file, chosen)
    if by is None or by == file:
        return False
    parts = PurePosixPath(file).relative_to(PurePosixPath(by).parent).parts
    ways = ("/".join(parts[:end]) for end in range(1, len(parts) + 1))
    listed = "|".join(map(re.escape, ways))
    entry = rf"^[ \t]*-[ \t]+(?:path:[ \t]*)?[\"']?(?:\./)?(?:{listed})/?[\"']?[ \t]*(?:#.*)?\r?$"
    return re.search(entry, text_of(by).decode(errors="replace"), re.MULTILINE) is None


def _is_above(file: str, folder: str, chosen: Mapping[str, str]) -> bool:
    """Whether a folder that Flux applies contains the kustomization that omits the file: it decides."""
    by = _nearest(file, chosen)
    return by is not None and _is_in(by, folder)
