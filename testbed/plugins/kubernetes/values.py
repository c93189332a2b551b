"""Property values as the engine sends them: plain JSON, secrets and unknowns.

The wire format is a protobuf `Struct` in which secrets are objects with a signature key and
unknowns are sentinel strings: github.com/pulumi/pulumi, sdk/go/common/resource/properties.go and
sdk/go/common/resource/plugin/rpc.go.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf import json_format, struct_pb2

Object = dict[str, Any]

SIGNATURE = "4dabf18193072939515e22adb298388d"
SECRET_SIGNATURE = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105  a mark, not a password
OUTPUT = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
UNKNOWN_STRING = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
# One sentinel per type; only the engine distinguishes them.
UNKNOWN_STRINGS = frozenset(
    {
        UNKNOWN_STRING,
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",  # boolean
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",  # number
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",  # array
        "030794c1-ac77-496b-92df-f27374a8bd58",  # asset
        "e48ece36-62e2-4504-bad9-02848725956a",  # archive
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",  # object
    }
)

# A `Struct` key must not contain a dash in some SDKs, so the provider renames these on the way in and
# out: github.com/pulumi/pulumi-kubernetes, provider/pkg/provider/provider.go, underscoreToDashMap.
DASHED = {
    name.replace("-", "_"): name
    for name in (
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-list-type",
        "x-kubernetes-map-type",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-validations",
    )
}
UNDERSCORED = {dashed: underscored for underscored, dashed in DASHED.items()}


@dataclass(frozen=True)
class Secret:
    """A value that must be encrypted wherever it is stored."""

    value: Any

    def __repr__(self) -> str:
        return "Secret(...)"


class Unknown:
    """A value that is known only after another resource is created."""

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __deepcopy__(self, memo: object) -> Unknown:
        return self


UNKNOWN = Unknown()


def read(struct: struct_pb2.Struct) -> Object:
    """Read a message into Python values, keeping secrets and unknowns apart."""
    value = _read(json_format.MessageToDict(struct))
    return value if isinstance(value, dict) else {}


def _read(value: Any) -> Any:
    if isinstance(value, dict):
        return _read_object(value)
    if isinstance(value, list):
        return [_read(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value in UNKNOWN_STRINGS:
        return UNKNOWN
    return value


def _read_object(value: Object) -> Any:
    signature = value.get(SIGNATURE)
    if signature == SECRET_SIGNATURE:
        return Secret(_read(value.get("value")))
    if signature == OUTPUT:
        inner = _read(value["value"]) if "value" in value else UNKNOWN
        return Secret(inner) if value.get("secret") else inner
    return {key: _read(item) for key, item in value.items()}


def write(value: Mapping[str, Any]) -> struct_pb2.Struct:
    """Write Python values as a message."""
    struct = struct_pb2.Struct()
    struct.update(_write(value))
    return struct


def _write(value: Any) -> Any:
    if isinstance(value, Secret):
        return {SIGNATURE: SECRET_SIGNATURE, "value": _write(value.value)}
    if isinstance(value, Unknown):
        return UNKNOWN_STRING
    if isinstance(value, Mapping):
        return {key: _write(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_write(item) for item in value]
    return value


def transform(
    value: Any, leaf: Callable[[Any], Any], names: Mapping[str, str] | None = None
) -> Any:
    """Copy a tree: secrets opened, keys renamed, `leaf` applied to everything that is not a container."""
    if isinstance(value, Secret):
        return transform(value.value, leaf, names)
    if isinstance(value, Mapping):
        renamed = names or {}
        return {renamed.get(key, key): transform(item, leaf, names) for key, item in value.items()}
    if isinstance(value, list):
        return [transform(item, leaf, names) for item in value]
    return leaf(value)


def manifest(properties: Mapping[str, Any]) -> Object:
    """The Kubernetes object in a property map: secrets opened, `x_kubernetes_*` dashed; unknowns stay."""
    result: Object = transform(properties, lambda item: item, DASHED)
    return result


def properties(obj: Mapping[str, Any]) -> Object:
    """The property map of a Kubernetes object."""
    result: Object = transform(obj, lambda item: item, UNDERSCORED)
    return result


def has_unknown(value: Any) -> bool:
    """Whether anything in this tree is not known yet."""
    if isinstance(value, Secret):
        return has_unknown(value.value)
    if isinstance(value, Mapping):
        return any(has_unknown(item) for item in value.values())
    if isinstance(value, list):
        return any(has_unknown(item) for item in value)
    return isinstance(value, Unknown)


def has_secret(value: Any) -> bool:
    """Whether anything in this tree is secret."""
    if isinstance(value, Mapping):
        return any(has_secret(item) for item in value.values())
    if isinstance(value, list):
        return any(has_secret(item) for item in value)
    return isinstance(value, Secret)


def mark_secrets(outputs: Object, inputs: Mapping[str, Any] | None) -> None:
    """Make every output secret whose input was; the data of a Secret object always is.

    Follows annotateSecrets in provider/pkg/provider/provider.go: objects are compared field by
    field, a list with one secret element becomes secret as a whole.
    """
    if outputs.get("kind") == "Secret":
        for field in ("data", "stringData"):
            if field in outputs and not isinstance(outputs[field], Secret):
                outputs[field] = Secret(outputs[field])
        return
    for key, value in (inputs or {}).items():
        if key not in outputs:
            continue
        current = outputs[key]
        if isinstance(current, dict) and isinstance(value, Mapping):
            mark_secrets(current, value)
        elif not isinstance(current, Secret) and has_secret(value):
            outputs[key] = Secret(current)


def secret_strings(value: Any, *, inside: bool = False) -> set[str]:
    """Every string inside a secret, for scrubbing messages."""
    if isinstance(value, Secret):
        return secret_strings(value.value, inside=True)
    if isinstance(value, Mapping):
        return set().union(*(secret_strings(item, inside=inside) for item in value.values()))
    if isinstance(value, list):
        return set().union(*(secret_strings(item, inside=inside) for item in value))
    return {value} if inside and isinstance(value, str) and value else set()


def clone(value: Any) -> Any:
    """A deep copy that keeps the identity of the unknown sentinel."""
    return copy.deepcopy(value)


def path(obj: Any, *keys: str, default: Any = None) -> Any:
    """The value at a path of mapping keys, or the default when any step is missing or not a mapping."""
    for key in keys:
        if not isinstance(obj, Mapping) or key not in obj:
            return default
        obj = obj[key]
    return obj


def drop(obj: Any, *keys: str) -> None:
    """Remove the value at a path of mapping keys, if it exists."""
    holder = path(obj, *keys[:-1])
    if isinstance(holder, dict):
        holder.pop(keys[-1], None)
