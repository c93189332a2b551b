"""Kubernetes objects in YAML or JSON: one a document, many in a list, lists in lists."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpuyard.lint.items import FilePlace, Item
from gpuyard.rules.rule import Resource

_LIST = "List"


def is_object(value: Any) -> bool:
    """True for what has an apiVersion and a kind: a Kubernetes object."""
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("apiVersion"), str)
        and isinstance(value.get("kind"), str)
    )


def is_objects(value: Any) -> bool:
    """True for a bare list of such objects, as `jq .items` leaves it."""
    return isinstance(value, list) and bool(value) and all(map(is_object, value))


def objects(value: Any, place: FilePlace) -> Iterator[Item]:
    """The object at a place, or the objects of the list there; how deep lists go, the YAML reader bounds."""
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from objects(each, replace(place, prefix=(*place.prefix, index)))
        return
    if not is_object(value):
        return
    listed = value.get("items")
    if value["kind"].endswith(_LIST) and isinstance(listed, list):
        for index, each in enumerate(listed):
            named = _named_by(value, each)
            yield from objects(named, replace(place, prefix=(*place.prefix, "items", index)))
        return
    yield Item(resource(value, place.file), place)


def _named_by(of: Mapping[str, Any], each: Any) -> Any:
    """What a list of one kind holds, as the API server gives it, does not say its kind again."""
    kind = of["kind"].removesuffix(_LIST)
    if not kind or not isinstance(each, Mapping) or {"apiVersion", "kind"} & set(each):
        return each
    return {"apiVersion": of["apiVersion"], "kind": kind, **each}


def resource(value: Mapping[str, Any], source: str = "") -> Resource:
    """A Kubernetes object as rules see it."""
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    shown = name if isinstance(name, str) else "(no name)"
    return Resource(f"{value['apiVersion']}/{value['kind']}", shown, value, None, source)
