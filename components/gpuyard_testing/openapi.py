"""Check a plain value against the structural OpenAPI schema of a CustomResourceDefinition.

`violations(schema, value)` is pure: no Pulumi, no cluster, no network. It follows what the API
server checks on a write
(https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation),
with two differences. Unknown fields are reported where the server would prune them silently,
because a pruned field is an unreported typing error. CEL rules (`x-kubernetes-validations`) and
string formats other than int32 and int64 are not evaluated; a real API server does that.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gpuyard_testing.values import UNKNOWN, is_list, is_object

SchemaViolation = tuple[str, str]
"""Path (`spec.nodes[0].name`; empty for the value itself) and the violation."""

_SHOWN_LENGTH = 80
_SHOWN_NAMES = 12
_EMBEDDED_FIELDS = frozenset({"apiVersion", "kind", "metadata"})
_INTEGER_RANGES = {"int32": 2**31, "int64": 2**63}


def violations(schema: Mapping[str, Any], value: object) -> list[SchemaViolation]:
    """List everything in `value` that the schema does not allow; an empty list means valid.

    An `UNKNOWN` (a value that only a later deployment step determines) is allowed everywhere.
    """
    return list(_check(schema, value, ""))


def describe(value: object) -> str:
    """A value in a message: JSON, truncated if it is long."""
    text = json.dumps(value, default=str, sort_keys=True)
    return text if len(text) <= _SHOWN_LENGTH else f"{text[: _SHOWN_LENGTH - 3]}..."


def join(path: str, key: str | int) -> str:
    """Append a field name or a list index to a dotted path."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if not re.fullmatch(r"[\w$-]+", key):
        return f"{path}[{json.dumps(key)}]"
    return f"{path}.{key}" if path else key


