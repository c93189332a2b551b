"""Conversion between the engine's wire format and plain values: secrets, unknowns, references, integers.

The marks are the engine's protocol, the same for every language:
https://github.com/pulumi/pulumi/blob/master/sdk/go/common/resource/properties.go (SigKey and the
constants next to it) and sdk/go/common/resource/plugin/rpc.go (UnknownStringValue). A test compares
them with the installed SDK.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpuyard_testing.openapi import join
from gpuyard_testing.values import UNKNOWN, ResourceRef, is_list, is_object

if TYPE_CHECKING:
    from google.protobuf.struct_pb2 import Struct, Value

SIGNATURE_KEY = "4dabf18193072939515e22adb298388d"
SECRET = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 the engine's mark for a secret, not one
RESOURCE = "5cf8f73096256a8f31e491e813e4eb8e"
UNKNOWN_TEXT = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


@dataclass
class Decoded:
    """Plain values, and the paths of secrets in them."""

    values: dict[str, Any] = field(default_factory=dict[str, Any])
    secrets: set[str] = field(default_factory=set[str])


def decode(struct: Struct) -> Decoded:
    """Turn wire properties into plain values."""
    decoded = Decoded()
    for key, value in sorted(struct.fields.items()):  # protobuf maps are unordered
        decoded.values[key] = _decode_value(value, key, decoded.secrets)
    return decoded


def encode(values: Mapping[str, Any], into: Struct) -> None:
    """Set plain values as wire properties, in addition to existing ones."""
    into.update({key: _encode_value(value) for key, value in values.items()})


def hide(struct: Struct) -> None:
    """Make every property unknown; secrets stay secret."""
    for key, value in list(struct.fields.items()):
        secret = value.HasField("struct_value") and _signature(value.struct_value) == SECRET
        hidden = {SIGNATURE_KEY: SECRET, "value": UNKNOWN_TEXT} if secret else UNKNOWN_TEXT
        struct.update({key: hidden})


def _signature(struct: Struct) -> str | None:
    mark = struct.fields.get(SIGNATURE_KEY)
    return mark.string_value if mark is not None else None


def _decode_value(value: Value, path: str, secrets: set[str]) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        return UNKNOWN if value.string_value == UNKNOWN_TEXT else value.string_value
    if kind == "number_value":
        # The wire format has only doubles; 3.0 is what the program wrote as 3.
        number = value.number_value
        return int(number) if number.is_integer() else number
    if kind == "bool_value":
        return value.bool_value
    if kind == "list_value":
        return [
            _decode_value(one, join(path, index), secrets)
            for index, one in enumerate(value.list_value.values)
        ]
    if kind == "struct_value":
        return _decode_struct(value.struct_value, path, secrets)
    return None


def _decode_struct(struct: Struct, path: str, secrets: set[str]) -> Any:
    mark = _signature(struct)
    if mark == SECRET:
        secrets.add(path)
        return _decode_value(struct.fields["value"], path, secrets)
    if mark == RESOURCE:
        identity = struct.fields.get("id")
        return ResourceRef(
            urn=struct.fields["urn"].string_value,
            id=_decode_value(identity, path, secrets) if identity is not None else None,
        )
    return {
        key: _decode_value(one, join(path, key), secrets)
        for key, one in sorted(struct.fields.items())
    }


def _encode_value(value: Any) -> Any:
    if value is UNKNOWN:
        return UNKNOWN_TEXT
    if isinstance(value, ResourceRef):
        return {SIGNATURE_KEY: RESOURCE, "urn": value.urn, "id": _encode_value(value.id)}
    if is_object(value):
        return {key: _encode_value(one) for key, one in value.items()}
    if is_list(value):
        return [_encode_value(one) for one in value]
    return value
