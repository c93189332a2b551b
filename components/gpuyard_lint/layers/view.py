"""Files and objects in the input, to find the values that a release names."""

import posixpath
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

from gpuyard_core.errors import UsageError
from gpuyard_core.manifests.fields import UNKNOWN, items, mapping, mappings, text
from gpuyard_core.yaml_tree import Document, parse_documents
from gpuyard_lint.items import Item

KUSTOMIZE = "kustomize.config.k8s.io/Kustomization"
_KEY = "values.yaml"
"""The default key for Flux."""


@dataclass(frozen=True, slots=True)
class ValuesLayer:
    """One layer of values; UNKNOWN if it is not in the input."""

    value: Any
    file: str = ""
    """Its file; "" if it is not a separate file."""
    is_inline: bool = False
    """Whether it is inline in the release."""


@dataclass(frozen=True, slots=True)
class LayersView:
    """The whole input, to search for files."""

    names: Collection[str] = ()
    text_of: Callable[[str], str] = lambda _: ""
    items: Sequence[Item] = ()
    read: dict[str, Any] = field(default_factory=dict[str, Any])
    """By file: its parsed values, because many releases may name one."""

    def layer(self, file: str | None) -> ValuesLayer:
        """Values in a file; UNKNOWN if it is not in the input, or is of another type."""
        if file is None:
            return ValuesLayer(UNKNOWN)
        if file not in self.read:
            self.read[file] = parsed(self.text_of(file))
        return ValuesLayer(self.read[file], file)

    def of_config(self, reference: Mapping[Any, Any]) -> ValuesLayer:
        """Values in a ConfigMap in the input, or in one that a kustomization generates from a file."""
        named = referenced_config_map(reference)
        results = list(islice(self._layer_readers(*named), 2)) if named else []
        return (
            results[0]() if len(results) == 1 else ValuesLayer(UNKNOWN)
        )  # with two it is unknown which one applies

    def _layer_readers(self, name: str, key: str) -> Iterator[Callable[[], ValuesLayer]]:
        """A reader for each possible one: parsing is slow if all have one name."""
        for item in self.items:
            properties = item.resource.properties
            if item.resource.group_kind == "ConfigMap" and item.resource.name == name:
                written = text(mapping(properties, "data").get(key))
                yield partial(_written, written)
            elif item.resource.group_kind == KUSTOMIZE:
                for file in _generated(properties, name, key):
                    yield partial(self.layer, sibling_file(item.place.file, file))


def _written(text_of_values: str) -> ValuesLayer:
    return ValuesLayer(parsed(text_of_values))


def _generated(properties: Mapping[str, Any], name: str, key: str) -> Iterator[str]:
    """Files that a kustomization adds as keys of a ConfigMap."""
    for each in mappings(properties, "configMapGenerator"):
        for file in items(each, "files") if each.get("name") == name else ():
            under, _, path = text(file).rpartition("=")
            if (under or posixpath.basename(path)) == key:
                yield path


def referenced_config_map(reference: Mapping[Any, Any]) -> tuple[str, str] | None:
    """The ConfigMap of an entry of Flux's valuesFrom with complete values, and its key."""
    if reference.get("kind") != "ConfigMap" or reference.get("targetPath"):
        return None
    return text(reference, "name"), text(reference, "valuesKey") or _KEY


def sibling_file(file: str, path: str) -> str:
    """A file by the relative path in another file."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(file), path))


def repository_path(path: str, names: Collection[str]) -> str | None:
    """A file by its path from the root of a repository; None if several are possible."""
    results = [each for each in names if f"/{each}".endswith(f"/{path}")]
    return path if path in names else results[0] if len(results) == 1 else None


def documents_in(written: str, file: str) -> list[Document]:
    """The values in a text; none in a template."""
    try:
        return parse_documents(written.encode(), file)
    except (UsageError, UnicodeEncodeError):
        return []


def parsed(written: str) -> Any:
    """Values as written; UNKNOWN for a template, or for another type."""
    documents = documents_in(written, "values") if written else []
    value = documents[0].value if len(documents) == 1 else UNKNOWN
    return value if isinstance(value, Mapping) else UNKNOWN
