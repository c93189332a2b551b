"""Deployers of a folder: a Flux Kustomization or an Argo CD Application, and its changes.

Both write their changes into the kustomization of the folder, and then run kustomize: patches, `images`,
components. For a folder without a kustomization Flux generates one with everything below.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import items, mapping, mappings, text
from gpuyard_lint.combined.changes import Change, ObjectPatch, kustomization_changes
from gpuyard_lint.combined.kustomize import inline_patches, is_json_patch
from gpuyard_lint.items import Item
from gpuyard_lint.rules.subjects.components import at_path


@dataclass(frozen=True, slots=True)
class Deployer:
    """An object that deploys a folder."""

    item: Item
    path: str
    """The folder, from the root of its repository; `*` for a generated part."""
    changes: tuple[Change, ...] = ()
    components: tuple[str, ...] = ()
    deploys_plain_folder: bool = False
    """Whether it includes everything below a folder without a kustomization."""

    @property
    def file(self) -> str:
        """Its file."""
        return self.item.place.file

    @property
    def name(self) -> str:
        """Its name."""
        return self.item.resource.name

    @property
    def has_no_changes(self) -> bool:
        """Whether it deploys the folder unchanged."""
        return not self.changes and not self.components


def changes_in(
    item: Item,
    base: Path,
    kustomization: Mapping[str, Any],
    patches: Iterable[ObjectPatch],
    late: Iterable[ObjectPatch] = (),
) -> Iterator[Change]:
    """Its changes in these fields of a kustomization, located below the path of the fields."""
    for change in kustomization_changes(kustomization, item.place, patches, late):
        own = change.stage in _BY_FIELD
        path = (*base, *change.path) if own else change.path
        yield replace(change, path=path, deployer_file=item.place.file)


_BY_FIELD = frozenset({1, 3, 4})
"""The stages of changes other than patches: a patch has its own place."""


def patches_in(item: Item, base: Path, key: str = "patches") -> Iterator[ObjectPatch]:
    """Inline patches in a list at a path, each as text or as operations."""
    value = at_path(item.resource.properties, base)
    for index, each in enumerate(map(mapping, items(value, key))):
        target = mapping(each, "target") or None
        path = (*base, key, index, "patch")
        if text(each, "patch"):
            yield from inline_patches(item, path, target)
        elif is_json_patch(each.get("patch")):
            done = tuple(mappings(each, "patch"))
            yield ObjectPatch(item.place, path, target or {}, operations=done)
