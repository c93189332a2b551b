"""Kubernetes objects in YAML or JSON: documents and lists, also nested."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpuyard_core.manifests.fields import PartlyKnown, at_path
from gpuyard_lint.items import FileLocation, Item
from gpuyard_lint.rules.rule import UNKNOWN, Resource

_LIST = "List"
_CONTAINERS = frozenset({"containers", "initContainers"})
_COUNTS = ("limits", "requests")
_FILLED_IN = "${unknown}"
"""Replaces unknown parts of a container like a placeholder in a manifest: the rest is checked."""


def is_object(value: Any) -> bool:
    """True for a Kubernetes object: it has an apiVersion and a kind."""
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("apiVersion"), str)
        and isinstance(value.get("kind"), str)
    )


def is_objects(value: Any) -> bool:
    """True for a bare list of such objects, such as the output of `jq .items`."""
    return isinstance(value, list) and bool(value) and all(map(is_object, value))


def objects(value: Any, place: FileLocation) -> Iterator[Item]:
    """The object at a path, or the objects of a list there; the YAML reader limits the nesting."""
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
    """Items of a typed list from the API server do not repeat its kind."""
    kind = of["kind"].removesuffix(_LIST)
    if not kind or not isinstance(each, Mapping) or {"apiVersion", "kind"} & set(each):
        return each
    return {"apiVersion": of["apiVersion"], "kind": kind, **each}


def with_placeholder_strings(value: Any, unknown: str = "") -> Any:
    """Containers with text in place of unknown values, in part if only `unknown` in it is."""
    if isinstance(value, Mapping):
        results = {
            key: [_container(each, unknown) for each in inside]
            if key in _CONTAINERS and isinstance(inside, list)
            else with_placeholder_strings(inside, unknown)
            for key, inside in value.items()
        }
        return PartlyKnown(results) if isinstance(value, PartlyKnown) else results
    return (
        [with_placeholder_strings(each, unknown) for each in value]
        if isinstance(value, list)
        else value
    )


def _container(value: Any, unknown: str) -> Any:
    if not isinstance(value, Mapping):
        return value
    results = {**value}
    for key in ("name", "image"):
        if key in results:
            results[key] = _open(results[key], unknown)
    resources = results.get("resources")
    if isinstance(resources, Mapping):
        counts = {key: _opened(resources[key], unknown) for key in _COUNTS if key in resources}
        results["resources"] = {**resources, **counts}
    variables = results.get("env")
    if isinstance(variables, list):
        results["env"] = [_opened(each, unknown) for each in variables]
    return PartlyKnown(results) if isinstance(value, PartlyKnown) else results


def _opened(value: Any, unknown: str) -> Any:
    if not isinstance(value, Mapping) or isinstance(value, PartlyKnown):
        return value
    return {key: _open(each, unknown) for key, each in value.items()}


def _open(value: Any, unknown: str) -> Any:
    if value is UNKNOWN:
        return _FILLED_IN
    return value.replace(unknown, _FILLED_IN) if unknown and isinstance(value, str) else value


def resource(value: Mapping[str, Any], source: str = "") -> Resource:
    """A Kubernetes object as rules see it."""
    name = at_path(value, ("metadata", "name"))
    shown = name if isinstance(name, str) else "(no name)"
    return Resource(f"{value['apiVersion']}/{value['kind']}", shown, value, None, source)
