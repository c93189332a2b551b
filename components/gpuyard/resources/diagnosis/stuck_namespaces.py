"""Stuck namespaces: which objects block the deletion of a namespace.

The namespace controller writes kinds, counts and finalizers into the namespace's conditions, but no
names of objects (kubernetes/pkg/controller/namespace/deletion/status_condition_utils.go, 1.36).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_RESOURCES = re.compile(r"(\S+?)\.? has \d+ resource instances")
_ALL_SHOWN = 10


def conditions(namespace: Mapping[str, Any]) -> list[str]:
    """What the namespace's conditions report: remaining objects, finalizers, an unavailable API."""
    return [
        str(one.get("message"))
        for one in namespace.get("status", {}).get("conditions") or []
        if one.get("status") == "True" and str(one.get("type", "")).startswith("Namespace")
    ]


def remaining_kinds(namespace: Mapping[str, Any]) -> list[str]:
    """The kinds of the remaining objects in kubectl's notation: `pods`, `widgets.example.com`."""
    results = (_RESOURCES.findall(message) for message in conditions(namespace))
    return sorted({kind for kinds in results for kind in kinds})


def remaining_objects(items: Sequence[Mapping[str, Any]]) -> list[str]:
    """The remaining objects, those with finalizers first, up to a limit."""
    with_finalizers = sorted(
        _held_by(one) for one in items if one.get("metadata", {}).get("finalizers")
    )
    going = sorted(_going(one) for one in items if not one.get("metadata", {}).get("finalizers"))
    lines = [*with_finalizers, *going]
    more = len(lines) - _ALL_SHOWN
    return lines if more <= 0 else [*lines[:_ALL_SHOWN], f"and {more} more"]


def _held_by(obj: Mapping[str, Any]) -> str:
    return f"{_place(obj)} has finalizers {', '.join(obj['metadata']['finalizers'])}"


def _going(obj: Mapping[str, Any]) -> str:
    since = obj["metadata"].get("deletionTimestamp")
    until = (
        f"and its deletion was requested at {since}" if since else "and no deletion was requested"
    )
    return f"{_place(obj)} has no finalizer, {until}"


def _place(obj: Mapping[str, Any]) -> str:
    meta = obj["metadata"]
    return f"{obj.get('kind')} {meta.get('namespace')}/{meta.get('name')}"


def stuck_namespace_message(
    namespace: Mapping[str, Any], items: Sequence[Mapping[str, Any]] | None
) -> str:
    """Explain why a namespace is not deleted; `items` is None if the query failed."""
    name = namespace.get("metadata", {}).get("name")
    return "\n".join((f"Namespace {name} is stuck in deletion:", *_lines(namespace, items)))


def _lines(
    namespace: Mapping[str, Any], items: Sequence[Mapping[str, Any]] | None
) -> Iterator[str]:
    name = namespace.get("metadata", {}).get("name")
    namespace_conditions = conditions(namespace)
    yield from (
        f"  {one}"
        for one in namespace_conditions or [("its status does not report the remaining objects")]
    )
    if items is not None:
        yield from (f"  {one}" for one in remaining_objects(items))
    elif kinds := remaining_kinds(namespace):
        columns = "KIND:.kind,NAME:.metadata.name,FINALIZERS:.metadata.finalizers"
        yield (
            f"  list the objects: kubectl get {','.join(kinds)} -n {name} -o "
            f"custom-columns={columns}"
        )
    yield (
        "  fix: restart the controller that owns the finalizer; it removes the finalizer after "
        "cleanup, and the namespace is deleted. Remove it manually only if that controller no "
        "longer exists."
    )
