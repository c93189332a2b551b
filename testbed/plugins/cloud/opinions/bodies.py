"""The requests that a provider would send for a resource: its inputs, with the names of the cloud's API.

Most names follow a pattern: `subnetIds` is SubnetIds, `tags` is Tags or TagSpecifications. The rest is in
sent.yaml. A field without a member keeps its name, so that the check of the request reports it.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

SENT: Mapping[str, Any] = yaml.safe_load(Path(__file__).with_name("sent.yaml").read_text("utf-8"))


@cache
def model(cloud: str) -> Mapping[str, Any]:
    """The model of a cloud's calls; gather.py writes it."""
    text = (Path(__file__).parent / "facts" / f"{cloud}.json").read_text("utf-8")
    created: dict[str, Any] = json.loads(text)
    return created


def requests(kind: str, inputs: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The request bodies for a resource's inputs, by operation."""
    sent = SENT[kind]
    shapes, calls = model(kind.partition(":")[0])["shapes"], sent["calls"]
    if not calls:
        return {}  # no model has it
    bodies: dict[str, dict[str, Any]] = {calls[0]: {}}
    for field, value in inputs.items():
        if field in sent.get("own", {}) or value is None:
            continue
        call, at = _target(sent, field)
        top = model(kind.partition(":")[0])["calls"][call]
        retained = _without(value, field, sent.get("own", {}))
        messages = (field, _keyed(retained, field, sent.get("keyed", {})))
        _put(bodies.setdefault(call, {}), shapes, top, at, messages, sent.get("to", {}))
    return bodies


def _without(value: Any, path: str, own: Mapping[str, str]) -> Any:
    """A value without the fields that the provider does not send, or sends in a form that no table has."""
    if isinstance(value, list):
        return [_without(each, path, own) for each in value]
    if isinstance(value, Mapping):
        inside = {key: _without(each, f"{path}.{key}", own) for key, each in value.items()}
        return {key: each for key, each in inside.items() if f"{path}.{key}" not in own}
    return value


def _keyed(value: Any, path: str, keyed: Mapping[str, str]) -> Any:
    """A value whose lists are mappings by a field of their items, where the API has mappings."""
    if isinstance(value, list) and path in keyed:
        key = keyed[path]
        return {each[key]: {k: v for k, v in each.items() if k != key} for each in value}
    if isinstance(value, Mapping):
        return {name: _keyed(each, f"{path}.{name}", keyed) for name, each in value.items()}
    return value


def _target(sent: Mapping[str, Any], field: str) -> tuple[str, list[str]]:
    """The operation that takes a field, and the path in its body; by default by the field's name."""
    first, into = sent["calls"][0], sent.get("into")
    message = sent.get("to", {}).get(field, "")
    call, slash, path = message.partition("/")
    if not slash:
        return first, [*([into] if into else []), *(message.split(".") if message else [field])]
    return call or first, path.split(".")


def _put(
    body: dict[str, Any],
    shapes: Mapping[str, Any],
    shape: str,
    at: list[str],
    messages: tuple[str, Any],
    to: Mapping[str, str],
) -> None:
    """Put a value into a body, at a path of members."""
    step, *deeper = at
    wrapped = step.endswith("[]")
    name, inner = _member(shapes, shape, step.removesuffix("[]"))
    field, value = messages
    if deeper:
        place: Any = body.setdefault(name, [{}] if wrapped else {})
        inner = shapes[inner]["each"] if wrapped and inner else inner
        _put(place[0] if wrapped else place, shapes, inner, deeper, messages, to)
        return
    created = _made(shapes, inner, value, field, to)
    if wrapped and isinstance(created, dict) and name in body:
        body[name][0].update(created)
    elif wrapped and not isinstance(created, list):
        body[name] = [created]
    elif isinstance(created, dict) and isinstance(body.get(name), dict):
        body[name].update(created)
    else:
        body[name] = created


def _made(
    shapes: Mapping[str, Any], shape: str, value: Any, path: str, to: Mapping[str, str]
) -> Any:
    """A value in its shape: a list where the provider has a single value, pairs where it has a mapping."""
    facts = shapes.get(shape, {})
    if "each" in facts:
        inner = facts["each"]
        if isinstance(value, Mapping) and _is_pair(shapes.get(inner, {})):
            key, text = _pair(shapes[inner])
            return [{key: k, text: v} for k, v in value.items()]
        if isinstance(value, Mapping) and _is_tagged(shapes, inner):
            return [_tagged(shapes, inner, value)]
        items = value if isinstance(value, list) else [value]
        return [_made(shapes, inner, each, path, to) for each in items]
    if "members" in facts and isinstance(value, list):
        return _made(shapes, shape, value[0], path, to) if value else {}
    if "members" in facts and isinstance(value, Mapping):
        body: dict[str, Any] = {}
        for field, each in value.items():
            if each is not None:
                here = f"{path}.{field}"
                at = to.get(here, field).split(".")
                _put(body, shapes, shape, at, (here, each), to)
        return body
    return _mapped(shapes, facts, value, path, to)


def _mapped(
    shapes: Mapping[str, Any],
    facts: Mapping[str, Any],
    value: Any,
    path: str,
    to: Mapping[str, str],
) -> Any:
    if "values" in facts and isinstance(value, Mapping):
        return {k: _made(shapes, facts["values"], each, path, to) for k, each in value.items()}
    return _scalar(facts, value)


def _scalar(facts: Mapping[str, Any], value: Any) -> Any:
    """Providers have some switches and numbers as text, and some numbers as floats."""
    if facts.get("is") == "flag" and value in {"true", "false", "TRUE", "FALSE"}:
        return str(value).lower() == "true"
    if facts.get("is") == "whole" and isinstance(value, str) and value.lstrip("-").isdigit():
        return int(value)
    if facts.get("is") == "whole" and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


# ── names ─────────────────────────────────────────────────────────────────────────────────────────
def _member(shapes: Mapping[str, Any], shape: str, name: str) -> tuple[str, str]:
    """The member with this name, ignoring plural and case, and its shape; else the name itself."""
    members = shapes.get(shape, {}).get("members", {})
    plain = {_plain(member): member for member in members}
    for spelled in _spellings(_plain(name)):
        if spelled in plain:
            return plain[spelled], members[plain[spelled]]
    return name, ""


def _spellings(name: str) -> tuple[str, ...]:
    tags = ("tagspecifications",) if name == "tags" else ()
    return (name, f"{name}s", name.removesuffix("s"), f"{name.removesuffix('y')}ies", *tags)


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


# ── mappings that are lists of pairs ──────────────────────────────────────────────────────────────
def _pair(facts: Mapping[str, Any]) -> tuple[str, str]:
    names = {_plain(member): member for member in facts.get("members", {})}
    key = names.get("key") or names.get("tagkey") or ""
    return key, names.get("value") or names.get("tagvalue") or ""


def _is_pair(facts: Mapping[str, Any]) -> bool:
    return all(_pair(facts)) and len(facts["members"]) == len(("key", "value"))


def _is_tagged(shapes: Mapping[str, Any], shape: str) -> bool:
    return set(shapes.get(shape, {}).get("members", {})) == {"ResourceType", "Tags"}


def _tagged(shapes: Mapping[str, Any], shape: str, tags: Mapping[str, Any]) -> dict[str, Any]:
    """The tags of a resource; the provider fills in the operation's resource type."""
    inner = shapes[shape]["members"]["Tags"]
    if set(tags) == {"resourceType", "tags"}:
        return {
            "ResourceType": tags["resourceType"],
            "Tags": _made(shapes, inner, tags["tags"], "", {}),
        }
    return {"Tags": _made(shapes, inner, tags, "", {})}
