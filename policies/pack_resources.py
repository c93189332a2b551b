"""Resources from the policy engine, as rules see them."""

from collections.abc import Mapping, Sequence
from typing import Any

from pulumi_policy.proxy import UnknownValueError

from gpuyard_core.yaml_tree import Document
from gpuyard_lint.embedded_values import with_embedded
from gpuyard_lint.items import FileLocation, Item
from gpuyard_lint.pulumi import UNKNOWN_TEXT, pulumi_resource
from gpuyard_lint.rules.rule import UNKNOWN, Resource

_NOWHERE = FileLocation("", Document(None, {}))
"""A resource from the engine has no file."""


def resources(args: Any, inputs: Any = None) -> list[Resource]:
    """What the engine shows as rules see it: the resource, and the configuration inside it.

    Properties are its `inputs` where these are given.
    """
    found = resource(args, plain(args.props if inputs is None else inputs))
    return [] if found is None else [each.resource for each in with_embedded(Item(found, _NOWHERE))]


def resource(args: Any, properties: Mapping[str, Any]) -> Resource | None:
    """The resource alone, with these properties; None if no rule checks it."""
    return pulumi_resource(args.resource_type, args.name, properties, protected=_protected(args))


def _protected(args: Any) -> bool | None:
    options = getattr(args, "opts", None)
    return None if options is None else bool(getattr(options, "protect", False))


def plain(value: Any) -> Any:
    """The engine's proxies as plain values; a sentinel where a preview does not know one.

    Proxies are mappings and sequences but neither dict nor list, raise when an unknown is read, and give
    every number as a float. For a remediation, nothing raises and the engine's own marker is visible.
    """
    if isinstance(value, str):
        return UNKNOWN if value == UNKNOWN_TEXT else value
    if isinstance(value, Mapping):
        return {key: _entry(value, key) for key in value}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [_entry(value, index) for index in range(len(value))]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _entry(container: Any, key: Any) -> Any:
    try:
        return plain(container[key])
    except UnknownValueError:
        return UNKNOWN