def nearest(value: str, allowed: Sequence[str]) -> str:
    """The allowed names, with the most likely one first."""
    close = difflib.get_close_matches(value, allowed, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    shown = ", ".join(sorted(allowed)[:_SHOWN_NAMES])
    return (
        f"allowed: {shown}{', …' if len(allowed) > _SHOWN_NAMES else ''}"
        if allowed
        else "no field is allowed here"
    )


def _check(schema: Mapping[str, Any], value: object, path: str) -> Iterator[SchemaViolation]:
    if value is UNKNOWN:
        return
    if value is None:
        if not schema.get("nullable") and schema.get("type"):
            yield path, f"given null, allowed: {schema['type']}; leave the field out"
        return
    wrong = _wrong_type(schema, value)
    if wrong:
        yield path, wrong
        return
    yield from _check_enum(schema, value, path)
    yield from _check_combined(schema, value, path)
    if is_object(value):
        yield from _check_object(schema, value, path)
    elif isinstance(value, str):
        yield from _check_text(schema, value, path)
    elif is_list(value):
        yield from _check_list(schema, value, path)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield from _check_number(schema, value, path)


def _is_integer(value: object) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (
        isinstance(value, float) and value.is_integer()
    )


_TYPE_TESTS: dict[str, Callable[[object], bool]] = {
    "object": is_object,
    "array": is_list,
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": _is_integer,
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
}


def _wrong_type(schema: Mapping[str, Any], value: object) -> str | None:
    if schema.get("x-kubernetes-int-or-string"):
        if isinstance(value, str) or _is_integer(value):
            return None
        return f"given {describe(value)}, allowed: a whole number or text"
    expected = schema.get("type")
    test = _TYPE_TESTS.get(str(expected))
    if test is None or test(value):
        return None
    return f"given {describe(value)}, allowed: {expected}"


def _check_enum(schema: Mapping[str, Any], value: object, path: str) -> Iterator[SchemaViolation]:
    allowed = schema.get("enum")
    if allowed is not None and value not in allowed:
        yield (
            path,
            f"given {describe(value)}, allowed: {', '.join(describe(one) for one in allowed)}",
        )


def _check_combined(
    schema: Mapping[str, Any], value: object, path: str
) -> Iterator[SchemaViolation]:
    """allOf, anyOf, oneOf, not: in a structural schema they narrow values, never declare fields."""
    for part in schema.get("allOf", ()):
        yield from _check(_narrowing(part), value, path)
    for word, most in (("anyOf", None), ("oneOf", 1)):
        parts = schema.get(word)
        if not parts:
            continue
        fitting = sum(1 for part in parts if not violations(_narrowing(part), value))
        if fitting == 0:
            yield (
                path,
                f"given {describe(value)}, which fits none of {len(parts)} alternatives ({word})",
            )
        elif most is not None and fitting > most:
            yield (
                path,
                f"given {describe(value)}, which fits {fitting} alternatives, allowed: one",
            )
    if "not" in schema and not violations(_narrowing(schema["not"]), value):
        yield (
            path,
            f"given {describe(value)}, which the schema forbids ({describe(schema['not'])})",
        )


def _narrowing(part: Mapping[str, Any]) -> Mapping[str, Any]:
    # Fields are declared outside the combinator; one that is missing in this part is not unknown.
    narrowed = {**part, "x-kubernetes-preserve-unknown-fields": True}
    if "properties" in part:
        narrowed["properties"] = {
            name: _narrowing(inner) for name, inner in part["properties"].items()
        }
    return narrowed


def _check_object(
    schema: Mapping[str, Any], value: Mapping[Any, Any], path: str
) -> Iterator[SchemaViolation]:
    properties: Mapping[str, Any] = schema.get("properties", {})
    extra = schema.get("additionalProperties")
    embedded = schema.get("x-kubernetes-embedded-resource", False)
    keeps_unknown = (
        schema.get("x-kubernetes-preserve-unknown-fields")
        or extra is True
        or not schema.get("type")
    )
    for name in schema.get("required", ()):
        if name not in value:
            yield join(path, name), "missing, and required"
    for key, inner in value.items():
        where = join(path, str(key))
        if not isinstance(key, str):
            yield where, f"given the field name {describe(key)}, allowed: text; quote it"
        elif key in properties:
            yield from _check(properties[key], inner, where)
        elif is_object(extra):
            yield from _check(extra, inner, where)
        elif not keeps_unknown and not (embedded and key in _EMBEDDED_FIELDS):
            yield where, f"no such field; {nearest(key, list(properties))}"
    yield from _check_size(schema, len(value), ("minProperties", "maxProperties"), "fields", path)


def _check_list(
    schema: Mapping[str, Any], value: Sequence[Any], path: str
) -> Iterator[SchemaViolation]:
    item = schema.get("items")
    if is_object(item):
        for index, inner in enumerate(value):
            yield from _check(item, inner, join(path, index))
    yield from _check_size(schema, len(value), ("minItems", "maxItems"), "items", path)
    keys: list[str] | None = None
    if schema.get("x-kubernetes-list-type") == "set" or schema.get("uniqueItems"):
        keys = []
    elif schema.get("x-kubernetes-list-type") == "map":
        keys = schema.get("x-kubernetes-list-map-keys", [])
    if keys is not None:
        yield from _check_unique(value, keys, path)


def _check_unique(
    value: Sequence[Any], keys: Sequence[str], path: str
) -> Iterator[SchemaViolation]:
    seen: dict[str, int] = {}
    for index, inner in enumerate(value):
        identity = [inner.get(key) for key in keys] if keys and is_object(inner) else inner
        first = seen.setdefault(json.dumps(identity, default=id, sort_keys=True), index)
        if first != index:
            by = f" by {', '.join(keys)}" if keys else ""
            yield join(path, index), f"repeats item {first}{by}; items must be unique"


def _check_text(schema: Mapping[str, Any], value: str, path: str) -> Iterator[SchemaViolation]:
    yield from _check_size(schema, len(value), ("minLength", "maxLength"), "characters", path)
    pattern = schema.get("pattern")
    if pattern is not None and not _matches(pattern, value):
        yield path, f"given {describe(value)}, allowed: text matching {pattern}"


def _matches(pattern: str, value: str) -> bool:
    try:
        return re.search(pattern, value) is not None
    except re.error:
        # RE2 has classes that Python's re lacks; an unreadable pattern is not checked.
        return True


def _check_number(schema: Mapping[str, Any], value: float, path: str) -> Iterator[SchemaViolation]:
    low, high, step = schema.get("minimum"), schema.get("maximum"), schema.get("multipleOf")
    over, under = schema.get("exclusiveMinimum", False), schema.get("exclusiveMaximum", False)
    if low is not None and (value < low or (over and value == low)):
        yield path, f"given {value}, allowed: {'more than' if over else 'at least'} {low}"
    if high is not None and (value > high or (under and value == high)):
        yield path, f"given {value}, allowed: {'less than' if under else 'at most'} {high}"
    if step and value % step:
        yield path, f"given {value}, allowed: a multiple of {step}"
    limit = _INTEGER_RANGES.get(str(schema.get("format")))
    if limit is not None and not -limit <= value < limit:
        yield path, f"given {value}, allowed: a number that fits {schema['format']}"


def _check_size(
    schema: Mapping[str, Any], size: int, words: tuple[str, str], unit: str, path: str
) -> Iterator[SchemaViolation]:
    low, high = schema.get(words[0]), schema.get(words[1])
    if low is not None and size < low:
        yield path, f"given {size} {unit}, allowed: at least {low}"
    if high is not None and size > high:
        yield path, f"given {size} {unit}, allowed: at most {high}"
