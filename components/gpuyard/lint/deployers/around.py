"""Which folders Flux and Argo CD change on the way, and the kustomization that each becomes by that."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from gpuyard.lint.deployers.argo import of_argo, of_folder, whose
from gpuyard.lint.deployers.deployer import Deployer
from gpuyard.lint.deployers.flux import of_flux
from gpuyard.lint.inside import OF_ARGO
from gpuyard.lint.items import FilesRead, Item
from gpuyard.lint.together.kustomize import FLUX, OF_ARGO_SOURCE, Kustomization
from gpuyard.lint.unused.named import upwards
from gpuyard.manifests.fields import NotEvaluatedError

_OBJECTS = (".yaml", ".yml")


@dataclass(slots=True)
class ChangedFolders:
    """The folders that somebody changes as he deploys them."""

    made: list[tuple[str, Kustomization]] = field(default_factory=list[tuple[str, Kustomization]])
    """Each with the kustomization that it is by that."""
    covered: set[str] = field(default_factory=set[str])
    """Those of them that nobody deploys as they are."""


def changed_folders(reading: FilesRead, of_folders: Mapping[str, Kustomization]) -> ChangedFolders:
    """What Flux and Argo CD change; of samples, nothing."""
    items = [each for each in reading.items if each.place.file not in reading.samples]
    found: list[Deployer] = []
    for item in items:
        with suppress(NotEvaluatedError):  # what a variable decides, nobody knows yet
            found += _deployers(item)
    found = list(_placed(found, reading, of_folders))
    told = [each for each in items if each.resource.kind == OF_ARGO_SOURCE]
    found = _with_told(found, told)
    made = ChangedFolders()
    plain = {each.path for each in found if each.is_plain}
    for each in found:
        if each.is_plain:
            continue
        built = _around(each, of_folders, reading.files)
        made.made.append((each.path, built))
        covers = {each.path} if each.path in of_folders else {each.path, *built.folders}
        made.covered |= covers - plain if each.path not in plain else set()
    return made


def _deployers(item: Item) -> Iterator[Deployer]:
    if item.resource.group_kind == FLUX:
        yield of_flux(item)
    elif item.resource.group_kind in OF_ARGO:
        yield from of_argo(item)


def _placed(
    found: Sequence[Deployer], reading: FilesRead, of_folders: Mapping[str, Kustomization]
) -> Iterator[Deployer]:
    """Each at the folders in view that its path may mean; of several, nobody knows which."""
    folders = {posixpath.dirname(file) for file in reading.files} if found else set[str]()
    every = {above for folder in folders for above in upwards(folder)}
    for each in found:
        there = every if each.generates else of_folders
        wanted = posixpath.normpath(each.path).strip("/") if each.path else "."
        if wanted == ".":
            continue
        if "*" in wanted:
            named = [name for name in of_folders if fnmatchcase(f"/{name}", f"*/{wanted}")]
            sure = False
        else:
            roots = [*upwards(posixpath.dirname(each.file)), ""]
            named = [name for root in roots if (name := posixpath.join(root, wanted)) in there]
            sure = len(named) == 1
        for name in named:
            yield replace(each if sure else _unsure(each), path=name)


def _unsure(each: Deployer) -> Deployer:
    return replace(each, changes=tuple(replace(change, sure=False) for change in each.changes))


def _with_told(found: Sequence[Deployer], told: Sequence[Item]) -> list[Deployer]:
    """With what stands in the folders themselves; an Application that is not in view is one all the same."""
    used: set[int] = set()
    made: list[Deployer] = []
    for each in found:
        own = [item for item in told if _is_told(each, item)]
        used.update(map(id, own))
        more = [of_folder(item) for item in own]
        changes = (change for one in (each, *more) for change in one.changes)
        components = (name for one in (each, *more) for name in one.components)
        made.append(replace(each, changes=tuple(changes), components=tuple(components)))
    return [*made, *(of_folder(item) for item in told if id(item) not in used)]


def _is_told(each: Deployer, item: Item) -> bool:
    """Whether a file in the folder is for who deploys it."""
    folder = posixpath.dirname(item.place.file)
    return folder == each.path and not each.generates and whose(item) in {"", each.name}


def _around(
    each: Deployer, of_folders: Mapping[str, Kustomization], files: Sequence[str]
) -> Kustomization:
    """The kustomization of the folder, with all that the deployer writes into it."""
    own = of_folders.get(each.path)
    if own is None:
        below = tuple(_taken(each.path, of_folders, files)) if each.generates else ()
        own = Kustomization(each.file, below, (), (), ())
    images = {change.image for change in each.changes if change.image}
    kept = [change for change in own.changes if change.image not in images]
    changes = sorted((*kept, *each.changes), key=lambda change: change.stage)
    more = [posixpath.normpath(posixpath.join(each.path, name)) for name in each.components]
    return replace(own, changes=tuple(changes), components=(*own.components, *more))


def _taken(
    folder: str, of_folders: Mapping[str, Kustomization], files: Sequence[str]
) -> dict[str, None]:
    """All below a folder, as Flux lists it: files, and folders that have a kustomization."""
    found: dict[str, None] = {}
    for file in files:
        if not file.startswith(f"{folder}/"):
            continue
        between = [each for each in upwards(posixpath.dirname(file)) if len(each) > len(folder)]
        outer = [each for each in between if each in of_folders]
        if outer:
            found[outer[-1]] = None
        elif file.endswith(_OBJECTS):
            found[file] = None
    return found
