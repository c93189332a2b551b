"""Files and objects in view, for who looks for values that a release names."""

import posixpath
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

from gpuyard.errors import UsageError
from gpuyard.lint.items import Item
from gpuyard.manifests.fields import UNKNOWN, items, mapping, mappings, text
from gpuyard.spec.yaml_tree import Document, parse_documents

KUSTOMIZE = "kustomize.config.k8s.io/Kustomization"
_KEY = "values.yaml"
"""Under which Flux looks, where nothing else is said."""


@dataclass(frozen=True, slots=True)
class Layer:
    """Values that others are laid over, or that are laid over others; UNKNOWN where they are not in view."""

    value: Any
    file: str = ""
    """Where they stand; "" for all that is no file of its own."""
    own: bool = False
    """Whether it is where the release itself has its values."""


@dataclass(frozen=True, slots=True)
class LayersView:
    """All that is in view, for who looks for a file."""

    names: Collection[str] = ()
    text_of: Callable[[str], str] = lambda _: ""
    items: Sequence[Item] = ()
    read: dict[str, Any] = field(default_factory=dict[str, Any])
    """By file: what was read before, as many releases may name one."""

    def layer(self, file: str | None) -> Layer:
        """Values in a file; UNKNOWN where it is not in view, or is something else."""
        if file is None:
            return Layer(UNKNOWN)
        if file not in self.read:
            self.read[file] = parsed(self.text_of(file))
        return Layer(self.read[file], file)

    def of_config(self, reference: Mapping[Any, Any]) -> Layer:
        """Values in a ConfigMap in view, or in one that a kustomization makes of a file."""
        named = config_named(reference)
        results = list(islice(self._layer_readers(*named), 2)) if named else []
        return (
            results[0]() if len(results) == 1 else Layer(UNKNOWN)
        )  # of two nobody knows which is meant

    def _layer_readers(self, name: str, key: str) -> Iterator[Callable[[], Layer]]:
        """How to read each that may be meant: reading is what takes time, where all have one name."""
        for item in self.items:
            properties = item.resource.properties
            if item.resource.group_kind == "ConfigMap" and item.resource.name == name:
                written = text(mapping(properties, "data").get(key))
                yield partial(_written, written)
            elif item.resource.group_kind == KUSTOMIZE:
                for file in _generated(properties, name, key):
                    yield partial(self.layer, sibling_file(item.place.file, file))


def _written(text_of_values: str) -> Layer:
    return Layer(parsed(text_of_values))


def _generated(properties: Mapping[str, Any], name: str, key: str) -> Iterator[str]:
    """Files of which a kustomization makes a key of a ConfigMap."""
    for each in mappings(properties, "configMapGenerator"):
        for file in items(each, "files") if each.get("name") == name else ():
            under, _, path = text(file).rpartition("=")
            if (under or posixpath.basename(path)) == key:
                yield path


def config_named(reference: Mapping[Any, Any]) -> tuple[str, str] | None:
    """The ConfigMap from which an entry of Flux's valuesFrom takes whole values, and the key in it."""
    if reference.get("kind") != "ConfigMap" or reference.get("targetPath"):
        return None
    return text(reference, "name"), text(reference, "valuesKey") or _KEY


def sibling_file(file: str, path: str) -> str:
    """A file by the path that another names it with."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(file), path))


def repository_path(path: str, names: Collection[str]) -> str | None:
    """A file by its path from the top of a repository; None where it could be several."""
    results = [each for each in names if f"/{each}".endswith(f"/{path}")]
    return path if path in names else results[0] if len(results) == 1 else None


def documents_in(written: str, file: str) -> list[Document]:
    """What stands in a text; nothing in a template."""
    try:
        return parse_documents(written.encode(), file)
    except (UsageError, UnicodeEncodeError):
        return []


def parsed(written: str) -> Any:
    """Values as they are written; UNKNOWN for a template, or for what is none."""
    documents = documents_in(written, "values") if written else []
    value = documents[0].value if len(documents) == 1 else UNKNOWN
    return value if isinstance(value, Mapping) else UNKNOWN
