"""Kustomizations of which only a run of kustomize tells what they make; and what it made of them.

Nothing is run here. One that takes anything from elsewhere, or that is part of another, is not among them.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from gpuyard.errors import UsageError
from gpuyard.lint.inside import with_inside
from gpuyard.lint.items import FilePlace, FilesRead, Item, Unread
from gpuyard.lint.kubernetes import is_object
from gpuyard.lint.kubernetes import resource as kubernetes_resource
from gpuyard.lint.read import TIMES
from gpuyard.lint.together.kustomize import (
    KUSTOMIZATION_KINDS,
    Kustomization,
    kustomizations,
    made_of,
)
from gpuyard.lint.together.scopes import CHART, chains_of, roots
from gpuyard.manifests.fields import items, mapping, mappings, text
from gpuyard.rules.rule import Resource
from gpuyard.spec.yaml_tree import Document, parse_documents

_ONLY_A_RUN = ("replacements", "vars", "helmCharts", "generators", "transformers", "validators")
_FILES = ("resources", "bases", "components", "crds", "configurations", *_ONLY_A_RUN[3:])
_ABOUT_GPUS = re.compile(r"nvidia\.com/|dcgm", re.IGNORECASE)
_GENERATED = frozenset({"ConfigMap", "Secret"})


@dataclass(frozen=True, slots=True)
class KustomizationToBuild:
    """One that nothing takes, with all that it needs in view."""

    folder: str
    file: str
    charts: bool
    """Whether Helm is needed as well."""
    place: FilePlace
    """Of its charts, for what they make."""
    files: frozenset[str]
    """All that it takes."""

    def __hash__(self) -> int:
        return hash(self.folder)


def kustomizations_to_build(reading: FilesRead) -> list[KustomizationToBuild]:
    """In the order of their files."""
    of_folders = kustomizations(reading)
    written = {
        posixpath.dirname(item.place.file): item
        for item in reading.items
        if item.resource.group_kind in KUSTOMIZATION_KINDS
    }
    there = frozenset(reading.files)
    about = (
        {item.place.file for item in reading.items if _is_about_gpus(item)} if written else set()
    )
    found: list[KustomizationToBuild] = []
    for folder in roots(of_folders):
        chains = chains_of(folder, of_folders)
        files = frozenset(chains)
        taken = [written[each] for each in of_folders if of_folders[each].file in files]
        properties = [item.resource.properties for item in taken]
        wanted = any(each.get(key) for each in properties for key in _ONLY_A_RUN)
        ready = wanted and all(_is_here(item, there, of_folders) for item in taken)
        if ready and files & about:
            place = replace(
                written[folder].place, fixed=written[folder].place.position(("helmCharts",))
            )
            charts = any(mappings(each, "helmCharts") for each in properties)
            found.append(
                KustomizationToBuild(folder, of_folders[folder].file, charts, place, files)
            )
    return found


def _is_about_gpus(item: Item) -> bool:
    return _ABOUT_GPUS.search(str(item.resource.properties)) is not None


def _is_here(item: Item, files: frozenset[str], of_folders: Mapping[str, Kustomization]) -> bool:
    """Whether all that it names is in view: kustomize would fetch what is not."""
    given = item.resource.properties
    folder = posixpath.dirname(item.place.file)

    def there(name: object) -> bool:
        path = posixpath.normpath(posixpath.join(folder, str(name)))
        return path in files or ("" if path == "." else path) in of_folders

    home = text(given, "helmGlobals", "chartHome") or "charts"
    charts = [f"{home}/{text(each, 'name')}/{CHART}" for each in mappings(given, "helmCharts")]
    named = [name for key in _FILES for name in items(given, key) if "\n" not in str(name)]
    return all(map(there, [*named, *charts])) and not mapping(given, "openapi")


def with_built(reading: FilesRead, made: Mapping[KustomizationToBuild, bytes | str]) -> FilesRead:
    """What was read, with what its kustomizations became, or why that is not known."""
    built: dict[str, tuple[Resource, ...]] = {}
    more: list[Item] = []
    unread: list[Unread] = []
    for each, output in made.items():
        if isinstance(output, str):
            unread.append(Unread(each.file, f"a kustomization that is not built: {output}"))
            continue
        objects = tuple(_objects(output))
        built[each.folder] = objects
        more += _of_charts(each, objects, reading) if each.charts else ()
    return replace(
        reading,
        items=(*reading.items, *more),
        unread=(*reading.unread, *unread),
        built={**reading.built, **built},
    )


def _objects(output: bytes) -> Iterator[Resource]:
    try:
        documents = parse_documents(output, "what kustomize made", TIMES)
    except UsageError:
        return
    for document in documents:
        if is_object(document.value):
            yield kubernetes_resource(document.value)


def _of_charts(
    each: KustomizationToBuild, objects: tuple[Resource, ...], reading: FilesRead
) -> Iterator[Item]:
    """What stands in no file: it is told where the kustomization has its charts."""
    own = [item.resource for item in reading.items if item.place.file in each.files]
    known = {made for resource in own if (made := made_of(resource, objects)) is not None}
    for made in objects:
        if made not in known and made.group_kind not in _GENERATED:
            place = replace(each.place, document=Document(made.properties, {}), prefix=())
            yield from with_inside(Item(made, place))
