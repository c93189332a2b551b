"""Options of a registration, as a record keeps them.

Requests are `Any` here: the SDK's stubs refer to the types of fields by a path that does not exist.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from gpuyard.testing.values import is_object

# Options of a registration that the record keeps under the same name when they are set.
_OPTIONS = (
    "protect",
    "ignoreChanges",
    "replaceOnChanges",
    "additionalSecretOutputs",
    "customTimeouts",
    "importId",
    "version",
    "pluginDownloadURL",
    "retainOnDelete",
    "deletedWith",
    "hideDiffs",
    "packageRef",
    "hooks",
    "envVarMappings",
)


def recorded_options(request: Any) -> dict[str, Any]:
    """Return every option that a registration sets, under its wire name."""
    results = {name: value for name in _OPTIONS if (value := _plain(request, name)) is not None}
    if request.aliases or request.aliasURNs:
        results["aliases"] = [_alias(one) for one in request.aliases] + list(request.aliasURNs)
    if request.deleteBeforeReplaceDefined:
        results["deleteBeforeReplace"] = request.deleteBeforeReplace
    if request.replace_with:
        results["replaceWith"] = list(request.replace_with)
    if request.transforms:
        results["transforms"] = len(request.transforms)
    return results


def _alias(alias: Message) -> Any:
    """An alias as its URN, or as its given parts (`type`, `name`, `parentUrn`, …)."""
    spec = MessageToDict(alias)
    return spec.get("urn") or {key: value for key, value in spec["spec"].items() if value}


def _plain(request: Any, name: str) -> Any:
    """The value of one option as plain Python; None where it was not set."""
    value = getattr(request, name)
    if request.DESCRIPTOR.fields_by_name[name].has_presence:
        if not request.HasField(name):
            return None
        return (MessageToDict(value) or None) if isinstance(value, Message) else value
    if isinstance(value, str):
        return value or None
    return (dict(value) if is_object(value) else list(value)) or None
