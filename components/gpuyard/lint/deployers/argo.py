"""What an Application of Argo CD changes of a kustomization: `kustomize.images`, patches, components.

The same may stand in the folder, in `.argocd-source-NAME.yaml`: the image updater writes it there.
https://argo-cd.readthedocs.io/en/stable/user-guide/kustomize/ says which field does what, and
https://argo-cd.readthedocs.io/en/stable/user-guide/parameters/ what such a file is.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.findings import Path
from gpuyard.lint.deployers.deployer import Deployer, changes_at, patches_at
from gpuyard.lint.items import Item
from gpuyard.lint.together.kustomize import ARGO_SOURCE
from gpuyard.manifests.fields import items, mapping, text
from gpuyard.rules.subjects.components import at_path, charts_at

_FIELDS = ("namespace", "namePrefix", "nameSuffix", "commonAnnotations")
_TEMPLATED = re.compile(r"\{\{[^{}]*\}\}")
_TARGET = re.compile(r"(?P<name>[^@]*?)(?::(?P<tag>[^/:@]+))?(?:@(?P<digest>.+))?")


def of_argo(item: Item) -> Iterator[Deployer]:
    """An Application, or what a set of them has in common: one for each of its sources."""
    properties = item.resource.properties
    for base in charts_at(item.resource.group_kind, properties):
        source = mapping(at_path(properties, base))
        if path := text(source, "path"):
            yield _deployer(item, base, _TEMPLATED.sub("*", path))


def of_folder(item: Item) -> Deployer:
    """What stands in the folder itself, for the Application that deploys it."""
    return _deployer(item, (), posixpath.dirname(item.place.file))


def whose(item: Item) -> str:
    """The Application that such a file is for, "" for each."""
    return posixpath.basename(item.place.file).removeprefix(ARGO_SOURCE)[1:].rpartition(".")[0]


def _deployer(item: Item, base: Path, path: str) -> Deployer:
    given = mapping(at_path(item.resource.properties, (*base, "kustomize")))
    fields: dict[str, Any] = {key: given[key] for key in _FIELDS if given.get(key)}
    fields["images"] = [
        image_entry(each) for each in items(given, "images") if isinstance(each, str)
    ]
    below = (*base, "kustomize")
    patches = patches_at(item, below)
    return Deployer(
        item,
        path,
        tuple(changes_at(item, below, fields, patches)),
        tuple(each for each in items(given, "components") if isinstance(each, str)),
    )


def image_entry(written: str) -> Mapping[str, str]:
    """An entry as `kustomize edit set image` takes it: `name:tag`, `name=new:tag`, `name@digest`."""
    name, other, target = written.rpartition("=")
    found = _TARGET.fullmatch(target)
    new, tag, digest = found.group("name", "tag", "digest") if found else (target, "", "")
    made = {"name": name if other else new, "newTag": tag or "", "digest": digest or ""}
    return {**made, "newName": new} if other and new != "*" else made
