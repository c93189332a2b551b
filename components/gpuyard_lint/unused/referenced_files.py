"""Folders and files that the input deploys: by a path in a manifest or in a command."""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from gpuyard_lint.combined.kustomize import kustomizations
from gpuyard_lint.items import LintInput
from gpuyard_lint.languages.script_text import LONGEST_LINE

_OBJECTS = (".yaml", ".yml", ".json", ".tf", ".tofu")
_APPLIES = re.compile(r"\b(?:kubectl|kustomize|oc|flux|argocd|helm|make|apply)\b")
_KUBECTL = re.compile(r"\b(?:kubectl|oc)\b")
_VERB = re.compile(r"\b(?:apply|create|replace)\b")
_BEFORE = re.compile(r"[\w.-]+")


def unreferenced_paths(
    paths: Iterable[str], reading: LintInput, view: Sequence[str], text_of: Callable[[str], bytes]
) -> set[str]:
    """The paths of folders and files that nothing outside them names, and no kustomization includes."""
    referenced = {
        name
        for each in kustomizations(reading).values()
        for name in (*each.folders, *each.components, *each.patch_files)
        for name in parent_folders(name)
    }
    remaining = set(paths) - referenced
    for file in view if remaining else ():
        text = text_of(file).decode(errors="replace")
        suggestions = [each for each in remaining if posixpath.basename(each) in text]
        lines = list(_lines(text, file)) if suggestions else ()
        remaining -= {
            each
            for each in suggestions
            if not f"{file}/".startswith(f"{each}/") and any(_names(line, each) for line in lines)
        }
    return remaining


def unapplied_files(
    paths: Iterable[str], view: Sequence[str], text_of: Callable[[str], bytes]
) -> set[str]:
    """The files that no command in a script or a document applies by a path with their folder."""
    remaining = set(paths)
    scripts = [each for each in view if remaining and not each.endswith(_OBJECTS)]
    for file in scripts:
        data = text_of(file)
        if b" -f" not in data:
            continue
        lines = data.decode(errors="replace").split("\n")
        commands = "\n".join(each for each in lines if _applies(each))
        remaining = (
            {each for each in remaining if not re.search(_tail(each), commands)}
            if commands
            else remaining
        )
    return remaining


def _applies(line: str) -> bool:
    """Whether it is a command that applies files, and not a comment."""
    program = _KUBECTL.search(line.partition("#")[0])
    verb = _VERB.search(line, program.end()) if program else None
    return verb is not None and " -f" in line[verb.end() :]


def _tail(path: str) -> str:
    """A file by its folder and name."""
    return rf"(?<![\w.-]){re.escape('/'.join(path.split('/')[-2:]))}(?![\w.-])"


def parent_folders(path: str) -> Iterator[str]:
    """A path, and its parents, the outermost last."""
    while path not in {"", "/"}:
        yield path
        path = posixpath.dirname(path)


def _lines(text: str, file: str) -> Iterator[str]:
    """Text that may deploy something: in manifests everything but comments, elsewhere apply commands."""
    manifest = file.endswith(_OBJECTS)
    lines = text.splitlines()
    for line, after in zip(lines, [*lines, ""][1:], strict=True):
        if len(line) > LONGEST_LINE:
            continue
        comment = line.lstrip().startswith(("#", "//"))
        excluded = "exclude" in line or after.lstrip("- ").startswith("exclude")
        if not excluded and (not comment if manifest else _APPLIES.search(line)):
            yield line


def _names(line: str, path: str) -> bool:
    """Whether a path in a line ends in this one or goes through it: `./a`, `../a`, `$X/a/b`, `parent/a`."""
    parent, name = posixpath.split(path)
    above = posixpath.basename(parent)
    for each in re.finditer(rf"(?<![\w.-])([^\s\"'=,:]*/)?{re.escape(name)}(/)?(?![\w.-])", line):
        before = [part for part in (each[1] or "").split("/") if part]
        if not before and not each[2] and "." not in name:
            continue  # a word
        last = before[-1] if before else "."
        if last in {".", "..", above} or not _BEFORE.fullmatch(last):
            return True
    return False
