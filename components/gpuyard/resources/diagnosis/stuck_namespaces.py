"""Stuck namespaces: the namespace controller counts what keeps one, the objects themselves name it.

The controller writes kinds, counts and finalizers into the namespace's conditions, but no object's name
(kubernetes/pkg/controller/namespace/deletion/status_condition_utils.go, 1.36).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_RESOURCES = re.compile(r"(\S+?)\.? has \d+ resource instances")
_ALL_SHOWN = 10


def conditions(namespace: Mapping[str, Any]) -> list[str]:
    """What the namespace says of its own end: what is left in it, finalizers, an API that does not answer."""
    return [
        str(one.get("message"))
        for one in namespace.get("status", {}).get("conditions") or []
        if one.get("status") == "True" and str(one.get("type", "")).startswith("Namespace")
    ]


def remaining_kinds(namespace: Mapping[str, Any]) -> list[str]:
    """The kinds that are left in it, as kubectl takes them: `pods`, `widgets.example.com`."""
    results = (_RESOURCES.findall(message) for message in conditions(namespace))
    return sorted({kind for kinds in results for kind in kinds})


def remaining_objects(items: Sequence[Mapping[str, Any]]) -> list[str]:
    """The objects that are left, those with finalizers first; a few of them where there are many."""
    with_finalizers = sorted(
        _held_by(one) for one in items if one.get("metadata", {}).get("finalizers")
    )
    going = sorted(_going(one) for one in items if not one.get("metadata", {}).get("finalizers"))
    lines = [*with_finalizers, *going]
    more = len(lines) - _ALL_SHOWN
    return lines if more <= 0 else [*lines[:_ALL_SHOWN], f"and {more} more"]


def _held_by(obj: Mapping[str, Any]) -> str:
    return f"{_place(obj)} is held by {', '.join(obj['metadata']['finalizers'])}"


def _going(obj: Mapping[str, Any]) -> str:
    since = obj["metadata"].get("deletionTimestamp")
    until = f"and is to go since {since}" if since else "and nobody deletes it"
    return f"{_place(obj)} has no finalizer, {until}"


def _place(obj: Mapping[str, Any]) -> str:
    meta = obj["metadata"]
    return f"{obj.get('kind')} {meta.get('namespace')}/{meta.get('name')}"


def stuck_namespace_message(
    namespace: Mapping[str, Any], items: Sequence[Mapping[str, Any]] | None
) -> str:
    """Why the namespace is still there, for a person; `items` is None when nobody could look into it."""
    name = namespace.get("metadata", {}).get("name")
    return "\n".join((f"Namespace {name} does not go:", *_lines(namespace, items)))


def _lines(
    namespace: Mapping[str, Any], items: Sequence[Mapping[str, Any]] | None
) -> Iterator[str]:
    name = namespace.get("metadata", {}).get("name")
    namespace_conditions = conditions(namespace)
    yield from (
        f"  {one}" for one in namespace_conditions or ["it says nothing of what is left in it"]
    )
    if items is not None:
        yield from (f"  {one}" for one in remaining_objects(items))
    elif kinds := remaining_kinds(namespace):
        columns = "KIND:.kind,NAME:.metadata.name,FINALIZERS:.metadata.finalizers"
        yield f"  which objects: kubectl get {','.join(kinds)} -n {name} -o custom-columns={columns}"
    yield (
        "  fix: a finalizer is taken off by whoever put it there, once it has tidied up; start that again, "
        "and the namespace goes by itself. Take it off by hand only when nobody will."
    )
