"""Changes of an Application of Argo CD to a kustomization: `kustomize.images`, patches, components.

The same can be in the folder, in `.argocd-source-NAME.yaml`: the image updater writes it there. Fields:
https://argo-cd.readthedocs.io/en/stable/user-guide/kustomize/ and, for such a file,
https://argo-cd.readthedocs.io/en/stable/user-guide/parameters/.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import items, mapping, text
from gpuyard_lint.combined.kustomize import ARGO_SOURCE
from gpuyard_lint.deployers.deployer import Deployer, changes_in, patches_in
from gpuyard_lint.items import Item
from gpuyard_lint.rules.subjects.components import at_path, chart_references

_FIELDS = ("namespace", "namePrefix", "nameSuffix", "commonAnnotations")
_TEMPLATED = re.compile(r"\{\{[^{}]*\}\}")
_TARGET = re.compile(r"(?P<name>[^@]*?)(?::(?P<tag>[^/:@]+))?(?:@(?P<digest>.+))?")


def argo_deployer(item: Item) -> Iterator[Deployer]:
    """An Application, or the template of an ApplicationSet: one for each of its sources."""
    properties = item.resource.properties
    for base in chart_references(item.resource.group_kind, properties):
        source = mapping(at_path(properties, base))
        if path := text(source, "path"):
            yield _deployer(item, base, _TEMPLATED.sub("*", path))


def argocd_source_deployer(item: Item) -> Deployer:
    """Overrides in the folder itself, for the Application that deploys it."""
    return _deployer(item, (), posixpath.dirname(item.place.file))


def application_name(item: Item) -> str:
    """The Application that such a file is for, "" for each."""
    return posixpath.basename(item.place.file).removeprefix(ARGO_SOURCE)[1:].rpartition(".")[0]


def _deployer(item: Item, base: Path, path: str) -> Deployer:
    value = mapping(at_path(item.resource.properties, (*base, "kustomize")))
    fields: dict[str, Any] = {key: value[key] for key in _FIELDS if value.get(key)}
    fields["images"] = [
        image_entry(each) for each in items(value, "images") if isinstance(each, str)
    ]
    below = (*base, "kustomize")
    patches = patches_in(item, below)
    return Deployer(
        item,
        path,
        tuple(changes_in(item, below, fields, patches)),
        tuple(each for each in items(value, "components") if isinstance(each, str)),
    )


def image_entry(written: str) -> Mapping[str, str]:
    """An entry of `kustomize edit set image`: `name:tag`, `name=new:tag`, `name@digest`."""
    name, equals_sign, target = written.rpartition("=")
    match = _TARGET.fullmatch(target)
    new, tag, digest = match.group("name", "tag", "digest") if match else (target, "", "")
    entry = {"name": name if equals_sign else new, "newTag": tag or "", "digest": digest or ""}
    return {**entry, "newName": new} if equals_sign and new != "*" else entry
