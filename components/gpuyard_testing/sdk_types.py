"""Check inputs against the field types of the installed Pulumi SDKs: a schema without the provider.

Works for any `pulumi_*` package: the class is found by its token, its fields through
`pulumi._types.input_type_types`.
"""

from __future__ import annotations

import enum
import inspect
import types
import typing
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import pulumi
from pulumi import _types  # generated SDKs rely on it

from gpuyard.sdk_classes import PROVIDER, args_class, resource_class
from gpuyard_testing.openapi import SchemaViolation, describe, join, nearest
from gpuyard_testing.values import UNKNOWN, ResourceRef, is_list, is_object

_PLAIN: dict[Any, tuple[tuple[type, ...], str]] = {
    str: ((str,), "text"),
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
}


def input_violations(token: str, inputs: Mapping[str, Any]) -> list[SchemaViolation] | None:
    """List what the SDK class of a token does not allow; None if no installed SDK knows it."""
    args = _args_class(token)
    if args is None:
        return None
    if token.startswith(PROVIDER):
        # Inputs of a provider are sent as JSON text, so only their names can be compared.
        fields = sorted(_fields(args)[0])
        return [
            (key, f"no such field; {nearest(key, fields)}") for key in inputs if key not in fields
        ]
    return list(_check_fields(args, inputs, ""))


def field_names(token: str) -> frozenset[str]:
    """Names of all inputs that the SDK class of a token has; empty if no installed SDK knows it."""
    args = _args_class(token)
    return frozenset(_fields(args)[0] if args else ())


def _args_class(token: str) -> Any:
    found = resource_class(token)
    return args_class(found) if found else None


@lru_cache(maxsize=4096)
def _fields(cls: type) -> tuple[dict[str, Any], frozenset[str]]:
    """Wire name → type of every field, and the wire names of the required ones."""
    wire_names = _types.input_type_py_to_pulumi_names(cls)
    parameters = inspect.signature(cls).parameters.values()
    required = {
        wire_names.get(one.name, one.name)
        for one in parameters
        if one.default is one.empty and one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)
    }
    return _types.input_type_types(cls), frozenset(required)


def _check_fields(cls: type, value: Mapping[str, Any], path: str) -> Iterator[SchemaViolation]:
    fields, required = _fields(cls)
    for name in sorted(required):
        if value.get(name) is None:
            yield join(path, name), "missing, and required"
    for key, inner in value.items():
        where = join(path, key)
        if key not in fields:
            yield where, f"no such field; {nearest(key, list(fields))}"
        else:
            yield from _check_type(fields[key], inner, where)


def _check_type(expected: Any, value: object, path: str) -> Iterator[SchemaViolation]:
    if value is None or value is UNKNOWN or isinstance(value, ResourceRef):
        return
    origin = typing.get_origin(expected)
    if origin is typing.Union or origin is types.UnionType:
        yield from _check_union(typing.get_args(expected), value, path)
    elif origin is typing.Literal:
        allowed = typing.get_args(expected)
        if value not in allowed:
            yield path, f"given {describe(value)}, allowed: {', '.join(map(repr, allowed))}"
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        yield from _check_mapping(expected, value, path)
    elif isinstance(origin, type) and issubclass(origin, Sequence):
        yield from _check_sequence(expected, value, path)
    elif expected in _PLAIN:
        accepted, words = _PLAIN[expected]
        if not isinstance(value, accepted) or (isinstance(value, bool) and expected is not bool):
            yield path, f"given {describe(value)}, allowed: {words}"
    elif isinstance(expected, type):
        yield from _check_class(expected, value, path)
    # Any other type (Any, an unresolvable forward reference) does not restrict the value.


def _check_class(expected: type[Any], value: object, path: str) -> Iterator[SchemaViolation]:
    if issubclass(expected, enum.Enum):
        allowed = [member.value for member in expected]
        if value not in allowed:
            yield path, f"given {describe(value)}, allowed: {', '.join(map(str, allowed))}"
    elif _types.is_input_type(expected):
        if is_object(value):
            yield from _check_fields(expected, value, path)
        else:
            yield path, f"given {describe(value)}, allowed: an object of {expected.__name__}"


def _check_mapping(expected: Any, value: object, path: str) -> Iterator[SchemaViolation]:
    if not is_object(value):
        yield path, f"given {describe(value)}, allowed: an object"
        return
    arguments = typing.get_args(expected)
    for key, inner in value.items():
        yield from _check_type(
            arguments[1] if len(arguments) > 1 else Any, inner, join(path, str(key))
        )


def _check_sequence(expected: Any, value: object, path: str) -> Iterator[SchemaViolation]:
    if not is_list(value):
        yield path, f"given {describe(value)}, allowed: a list"
        return
    arguments = typing.get_args(expected)
    for index, inner in enumerate(value):
        yield from _check_type(arguments[0] if arguments else Any, inner, join(path, index))


def _check_union(members: tuple[Any, ...], value: object, path: str) -> Iterator[SchemaViolation]:
    """One member must match; otherwise report the violations of the closest member."""
    # An Input[T] is a union of T with an Awaitable and an Output of it; the wire only has T.
    plain = [one for one in members if not _is_late(one) and one is not type(None)]
    attempts = [list(_check_type(one, value, path)) for one in plain]
    if not attempts or any(not result for result in attempts):
        return
    yield from min(attempts, key=lambda result: (result[0][0] == path, len(result)))


def _is_late(member: Any) -> bool:
    origin = typing.get_origin(member) or member
    return isinstance(origin, type) and issubclass(origin, (Awaitable, pulumi.Output))
