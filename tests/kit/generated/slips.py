"""Typing errors in an object, generated from the schema of its kind.

Each is one small change to a valid object: a misspelt field, a value of another type, a value that is not
allowed. They come only from the schema, so a new field or a new kind needs no new list.
"""

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard_core.findings import Path, show_path

Schema = Mapping[str, Any]
Value = dict[str, Any]


@dataclass(frozen=True)
class Slip:
    """One change: the kind of error, its path, and the changed object."""

    kind: str
    path: str
    obj: Value


def slips(schema: Schema, obj: Value) -> Iterator[Slip]:
    """Every error of this object outside its metadata, in the order of its fields."""
    for field, value in obj.items():
        if field not in {"apiVersion", "kind", "metadata"}:
            inner = schema["properties"].get(field, {})
            yield from _at(inner, value, (field,), obj)
            if not isinstance(value, dict | list):
                yield from _misspelt(obj, (field,))


def three(schema: Schema, obj: Value) -> list[Slip]:
    """Three errors of this object, of different kinds if possible, the deepest of each."""
    results: dict[str, list[Slip]] = {}
    for slip in slips(schema, obj):
        results.setdefault(slip.kind, []).append(slip)
    ranked = [sorted(of, key=lambda s: s.path.count("."), reverse=True) for of in results.values()]
    rounds = max((len(of) for of in ranked), default=0)
    return [of[n] for n in range(rounds) for of in ranked if n < len(of)][:3]


def _at(schema: Schema, value: Any, path: Path, obj: Value) -> Iterator[Slip]:
    if isinstance(value, dict):
        known = schema.get("properties", {})
        for key, inner in value.items():
            if key in known:
                yield from _misspelt(obj, (*path, key))
            yield from _at(known.get(key, {}), inner, (*path, key), obj)
        for key in schema.get("required", ()):
            if len(value) > 1:
                yield from _changed("missing", obj, (*path, key), _remove)
    elif isinstance(value, list):
        for index, inner in enumerate(value[:1]):
            yield from _at(schema.get("items", {}), inner, (*path, index), obj)
    elif "type" in schema:
        yield from _of_another_type(schema, obj, path)
        yield from _out_of_bounds(schema, obj, path)


def _of_another_type(schema: Schema, obj: Value, path: Path) -> Iterator[Slip]:
    wrong = {"string": 7, "integer": "seven", "boolean": "yes", "number": "much"}
    if schema["type"] in wrong:
        yield from _changed("type", obj, path, _set(wrong[schema["type"]]))


def _out_of_bounds(schema: Schema, obj: Value, path: Path) -> Iterator[Slip]:
    if "enum" in schema:
        yield from _changed("bounds", obj, path, _set(f"{schema['enum'][0]}ish"))
    elif "maxLength" in schema:
        yield from _changed("bounds", obj, path, _set("x" * (schema["maxLength"] + 1)))
    elif "maximum" in schema:
        yield from _changed("bounds", obj, path, _set(schema["maximum"] + 1))
    elif "minimum" in schema:
        yield from _changed("bounds", obj, path, _set(schema["minimum"] - 1))
    elif "pattern" in schema:
        yield from _changed("bounds", obj, path, _set("no such/thing!"))


def _misspelt(obj: Value, path: Path) -> Iterator[Slip]:
    def rename(holder: Any, key: Any) -> None:
        renamed = {(f"{k}s" if k == key else k): v for k, v in holder.items()}
        holder.clear()
        holder.update(renamed)

    for slip in _changed("misspelt", obj, path, rename):
        yield Slip(slip.kind, f"{slip.path}s", slip.obj)


def _changed(
    kind: str, obj: Value, path: Path, change: Callable[[Any, Any], None]
) -> Iterator[Slip]:
    changed = copy.deepcopy(obj)
    holder: Any = changed
    for step in path[:-1]:
        holder = holder[step]
    change(holder, path[-1])
    if changed != obj:
        yield Slip(kind, show_path(path), changed)


def _set(value: object) -> Callable[[Any, Any], None]:
    def change(holder: Any, key: Any) -> None:
        holder[key] = value

    return change


def _remove(holder: Any, key: Any) -> None:
    holder.pop(key, None)
