"""Folders that Flux and Argo CD change at deployment, and the resulting kustomizations."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from gpuyard_core.manifests.fields import NotEvaluatedError
from gpuyard_lint.combined.kustomize import FLUX, OF_ARGO_SOURCE, Kustomization
from gpuyard_lint.deployers.argo import application_name, argo_deployer, argocd_source_deployer
from gpuyard_lint.deployers.deployer import Deployer
from gpuyard_lint.deployers.flux import flux_deployer
from gpuyard_lint.embedded_values import OF_ARGO
from gpuyard_lint.items import Item, LintInput
from gpuyard_lint.unused.referenced_files import parent_folders

_OBJECTS = (".yaml", ".yml")


@dataclass(slots=True)
class OverlayFolders:
    """The folders with changes from their deployer."""

    kustomizations: list[tuple[str, Kustomization]] = field(
        default_factory=list[tuple[str, Kustomization]]
    )
    """Each with the resulting kustomization."""
    covered: set[str] = field(default_factory=set[str])
    """Folders that are never deployed unchanged."""


def overlay_folders(reading: LintInput, of_folders: Mapping[str, Kustomization]) -> OverlayFolders:
    """The changes of Flux and Argo CD; none of examples."""
    items = [each for each in reading.items if each.place.file not in reading.example_files]
    results: list[Deployer] = []
    for item in items:
        with suppress(NotEvaluatedError):  # a value from a variable is unknown
            results += _deployers(item)
    results = list(_placed(results, reading, of_folders))
    argo_sources = [each for each in items if each.resource.kind == OF_ARGO_SOURCE]
    results = _with_source_files(results, argo_sources)
    overlays = OverlayFolders()
    plain = {each.path for each in results if each.has_no_changes}
    for each in results:
        if each.has_no_changes:
            continue
        built = _deployer_kustomization(each, of_folders, reading.files)
        overlays.kustomizations.append((each.path, built))
        covers = {each.path} if each.path in of_folders else {each.path, *built.folders}
        overlays.covered |= covers - plain if each.path not in plain else set()
    return overlays


def _deployers(item: Item) -> Iterator[Deployer]:
    if item.resource.group_kind == FLUX:
        yield flux_deployer(item)
    elif item.resource.group_kind in OF_ARGO:
        yield from argo_deployer(item)


def _placed(
    results: Sequence[Deployer], reading: LintInput, of_folders: Mapping[str, Kustomization]
) -> Iterator[Deployer]:
    """Each at the folders in the input that its path may be; of several it is unknown which one."""
    folders = {posixpath.dirname(file) for file in reading.files} if results else set[str]()
    every = {above for folder in folders for above in parent_folders(folder)}
    for each in results:
        candidates = every if each.deploys_plain_folder else of_folders
        wanted_path = posixpath.normpath(each.path).strip("/") if each.path else "."
        if wanted_path == ".":
            continue
        if "*" in wanted_path:
            named = [name for name in of_folders if fnmatchcase(f"/{name}", f"*/{wanted_path}")]
            sure = False
        else:
            roots = [*parent_folders(posixpath.dirname(each.file)), ""]
            named = [
                name for root in roots if (name := posixpath.join(root, wanted_path)) in candidates
            ]
            sure = len(named) == 1
        for name in named:
            yield replace(each if sure else _unsure(each), path=name)


def _unsure(each: Deployer) -> Deployer:
    return replace(
        each, changes=tuple(replace(change, is_certain=False) for change in each.changes)
    )


def _with_source_files(results: Sequence[Deployer], argo_sources: Sequence[Item]) -> list[Deployer]:
    """With overrides in the folders themselves; an Application outside the input counts too."""
    used_ids: set[int] = set()
    deployers: list[Deployer] = []
    for each in results:
        own = [item for item in argo_sources if _is_source_file_of(each, item)]
        used_ids.update(map(id, own))
        more = [argocd_source_deployer(item) for item in own]
        changes = (change for one in (each, *more) for change in one.changes)
        components = (name for one in (each, *more) for name in one.components)
        deployers.append(replace(each, changes=tuple(changes), components=tuple(components)))
    return [
        *deployers,
        *(argocd_source_deployer(item) for item in argo_sources if id(item) not in used_ids),
    ]


def _is_source_file_of(each: Deployer, item: Item) -> bool:
    """Whether a file in the folder is for its deployer."""
    folder = posixpath.dirname(item.place.file)
    return (
        folder == each.path
        and not each.deploys_plain_folder
        and application_name(item) in {"", each.name}
    )


def _deployer_kustomization(
    each: Deployer, of_folders: Mapping[str, Kustomization], files: Sequence[str]
) -> Kustomization:
    """The kustomization of the folder, with all changes from the deployer."""
    own = of_folders.get(each.path)
    if own is None:
        below = (
            tuple(_files_below(each.path, of_folders, files)) if each.deploys_plain_folder else ()
        )
        own = Kustomization(each.file, below, (), (), ())
    images = {change.image for change in each.changes if change.image}
    own_changes = [change for change in own.changes if change.image not in images]
    changes = sorted((*own_changes, *each.changes), key=lambda change: change.stage)
    more = [posixpath.normpath(posixpath.join(each.path, name)) for name in each.components]
    return replace(own, changes=tuple(changes), components=(*own.components, *more))


def _files_below(
    folder: str, of_folders: Mapping[str, Kustomization], files: Sequence[str]
) -> dict[str, None]:
    """Everything below a folder, as Flux lists it: files, and folders with a kustomization."""
    results: dict[str, None] = {}
    for file in files:
        if not file.startswith(f"{folder}/"):
            continue
        between = [
            each for each in parent_folders(posixpath.dirname(file)) if len(each) > len(folder)
        ]
        outer = [each for each in between if each in of_folders]
        if outer:
            results[outer[-1]] = None
        elif file.endswith(_OBJECTS):
            results[file] = None
    return results
