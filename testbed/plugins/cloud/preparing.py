"""Check: the inputs as they will be sent, with names, defaults and `__defaults`."""

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from testbed.plugins.cloud import facts
from testbed.plugins.cloud.facts import Facts

DEFAULTS = "__defaults"


class TooLong(Exception):
    """A logical name that is too long for the random digits."""


@dataclass(frozen=True)
class Naming:
    """The engine's data about a resource's name."""

    name: str
    seed: bytes = b""
    mode: str = ""
    proposed: str = ""


def prepared(
    kind: str, naming: Naming, old: Mapping[str, Any], inputs: Mapping[str, Any]
) -> dict[str, Any]:
    """The inputs with the bridge's additions; an existing name is kept."""
    about = facts.resource(kind)
    if about is None:
        return dict(inputs)
    created: dict[str, Any] = {key: value for key, value in inputs.items() if value is not None}
    added = _named(about, naming, old, created)
    filled = _defaulted(kind, about["inputs"], "", created)
    filled[DEFAULTS] = sorted({*filled[DEFAULTS], *added})
    return filled


def _named(
    about: Facts, naming: Naming, old: Mapping[str, Any], created: dict[str, Any]
) -> list[str]:
    """Fill in the name, and return its field."""
    rule = about.get("autoname")
    if rule is None:
        return []
    field = rule["property"]
    if field in created or f"{field}Prefix" in created or naming.mode == "DISABLE":
        return []
    if field in old.get(DEFAULTS, ()) and old.get(field):
        created[field] = old[field]
    else:
        created[field] = naming.proposed or _fresh(rule, naming)
    if about["inputs"][field].get("pattern", "").startswith("^alias/"):
        created[field] = f"alias/{created[field].removeprefix('alias/')}"
    if created.get("fifoQueue") is True or created.get("fifoTopic") is True:
        created[field] = f"{created[field].removesuffix('.fifo')}.fifo"
    return [field]


def _fresh(rule: Facts, naming: Naming) -> str:
    digits = rule["randomHex"]
    seed = hashlib.sha256(naming.seed).hexdigest() if naming.seed else secrets.token_hex(digits)
    name = naming.name.lower() if rule["lower"] else naming.name
    if len(name) + len(rule["separator"]) + digits > rule["maxLength"]:
        raise TooLong(
            f"name '{name}' plus {digits} random chars is longer than maximum length {rule['maxLength']}"
        )
    return f"{name}{rule['separator']}{seed[:digits]}"


def _defaulted(
    kind: str, inputs: Mapping[str, Facts], path: str, configured: Mapping[str, Any]
) -> dict[str, Any]:
    """One object, and each object in it, with the defaults of the provider."""
    created: dict[str, Any] = {}
    for name, value in configured.items():
        inner = f"{path}.{name}" if path else name
        created[name] = _inside(kind, inputs, inner, value) if inner in inputs else value
    added = _lacking(kind, inputs, path, created)
    for name in added:
        created[name] = inputs[f"{path}.{name}" if path else name]["default"]
    created[DEFAULTS] = sorted(added)
    return created


def _inside(kind: str, inputs: Mapping[str, Facts], path: str, value: Any) -> Any:
    type_ = inputs[path]["type"]
    if type_ == "string" and isinstance(value, int | float):
        return json.dumps(value)  # a version from another resource's output is a number
    if type_ == "object" and isinstance(value, Mapping):
        return _defaulted(kind, inputs, path, value)
    if type_ == "[object]" and isinstance(value, list):
        return [
            _defaulted(kind, inputs, path, each) if isinstance(each, Mapping) else each
            for each in value
        ]
    return value


def _lacking(
    kind: str, inputs: Mapping[str, Facts], path: str, created: Mapping[str, Any]
) -> list[str]:
    """Fields that get their default, except those that another given field excludes."""
    results: list[str] = []
    for name in facts.children(kind).get(path, ()):
        about = inputs[f"{path}.{name}" if path else name]
        tied = {"conflicts", "exactlyOneOf", "requiredWith", "deprecated"} & set(about)
        if "default" in about and about["default"] is not None and name not in created and not tied:
            results.append(name)
    return results
