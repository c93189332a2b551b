"""Who deploys a folder: Flux's Kustomization or Argo CD's Application, and what it changes on the way.

Both write what they change into the kustomization of the folder, and then kustomize runs: patches, `images`,
components. Flux makes a kustomization of all that is below where a folder has none.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gpuyard.findings import Path
from gpuyard.lint.combined.changes import Change, ObjectPatch, kustomization_changes
from gpuyard.lint.combined.kustomize import inline_patches, is_operations
from gpuyard.lint.items import Item
from gpuyard.manifests.fields import items, mapping, mappings, text
from gpuyard.rules.subjects.components import at_path


@dataclass(frozen=True, slots=True)
class Deployer:
    """Something that deploys a folder."""

    item: Item
    path: str
    """The folder, from the top of its repository; `*` for what a generator fills in."""
    changes: tuple[Change, ...] = ()
    components: tuple[str, ...] = ()
    generates: bool = False
    """Whether it takes all that is below a folder which has no kustomization."""

    @property
    def file(self) -> str:
        """Where it stands."""
        return self.item.place.file

    @property
    def name(self) -> str:
        """What it is called."""
        return self.item.resource.name

    @property
    def has_no_changes(self) -> bool:
        """Whether it deploys the folder as it is."""
        return not self.changes and not self.components


def changes_in(
    item: Item,
    base: Path,
    kustomization: Mapping[str, Any],
    patches: Iterable[ObjectPatch],
    late: Iterable[ObjectPatch] = (),
) -> Iterator[Change]:
    """What it does with these fields of a kustomization, told below the path where it has them."""
    for change in kustomization_changes(kustomization, item.place, patches, late):
        own = change.stage in _BY_FIELD
        path = (*base, *change.path) if own else change.path
        yield replace(change, path=path, deployer_file=item.place.file)


_BY_FIELD = frozenset({1, 3, 4})
"""The stages of what is no patch: a patch knows its place itself."""


def patches_in(item: Item, base: Path, key: str = "patches") -> Iterator[ObjectPatch]:
    """Patches that are written out in a list below a path, each as a text or as operations."""
    value = at_path(item.resource.properties, base)
    for index, each in enumerate(map(mapping, items(value, key))):
        target = mapping(each, "target") or None
        path = (*base, key, index, "patch")
        if text(each, "patch"):
            yield from inline_patches(item, path, target)
        elif is_operations(each.get("patch")):
            done = tuple(mappings(each, "patch"))
            yield ObjectPatch(item.place, path, target or {}, operations=done)
